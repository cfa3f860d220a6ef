package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
)

// contract is what the reference shows of the OpenAPI document.
type contract struct {
	Tags       []group
	Paths      ordered[map[string]json.RawMessage]
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

// operation is a method of a path.
type operation struct {
	ID          string `json:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Parameters  []parameter
	Responses   ordered[response]
	RequestBody *struct {
		Content map[string]media
	}

	method, path string
}

// parameter is a parameter of an operation, or a reference to one of the components.
type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Description string
	Required    bool
	Schema      struct {
		Type             any
		Enum             []any
		Minimum, Maximum *json.Number
		MaxLength        int
		Default          any
		Format           string
	}
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]media
}

type media struct {
	Examples ordered[struct {
		Value json.RawMessage
	}]
}

// ordered is an object of JSON in the order that it is written in.
type ordered[T any] []entry[T]

type entry[T any] struct {
	name  string
	value T
}

// UnmarshalJSON reads an object.
func (o *ordered[T]) UnmarshalJSON(b []byte) error {
	for name, value := range jsonwalk.Value(b).Members() {
		e := entry[T]{name: strings.Clone(name.Text())} // the decoder uses its memory again
		if err := json.Unmarshal(value, &e.value); err != nil {
			return fmt.Errorf("cannot read %q: %w", e.name, err)
		}
		*o = append(*o, e)
	}
	return nil
}

// group are the operations of a tag.
type group struct {
	Name, Description string
	operations        []*operation
}

// readReference reads the groups out of an OpenAPI document, with every reference resolved; none out
// of nil.
func readReference(text []byte) ([]group, error) {
	if text == nil {
		return nil, nil
	}
	var d contract
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}

	groups := d.Tags
	for _, path := range d.Paths {
		for _, method := range []string{"get", "post"} {
			raw, ok := path.value[method]
			if !ok {
				continue
			}

			op := &operation{method: strings.ToUpper(method), path: path.name}
			if err := json.Unmarshal(raw, op); err != nil {
				return nil, fmt.Errorf("cannot read the operation %s %s: %w", method, path.name, err)
			}
			d.resolve(op)
			at := slices.IndexFunc(groups, func(g group) bool { return slices.Contains(op.Tags, g.Name) })
			if at >= 0 {
				groups[at].operations = append(groups[at].operations, op)
			}
		}
	}
	return groups, nil
}

// resolve puts what an operation refers to in the place of the references.
func (d *contract) resolve(op *operation) {
	for i, p := range op.Parameters {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			op.Parameters[i] = d.Components.Parameters[name]
		}
	}
	for i, entry := range op.Responses {
		if name, ok := strings.CutPrefix(entry.value.Ref, "#/components/responses/"); ok {
			op.Responses[i].value = d.Components.Responses[name]
		}
	}

	// Headers are not tried out: a browser sends its own validator, and a key of idempotency is each
	// caller's.
	op.Parameters = slices.DeleteFunc(op.Parameters, func(p parameter) bool { return p.In == "header" })
}

// kind says in a few words what a parameter takes.
func (p *parameter) kind() string {
	s := &p.Schema
	var words []string
	switch {
	case len(s.Enum) > 0:
		for _, value := range s.Enum {
			words = append(words, fmt.Sprint(value))
		}
		words = []string{"one of " + strings.Join(words, ", ")}
	case s.Minimum != nil && s.Maximum != nil:
		words = []string{s.Minimum.String() + " to " + s.Maximum.String()}
	case s.Format == "date" || s.Format == "date-time":
		words = []string{s.Format}
	case s.MaxLength > 0:
		words = []string{"text of at most " + strconv.Itoa(s.MaxLength)}
	default:
		words = []string{fmt.Sprint(s.Type)}
	}

	if s.Default != nil {
		words = append(words, "default "+fmt.Sprint(s.Default))
	}
	return strings.Join(words, ", ")
}

// example is the answer of an operation as the document shows it, indented; "" for none.
func (op *operation) example() string {
	for _, answer := range op.Responses {
		if answer.name != "200" {
			continue
		}
		for _, m := range answer.value.Content {
			for _, e := range m.Examples {
				var b bytes.Buffer
				if json.Indent(&b, e.value.Value, "", "  ") == nil {
					return b.String()
				}
			}
		}
	}
	return ""
}

// span is a part of a description: text, code or what is stressed.
type span struct {
	text string
	mark byte // 'c' for code, 'b' for what is stressed, else text
}

// paragraphs reads the Markdown that descriptions of the document have: paragraphs, code and what is stressed.
func paragraphs(text string) (all [][]span) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var spans []span
		for i, code := range strings.Split(part, "`") {
			if i%2 == 1 {
				spans = append(spans, span{code, 'c'})
				continue
			}

			for k, bold := range strings.Split(code, "**") {
				mark := byte(0)
				if k%2 == 1 {
					mark = 'b'
				}
				if bold != "" {
					spans = append(spans, span{bold, mark})
				}
			}
		}
		all = append(all, spans)
	}
	return all
}

