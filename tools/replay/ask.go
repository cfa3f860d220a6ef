package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// request is one request. key is the name of one of the demo's keys, or a key itself.
type request struct {
	key, method, target string
	header              []string // "Name: value"
	body                string
}

// exchange is a request, by its name, with its response; texts unique to a run are masked.
type exchange struct {
	name   string
	status int
	header string
	body   string
}

// Texts that are unique in each run. A cursor is signed by a secret of the process.
var (
	requestIDs = regexp.MustCompile(`req_[a-z2-7]{10,}`)
	cursors    = regexp.MustCompile(`(cursor(?:=|"\s*:\s*"|\\"\s*:\s*\\"|: ?))[A-Za-z0-9_-]{24,}`)
	instants   = regexp.MustCompile(`2026-1[0-2]-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|202[7-9]-\d\d-\d\dT[0-9:.]+Z`)
	anyKey     = regexp.MustCompile(`npk_[a-z]+_[A-Za-z0-9]{8,}|\bkey_[a-z0-9]{8,}`)
	validators = regexp.MustCompile(`If-None-Match: \S+`)
	waits      = regexp.MustCompile(`("retry_after(?:_seconds)?": ?)\d+`)
	assets     = regexp.MustCompile(`(/assets/[a-z]+)-[0-9a-f]{12}\.`)
	ages       = regexp.MustCompile(`\b\d+ (second|minute)s?\b`)
)

// mask replaces the texts that are unique in each run.
func mask(text string) string {
	text = requestIDs.ReplaceAllString(text, "req_…")
	text = cursors.ReplaceAllString(text, "${1}…")
	text = instants.ReplaceAllString(text, "INSTANT")
	text = anyKey.ReplaceAllString(text, "KEY")
	text = waits.ReplaceAllString(text, "${1}N")
	text = assets.ReplaceAllString(text, "${1}-HASH.")
	return ages.ReplaceAllString(text, "N ${1}s")
}

// changing are the headers that differ in every run.
var changing = []string{
	"Date", "X-Request-Id", "Ratelimit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	"Content-Length", "Retry-After",
}

// maxAnswer is larger than every response of a demo.
const maxAnswer = 64 << 20

// asker sends requests to one demo and stores the responses.
type asker struct {
	demo   *demo
	client *http.Client
	asked  []exchange
	err    error
}

func ask(d *demo) ([]exchange, error) {
	a := &asker{demo: d, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}}
	a.everything()
	return a.asked, a.err
}

// send sends one request and stores its response. It returns the unmasked body and header, for
// requests that depend on them.
func (a *asker) send(q request) (body string, header http.Header) {
	if a.err != nil {
		return "", http.Header{}
	}

	r, err := http.NewRequest(q.method, a.demo.API+q.target, strings.NewReader(q.body))
	if err != nil {
		a.err = fmt.Errorf("%s %s: %w", q.method, q.target, err)
		return "", http.Header{}
	}
	for _, h := range q.header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	if key, known := a.demo.Keys[q.key]; known {
		r.Header.Set("X-Api-Key", key)
	} else if q.key != "-" && r.Header.Get("Authorization") == "" {
		r.Header.Set("X-Api-Key", q.key)
	}
	if q.body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}

	answer, err := a.client.Do(r)
	if err != nil {
		a.err = fmt.Errorf("%s %s: %w", q.method, q.target, err)
		return "", http.Header{}
	}
	defer func() { _ = answer.Body.Close() }()
	content := io.Reader(answer.Body)
	if answer.Header.Get("Content-Encoding") == "gzip" {
		content, err = gzip.NewReader(answer.Body)
		if err != nil {
			a.err = fmt.Errorf("%s %s: %w", q.method, q.target, err)
			return "", http.Header{}
		}
	}

	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(content, maxAnswer)); err != nil {
		a.err = fmt.Errorf("%s %s: %w", q.method, q.target, err)
	}

	name := validators.ReplaceAllString(mask(strings.Join(
		append([]string{q.key, q.method, q.target}, append(q.header, q.body)...), " | ")), "If-None-Match: …")
	stableHeader := answer.Header.Clone()
	// An ETag depends on the query, which includes a cursor. That of a page depends on its bytes,
	// which are compared anyway.
	if strings.Contains(q.target, "cursor=") || stableHeader.Get("Content-Security-Policy") != "" {
		stableHeader.Del("ETag")
	}
	a.asked = append(a.asked, exchange{name, answer.StatusCode, headerLines(stableHeader), mask(text.String())})
	return text.String(), answer.Header
}

// headerLines returns the headers in one line, sorted, without those that change.
func headerLines(header http.Header) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !slices.Contains(changing, name) {
			lines = append(lines, name+": "+strings.Join(header[name], ", "))
		}
	}
	return mask(strings.Join(lines, "; "))
}
