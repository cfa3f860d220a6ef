package contracttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	jsonschemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
	rowsType    = "text/csv"
	fileType    = "application/zstd"
)

// anyTime are the statuses of requests that are rejected before they are parsed. The document
// describes them in an operation's default response.
var anyTime = []int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge}

// Response is a response with its request.
type Response struct {
	Method string
	Path   string // as requested, with or without the query
	Status int
	Header http.Header
	Body   []byte // after any content coding
	// LiveOnly is true if the preview contract is off in the server.
	LiveOnly bool
}

// Validate returns every difference between a response and the document. It checks the status, the
// content type, declared and undeclared headers, the body by its schema, and values that must be
// equal in header and body. A path that the document does not have must be answered 404, a method
// that its path does not have 405, in the envelope of the path's surface.
//
// The response to a CORS preflight is not in the document and passes.
func Validate(r Response) error {
	if r.Method == http.MethodOptions && r.Status == http.StatusNoContent {
		return nil
	}

	d := load()
	declared, err := d.declared(r)
	if err != nil {
		return err
	}
	v := validation{document: d, Response: r, declared: declared, surface: Live}
	v.chooseSurface()
	v.checkHeaders()
	v.checkBody()
	return errors.Join(v.faults...)
}

func firstMethod(p path) string { return slices.Min(slices.Collect(maps.Keys(p.item))) }

type validation struct {
	*document
	Response

	declared node // the response in the document
	surface  string
	faults   []error
}

func (v *validation) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf("- "+format, args...))
}

// declared returns the declared response that r must match.
func (d *document) declared(r Response) (node, error) {
	requested, _, _ := strings.Cut(r.Path, "?")
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}

	p, hasMethod := d.find(requested, method)
	if !hasMethod && p.item != nil {
		// Every operation declares the response of its path to another method.
		method = firstMethod(p)
	}

	early := slices.Contains(anyTime, r.Status)
	switch {
	case p.item == nil, r.LiveOnly && d.needsPreview(p.template, method):
		if early {
			return d.at("/components/responses/Refusal"), nil
		}
		if r.Status != http.StatusNotFound {
			return node{}, fmt.Errorf("- the document has no path %s, so that 404 was due", requested)
		}
		return d.at("/components/responses/NotFound"), nil
	case !hasMethod && r.Status != http.StatusMethodNotAllowed && !early:
		return node{}, fmt.Errorf("- the document has no method %s at %s, so that 405 was due", r.Method, p.template)
	}

	// A declared status comes first, then the responses that are possible for any path.
	status := strconv.Itoa(r.Status)
	responses := d.at("/paths/" + escape(p.template) + "/" + method + "/responses")
	if _, has := responses.object[status]; has {
		return d.child(responses, status), nil
	}
	if early {
		// A request that is rejected before its path is known gets the live error body.
		if response := d.child(responses, "default"); r.Header.Get("Content-Type") != problemType ||
			response.text("x-surface") != Preview {
			return response, nil
		}
		return d.at("/components/responses/Refusal"), nil
	}

	return node{}, fmt.Errorf("- %s %s declares no status %s (it has %s)", r.Method, p.template, status,
		strings.Join(responses.names(), ", "))
}

// chooseSurface finds the surface of a response that is declared for both: by its content type, or
// by the header that every preview response has.
func (v *validation) chooseSurface() {
	content := v.child(v.declared, "content")
	_, problem := content.object[problemType]
	switch {
	case v.declared.text("x-surface") == Preview:
		v.surface = Preview
	case problem && v.Status >= 400:
		if v.Header.Get("Content-Type") == jsonType {
			v.surface = Preview
		}
	case v.Header.Get("X-Request-Credits-Charged") != "":
		v.surface = Preview
	}
}

// checkBody checks the content type and the body.
func (v *validation) checkBody() {
	content := v.child(v.declared, "content")
	if len(content.object) == 0 {
		if len(v.Body) > 0 {
			v.fault("status %d has no body, got %d bytes", v.Status, len(v.Body))
		}
		return
	}

	kind := v.Header.Get("Content-Type")
	if kind == rowsType+"; charset=utf-8" {
		kind = rowsType
	}
	media := v.child(content, kind)
	if media.object == nil {
		v.fault("content type %q is not declared (%s)", v.Header.Get("Content-Type"), strings.Join(content.names(),
			", "))
		return
	}
	if v.Method == http.MethodHead {
		if len(v.Body) > 0 {
			v.fault("HEAD has no body, got %d bytes", len(v.Body))
		}
		return
	}

	switch kind {
	case rowsType:
		v.checkRows()
		return
	case fileType: // its content is no matter of the document
		if length := v.Header.Get("Content-Length"); length != strconv.Itoa(len(v.Body)) {
			v.fault("Content-Length is %s, got %d bytes", length, len(v.Body))
		}
		return
	}

	pointer := v.schemaPointer(media)
	mark := fingerprintOf(pointer, v.Body)
	judged, _ := v.passed.Load(mark)
	if said, passed := judged.(object); passed {
		v.checkAgreement(said)
		return
	}

	// The schema validator would use the last of two equal members.
	if !jsontext.Value(v.Body).IsValid() {
		v.fault("the body is not strict JSON (UTF-8, no member twice, nothing after it)")
		return
	}

	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.Body))
	if err != nil {
		v.fault("cannot read the body: %w", err)
		return
	}

	schema, err := v.schema(pointer)
	if err != nil {
		v.fault("%w", err)
		return
	}
	if err := schema.Validate(body); err != nil && (!v.choosesFields() || !onlyMissing(err)) {
		v.fault("body: %w", err)
		return
	}

	said := asObject(body)
	v.checkAgreement(said)
	if len(v.Body) >= minCachedBody {
		v.passed.Store(mark, withoutLists(said))
	}
}

