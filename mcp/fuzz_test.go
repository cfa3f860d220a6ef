package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
)

// FuzzEndpoint posts any bytes: the response is always JSON-RPC, an error or a result with the id
// that was sent, within its budget, and never a panic.
func FuzzEndpoint(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`[]`, `{`, `null`, "\xef\xbb\xbf{}", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
			`"params":{"name":"catalog_get_card","arguments":{"id":"\ud83d\ude00"}}}`,
	} {
		f.Add([]byte(body), "")
	}

	if script, err := os.ReadFile("testdata/tools.txt"); err == nil {
		for line := range strings.Lines(string(script)) {
			if call, ok := strings.CutPrefix(strings.TrimSpace(line), "> "); ok {
				tool, arguments, _ := strings.Cut(call, " ")
				f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+
					arguments+`}}`), "2025-06-18")
			}
		}
	}

	d := newDesk(f, newView(f, shop().Catalog()))
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		status, response := d.post(body, version)
		if status == 202 {
			if len(response) > 0 {
				t.Fatalf("a body without a request: %s", response)
			}
			return
		}
		checkResponse(t, body, status, response)
	})
}

// FuzzArguments calls each tool with any arguments.
func FuzzArguments(f *testing.F) {
	for i := range definitions() {
		f.Add(i, `{"query":"charizard","id":"charizard-base","set":"151",`+
			`"direction":"up","cards":[{"name":"pikachu"}]}`)
		f.Add(i, `{"cards":[{"name":"Pikachu (1/2)","set":"Base","number":"58/102","quantity":9999}],`+
			`"limit":1e0,"days":365}`)
	}

	d, _ := randomDesk(f, 5, fixture.Small)
	f.Fuzz(func(t *testing.T, tool int, arguments string) {
		if tool < 0 || tool >= len(definitions()) {
			return
		}

		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + definitions()[tool].Name +
			`","arguments":` + arguments + `}}`)
		status, response := d.post(body, "")
		checkResponse(t, body, status, response)
		var r struct{ Result *result }
		if err := json.Unmarshal(response, &r); err != nil {
			t.Fatal(err)
		}
		if r.Result != nil && !r.Result.IsError {
			checkSchema(t, outputSchema(t, definitions()[tool].Name), r.Result.StructuredContent)
		}
	})
}

func checkResponse(t *testing.T, body []byte, status int, response []byte) {
	t.Helper()
	var r struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage
		Error   *struct {
			Code    int
			Message string
		}
	}

	d := json.NewDecoder(bytes.NewReader(response))
	if err := d.Decode(&r); err != nil || d.More() || r.Version != "2.0" {
		t.Fatalf("%s\nanswered %s: %v", body, response, err)
	}

	switch {
	case status == 404 && r.Error != nil && r.Error.Code == -32601: // of the modern version
	case status != 200 && status != 400:
		t.Fatalf("status %d", status)
	case (r.Result == nil) == (r.Error == nil), status == 400 && r.Error == nil:
		t.Fatalf("%d %s", status, response)
	case r.Result != nil && !bytes.Contains(body, r.ID):
		t.Fatalf("the id %s was not sent: %s", r.ID, body)
	case len(response) > anyBudget+len(r.ID) &&
		!strings.Contains(string(response[:min(len(response), 200)]), `"tools":[`):
		t.Fatalf("%d bytes", len(response))
	}
}
