package api

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// maxDepth bounds the nesting of a body (decision 7).
const maxDepth = 16

// readArray reads a body that is an object with one array within bounds, and calls element for each
// element. Unknown members are errors if the surface is strict, and otherwise ignored (decision 7).
// It records problems.
func (r *Request) readArray(member string, bounds wire.Range, element func(value jsonwalk.Value, n int)) {
	body := r.object()
	if body == nil {
		return
	}

	// With unknown members, an empty list is no problem: one of them may have its entries.
	n := 0
	var unknown []string
	var list jsonwalk.Value
	for name, value := range body.Members() {
		switch {
		case name.Is(member):
			list = value
			for value := range value.Elements() {
				element(value, n)
				n++
			}
		case r.Strict:
			unknown = append(unknown, QuoteInput(name.Text()))
		}
	}

	// A client whose list has another name may have sent the other surface's body.
	for _, name := range unknown {
		if list == nil {
			r.problem("the body has the unknown member %s: with a preview key send %s", name, r.sample())
		} else {
			r.problem("the body has the unknown member %s: leave it out (it takes %s)", name, member)
		}
	}

	switch {
	case list == nil && len(unknown) > 0:
	case list == nil:
		r.problem("%s is required%s: send %s", member, r.gotMembers(body), r.sample())
	case list.Kind() != '[':
		r.problem("%s must be an array (got %s): send %s", member, jsonwalk.KindName(list.Kind()), r.sample())
	case int64(n) > bounds.Max || n == 0 && len(unknown) == 0:
		r.problem("%s must have between %d and %d entries (got %d)", member, bounds.Min, bounds.Max, n)
	}
}

// sample returns an example body of the operation.
func (r *Request) sample() string {
	switch {
	case r.Strict:
		return `{"items":[{"kind":"sealed","product_id":"` + r.View.Site().ProductPrefix + `_…"}]}`
	case r.Op.Path == valuationsPath:
		return `{"items":[{"line":"2x Charizard 4/102"}]}`
	}
	return `{"ids":["card_…"]}`
}

// object parses the body, once and completely, so that reading it needs no errors. It is nil if the
// body is no JSON object: it records the fault, and the expected body.
func (r *Request) object() jsonwalk.Value {
	const tooDeep = "the body is nested more than 16 levels deep"
	value, err := jsonwalk.Parse(r.Body)
	what := "the body is not JSON"

	// A valid body must not cost memory here, which [errors.As] would allocate for its target.
	switch syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err); {
	case err == nil && value.Kind() != '{':
		what = "the body must be a JSON object"
	case err == nil && value.DeeperThan(maxDepth):
		what = tooDeep
	case err == nil:
		return value
	case errors.Is(err, jsonwalk.ErrTrailing):
		what = "the body goes on after its JSON value"
	case errors.Is(err, jsontext.ErrDuplicateName) && isSyntax:
		r.problem("the body has the member %s twice: send it once", QuoteInput(syntax.JSONPointer.LastToken()))
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		what = "the body ends before its JSON does"
	case strings.Contains(err.Error(), "exceeded max depth"): // jsontext's own bound, which has no value
		what = tooDeep
	case isSyntax:
		what = fmt.Sprintf("the body is not JSON after its first %d bytes", syntax.ByteOffset)
	}
	r.problem("%s: send %s", what, r.sample())
	return nil
}

// maxShown is how many bytes of a client's input a response repeats.
const maxShown = 40

// QuoteInput quotes a client's input for a response, limited in length, without keys or control
// characters.
func QuoteInput(text string) string {
	text = wire.RedactKey(text)
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return string(wire.AppendString(nil, text))
}

// readIDs reads a body {"ids": […], "identifiers": […]} of strings, either or both. It records
// problems. It returns the ids and then the identifiers, which alias the body, and how many of them
// are ids.
func (r *Request) readIDs(bounds wire.Range) (refs []string, ids int) {
	if r.scanIDs("ids", bounds) {
		return r.ids, len(r.ids)
	}
	if r.scanIDs("identifiers", bounds) {
		return r.ids, 0
	}

	// Other members are ignored (decision 7).
	body := r.object()
	if body == nil {
		return nil, 0
	}
	return r.references(body, body.Member("ids"), body.Member("identifiers"), bounds)
}

// scanIDs reads a body that has one member in the usual encoding; false for any other.
func (r *Request) scanIDs(member string, bounds wire.Range) bool {
	r.ids = r.ids[:0]

	// Too many elements are left to the decoder, which counts them.
	usual := scan(r.Body)
	return usual.list(member, int(bounds.Max), func(scanner *scanner) bool {
		id, ok := scanner.str()
		r.ids = append(r.ids, id)
		return ok
	})
}

// references is readIDs for the two lists of a body, nil for one that it lacks.
func (r *Request) references(body, ours, others jsonwalk.Value, bounds wire.Range) (refs []string, ids int) {
	r.ids = r.ids[:0]

	// The two are counted together, but problems are reported for each.
	total := r.decodeReferences("ids", ours, 0, bounds)
	ids = len(r.ids)
	total = r.decodeReferences("identifiers", others, total, bounds)

	switch {
	case total < 0:
	case ours == nil && others == nil:
		r.problem(`ids or identifiers is required%s: send {"ids":["card_…"]} or {"identifiers":["tcgplayer:42382"]}`,
			r.gotMembers(body))
	case !bounds.Has(int64(total)) && others == nil:
		r.problem("ids must have between %d and %d entries (got %d)", bounds.Min, bounds.Max, total)
	case !bounds.Has(int64(total)):
		r.problem("ids and identifiers together must have between %d and %d entries (got %d)",
			bounds.Min, bounds.Max, total)
	}
	return r.ids, ids
}

