package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"ninepocket/internal/contracttest"
	"ninepocket/wire/openapi"
)

// bodies are the examples of an operation's request body, by the surface that they are for.
func bodies(tb testing.TB, op contracttest.Operation) map[string]json.RawMessage {
	tb.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Examples map[string]struct {
						Surface string `json:"x-surface"`
						Value   json.RawMessage
					}
				}
			} `json:"requestBody"`
		}
	}
	if err := json.Unmarshal(openapi.Document(), &document); err != nil {
		tb.Fatal(err)
	}

	all := map[string]json.RawMessage{}
	body := document.Paths[op.Path][strings.ToLower(op.Method)].RequestBody
	for _, example := range body.Content["application/json"].Examples {
		all[strings.TrimPrefix(example.Surface, contracttest.Live)] = example.Value // live is the rule
	}
	return all
}

// TestExamplesOfTheDocumentWork calls every operation with the document's own examples, as a
// reference page fills its form with them, and wants an answer with data.
func TestExamplesOfTheDocumentWork(t *testing.T) {
	w := shared()
	called := 0
	for _, op := range contracttest.Operations() {
		surfaces := []string{""}
		if op.Surface == contracttest.Preview {
			surfaces = []string{contracttest.Preview}
		}
		if op.Surface == contracttest.Shared {
			surfaces = []string{"", contracttest.Preview}
		}

		for _, surface := range surfaces {
			called++
			q := request{method: op.Method, target: exampleTarget(op, surface)}
			key := "bench"
			if surface == contracttest.Preview {
				key = "preview"
			}
			q.header = append(q.header, "X-API-Key: "+w.keys[key])
			if op.Method == http.MethodPost {
				q.body = string(bodies(t, op)[surface])
				q.header = append(q.header, "Content-Type: application/json", "Idempotency-Key: "+only("example"))
			}

			r := w.ask(t, q)
			if r.status != http.StatusOK || !hasData(t, r.body) && op.ID != "changes_list" {
				t.Errorf("%s %s %s answered %d: %.300s", op.Method, q.target, q.body, r.status, r.body)
			}
		}
	}
	if called < 17 {
		t.Errorf("only %d operations were called", called)
	}
}

// TestBatchExamplesAnswerEachOther sends the example bodies of the live batches. The answers must
// name the entries of the document's own answers, by id and by ref, and the same missing entries.
func TestBatchExamplesAnswerEachOther(t *testing.T) {
	w := shared()
	type answer struct {
		Data []struct {
			ID  string
			Ref string
		}
		NotFound []string `json:"not_found"`
	}
	var document struct {
		Paths map[string]struct {
			Post struct {
				Responses map[string]struct {
					Content map[string]struct {
						Examples map[string]struct {
							Surface string `json:"x-surface"`
							Value   json.RawMessage
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(openapi.Document(), &document); err != nil {
		t.Fatal(err)
	}

	compared := 0
	for _, op := range contracttest.Operations() {
		if op.Method != http.MethodPost || op.Surface == contracttest.Preview || !strings.HasSuffix(op.Path, "/batch") {
			continue
		}
		for _, example := range document.Paths[op.Path].Post.Responses["200"].Content["application/json"].Examples {
			if example.Surface == contracttest.Preview {
				continue
			}

			var got, want answer
			if err := json.Unmarshal(example.Value, &want); err != nil {
				t.Fatal(err)
			}
			w.try(t, scenario{path: op.Path, body: string(bodies(t, op)[""])}).decode(t, &got)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: answered %+v, the document says %+v", op.Path, got, want)
			}
			compared++
		}
	}
	if compared != 3 {
		t.Errorf("%d batches were compared", compared)
	}
}

// exampleTarget is the path of an operation with the examples of all its parameters.
func exampleTarget(op contracttest.Operation, surface string) string {
	query := url.Values{}
	path := op.Path
	for _, p := range op.Parameters {
		switch {
		case p.Example == "":
		case p.Surface != "" && (p.Surface == contracttest.Preview) != (surface == contracttest.Preview):
		case p.Name == "since": // the document's is of long ago
			query.Set(p.Name, today().view.ID)
		case p.Name == "snapshot_id":
			path = strings.ReplaceAll(path, "{snapshot_id}", today().view.ID)
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.In == "query":
			query.Set(p.Name, p.Example)
		}
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// hasData reports whether an answer holds something: its list, if it has one, is not empty.
func hasData(tb testing.TB, body []byte) bool {
	tb.Helper()
	if bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return true // a file, compressed with zstd
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		tb.Error(err)
		return false
	}

	list, isList := answer["data"].([]any)
	if !isList {
		return len(answer) > 0
	}
	return len(list) > 0 && !strings.Contains(fmt.Sprint(list[0]), "missing_reason:not_found")
}
