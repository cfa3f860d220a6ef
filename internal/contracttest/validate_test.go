package contracttest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// sample is a response made of the document's examples.
type sample struct {
	name string
	Response
}

// samples returns a valid response for every example of every declared response.
func samples(t *testing.T) []sample {
	t.Helper()
	d := load()
	var out []sample
	for _, op := range Operations() {
		responses := d.at("/paths/" + escape(op.Path) + "/" + strings.ToLower(op.Method) + "/responses")
		for _, status := range responses.names() {
			declared := d.child(responses, status)
			content := d.child(declared, "content")
			for _, media := range content.names() {
				examples := d.child(d.child(content, media), "examples")
				for _, name := range examples.names() {
					surface := Live
					if media == jsonType && (op.Surface == Preview || op.Surface == Shared &&
						(strings.HasPrefix(name, "preview") || status > "299")) {
						surface = Preview
					}

					code := 413
					if number, err := strconv.Atoi(status); err == nil {
						code = number
					} else if name != "payload_too_large" {
						code = statusOf(status, name)
					}

					r := Response{
						Method: op.Method, Path: examplePath(op), Status: code,
						Header: exampleHeaders(d, declared, surface),
					}
					r.Header.Set("Content-Type", media)
					r.Body = agreeing(t, d.child(d.child(examples, name), "value").object, r.Header)
					if text := d.child(examples, name).text("value"); media == rowsType {
						r.Header.Set("Content-Type", media+"; charset=utf-8")
						r.Body = []byte(text)
					}
					out = append(out, sample{op.ID + " " + status + " " + name, r})
				}
			}

			if len(content.object) == 0 {
				code, err := strconv.Atoi(status)
				if err != nil {
					t.Fatal(err)
				}

				r := Response{
					Method: op.Method, Path: examplePath(op), Status: code,
					Header: exampleHeaders(d, declared, Live),
				}
				out = append(out, sample{op.ID + " " + status, r})
			}
		}
	}
	return out
}

func examplePath(op Operation) string {
	out := op.Path
	for _, p := range op.Parameters {
		if p.In == "path" {
			out = strings.ReplaceAll(out, "{"+p.Name+"}", p.Example)
		}
	}
	return out + "?limit=1"
}

// exampleHeaders returns the declared headers that a response of the surface has.
func exampleHeaders(d *document, declared node, surface string) http.Header {
	out := http.Header{"Date": {"Fri, 20 Nov 2026 20:05:00 GMT"}}
	headers := d.child(declared, "headers")
	for _, name := range headers.names() {
		header := d.child(headers, name)
		if only := header.text("x-surface"); only != "" && only != surface {
			continue
		}
		out.Set(name, toText(header.object["example"]))
	}
	return out
}

// agreeing encodes an example's body and sets the headers to the same values.
func agreeing(t *testing.T, value object, header http.Header) []byte {
	t.Helper()
	for _, o := range []object{value, asObject(value["error"]), asObject(value["meta"])} {
		for name, member := range map[string]string{
			"X-Request-Id": "request_id",
			"Retry-After":  "retry_after_seconds", "X-Request-Credits-Charged": "billable_units",
		} {
			if said, has := o[member]; has && said != nil && header.Get(name) != "" {
				header.Set(name, toText(said))
			}
		}
	}

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestExamplesPass(t *testing.T) {
	all := samples(t)
	if len(all) < 100 {
		t.Fatalf("only %d samples", len(all))
	}

	for _, s := range all {
		if err := Validate(s.Response); err != nil {
			t.Errorf("%s:\n%v", s.name, err)
		}
		if s.Method == http.MethodGet {
			head := s.Response
			head.Method = http.MethodHead
			head.Body = nil
			if err := Validate(head); err != nil {
				t.Errorf("HEAD %s:\n%v", s.name, err)
			}
		}
	}
}

// TestMissingHeadersFail removes every header in turn and expects an error for the required ones.
func TestMissingHeadersFail(t *testing.T) {
	missed := 0
	for _, s := range samples(t) {
		for name := range s.Header {
			r := s.Response
			r.Header = s.Header.Clone()
			r.Header.Del(name)
			if err := Validate(r); err != nil {
				missed++
			} else if name == "X-Request-Id" || name == "Content-Type" || name == "Retry-After" && s.Status >= 400 ||
				name == "Allow" {
				t.Errorf("%s without %s passes", s.name, name)
			}
		}
	}

	if missed < 500 {
		t.Errorf("only %d missing headers noticed", missed)
	}
}

// TestDriftFails adds and removes a member at every level of every body.
func TestDriftFails(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.Body) == 0 || strings.HasPrefix(s.Path, "/openapi.") || s.Body[0] != '{' {
			continue
		}

		r := s.Response
		r.Body = bytes.Replace(s.Body, []byte("{"), []byte(`{"surprise":1,`), 1)
		if Validate(r) == nil {
			t.Errorf("%s with one more member passes", s.name)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(s.Body, &members); err != nil {
			t.Fatal(err)
		}

		for name := range members {
			short := map[string]json.RawMessage{}
			for other, value := range members {
				if other != name {
					short[other] = value
				}
			}

			text, err := json.Marshal(short)
			if err != nil {
				t.Fatal(err)
			}
			r.Body = text
			if Validate(r) == nil {
				t.Errorf("%s without %s passes", s.name, name)
			}
		}
	}
}

