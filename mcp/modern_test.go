package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/testsweep"
	"ninepocket/mcp"
)

// metaOf returns a _meta with a version and capabilities, each JSON or "" for none.
func metaOf(version, capabilities string) string {
	var members []string
	if version != "" {
		members = append(members, `"io.modelcontextprotocol/protocolVersion":`+version)
	}
	if capabilities != "" {
		members = append(members, `"io.modelcontextprotocol/clientCapabilities":`+capabilities)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// coded returns a header's value encoded as text that is not plain ASCII.
func coded(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }

// combination is one set of the values that a request of the modern version has twice.
type combination struct {
	version, said, capabilities string
	method, name                []string
}

// combinations yields all combinations for a request of a method, correct and wrong; name is the
// name in the message, "" for none.
func combinations(method, name string) iter.Seq[combination] {
	const tool = "catalog_browse_sets"
	methods := [][]string{nil, {method}, {"tools/None"}, {strings.ToUpper(method)}, {method, method}}
	names := [][]string{nil, {tool}, {"other"}, {coded(name)}, {coded("other")}, {"=?base64?!?="}, {tool, tool}}
	said := []string{"", `"` + mcp.Modern + `"`, `"2025-11-25"`, `"2027-01-01"`, `"soon"`, "7"}

	return func(yield func(combination) bool) {
		for _, version := range []string{"", mcp.Modern, "2025-11-25", "2027-01-01", "soon"} {
			for i := range len(said) * len(methods) * len(names) {
				for _, capabilities := range []string{"", "{}", "[]", "null"} {
					c := combination{
						version: version, said: said[i%len(said)], capabilities: capabilities,
						method: methods[i/len(said)%len(methods)], name: names[i/len(said)/len(methods)],
					}
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}

// TestHeadersAndBodyMustAgree combines correct and wrong forms of all values that a request of the
// modern version has twice. Only a request whose values all agree succeeds. Every other request of
// that version gets an error code of the protocol.
func TestHeadersAndBodyMustAgree(t *testing.T) {
	d := shopDesk(t)
	n := 0
	for _, asked := range []struct {
		method, params, name string
		status               int
	}{
		{"tools/call", `"name":"catalog_browse_sets","arguments":{},`, "catalog_browse_sets", 200},
		{"tools/list", ``, "", 200},
		{"server/discover", ``, "", 200},
		{"ping", ``, "", 404},
		{"resources/read", `"uri":"cards://é",`, "cards://é", 404},
	} {
		for c := range combinations(asked.method, asked.name) {
			n++
			named := c.name == nil && asked.name == ""
			if len(c.name) == 1 && asked.name != "" {
				named = c.name[0] == asked.name || c.name[0] == coded(asked.name)
			}
			agrees := c.version == mcp.Modern && c.said == `"`+mcp.Modern+`"` && c.capabilities == "{}" &&
				slices.Equal(c.method, []string{asked.method}) && named

			// Few combinations agree, so a sample includes all of them; the stride divides the
			// length of no list of forms.
			if n%testsweep.Stride(11) != 0 && !agrees {
				continue
			}

			body := `{"jsonrpc":"2.0","id":"x","method":"` + asked.method + `","params":{` + asked.params +
				`"_meta":` + metaOf(c.said, c.capabilities) + `}}`
			status, response := d.postWith([]byte(body), mcp.Headers{
				Version: c.version, Method: c.method, Name: c.name,
			})

			// Only these three belong to an older version, which has no such headers.
			if c.said == "" && c.version != mcp.Modern && c.version != "2027-01-01" {
				if strings.Contains(string(response), "resultType") || status == 404 {
					t.Fatalf("%+v %s: %d %s", c, body, status, response)
				}
				continue
			}

			judge(t, agrees, asked.status, status, response, fmt.Sprintf("%+v %s\n", c, body))
		}
	}

	if n < 10_000 {
		t.Errorf("%d combinations", n)
	}
}

// judge expects success if all values agree, else one of three error codes.
func judge(t *testing.T, agrees bool, want, status int, response []byte, request string) {
	t.Helper()
	var r struct {
		ID     string
		Result *struct{ ResultType string }
		Error  *struct {
			Code int
			Data *struct {
				Supported []string
				Requested *string
			}
		}
	}
	if err := json.Unmarshal(response, &r); err != nil || r.ID != "x" {
		t.Fatalf("%s%s: %v", request, response, err)
	}

	if agrees {
		if status != want || status == 200 && (r.Result == nil || r.Result.ResultType != "complete") ||
			status == 404 && r.Error.Code != -32601 {
			t.Fatalf("%sanswered %d %s", request, status, response)
		}
		return
	}

	if status != 400 || r.Error == nil || !slices.Contains([]int{-32020, -32022, -32602}, r.Error.Code) {
		t.Fatalf("%sanswered %d %s", request, status, response)
	}
	if unsupported := r.Error.Code == -32022; unsupported != (r.Error.Data != nil) || unsupported &&
		(r.Error.Data.Requested == nil || !slices.Contains(r.Error.Data.Supported, mcp.Modern)) {
		t.Fatalf("%sanswered %s", request, response)
	}
}

// TestOlderMessagesIgnoreHeaders checks that the headers of the modern version change no byte of a
// response of an older version.
func TestOlderMessagesIgnoreHeaders(t *testing.T) {
	d := shopDesk(t)

	for _, version := range []string{"", "2025-06-18", "2025-11-25", "2024-01-01"} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"catalog_browse_sets"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"catalog_get_card","arguments":{}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
		} {
			status, plain := d.post([]byte(body), version)

			again, with := d.postWith([]byte(body), mcp.Headers{
				Version: version, Method: []string{"x", "y"}, Name: []string{"=?base64?!?="},
			})
			if status != again || string(plain) != string(with) || strings.Contains(string(with), "resultType") {
				t.Errorf("%s %s: %d %s, with headers %d %s", version, body, status, plain, again, with)
			}
		}
	}
}

// TestLongVersionsAreCut checks that a version of a hundred thousand characters is truncated in the
// error.
func TestLongVersionsAreCut(t *testing.T) {
	d := shopDesk(t)
	long := strings.Repeat("9", 100_000)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":` + metaOf(`"`+long+`"`, "{}") + `}}`
	status, response := d.postWith([]byte(body), mcp.Headers{Version: long, Method: []string{"tools/list"}})
	if status != 400 || !strings.Contains(string(response), "-32022") || len(response) > 500 {
		t.Errorf("%d, %d bytes: %.300s", status, len(response), response)
	}
}

// FuzzModern posts any _meta with any headers. A response of the modern version is only for a
// request that has the version in both places. Every response is JSON-RPC with the id of the
// request.
func FuzzModern(f *testing.F) {
	full := metaOf(`"`+mcp.Modern+`"`, "{}")
	f.Add("tools/call", full, mcp.Modern, "tools/call", "catalog_browse_sets")
	f.Add("tools/call", full, mcp.Modern, "tools/call", coded("catalog_browse_sets"))
	f.Add("tools/list", full, mcp.Modern, "tools/list", "\x00")
	f.Add("server/discover", metaOf(`"2027-01-01"`, ""), "2027-01-01", "server/discover", "\x00")
	f.Add("initialize", metaOf(`"2025-11-25"`, "{}"), "2025-11-25", "initialize", "\x00")
	f.Add("ping", "[]", "9999-99-99", "\x00", "=?base64?/w==?=")
	f.Add("notifications/x", "null", mcp.Modern, "\x00", "\xff")

	// "\x00" stands for a header that is not sent, because no header can contain it.
	lines := func(value string) []string {
		if value == "\x00" {
			return nil
		}
		return []string{value}
	}

	d := shopDesk(f)
	f.Fuzz(func(t *testing.T, method, meta, version, mirrored, name string) {
		quotedMethod, _ := json.Marshal(method)
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":` + string(quotedMethod) +
			`,"params":{"name":"catalog_browse_sets","_meta":` + meta + `}}`)
		status, response := d.postWith(body, mcp.Headers{
			Version: version, Method: lines(mirrored), Name: lines(name),
		})
		checkResponse(t, body, status, response)

		if !strings.Contains(string(response), `"resultType":"complete"`) && status != 404 {
			return
		}
		var m struct {
			Method string
			Params struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		var said string
		_ = json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &said)
		if said != mcp.Modern || version != mcp.Modern || mirrored != m.Method ||
			m.Params.Meta["io.modelcontextprotocol/clientCapabilities"] == nil {
			t.Fatalf("%s under %q %q answered %s", body, version, mirrored, response)
		}
		if m.Method == "tools/call" && name != "catalog_browse_sets" && name != coded("catalog_browse_sets") {
			t.Fatalf("called under the name %q", name)
		}
	})
}
