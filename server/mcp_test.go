package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/mcp"
	"ninepocket/server/httpconn"
)

// mcpWorld is a world as the transcripts want it.
var mcpWorld = sync.OnceValue(func() *world {
	return newWorld(forever{}, setup{options: func(o *Options) {
		o.AllowedHosts = []string{"mcp.cards.test", "ported.cards.test:8443"}
		o.AllowedOrigins = []string{"https://inspector.test"}
		o.ListenHost = "127.0.0.1"
		o.Version = "1.2.3"
	}})
})

// transcript is one request and its answer, see testdata/mcp.txt.
type transcript struct {
	file             string
	line             int
	title            string
	request, answer  string // first lines
	headers, answers []string
	body, want       string
}

func readTranscripts(tb testing.TB, file string) (all []transcript) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}

	line := 1
	for block := range strings.SplitSeq(string(text), "\n== ") {
		t := transcript{file: file, line: line}
		line += strings.Count(block, "\n") + 1
		if len(all) == 0 && strings.HasPrefix(block, "#") {
			all = append(all, transcript{})
			continue
		}
		if at := strings.Index(block, "\n####"); at >= 0 {
			block = block[:at]
		}

		var rest string
		t.title, rest, _ = strings.Cut(block, "\n")
		asked, answered, ok := strings.Cut(rest, "\n--\n")
		if !ok {
			tb.Fatalf("%s:%d: %q has no answer", file, t.line, t.title)
		}
		t.request, t.headers, t.body = splitMessage(asked)
		t.answer, t.answers, t.want = splitMessage(answered)
		all = append(all, t)
	}
	return all[1:]
}

func splitMessage(s string) (first string, headers []string, body string) {
	head, body, _ := strings.Cut(s, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	return lines[0], lines[1:], strings.TrimSpace(body)
}

// bytes is the request as it goes over the wire.
func (t *transcript) bytes(w *world, version string) []byte {
	headers := []string{
		"Host: cards.test", "X-API-Key: {bench}", "Content-Type: application/json",
		"Accept: application/json, text/event-stream",
		"MCP-Protocol-Version: {v}",
	}
	for _, h := range t.headers {
		name, _, _ := strings.Cut(strings.TrimPrefix(h, "-"), ":")
		headers = slices.DeleteFunc(headers, func(have string) bool { return strings.HasPrefix(have, name+":") })
		if !strings.HasPrefix(h, "-") {
			headers = append(headers, h)
		}
	}

	method, path, _ := strings.Cut(t.request, " ")
	if path == "" {
		path = "/mcp"
	}

	body := strings.ReplaceAll(strings.ReplaceAll(t.body, "{meta}", modernMeta), "{v}", version)
	text := strings.ReplaceAll(strings.Join(headers, "\r\n"), "{v}", version)
	for name, key := range w.keys {
		text = strings.ReplaceAll(text, "{"+name+"}", key)
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\n%s\r\nContent-Length: %d\r\n\r\n%s", method, path, text, len(body), body)
}

// exchangeRaw sends bytes over a connection of their own and reads one answer.
func (w *world) exchangeRaw(tb testing.TB, raw []byte) (*http.Response, []byte) {
	tb.Helper()
	conn, err := w.listener.Dial()
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(maxTest))
	if _, err := conn.Write(raw); err != nil {
		tb.Fatal(err)
	}

	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		tb.Fatal(err)
	}

	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp, body
}

func TestMCPTranscripts(t *testing.T) {
	for _, version := range mcp.Versions {
		t.Run(version, func(t *testing.T) { play(t, "testdata/mcp.txt", version) })
	}
	t.Run(mcp.Modern, func(t *testing.T) { play(t, "testdata/mcp-modern.txt", mcp.Modern) })
}

func play(t *testing.T, file, version string) {
	t.Helper()
	w := mcpWorld()
	for _, c := range readTranscripts(t, file) {
		t.Run(c.title, func(t *testing.T) {
			resp, body := w.exchangeRaw(t, c.bytes(w, version))
			c.judge(t, resp, body, version)
		})
	}
}

