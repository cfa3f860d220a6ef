//go:build generated

package goclient

import (
	"encoding/json"
	"net/http"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
)

// operation is the part of a document's operation that a call needs.
type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Ref     string `json:"$ref"`
		Name    string
		In      string
		Example json.RawMessage
	}
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	} `json:"requestBody"`
}

// A caller calls operations of a server as the document shows them, with ids that the server has.
type caller struct{ server ready }

// callAll calls every operation of a document with a generated client, and expects 200 and a body.
func (c caller) callAll(t *testing.T, client any, document string, key keyed) {
	t.Helper()
	text, err := os.ReadFile("generated/documents/openapi-" + document + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]operation
		Components struct{ Parameters map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}

	called := 0
	for address, methods := range doc.Paths {
		for _, op := range methods {
			for i, p := range op.Parameters {
				if p.Ref != "" {
					_ = json.Unmarshal(doc.Components.Parameters[path.Base(p.Ref)], &op.Parameters[i])
				}
			}
			id := c.id(t, address, key)
			// Changes are requested since a snapshot that the server has.
			for i := range op.Parameters {
				if op.Parameters[i].Name == "since" {
					op.Parameters[i].Example, _ = json.Marshal(c.id(t, "/v1/bulk/{snapshot_id}", key)) // a text
				}
			}
			c.call(t, client, op, id)
			called++
		}
	}
	if called < 4 {
		t.Errorf("only %d operations of %s are called", called, document)
	}
}

// id returns the id of the first entry of the list that an address belongs to, "" for an address
// without an id.
func (c caller) id(t *testing.T, address string, key keyed) string {
	t.Helper()
	list, _, has := strings.Cut(address, "/{")
	if !has {
		return ""
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.API+list, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := key.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	var found struct {
		Data       []struct{ ID string }
		SnapshotID string `json:"snapshot_id"`
	}
	err = json.NewDecoder(response.Body).Decode(&found)
	if err == nil && found.SnapshotID != "" {
		return found.SnapshotID
	}
	if err != nil || len(found.Data) == 0 {
		t.Fatalf("%s has nothing: %v", list, err)
	}
	return found.Data[0].ID
}

// call calls the method of an operation with any arguments.
func (c caller) call(t *testing.T, client any, op operation, id string) {
	t.Helper()
	name := strings.ReplaceAll(op.ID, "_", "") + "WithResponse"
	var method reflect.Method
	is := false
	for i := range reflect.TypeOf(client).NumMethod() {
		if m := reflect.TypeOf(client).Method(i); strings.EqualFold(m.Name, name) {
			method = m
			is = true
		}
	}
	if !is {
		t.Errorf("there is no method of %s", op.ID)
		return
	}

	given := map[string]json.RawMessage{}
	for _, p := range op.Parameters {
		if p.In != "path" && p.Example != nil {
			given[p.Name] = p.Example
		}
	}
	arguments := []reflect.Value{reflect.ValueOf(client), reflect.ValueOf(t.Context())}
	for i := 2; i < method.Type.NumIn()-1; i++ {
		of := method.Type.In(i)
		switch {
		case strings.HasSuffix(of.String(), "BulkFileName"):
			arguments = append(arguments, reflect.ValueOf("sets.jsonl.zst").Convert(of))
		case of.Kind() == reflect.String:
			arguments = append(arguments, reflect.ValueOf(id).Convert(of))
		case strings.HasSuffix(of.String(), "Params"):
			text, _ := json.Marshal(given) // a map of JSON
			arguments = append(arguments, filled(t, of.Elem(), text))
		default:
			for _, example := range op.RequestBody.Content["application/json"].Examples {
				arguments = append(arguments, filled(t, of, example.Value).Elem())
				break
			}
		}
	}

	results := method.Func.Call(arguments)
	if err, _ := results[1].Interface().(error); err != nil {
		t.Errorf("%s: %v", op.ID, err)
		return
	}
	response := results[0].Elem()
	if body := response.FieldByName("JSON200"); !body.IsValid() {
		if len(response.FieldByName("Body").Bytes()) == 0 {
			t.Errorf("%s answered nothing", op.ID)
		}
	} else if body.IsNil() {
		t.Errorf("%s answered %s", op.ID, response.FieldByName("Body").Bytes())
	}
}

// filled returns a pointer to a value that is read from JSON.
func filled(t *testing.T, of reflect.Type, text []byte) reflect.Value {
	t.Helper()
	value := reflect.New(of)
	if err := json.Unmarshal(text, value.Interface()); err != nil {
		t.Errorf("cannot fill a %s: %v", of, err)
	}
	return value
}