// maxGot is how many of the body's members a problem names if the required ones are missing.
const maxGot = 3

// gotMembers lists the members of a body that lacks the required ones, "" for a body without
// members.
func (r *Request) gotMembers(body jsonwalk.Value) string {
	if r.Op.Path == pricesPath && body.Member("items") != nil {
		return ` (got "items", which is the form of preview keys)`
	}

	var got []string
	for name := range body.Members() {
		if len(got) == maxGot {
			got = append(got, "…")
			break
		}
		got = append(got, QuoteInput(name.Text()))
	}
	if len(got) == 0 {
		return ""
	}
	return " (got " + strings.Join(got, ", ") + ")"
}

// sampleRefs are example elements of each list of references.
var sampleRefs = map[string]string{"ids": "card_…", "identifiers": "tcgplayer:42382"}

// decodeReferences appends the strings of a member to r.ids, no more than bounds allow, and adds
// its number of elements to the total before it. It records problems; without a list there is no
// total, -1.
func (r *Request) decodeReferences(name string, list jsonwalk.Value, before int, bounds wire.Range) (total int) {
	if list == nil {
		return before
	}
	if list.Kind() != '[' {
		r.problem("%s must be an array of strings (got %s): send {%q:[%q]}", name, jsonwalk.KindName(list.Kind()), name,
			sampleRefs[name])
		return -1
	}

	n := 0
	wrong := -1
	var kind byte
	for value := range list.Elements() {
		switch {
		case value.Kind() != '"' && wrong < 0:
			wrong = n
			kind = value.Kind()
		case value.Kind() == '"' && int64(len(r.ids)) < bounds.Max:
			r.ids = append(r.ids, value.Text())
		}
		n++
	}
	if wrong >= 0 {
		r.problem("%s must hold strings only (%s[%d] is %s): send a card's id or slug in ids, "+
			`what another catalog calls it in identifiers, such as "tcgplayer:42382"`,
			name, name, wrong, jsonwalk.KindName(kind))
	}
	if before < 0 {
		return -1
	}
	return before + n
}

// batchFormat is how a live batch answers.
type batchFormat struct {
	limit  int        // entries that the plan allows
	fields fieldNames // wanted members of an entry
	object func(dst []byte, card int) []byte
	header string // of CSV
	// rows appends a card's rows of CSV; ref is the identifier that found the card, "" for an id.
	rows func(dst []byte, card int, ref string) []byte
}

// batch handles a live batch. bounds are the limits for everybody.
func (r *Request) batch(out *Reply, bounds wire.Range, format *batchFormat) *wire.APIError {
	refs, ids := r.readIDs(bounds)
	if f := r.invalid(); f != nil {
		return f
	}

	out.Body = append(out.Body, `{"data":[`...)
	return format.append(r, out, refs, ids)
}

// append appends the entries of the references that were found, ids first, each in request order,
// and the list of those not found. Identical strings of one list are one (decision 24). For CSV the
// reply starts again.
func (format *batchFormat) append(r *Request, out *Reply, refs []string, ids int) *wire.APIError {
	if len(refs) > format.limit {
		return refuse(wire.PlanLimit,
			"the plan %q allows %d ids and identifiers together in a request (got %d): send them in several requests",
			r.Plan.Name, format.limit, len(refs))
	}
	if r.WantsCSV {
		out.Body = append(out.Body[:0], format.header...)
		out.CSV = true
	}

	var seen duplicateSet
	missing := r.cards[:0] // numbers of refs

	// A repeated string is one entry; an id and a slug of one card are two.
	for i, ref := range refs {
		isID := i < ids
		same := func(k int) bool { return refs[k] == ref && (k < ids) == isID }
		if _, again := seen.add(maphash.String(duplicateSeed, ref), i, same); again {
			continue
		}

		found := false
		if isID {
			var card int
			card, found = r.View.Index.Card(ref)
			if found {
				format.appendEntry(r, out, card, "")
			}
		} else {
			for _, card := range r.View.Index.ForBatch(ref) {
				format.appendEntry(r, out, int(card), ref)
				found = true
			}
		}
		if !found {
			missing = append(missing, uint32(i))
		}
	}

	r.cards = missing
	format.appendMissing(out, refs, missing)
	return nil
}

// appendEntry appends the entry of a card, with the identifier that found it as its last member, ""
// for none.
func (format *batchFormat) appendEntry(r *Request, out *Reply, card int, identifier string) {
	if out.CSV {
		out.Body = format.rows(out.Body, card, identifier)
		return
	}

	out.Body = wire.AppendComma(out.Body)
	if format.fields == nil {
		out.Body = format.object(out.Body, card)
	} else {
		r.text = format.object(r.text[:0], card)
		out.Body = format.fields.appendRecord(out.Body, r.text)
	}
	if identifier != "" {
		out.Body = append(wire.AppendText(out.Body[:len(out.Body)-1], `,"ref":`, identifier), '}')
	}
}

// appendMissing ends a batch with the references that were not found, numbers of refs, so that a
// client need not compare the lists.
func (format *batchFormat) appendMissing(out *Reply, refs []string, missing []uint32) {
	if out.CSV {
		for _, i := range missing {
			out.Body = wire.AppendBareRow(out.Body, format.header, refs[i], wire.MissingRow)
		}
		return
	}

	out.Body = append(out.Body, `],"not_found":[`...)
	for _, i := range missing {
		out.Body = wire.AppendString(wire.AppendComma(out.Body), refs[i])
	}
	out.Body = append(out.Body, ']', '}')
}