func (t *transcript) judge(tb testing.TB, resp *http.Response, body []byte, version string) {
	tb.Helper()
	if got := fmt.Sprint(resp.StatusCode); got != t.answer {
		tb.Errorf("%s:%d: status %s, want %s: %s", t.file, t.line, got, t.answer, body)
		return
	}

	for _, h := range t.answers {
		if name, absent := strings.CutPrefix(h, "-"); absent {
			if _, ok := resp.Header[http.CanonicalHeaderKey(name)]; ok {
				tb.Errorf("%s:%d: has %s: %s", t.file, t.line, name, resp.Header.Get(name))
			}
			continue
		}

		name, want, _ := strings.Cut(h, ": ")
		if got := resp.Header.Get(name); got != want && (want != "…" || got == "") {
			tb.Errorf("%s:%d: %s is %q, want %q", t.file, t.line, name, got, want)
		}
	}

	if !requestIDPattern.MatchString(resp.Header.Get("X-Request-Id")) {
		tb.Errorf("%s:%d: X-Request-Id is %q", t.file, t.line, resp.Header.Get("X-Request-Id"))
	}
	if t.want == "" {
		if len(body) > 0 {
			tb.Errorf("%s:%d: has a body: %s", t.file, t.line, body)
		}
		return
	}
	if fault := unlike(parseJSON(tb, []byte(strings.ReplaceAll(t.want, "{v}", version))), parseJSON(tb, body),
		"body"); fault != "" {
		tb.Errorf("%s:%d: %s\n%s", t.file, t.line, fault, body)
	}
}

// parseJSON reads JSON with numbers as they are written.
func parseJSON(tb testing.TB, b []byte) any {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v in %.300s", err, b)
	}
	return v
}

// unlike says in what got differs from want, "" for nothing.
func unlike(want, got any, at string) string {
	if want == "…" {
		return ""
	}

	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		_, open := want["…"]
		for name, v := range want {
			if name == "…" {
				continue
			}
			have, ok := object[name]
			if !ok {
				return at + " lacks " + name
			}
			if fault := unlike(v, have, at+"."+name); fault != "" {
				return fault
			}
		}

		for name := range object {
			if _, known := want[name]; !known && !open {
				return at + " has " + name
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is no list of %d", at, len(want))
		}

		for i := range want {
			if fault := unlike(want[i], list[i], fmt.Sprintf("%s[%d]", at, i)); fault != "" {
				return fault
			}
		}
		return ""
	}

	if want != got {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// rpc posts one message with a key and returns the answer.
func (w *world) rpc(tb testing.TB, key, body string) (*http.Response, []byte) {
	tb.Helper()
	c := transcript{request: "POST", headers: []string{"X-API-Key: " + w.named(key)}, body: body}
	return w.exchangeRaw(tb, c.bytes(w, mcp.Versions[0]))
}

// toolCall is the body of a call.
func toolCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments +
		`}}`
}

// said is the text of a tool's result, and whether it is an error.
func said(tb testing.TB, body []byte) (text string, isError bool) {
	tb.Helper()
	var r struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}

	if err := json.Unmarshal(body, &r); err != nil || len(r.Result.Content) != 1 {
		tb.Fatalf("%v: %.300s", err, body)
	}
	return r.Result.Content[0].Text, r.Result.IsError
}

