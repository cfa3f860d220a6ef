//go:build generated

package ogen

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"

	"ninepocket/tools/generators/ogen/live"
	"ninepocket/tools/generators/ogen/preview"
)

// operation is the part of a document's operation that a call needs.
type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Ref     string `json:"$ref"`
		Name    string
		Example any
	}
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	} `json:"requestBody"`
}

// transport adds a key and stores the status of the last response.
type transport struct {
	key    string
	status int
}

func (tr *transport) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-API-Key", tr.key)
	response, err := http.DefaultClient.Do(r)
	if err == nil {
		tr.status = response.StatusCode
	}
	return response, err
}

// liveKey and previewKey supply a key to generated code; bearer is left to X-API-Key.
type (
	liveKey    string
	previewKey string
)

func (k liveKey) ApiKey(context.Context, live.OperationName) (live.ApiKey, error) {
	return live.ApiKey{APIKey: string(k)}, nil
}

func (k liveKey) Bearer(context.Context, live.OperationName) (live.Bearer, error) {
	return live.Bearer{Token: string(k)}, nil
}

func (k previewKey) ApiKey(context.Context, preview.OperationName) (preview.ApiKey, error) {
	return preview.ApiKey{APIKey: string(k)}, nil
}

// bodies are the types of bodies that generated code takes behind an interface.
var bodies = map[string]any{"valuations_create": live.ValuationRequest{}}

func TestEveryOperation(t *testing.T) {
	var ready struct {
		API  string
		Keys map[string]string
	}
	text, err := os.ReadFile("../generated/ready.json")
	if err == nil {
		err = json.Unmarshal(text, &ready)
	}
	if err != nil {
		t.Fatal(err)
	}

	pro := &transport{key: ready.Keys["pro"]}
	all, err := live.NewClient(ready.API, liveKey(pro.key), live.WithClient(pro))
	if err != nil {
		t.Fatal(err)
	}
	callAll(t, all, "live", ready.API, pro)

	partner := &transport{key: ready.Keys["preview"]}
	typed, err := preview.NewClient(ready.API, previewKey(partner.key), preview.WithClient(partner))
	if err != nil {
		t.Fatal(err)
	}
	callAll(t, typed, "preview", ready.API, partner)
}

// callAll calls every operation of a document and expects 200 from each.
func callAll(t *testing.T, client any, document, api string, tr *transport) {
	t.Helper()
	text, err := os.ReadFile("../generated/" + document + ".json")
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
			given := map[string]string{}
			for _, p := range op.Parameters {
				_ = json.Unmarshal(doc.Components.Parameters[path.Base(p.Ref)], &p)
				example, _ := p.Example.(string)
				given[plain(p.Name)] = example
			}
			if list, _, has := strings.Cut(address, "/{"); has {
				given["id"] = firstID(t, api+list, tr)
				given["productid"] = given["id"]
				given["snapshotid"] = given["id"]
			}
			if _, wanted := given["since"]; wanted {
				given["since"] = firstID(t, api+"/v1/bulk", tr)
			}
			call(t, client, op, given, tr)
			called++
		}
	}
	t.Logf("%s: %d operations", document, called)
}

func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// firstID returns the id of the first entry of a list; for the bulk, the id of the served snapshot.
func firstID(t *testing.T, list string, tr *transport) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := tr.Do(request)
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
func call(t *testing.T, client any, op operation, given map[string]string, tr *transport) {
	t.Helper()
	var method reflect.Value
	for i := range reflect.TypeOf(client).NumMethod() {
		if strings.EqualFold(reflect.TypeOf(client).Method(i).Name, strings.ReplaceAll(op.ID, "_", "")) {
			method = reflect.ValueOf(client).Method(i)
		}
	}
	if !method.IsValid() {
		t.Errorf("there is no method of %s", op.ID)
		return
	}

	arguments := []reflect.Value{reflect.ValueOf(t.Context())}
	for i := 1; i < method.Type().NumIn(); i++ {
		of := method.Type().In(i)
		switch {
		case strings.HasSuffix(of.Name(), "Params"):
			arguments = append(arguments, parameters(of, given))
		case of.Kind() == reflect.Slice: // options
		default:
			if of.Kind() == reflect.Interface {
				of = reflect.PointerTo(reflect.TypeOf(bodies[op.ID]))
			}
			body := reflect.New(of.Elem())
			for _, example := range op.RequestBody.Content["application/json"].Examples {
				if err := json.Unmarshal(example.Value, body.Interface()); err != nil {
					t.Errorf("%s: cannot fill the body: %v", op.ID, err)
				}
				break
			}
			arguments = append(arguments, body)
		}
	}

	results := method.Call(arguments)
	if err, _ := results[1].Interface().(error); err != nil || tr.status != http.StatusOK {
		t.Errorf("%s: status %d, %v", op.ID, tr.status, err)
	}
}

// parameters fills the parameters that are required; the others stay unset.
func parameters(of reflect.Type, given map[string]string) reflect.Value {
	filled := reflect.New(of).Elem()
	for i := range of.NumField() {
		if of.Field(i).Type.Kind() == reflect.String {
			filled.Field(i).SetString(given[plain(of.Field(i).Name)])
		}
	}
	return filled
}