// pick returns a sample by name.
func pick(t *testing.T, name string) Response {
	t.Helper()
	for _, s := range samples(t) {
		if s.name == name {
			return s.Response
		}
	}

	t.Fatalf("no sample %q", name)
	return Response{}
}

func TestAPIErrors(t *testing.T) {
	f := func(name string, change func(r *Response), want string) {
		t.Helper()
		r := pick(t, name)
		change(&r)
		err := Validate(r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a fault with %q", name, err, want)
		}
	}

	set := func(name, value string) func(*Response) { return func(r *Response) { r.Header.Set(name, value) } }
	body := func(old, text string) func(*Response) {
		return func(r *Response) { r.Body = bytes.Replace(r.Body, []byte(old), []byte(text), 1) }
	}
	const card, batch, usage = "cards_get 200 typical", "prices_batch 200 preview", "usage_get 200 live"

	f(card, func(r *Response) { r.Path = "/v2/cards/1" }, "404 was due")
	f(card, func(r *Response) { r.Method = "DELETE" }, "405 was due")
	f(card, func(r *Response) { r.Status = 201 }, "declares no status 201")
	f(card, set("Content-Type", "text/plain"), "is not declared")
	f(card, set("Content-Type", "application/json; charset=utf-8"), "is not declared")
	f(card, set("ETag", "W/\"weak\""), "header ETag")
	f(card, set("X-RateLimit-Remaining", "-1"), "not a whole number")
	f(card, set("Retry-After", "3"), "header Retry-After is not declared")
	f(card, set("X-Request-Credits-Remaining", "3"), "not declared")
	f(card, func(r *Response) { r.Header.Add("X-Snapshot-Id", "two") }, "comes 2 times")
	f(card, func(r *Response) { r.Body = append(r.Body, '{') }, "strict JSON")
	f(card, body(`"id":`, `"id":"x","id":`), "strict JSON")
	f(card, body(`41250`, `412.5`), "body")
	f(card, body(`"Near Mint"`, `"near_mint"`), "body")
	f(card, body(`2026-11-20T20:05:00Z`, `2026-11-20T20:05:00.5Z`), "body")
	f("cards_get 304", func(r *Response) { r.Body = []byte("{}") }, "no body")
	f("cards_get 404 not_found", body(`"status":404`, `"status":400`), "body")
	f("cards_get 404 not_found", body(`errors/not_found`, `errors/gone`), "does not end in the code")
	f("cards_get 404 not_found", set("X-Request-Id", "req_other"), "request_id in the body")
	f("cards_get 405 method_not_allowed", set("Allow", "HEAD, GET"), "not sorted")
	f("cards_search 429 rate_limit_exceeded", set("Retry-After", "1"), "retry_after_seconds")
	f(batch, set("X-Request-Credits-Charged", "0"), "billable_units")

	// Then it is a live response.
	f(batch, func(r *Response) { r.Header.Del("X-Request-Credits-Charged") }, "body")
	f(batch, func(r *Response) { r.Header.Del("RateLimit") }, "RateLimit is missing")
	f("prices_batch 200 live", func(r *Response) { r.Header.Del("RateLimit") }, "RateLimit is missing")
	f(usage, set("RateLimit", `"minute";r=1;t=1, "day";r=1;t=1`), "belongs to the preview surface")
	f("products_get 404 not_found", func(r *Response) { r.LiveOnly = true }, "is not declared")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	missing := pick(t, "cards_get 404 not_found")
	missing.Path = "/nowhere"
	if err := Validate(missing); err != nil {
		t.Error(err)
	}
	missing.Path = "/v1/products"
	missing.LiveOnly = true
	if err := Validate(missing); err != nil {
		t.Error(err)
	}

	wrong := pick(t, "cards_get 405 method_not_allowed")
	wrong.Method = "DELETE"
	if err := Validate(wrong); err != nil {
		t.Error(err)
	}
	wrong.Method = "PUT"
	wrong.Path = "/v1/cards/batch"
	if err := Validate(wrong); err != nil {
		t.Error(err)
	}

	// A literal path hides one with a parameter only for its own methods.
	missing = pick(t, "cards_get 404 not_found")
	missing.Path = "/v1/cards/batch"
	if err := Validate(missing); err != nil {
		t.Error(err)
	}

	early := pick(t, "cards_get default request_timeout")
	early.Path = "/v1/products"
	if err := Validate(early); err != nil {
		t.Error(err)
	}
	if err := Validate(Response{Method: "OPTIONS", Path: "/v1/cards", Status: http.StatusNoContent}); err != nil {
		t.Error(err)
	}
}

func BenchmarkValidate(b *testing.B) {
	var page Response
	for _, s := range samples(&testing.T{}) {
		if s.name == "cards_search 200 page" {
			page = s.Response
		}
	}

	for b.Loop() {
		if err := Validate(page); err != nil {
			b.Fatal(err)
		}
	}
}
