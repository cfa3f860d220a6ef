package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/wire/openapi"
)

var update = flag.Bool("update", false, "write docs/ERRORS.md")

// wrong is a request of testdata/wrong.txt.
type wrong struct {
	key, method, target string
	header              []string
	body                string
}

// readWrong reads the requests by their headings.
func readWrong(tb testing.TB) (headings []string, requests map[string][]wrong) {
	tb.Helper()
	text, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		tb.Fatal(err)
	}

	requests = map[string][]wrong{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if title, is := strings.CutPrefix(line, "== "); is {
			headings = append(headings, title)
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}

		parts := strings.Split(line, " | ")
		head := strings.Fields(parts[0])
		q := wrong{key: head[0], method: head[1], target: head[2]}
		for _, part := range parts[1:] {
			if strings.HasPrefix(part, "{") || strings.HasPrefix(part, "[") {
				q.body = part
			} else {
				q.header = append(q.header, part)
			}
		}
		last := headings[len(headings)-1]
		requests[last] = append(requests[last], q)
	}
	return headings, requests
}

// row is how a request and its answer stand in the table.
func (q *wrong) row(r reply) string {
	shown := "`" + q.method + " " + q.target
	for _, h := range append(append([]string{}, q.header...), q.body) {
		if h != "" {
			shown += " · " + h
		}
	}

	var answer struct {
		Code, Detail string
		Error        struct{ Code, Message string }
	}
	_ = json.Unmarshal(r.body, &answer)
	said := answer.Code + answer.Error.Code + ": " + answer.Detail + answer.Error.Message
	if r.status == http.StatusOK {
		said = "an empty list"
	}
	for _, name := range []string{"X-Ignored-Params", "X-Unknown-Values"} {
		if v := r.header.Get(name); v != "" {
			said += " · " + name + ": " + v
		}
	}
	if v := r.header.Get("Retry-After"); len(v) > 2 {
		said += " · Retry-After: … (until midnight)" // the clock stands at another minute in each run
	} else if v != "" {
		said += " · Retry-After: " + v
	}
	return fmt.Sprintf("| %s | %s` | %d %s |\n", q.key, strings.ReplaceAll(shown, "|", `\|`), r.status,
		strings.ReplaceAll(said, "|", `\|`))
}

// TestWrongRequests makes the requests of testdata/wrong.txt and compares docs/ERRORS.md with what is
// answered. With -update it writes the page: read it as the author of such a client would.
func TestWrongRequests(t *testing.T) { // air: one page
	const file = "../docs/ERRORS.md"
	w := newWorld(t, setup{still: true})
	now := w.clock()
	w.keys["drained"] = w.keyOf(t, keys.NewKey{Tenant: only("drained"), Surface: keys.Live, Plan: "free"}, now)
	w.keys["spent"] = w.keyOf(t, keys.NewKey{Tenant: only("spent"), Surface: keys.Live, Plan: "tiny"}, now)
	for key, times := range map[string]int{"drained": 30, "spent": 3} {
		for range times {
			w.try(t, scenario{path: "/v1/games", key: key})
		}
	}

	var page bytes.Buffer
	page.WriteString("# What wrong requests are answered\n\nThe test `TestWrongRequests` makes these requests and " +
		"writes this page:\n`go test ./server -run TestWrongRequests -update`. Each answer says what was " +
		"wrong, what is legal,\nand what to do next. The first column is the kind of key, - for none; " +
		"the demo's catalog answers.\n")
	headings, requests := readWrong(t)
	n := 0
	for _, heading := range headings {
		page.WriteString("\n## " + heading + "\n\n| key | request | answer |\n|---|---|---|\n")
		for _, q := range requests[heading] {
			n++
			sent := request{method: q.method, target: q.target, header: q.header, body: q.body}
			if q.key != "-" {
				sent.header = append(sent.header, "X-API-Key: "+w.named(q.key))
			}
			if q.body != "" && !strings.Contains(strings.Join(q.header, " "), "Content-Type") {
				sent.header = append(sent.header, "Content-Type: application/json")
			}

			r := w.ask(t, sent)
			if heading != "Values that nothing has" && r.status < 400 {
				t.Errorf("%s %s is answered %d", q.method, q.target, r.status)
			}
			page.WriteString(q.row(r))
		}
	}
	if n < 60 {
		t.Errorf("only %d requests", n)
	}

	if *update {
		if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(page.Bytes(), want) {
		t.Errorf("%s is not what is answered (%v): run go test ./server -run TestWrongRequests -update", file, err)
	}
}

// TestErrorExamplesAreServed wants each example of an error in the document to have the form of the
// served errors with its code: figures and names may differ.
func TestErrorExamplesAreServed(t *testing.T) {
	page, err := os.ReadFile("../docs/ERRORS.md")
	if err != nil {
		t.Fatal(err)
	}

	var document any
	if err := json.Unmarshal(openapi.Document(), &document); err != nil {
		t.Fatal(err)
	}
	shape := func(s string) string { return figures.ReplaceAllString(s, "#") }
	served := shape(string(page))
	checked := 0
	eachText(document, func(name, text string) {
		if name != "detail" && name != "message" || elsewhere[text] {
			return
		}
		for part := range strings.SplitSeq(text, "; ") {
			checked++
			if !strings.Contains(served, shape(part)) {
				t.Errorf("no answer of docs/ERRORS.md says %q", part)
			}
		}
	})
	if checked < 30 {
		t.Errorf("only %d examples", checked)
	}
}

// figures are what differs from one error to the next of its kind.
var figures = regexp.MustCompile(`"[^"]*"|prd_[a-z0-9]{16}|\b[0-9]+\b`)

// elsewhere are texts that other tests see: of faults, of time, and of the parser.
var elsewhere = map[string]bool{
	somethingWrong.Detail: true, noCatalog.Detail: true, notMetered.Detail: true, bodyTooLarge.Detail: true,
	"the request did not arrive in time": true, "the request's headers are too large": true,
	"10000 credits of this period are used up: wait until 2026-12-01T00:00:00Z or upgrade":                true,
	"this Idempotency-Key was used with a different body within the last 10 minutes":                      true,
	"the request's headers are too large: the request line and headers have at most 16 KiB and 100 lines": true,
}

// eachText calls each with every text of a JSON value and its member's name.
func eachText(value any, each func(name, text string)) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if text, is := member.(string); is {
				each(name, text)
			}
			eachText(member, each)
		}
	case []any:
		for _, element := range v {
			eachText(element, each)
		}
	}
}
