package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"ninepocket/mcp"
)

// modernMeta is the member of params that every request of the modern version has.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcp.Modern + `",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// TestMCPDisagreementIsFree calls a tool under headers of all kinds. A header that disagrees with
// the body is refused and charges nothing: the ledger has exactly the calls that agreed.
func TestMCPDisagreementIsFree(t *testing.T) {
	w := shared()
	key := w.tenant(t, only("torn"), "free")
	r := rand.New(rand.NewPCG(28, 7))
	const tool = "catalog_browse_sets"
	body := strings.Replace(toolCall(tool, `{"limit":1}`), `"params":{`, `"params":{`+modernMeta+",", 1)
	older := toolCall(tool, `{"limit":1}`)

	variants := func(right string) []string {
		return []string{right, right, right, "", "\x00", strings.ToUpper(right), right + "x", "=?base64?!?="}
	}
	charged := 0
	for i := range 300 {
		version := variants(mcp.Modern)[r.IntN(8)]
		method := variants("tools/call")[r.IntN(8)]
		name := variants(tool)[r.IntN(8)]
		agrees := version == mcp.Modern && method == "tools/call" && name == tool

		// An old message under the new headers disagrees whatever they say.
		asked := body
		if i%8 == 0 && version == mcp.Modern {
			asked = older
			agrees = false
		}

		c := transcript{request: "POST", headers: []string{"X-API-Key: " + key, "-MCP-Protocol-Version"}, body: asked}
		for _, h := range [][2]string{{"MCP-Protocol-Version", version}, {"Mcp-Method", method}, {"Mcp-Name", name}} {
			if h[1] != "\x00" {
				c.headers = append(c.headers, h[0]+": "+h[1])
			}
		}
		if i%16 == 1 { // the same line twice
			c.headers = append(c.headers, "X-Padding: 1", "mcp-name: "+name)
			agrees = false
		}

		resp, answer := w.exchangeRaw(t, c.bytes(w, version))
		counted := resp.Header.Get("RateLimit") != ""
		want := http.StatusBadRequest
		if agrees {
			want = http.StatusOK
		}
		if counted != agrees || resp.StatusCode != want {
			t.Fatalf("%q: %d %s", c.headers, resp.StatusCode, answer)
		}
		if agrees {
			charged++
		}
	}

	if charged < 5 {
		t.Fatalf("%d calls agreed", charged)
	}
	usage := w.ask(t, request{method: "GET", target: "/v1/usage", header: []string{"X-API-Key: " + key}})
	at("data.request_credits_used", charged)(t, usage.body)
}

// TestMCPBytes holds what free requests of the three versions are answered, byte for byte: a change
// of an older version is a change of the file. With -update it writes what is answered.
func TestMCPBytes(t *testing.T) {
	const file = "testdata/mcp-bytes.txt"
	w := mcpWorld()
	var out bytes.Buffer
	for _, version := range append(mcp.Versions[:], mcp.Modern) {
		for _, method := range []string{
			"initialize", "notifications/initialized", "ping", "server/discover", "resources/list", "tools/call",
		} {
			params := ""
			switch {
			case version == mcp.Modern:
				params = `,"params":{"name":"none",` + modernMeta + "}"
			case method == "initialize":
				params = `,"params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t"}}`
			case method == "tools/call":
				params = `,"params":{"name":"none"}`
			}

			id := `"id":"a b",`
			if strings.HasPrefix(method, "notifications/") {
				id = ""
			}
			c := transcript{
				request: "POST", headers: []string{"Mcp-Method: " + method},
				body: `{"jsonrpc":"2.0",` + id + `"method":"` + method + `"` + params + `}`,
			}
			if method == "tools/call" {
				c.headers = append(c.headers, "Mcp-Name: none")
			}

			resp, body := w.exchangeRaw(t, c.bytes(w, version))
			resp.Header.Del("Date")
			resp.Header.Del("X-Request-Id")
			fmt.Fprintf(&out, "> %s %s\n%d\n", version, c.body, resp.StatusCode)
			_ = resp.Header.Write(&out)
			fmt.Fprintf(&out, "\n%s\n\n", body)
		}
	}

	got := strings.ReplaceAll(out.String(), "\r\n", "\n")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s (%v) is not what is answered: run go test ./server -run MCPBytes -update, and read the diff:\n%s",
			file, err, got)
	}
}