// TestMCPCharges compares the ledger with the calls: every well-formed call of a known tool counts,
// with any result, and no other call does.
func TestMCPCharges(t *testing.T) {
	w := shared()
	key := w.tenant(t, only("counted"), "free")
	for _, free := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"catalog_browse_sets"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"nothing"}`,
		toolCall("catalog_nothing", "{}"),
		toolCall("catalog_browse_sets", "[]"),
		`{`,
	} {
		if resp, _ := w.rpc(t, key, free); resp.Header.Get("RateLimit") != "" {
			t.Errorf("%s was counted", free)
		}
	}

	calls := []string{
		toolCall("catalog_browse_sets", "{}"),
		toolCall("catalog_get_card", `{"id":"nobody"}`),
		toolCall("catalog_search_cards", `{"limit":0}`),
	}
	for i, call := range calls {
		resp, _ := w.rpc(t, key, call)
		want := fmt.Sprintf(`"minute";r=%d;`, 30-1-i)
		if got := resp.Header.Get("RateLimit"); !strings.HasPrefix(got, want) ||
			!strings.Contains(got, fmt.Sprintf(`"day";r=%d;`, 2000-1-i)) {
			t.Errorf("after %d calls: RateLimit: %s", i+1, got)
		}
	}

	for i, tool := range w.tools.Tools() {
		if got := w.tools.operations[i].Name; got != access.Operation("mcp:"+tool) {
			t.Errorf("%s stands in the ledger as %q", tool, got)
		}
	}

	usage := w.ask(t, request{method: "GET", target: "/v1/usage", header: []string{"X-API-Key: " + key}})
	at("data.request_credits_used", len(calls))(t, usage.body)
}

// TestMCPLimits shows what an agent gets at a limit: a result, not an error of the protocol.
func TestMCPLimits(t *testing.T) {
	w := shared()
	call := toolCall("catalog_get_card", `{"id":"nobody"}`)
	free := w.tenant(t, only("hasty"), "free")
	for range 30 {
		if text, _ := said(t, second(w.rpc(t, free, call))); !strings.HasPrefix(text, "No card") {
			t.Fatal(text)
		}
	}

	resp, body := w.rpc(t, free, call)
	text, isError := said(t, body)
	var wait int
	const message = "Rate limit reached (30 requests per minute). Wait %d seconds, " +
		"then call again with the same arguments."
	if _, err := fmt.Sscanf(text, message, &wait); err != nil ||
		!isError || resp.StatusCode != http.StatusOK || wait < 1 || wait > 60 {
		t.Errorf("%d %t %q: %v", resp.StatusCode, isError, text, err)
	}
	if resp, _ := w.rpc(t, free, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); resp.StatusCode != http.StatusOK {
		t.Error("ping is not free at the limit")
	}

	tiny := w.tenant(t, only("thrifty"), "tiny")
	for range 3 {
		w.rpc(t, tiny, call)
	}
	text, isError = said(t, second(w.rpc(t, tiny, call)))
	if !isError || !strings.HasPrefix(text, "Daily quota used up (3 requests per day). It resets at ") ||
		!strings.HasSuffix(text, "Do not call again before then.") {
		t.Errorf("%t %q", isError, text)
	}
}

func second[A, B any](_ A, b B) B { return b }

// TestMCPPlans shows what a plan's caps do to tools.
func TestMCPPlans(t *testing.T) {
	w := mcpWorld()
	id := today().view.Catalog.Cards.ID.At(0)
	var history struct {
		Result struct{ StructuredContent struct{ Days int } }
	}
	if err := json.Unmarshal(second(w.rpc(t, "capped", toolCall("catalog_get_price_history", `{"id":"`+id+`"}`))),
		&history); err != nil {
		t.Fatal(err)
	}
	if history.Result.StructuredContent.Days != 20 {
		t.Errorf("history of %d days", history.Result.StructuredContent.Days)
	}

	text, isError := said(t, second(w.rpc(t, "capped", toolCall("catalog_value_cards",
		`{"cards":[{"id":"a"},{"id":"b"},{"id":"c"}]}`))))
	if !isError || text != "Your plan allows 2 cards in one call (got 3). Split the list." {
		t.Errorf("%t %q", isError, text)
	}
}

// TestMCPWithoutCatalog shows that the protocol works before the first snapshot, and that tools say
// what is missing.
func TestMCPWithoutCatalog(t *testing.T) {
	w := newWorld(t, setup{noViews: true})
	if resp, _ := w.rpc(t, "bench",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); resp.StatusCode != http.StatusOK {
		t.Errorf("tools/list answered %d", resp.StatusCode)
	}

	resp, body := w.rpc(t, "bench", toolCall("catalog_browse_sets", "{}"))
	if text, isError := said(t, body); !isError || resp.StatusCode != http.StatusOK ||
		!strings.HasPrefix(text, "No catalog is loaded yet.") {
		t.Errorf("%d %t %q", resp.StatusCode, isError, text)
	}
}

// TestMCPBodySize shows that a body beyond the limit is refused in the envelope, and one at the
// limit is read.
func TestMCPBodySize(t *testing.T) {
	w := mcpWorld()
	padded := func(n int) string {
		const head, tail = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"`, `"}}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	if resp, body := w.rpc(t, "bench", padded(httpconn.MaxBody)); resp.StatusCode != http.StatusOK {
		t.Errorf("%d bytes: %d %s", httpconn.MaxBody, resp.StatusCode, body)
	}

	resp, body := w.rpc(t, "bench", padded(httpconn.MaxBody+1))
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !bytes.Contains(body, []byte(`"payload_too_large"`)) {
		t.Errorf("%d bytes: %d %s", httpconn.MaxBody+1, resp.StatusCode, body)
	}
}

// TestMCPCompresses shows that answers worth it are compressed when asked for.
func TestMCPCompresses(t *testing.T) {
	w := mcpWorld()
	c := transcript{
		request: "POST", headers: []string{"Accept-Encoding: gzip"},
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	}
	resp, body := w.exchangeRaw(t, c.bytes(w, mcp.Versions[0]))
	plain, err := decoded(body, resp.Header.Get("Content-Encoding"))
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" || !json.Valid(plain) || len(body) > len(plain)/3 {
		t.Errorf("%s: %d bytes of %d, %v", resp.Header.Get("Content-Encoding"), len(body), len(plain), err)
	}
}

// TestMCPOrigins shows that loopback pages may call a service on loopback only.
func TestMCPOrigins(t *testing.T) {
	for listen, status := range map[string]int{
		"127.0.0.1": 200, "::1": 200, "localhost": 200, "0.0.0.0": 403,
		"10.1.2.3": 403, "": 403,
	} {
		w := newWorld(t, setup{options: func(o *Options) { o.ListenHost = listen }})
		c := transcript{
			request: "POST", headers: []string{"Origin: http://127.0.0.1:6274"},
			body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		}
		if resp, body := w.exchangeRaw(t, c.bytes(w, mcp.Versions[0])); resp.StatusCode != status {
			t.Errorf("listening on %q: %d %s", listen, resp.StatusCode, body)
		}
	}
}

// TestMCPMeteringFails shows that a call that cannot be metered says so and has no result.
func TestMCPMeteringFails(t *testing.T) {
	store := access.NewMemory(access.MemoryOptions{})
	w := newWorld(t, setup{store: store})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	resp, body := w.rpc(t, "bench", toolCall("catalog_browse_sets", "{}"))
	if text, isError := said(t, body); !isError || resp.StatusCode != http.StatusOK ||
		!strings.Contains(text, "Call again in 5 seconds") {
		t.Errorf("%d %t %q", resp.StatusCode, isError, text)
	}
}

// TestMCPSizesOfManyPrices holds the cards with the most variants and conditions of the demo
// catalog against the budget of concise answers.
func TestMCPSizesOfManyPrices(t *testing.T) {
	w := mcpWorld()
	c := today().view.Catalog
	lanes := func(card int) int { from, to := c.Lanes.Of.Range(card); return to - from }
	cards := make([]int, c.Cards.ID.Len())
	for i := range cards {
		cards[i] = i
	}

	slices.SortFunc(cards, func(a, b int) int { return lanes(b) - lanes(a) })
	for _, card := range cards[:20] {
		for _, tool := range []string{"catalog_get_card", "catalog_get_price_history"} {
			_, body := w.rpc(t, "bench", toolCall(tool, `{"id":"`+c.Cards.ID.At(card)+`"}`))
			if len(body) > 8000 {
				t.Errorf("%s of a card with %d prices answered %d bytes", tool, lanes(card), len(body))
			}
		}
	}
	t.Logf("up to %d prices a card", lanes(cards[0]))
}
