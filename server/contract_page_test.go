package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/internal/contracttest"
	"ninepocket/wire"
	"ninepocket/wire/openapi"
)

// contractPages are the pages that have the contract: the second one that of lists.
var contractPages = []string{"../docs/API.md", "../docs/VALUATION.md"}

// readPage returns the text of a page.
func readPage(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// codeSpans returns the names within the code of a text, such as id for `prices[].id`.
func codeSpans(text string) map[string]bool {
	names := map[string]bool{}
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(text, -1) {
		for _, name := range regexp.MustCompile(`[A-Za-z][A-Za-z0-9_-]*`).FindAllString(span, -1) {
			names[name] = true
		}
	}
	return names
}

// documentValues returns the OpenAPI document as JSON values.
func documentValues(tb testing.TB) map[string]any {
	tb.Helper()
	var all map[string]any
	if err := json.Unmarshal(openapi.Document(), &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// membersOf collects the names below each member of a JSON value that is called name.
func membersOf(value any, name string, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if object, is := member.(map[string]any); is && key == name {
				for name := range object {
					into[name] = true
				}
			}
			membersOf(member, name, into)
		}
	case []any:
		for _, element := range v {
			membersOf(element, name, into)
		}
	}
}

// TestContractPageHasEachOperation compares docs/API.md with the document: each operation with its name, each
// parameter, and each field of a request and a response.
func TestContractPageHasEachOperation(t *testing.T) {
	var text string
	for _, page := range contractPages {
		text += readPage(t, page)
	}
	names := codeSpans(text)
	for _, op := range contracttest.Operations() {
		if !strings.HasPrefix(op.Path, "/v1/") {
			continue
		}
		if !strings.Contains(text, "`"+op.Method+" "+op.Path+"`") || !names[op.ID] {
			t.Errorf("docs/API.md lacks %s %s, or its name %s", op.Method, op.Path, op.ID)
		}
		for _, p := range op.Parameters {
			if !names[p.Name] {
				t.Errorf("docs/API.md lacks the parameter %s of %s", p.Name, op.ID)
			}
		}
	}

	fields := map[string]bool{}
	membersOf(documentValues(t)["components"].(map[string]any)["schemas"], "properties", fields)
	for _, service := range []string{"openapi", "info", "paths", "enum"} { // of the document itself
		delete(fields, service)
	}
	for field := range fields {
		if !names[field] {
			t.Errorf("no page of the contract has the field %s", field)
		}
	}
	if len(fields) < 100 {
		t.Errorf("only %d fields were found", len(fields))
	}
}

// TestContractPageHasEachCode compares the table of codes of docs/API.md with the program.
func TestContractPageHasEachCode(t *testing.T) {
	_, text, _ := strings.Cut(readPage(t, contractPages[0]), "\n## Errors\n")
	shown := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \| ([^|]*) \|`).FindAllStringSubmatch(text, -1) {
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[2], -1) {
			shown[code[1]] = row[1]
		}
	}

	want := map[string]string{}
	for _, codes := range []map[wire.Code]wire.Meaning{wire.LiveCodes, wire.PreviewCodes} {
		for code, meaning := range codes {
			want[string(code)] = strconv.Itoa(meaning.Status)
		}
	}
	want[string(wire.SnapshotGone)] = "410, 412"
	if !maps.Equal(shown, want) {
		t.Errorf("docs/API.md has the codes %v, the program %v", shown, want)
	}
}

// TestContractPageHasEachPlan compares the table of plans of docs/API.md with the program.
func TestContractPageHasEachPlan(t *testing.T) {
	_, text, _ := strings.Cut(readPage(t, contractPages[0]), "\n### Plans\n")
	text, _, _ = strings.Cut(text, "\n## ")
	shown := regexp.MustCompile("(?m)^\\| `.*$").FindAllString(text, -1)

	var want []string
	for name, plan := range keys.DefaultPlans() {
		stats := "none"
		files := "no"
		if plan.StatsWindow > 0 {
			stats = fmt.Sprintf("up to `%dd`", plan.StatsWindow)
		}
		if plan.HasBulk() {
			files = "yes"
		}
		day := withCommas(plan.PerDay)
		if name == "preview" { // it has neither statistics nor files, whatever the plan says
			day = withCommas(plan.Credits) + " credits a period"
			stats = "–"
			files = "–"
		}
		minute := withCommas(int64(plan.PerMinute))
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", name, minute, day, stats, files))
		if plan.MaxCards != 200 || plan.MaxPrices != 100 || plan.HistoryDays != 365 {
			t.Errorf("the plan %s has other batches or days of history than docs/API.md says", name)
		}
	}
	slices.Sort(shown)
	slices.Sort(want)
	if !slices.Equal(shown, want) {
		t.Errorf("docs/API.md has the plans\n%s\nand the program\n%s",
			strings.Join(shown, "\n"), strings.Join(want, "\n"))
	}
}

// withCommas writes a number with commas.
func withCommas(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// TestContractPageHasEachHeader compares docs/API.md with the headers of the document, and with those of responses
// of both surfaces: of a success, an error, a batch, and a download.
func TestContractPageHasEachHeader(t *testing.T) {
	names := codeSpans(readPage(t, contractPages[0]))
	sent := map[string]bool{}
	w := shared()
	for _, q := range []request{
		{method: "GET", target: "/v1/cards?q=charizrd&page=2&limit=1"},
		{method: "GET", target: "/v1/cards?game=Pokemn"},
		{method: "GET", target: "/v1/suggest?q=char"},
		{method: "DELETE", target: "/v1/cards"},
		{method: "GET", target: "/v1/usage"},
		{method: "GET", target: "/v1/products", header: []string{"X-API-Key: " + w.keys["preview"]}},
		{method: "GET", target: "/v1/cards/none"},
	} {
		if len(q.header) == 0 {
			q.header = []string{"X-API-Key: " + w.keys["bench"]}
		}
		for name := range w.ask(t, q).header {
			sent[name] = true
		}
	}

	documented := map[string]bool{}
	membersOf(documentValues(t)["paths"], "headers", documented)
	membersOf(documentValues(t)["components"].(map[string]any)["responses"], "headers", documented)
	maps.Copy(sent, documented)
	known := map[string]bool{}
	for name := range names {
		known[http.CanonicalHeaderKey(name)] = true
	}
	for _, usual := range []string{
		"Server", "Date", "Connection", "Content-Length", "Accept-Ranges",
		"Access-Control-Allow-Origin", "Content-Range",
	} { // of HTTP
		known[usual] = true
	}
	for name := range sent {
		if !known[http.CanonicalHeaderKey(name)] {
			t.Errorf("docs/API.md lacks the header %s", name)
		}
	}
	if len(sent) < 20 {
		t.Errorf("only %d headers were found", len(sent))
	}
}

// TestExplanationsAreOfOperations compares the pages below /errors, and the document, with what operations take and
// charge.
func TestExplanationsAreOfOperations(t *testing.T) {
	explained := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimSpace(readPage(t, "../site/explanations.txt")), "\n\n") {
		code, text, _ := strings.Cut(part, "\n")
		explained[code] = text
	}
	for _, op := range api.Operations() {
		if op.TakesCSV && !strings.Contains(explained["unsupported_media_type"], "text/csv") {
			t.Errorf("/errors/unsupported_media_type denies text/csv, which %s takes", op.Name)
		}
	}

	responses := documentValues(t)["components"].(map[string]any)["responses"].(map[string]any)
	documentsFault := fmt.Sprint(responses["InternalError"].(map[string]any)["description"])
	// A fault after the charge leaves the call charged.
	if text := explained["internal_error"] + documentsFault; strings.Contains(text, "Nothing was charged") {
		t.Errorf("a 500 is said to be never charged: %s", text)
	}
	if unsupported := fmt.Sprint(responses["UnsupportedMediaType"]); !strings.Contains(unsupported, "`text/csv`") {
		t.Errorf("the document's 415 denies text/csv: %.200s", unsupported)
	}
}
