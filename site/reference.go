package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
)

// openAPIDocument is the part of the OpenAPI document that the reference shows.
type openAPIDocument struct {
	Info       struct{ Version string }
	Tags       []group
	Paths      ordered[map[string]json.RawMessage]
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

// operation is a method of a path, which is an operation of the API.
type operation struct {
	ID          string `json:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Parameters  []parameter
	Responses   ordered[response]
	RequestBody *struct{}

	method, path string
}

// parameter is a parameter of an operation, or a reference to one of the components.
type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Description string
	Required    bool
	Example     any
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

// ordered is a JSON object whose members stay in the order of the text.
type ordered[T any] []entry[T]

type entry[T any] struct {
	name  string
	value T
}

// UnmarshalJSON reads an object.
func (o *ordered[T]) UnmarshalJSON(b []byte) error {
	for name, value := range jsonwalk.Value(b).Members() {
		e := entry[T]{name: strings.Clone(name.Text())} // the decoder reuses its memory
		if err := json.Unmarshal(value, &e.value); err != nil {
			return fmt.Errorf("cannot read %q: %w", e.name, err)
		}
		*o = append(*o, e)
	}
	return nil
}

// group has the operations of a tag.
type group struct {
	Name, Description string
	operations        []*operation
}

// readReference reads the groups and the version of an OpenAPI document and resolves every
// reference. It returns no groups if text is nil.
func readReference(text []byte) (groups []group, release string, err error) {
	if text == nil {
		return nil, "", nil
	}
	var d openAPIDocument
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, "", fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}

	groups = d.Tags
	for _, path := range d.Paths {
		for _, method := range []string{"get", "post"} {
			raw, ok := path.value[method]
			if !ok {
				continue
			}

			op := &operation{method: strings.ToUpper(method), path: path.name}
			if err := json.Unmarshal(raw, op); err != nil {
				return nil, "", fmt.Errorf("cannot read the operation %s %s: %w", method, path.name, err)
			}
			d.resolve(op)
			at := slices.IndexFunc(groups, func(g group) bool { return slices.Contains(op.Tags, g.Name) })
			if at >= 0 {
				groups[at].operations = append(groups[at].operations, op)
			}
		}
	}
	return groups, d.Info.Version, nil
}

// resolve replaces the references of an operation by their targets.
func (d *openAPIDocument) resolve(op *operation) {
	for i, p := range op.Parameters {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			op.Parameters[i] = d.Components.Parameters[name]
		}
	}
	for i, entry := range op.Responses {
		if name, ok := strings.CutPrefix(entry.value.Ref, "#/components/responses/"); ok {
			shared := d.Components.Responses[name]
			shared.Ref = d.sharedName(shared.Description, name)
			op.Responses[i].value = shared
		}
	}

	// The form has no headers: a browser sends its own validator, and an idempotency key is chosen
	// by the caller.
	op.Parameters = slices.DeleteFunc(op.Parameters, func(p parameter) bool { return p.In == "header" })
}

// sharedAnswers returns the responses that operations share, in the order of their codes. The page describes each once.
func (p *referencePage) sharedAnswers() (all ordered[response]) {
	for i := range p.groups {
		for _, op := range p.groups[i].operations {
			all = append(all, op.answers(true)...)
		}
	}

	slices.SortFunc(all, func(a, b entry[response]) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value.Ref, b.value.Ref))
	})
	return slices.CompactFunc(all, func(a, b entry[response]) bool { return a.value.Ref == b.value.Ref })
}

// sharedName returns the shortest name of a response with a description, name itself if no other is shorter. The
// responses of the preview repeat others under longer names.
func (d *openAPIDocument) sharedName(description, name string) string {
	for other, shared := range d.Components.Responses {
		if shared.Description == description && (len(other) < len(name) || len(other) == len(name) && other < name) {
			name = other
		}
	}
	return name
}

// answers returns the responses that the operation shares with others, or those of its own.
func (op *operation) answers(shared bool) ordered[response] {
	return slices.DeleteFunc(slices.Clone(op.Responses), func(answer entry[response]) bool {
		return (answer.value.Ref != "") != shared
	})
}

// kind returns the valid values of a parameter in a few words.
func (p *parameter) kind() string {
	s := &p.Schema
	text := fmt.Sprint(s.Type)
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, value := range s.Enum {
			if value != nil { // an absent value is no word to type
				values = append(values, fmt.Sprint(value))
			}
		}
		text = "one of " + strings.Join(values, ", ")
	case s.Minimum != nil && s.Maximum != nil:
		text = s.Minimum.String() + " to " + s.Maximum.String()
	case s.Format == "date" || s.Format == "date-time":
		text = s.Format
	case s.MaxLength > 0:
		text = "text of at most " + strconv.Itoa(s.MaxLength)
	}

	if s.Default != nil {
		text += ", default " + fmt.Sprint(s.Default)
	}
	return text
}

// example returns the example response of an operation, indented; "" for none.
func (op *operation) example() string {
	for _, answer := range op.Responses {
		if answer.name != "200" {
			continue
		}
		for _, e := range answer.value.Content["application/json"].Examples {
			var b bytes.Buffer
			if json.Indent(&b, e.value.Value, "", "  ") == nil {
				return b.String()
			}
		}
	}
	return ""
}

// span is a part of a description: text, code or bold text.
type span struct {
	text string
	mark byte // 'c' for code, 'b' for bold, 0 for text
}

// paragraphs reads the Markdown of descriptions in the document: paragraphs, code and bold text.
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

// samples are ids that have data on this server; "" if the catalog has none.
type samples struct{ card, set, product, snapshot string }

// samplesOf chooses a card, its set, and a product. It prefers a card with a history, then one with
// a price, then any card of a set.
func samplesOf(v *engine.View) (s samples) {
	if v == nil {
		return s
	}

	c := v.Catalog
	s.snapshot = v.ID
	best := 0
	for card := 0; card < c.Cards.ID.Len() && best < 3; card++ {
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
	}

	if card := slices.IndexFunc(c.Cards.Product, func(verified uint8) bool { return verified != 0 }); card >= 0 {
		_, tail, _ := strings.Cut(c.Cards.ID.At(card), "_")
		s.product = v.Site().ProductPrefix + "_" + tail
	}
	return s
}

// presetValue returns the value of a parameter in the form: only required ones have one.
func (s *samples) presetValue(op *operation, p *parameter) string {
	switch {
	case p.Name == "since", p.Name == "snapshot_id": // nothing changed since the current one
		return s.snapshot

	// A browser omits empty fields.
	case p.In != "path" && p.Required && len(p.Schema.Enum) > 0:
		return fmt.Sprint(p.Schema.Enum[0])
	case p.In != "path" && p.Required:
		return fmt.Sprint(p.Example)
	case p.In != "path":
		return ""

	// Values of a path's parameters are required.
	case strings.HasPrefix(op.path, "/v1/sets/"):
		return s.set
	case p.Name == "product_id":
		return s.product
	case p.Name != "id":
		return fmt.Sprint(p.Example)
	}
	return s.card
}

// presetBody returns the body in the form, "" for an operation without one.
func (s *samples) presetBody(op *operation) string {
	switch {
	case op.RequestBody == nil:
		return ""
	case op.path == "/v1/valuations":
		return `{"items": [{"id": "` + s.card + `", "quantity": 2}]}`
	}
	return `{"ids": ["` + s.card + `"]}`
}

// target returns the URL path and query of an operation with the preset values.
func (s *samples) target(op *operation) string {
	path := op.path
	var query []param
	for i := range op.Parameters {
		p := &op.Parameters[i]
		if value := s.presetValue(op, p); p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		} else {
			query = append(query, param{p.Name, value})
		}
	}
	return pageAddress(path, 1, query...)
}

// isPublic reports whether an operation needs no key.
func (op *operation) isPublic() bool { return !strings.HasPrefix(op.path, "/v1") }

// curl returns a command that sends the request of the unchanged form.
func (p *referencePage) curl(op *operation) string {
	command := "curl"
	if !op.isPublic() {
		command += " -H 'X-API-Key: KEY'"
	}
	if body := p.samples.presetBody(op); body != "" {
		command += " -H 'Content-Type: application/json' -d '" + body + "'"
	}
	return command + " '" + p.base + p.samples.target(op) + "'"
}

// guide returns the guide for clients with the address of this service.
func (p *referencePage) guide() string {
	return strings.ReplaceAll(guideHTML, "http://127.0.0.1:8080", html.EscapeString(p.base))
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
	page.old = false // the page has no prices
	return appendPage(dst, &page)
}