// checkRows wants a body of CSV to be a header and rows of as many cells, the last a status.
func (v *validation) checkRows() {
	if !utf8.Valid(v.Body) || !strings.HasSuffix(v.Header.Get("Content-Type"), "utf-8") {
		v.fault("CSV as %q is not UTF-8", v.Header.Get("Content-Type"))
	}

	rows, err := csv.NewReader(bytes.NewReader(v.Body)).ReadAll()
	if err != nil || len(rows) < 2 {
		v.fault("%d rows of CSV: %w", len(rows), err)
		return
	}
	for i, row := range rows {
		status := row[len(row)-1]
		if i == 0 && status != "status" || i > 0 && status != "ok" && status != "not_found" {
			v.fault("row %d ends in %q", i, status)
		}
	}
}

// choosesFields reports whether the request says which members it wants, so that others are missing.
func (v *validation) choosesFields() bool {
	_, query, _ := strings.Cut(v.Path, "?")
	values, _ := url.ParseQuery(query)
	return v.Status == http.StatusOK && values.Has("fields")
}

// onlyMissing reports whether nothing but missing members is wrong with a body.
func onlyMissing(err error) bool {
	wrong, is := errors.AsType[*jsonschema.ValidationError](err)
	if !is {
		return false
	}
	_, missing := wrong.ErrorKind.(*jsonschemakind.Required)
	if len(wrong.Causes) == 0 {
		return missing
	}
	other := func(cause *jsonschema.ValidationError) bool { return !onlyMissing(cause) }
	return !slices.ContainsFunc(wrong.Causes, other)
}

// minCachedBody is the length of bodies whose result is cached. Short ones are fast to validate,
// and most of them are unique, because they have a request id.
const minCachedBody = 1 << 10

// fingerprint identifies a body and its schema.
type fingerprint [sha256.Size]byte

func fingerprintOf(pointer string, body []byte) fingerprint {
	return sha256.Sum256(append(append([]byte(pointer), 0), body...))
}

// withoutLists removes members that no header repeats, so that they need not be stored.
func withoutLists(body object) object {
	stripped := maps.Clone(body)
	maps.DeleteFunc(stripped, func(_ string, member any) bool {
		_, is := member.([]any)
		return is
	})
	return stripped
}

// schemaPointer returns the schema for the response's surface if the schema is a choice between the
// surfaces.
func (v *validation) schemaPointer(media node) string {
	schema := v.child(media, "schema")
	alternatives, _ := schema.object["oneOf"].([]any)

	// The schemas of preview are marked; the others are of live.
	of := map[bool]string{}
	for i := range alternatives {
		one := v.at(schema.pointer + "/oneOf/" + strconv.Itoa(i))
		of[one.text("x-surface") == Preview] = one.pointer
	}
	if len(alternatives) != len(of) || len(of) < 2 { // another choice, which applies to the surface as a whole
		return schema.pointer
	}
	return of[v.surface == Preview]
}

// checkAgreement compares the values that header and body both have.
func (v *validation) checkAgreement(body object) {
	// The object of the body that describes the response itself.
	said := node{object: body}
	for _, name := range []string{"error", "meta"} {
		if inner := asObject(body[name]); inner != nil {
			said = node{object: inner}
		}
	}

	// A header that is missing agrees with null alone.
	agree := func(header, member string) {
		value, has := said.object[member]
		if !has {
			return
		}
		if got, want := v.Header.Get(header), toText(value); got != want && (got != "" || value != nil) { // air: a pair
			v.fault("header %s is %q, but %s in the body is %q", header, got, member, want)
		}
	}

	agree("X-Request-Id", "request_id")
	agree("Retry-After", "retry_after_seconds")
	if v.surface == Preview {
		agree("X-Request-Credits-Charged", "billable_units")
	}
	if status, has := body["status"].(json.Number); has && status.String() != strconv.Itoa(v.Status) {
		v.fault("the body says status %s", status)
	}
	if kind, code := said.text("type"), said.text("code"); kind != "" && !strings.HasSuffix(kind, "/errors/"+code) { // air: a pair
		v.fault("the type %q does not end in the code %q", kind, code)
	}
}
