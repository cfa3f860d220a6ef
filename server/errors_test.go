package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/wire"
	"ninepocket/wire/openapi"
)

var update = flag.Bool("update", false, "write docs/ERRORS.md and testdata/wrong_answers.txt")

// wrong is a request of testdata/wrong.txt.
type wrong struct {
	key, method, target string
	header              []string
	body                string
	aside               bool // not on the page
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

		line, aside := strings.CutPrefix(line, "~ ")
		parts := strings.Split(line, " | ")
		head := strings.Fields(parts[0])
		q := wrong{key: head[0], method: head[1], target: head[2], aside: aside}
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
	return fmt.Sprintf("| %s | %s` | `%d %s` |\n", q.key, strings.ReplaceAll(shown, "|", `\|`), r.status,
		strings.ReplaceAll(said, "|", `\|`))
}

// codesTable is the table of all codes, in the words of the pages below /errors.
func codesTable(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../site/explanations.txt")
	if err != nil {
		tb.Fatal(err)
	}

	var rows []string
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(part, "\n")
		meaning, ok := wire.LiveCodes[wire.Code(lines[0])]
		if !ok {
			meaning = wire.PreviewCodes[wire.Code(lines[0])]
		}
		rows = append(rows, fmt.Sprintf("| %d | `%s` | %s | %s |\n", meaning.Status, lines[0], lines[1], lines[2]))
	}
	slices.Sort(rows)
	return "| status | code | meaning | what to do |\n|---|---|---|---|\n" + strings.Join(rows, "")
}

// errorsHead is the beginning of docs/ERRORS.md.
const errorsHead = "# Errors\n\nThis page is for programmers whose request was refused. It has all codes, and " +
	"requests with their\nresponses. A test makes the page. Branch on `code`. The text after it says " +
	"which value was sent,\nwhich values are valid, and what to do next. [API](API.md#errors) has the rules.\n\n" +
	"## Codes\n\n"

// errorsExamples introduces the examples.
const errorsExamples = "\n## Examples\n\nThe first column is the kind of the key. A dash means no key. " +
	"The catalog is that of the demo.\n"

// TestWrongRequests makes the requests of testdata/wrong.txt, and compares the answers with testdata/wrong_answers.txt
// and docs/ERRORS.md, which shows most of them. With -update it writes both: read them as the author of such a
// client would.
func TestWrongRequests(t *testing.T) {
	w := newWorld(t, setup{still: true})
	now := w.clock()
	w.keys["drained"] = w.keyOf(t, keys.NewKey{Tenant: only("drained"), Surface: keys.Live, Plan: "free"}, now)
	w.keys["spent"] = w.keyOf(t, keys.NewKey{Tenant: only("spent"), Surface: keys.Live, Plan: "tiny"}, now)
	for key, times := range map[string]int{"drained": 30, "spent": 3} {
		for range times {
			w.try(t, scenario{path: "/v1/games", key: key})
		}
	}

	page := errorsHead + codesTable(t) + errorsExamples
	var all strings.Builder
	headings, requests := readWrong(t)
	for _, heading := range headings {
		page += "\n### " + heading + "\n\n| key | request | response |\n|---|---|---|\n"
		for _, q := range requests[heading] {
			sent := request{method: q.method, target: q.target, header: q.header, body: q.body}
			if q.key != "-" {
				sent.header = append(sent.header, "X-API-Key: "+w.named(q.key))
			}
			if q.body != "" && !strings.Contains(strings.Join(q.header, " "), "Content-Type") {
				sent.header = append(sent.header, "Content-Type: application/json")
			}

			r := w.ask(t, sent)
			if heading != "Unknown values" && r.status < 400 {
				t.Errorf("%s %s is answered %d", q.method, q.target, r.status)
			}
			row := q.row(r)
			all.WriteString(row)
			if !q.aside {
				page += row
			}
		}
	}
	if n := strings.Count(all.String(), "\n"); n < 90 {
		t.Errorf("only %d requests", n)
	}

	for file, made := range map[string]string{"../docs/ERRORS.md": page, wrongAnswers: all.String()} {
		if *update {
			if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil || made != string(have) {
			t.Errorf("%s is not what is answered (%v): run go test ./server -run TestWrongRequests -update", file, err)
		}
	}
}

// wrongAnswers has the answers to all wrong requests.
const wrongAnswers = "testdata/wrong_answers.txt"

// TestErrorExamplesAreServed wants each example of an error in the document to have the form in which the server
// writes errors of its code: the same sentence with other figures and names.
func TestErrorExamplesAreServed(t *testing.T) {
	page, err := os.ReadFile(wrongAnswers)
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
				t.Errorf("no answer of %s says %q", wrongAnswers, part)
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
