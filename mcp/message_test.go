package mcp_test

import (
	"strings"
	"testing"

	"ninepocket/mcp"
)

// TestReadReportsWhatIsWrong checks the errors of messages, and whether they have the message's
// id.
func TestReadReportsWhatIsWrong(t *testing.T) {
	f := func(body, id, want string) {
		t.Helper()

		_, rpcErr := mcp.Read([]byte(body))
		if rpcErr == nil {
			t.Errorf("%s is read", body)
			return
		}
		got := string(rpcErr.Append(nil))
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0",`+id+`"error":{"code":`) || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q %s", body, got, id, want)
		}
	}

	deep := strings.Repeat(`{"a":`, 16) + "1" + strings.Repeat("}", 16)

	f(`{`, "", "-32700,")
	f(`{"jsonrpc":"2.0","jsonrpc":"2.0"}`, "", "-32700,")
	f(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "", "batches are not supported")
	f(`"ping"`, "", "must be a JSON object")
	for _, id := range []string{"null", "true", "{}", "[]", "1.5"} {
		f(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, "", "id must be a string or an integer.")
	}

	f(`{"jsonrpc":"2.0","id":1,"method":"ping","params":`+deep+`}`, `"id":1,`, "more than 16 levels deep")
	f(`{"id":"a","method":"ping"}`, `"id":"a",`, `jsonrpc must be \"2.0\".`)
	f(`{"jsonrpc":2.0,"id":"a","method":"ping"}`, `"id":"a",`, `jsonrpc must be \"2.0\".`)
	f(`{"jsonrpc":"2.0","id":1.0}`, `"id":1.0,`, "method is missing.")
	f(`{"jsonrpc":"2.0","id":1,"method":7}`, `"id":1,`, "method must be a string.")
	f(`{"jsonrpc":"2.0","id":1,"method":""}`, `"id":1,`, "method must be a string.")
	f(`{"jsonrpc":"2.0","id":1,"method":"ping","params":7}`, `"id":1,`, "params must be an object.")
}

// TestWhatWantsAnAnswer checks which messages are requests, and which get only a status.
func TestWhatWantsAnAnswer(t *testing.T) {
	f := func(body string, want bool) {
		t.Helper()

		m, rpcErr := mcp.Read([]byte(body))
		if rpcErr != nil || m.IsRequest() != want {
			t.Errorf("%s: %v; a request %t, want %t", body, rpcErr, m.IsRequest(), want)
		}
	}
	f(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, true)
	f(`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, true)
	f(`{"jsonrpc":"2.0","method":"ping"}`, false)
	f(`{"jsonrpc":"2.0","id":1,"result":{}}`, false)
	f(`{"jsonrpc":"2.0","id":1,"error":{}}`, false)
}