// samples are values that this server answers with data; "" where the catalog has none.
type samples struct{ card, set, product string }

// samplesOf chooses a card, its set, and a product: best a card that has a history, else one that has a
// price, else any of a set.
func samplesOf(v *engine.View) (s samples) {
	if v == nil {
		return s
	}

	c := v.Catalog
	best := 0
	for card := range c.Cards.ID.Len() {
		set := c.Cards.Set[card]
		if set == snapshot.NoSet {
			continue
		}

		value := 1
		if lane := int(c.Cards.Display[card]); lane >= 0 {
			value = 2
			if c.Lanes.Price7DaysAgo[lane] > 0 && len(pointsOf(c, lane, sparkDays)) > 1 {
				value = 3
			}
		}
		if value > best {
			best = value
			s.card = c.Cards.Slug.At(card)
			s.set = c.Sets.Slug.At(int(set))
		}
		if best == 3 {
			break
		}
	}
	for card, verified := range c.Cards.Product {
		if verified != 0 {
			_, tail, _ := strings.Cut(c.Cards.ID.At(card), "_")
			s.product = v.Site().ProductPrefix + "_" + tail
			break
		}
	}
	return s
}

// given is what a form is filled with: what is required alone.
func (s *samples) given(op *operation, p *parameter) string {
	switch {
	case p.In != "path" && p.Required && len(p.Schema.Enum) > 0:
		return fmt.Sprint(p.Schema.Enum[0])
	case p.In != "path":
		return ""
	case strings.HasPrefix(op.path, "/v1/sets/"):
		return s.set
	case p.Name == "product_id":
		return s.product
	}
	return s.card
}

// body is the body that a form is filled with, "" for an operation without one.
func (s *samples) body(op *operation) string {
	switch {
	case op.RequestBody == nil:
		return ""
	case op.path == "/v1/valuations":
		return `{"items": [{"id": "` + s.card + `", "quantity": 2}]}`
	}
	return `{"ids": ["` + s.card + `"]}`
}

// target is the path of an operation with what a form is filled with.
func (s *samples) target(op *operation) string {
	path := op.path
	var query []param
	for i := range op.Parameters {
		p := &op.Parameters[i]
		if value := s.given(op, p); p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		} else {
			query = append(query, param{p.Name, value})
		}
	}
	return pageAddress(path, 1, query...)
}

// open reports whether an operation takes no key.
func (op *operation) open() bool { return !strings.HasPrefix(op.path, "/v1") }

// curl is a command that asks what a form asks when nothing of it is changed.
func (p *referencePage) curl(op *operation) string {
	command := "curl"
	if !op.open() {
		command += " -H 'X-API-Key: KEY'"
	}
	if body := p.samples.body(op); body != "" {
		command += " -H 'Content-Type: application/json' -d '" + body + "'"
	}
	return command + " '" + p.base + p.samples.target(op) + "'"
}

type referencePage struct {
	pageLayout
	samples samples
}

// Reference appends the API reference: a guide, and every operation of the document with a form to try it. v may be
// nil.
func (p *Pages) Reference(dst []byte, v *engine.View, now time.Time) []byte {
	about := "Every operation of the API, a guide for clients, and forms to try them."
	page := referencePage{pageLayout: p.newLayout(v, now, "API reference", about), samples: samplesOf(v)}
	page.canonical = p.base + "/docs"
	page.script = "reference.js"
	page.old = false // it says nothing about prices
	return appendPage(dst, &page)
}
