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

// readArray reads a body that is an object with one array within bounds, each element of which
// element takes. Unknown members are errors where the surface is strict and ignored elsewhere
// (decision 7). Problems are noted.
func (r *Request) readArray(member string, bounds wire.Range, element func(v jsonwalk.Value, n int)) {
	// Checked once as a whole, so that walking it needs no errors.
	body, err := parseObject(r.Body)
	if err != nil {
		r.problem("the body is not valid: %s", jsonProblem(err))
		return
	}

	// An empty list is told only where no unknown member was: its entries may be in that.
	before := len(r.problems.named)
	n := 0
	var list jsonwalk.Value
	for name, value := range body.Members() {
		switch {
		case name.Is(member):
			list = value
			for v := range value.Elements() {
				element(v, n)
				n++
			}
		case r.Strict:
			r.problem("the body has the unknown member %s", quoteName(name.Text()))
		}
	}

	switch {
	case list == nil:
		r.problem("%s is required", member)
	case list.Kind() != '[':
		r.problem("%s must be an array", member)
	case int64(n) > bounds.Max || n == 0 && len(r.problems.named) == before:
		r.problem("%s must have %d to %d entries, not %d", member, bounds.Min, bounds.Max, n)
	}
}

var (
	errTooDeep   = errors.New("it is nested more than 16 levels deep")
	errNotObject = errors.New("it must be a JSON object")
)

// parseObject checks a body as a whole.
func parseObject(body []byte) (jsonwalk.Value, error) {
	v, err := jsonwalk.Parse(body)
	switch {
	case err != nil:
		return nil, err
	case v.Kind() != '{':
		return nil, errNotObject
	case v.Deeper(maxDepth):
		return nil, errTooDeep
	}
	return v, nil
}

// jsonProblem says what is wrong with JSON without echoing it.
func jsonProblem(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsonwalk.ErrTrailing), errors.Is(err, errTooDeep), errors.Is(err, errNotObject):
		return err.Error()
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a member occurs twice"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case strings.Contains(err.Error(), "exceeded max depth"): // jsontext's own bound, which has no value
		return errTooDeep.Error()
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON at byte %d", syntax.ByteOffset)
	}
	return "it is not JSON"
}

// quoteName shows a member's name without letting it grow or hide anything.
func quoteName(name string) string {
	const longest = 40
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return string(wire.AppendString(nil, name))
}

// readIDs reads a body {"ids": […]} of strings. Problems are noted. The ids alias the request, and
// the list is the request's.
func (r *Request) readIDs(bounds wire.Range) []string {
	if !r.scanIDs(bounds) {
		r.decodeIDs(bounds)
	}
	return r.ids
}

// scanIDs is decodeIDs of a body that is spelt as usual; false for any other.
func (r *Request) scanIDs(bounds wire.Range) bool {
	r.ids = r.ids[:0]

	// More than wire allows is not usual either: the decoder counts it.
	usual := scan(r.Body)
	return usual.list("ids", int(bounds.Max), func(s *scanner) bool {
		id, ok := s.str()
		r.ids = append(r.ids, id)
		return ok
	})
}

// decodeIDs is readIDs of any body.
func (r *Request) decodeIDs(bounds wire.Range) {
	r.ids = r.ids[:0]
	wrong := false

	r.readArray("ids", bounds, func(v jsonwalk.Value, n int) {
		switch {
		case v.Kind() != '"':
			wrong = true
		case int64(n) < bounds.Max:
			r.ids = append(r.ids, v.Text())
		}
	})
	if wrong {
		r.problem("ids must hold strings only")
	}
}

// batch answers a live batch: the entries of the ids that are found, in request order, and the ids
// that are not. Identical strings collapse to one (decision 24). bounds are everybody's, limit the
// plan's.
func (r *Request) batch(out *Reply, bounds wire.Range, limit int, entry func(card int) []byte) *wire.Fault {
	ids := r.readIDs(bounds)
	if f := r.invalid(); f != nil {
		return f
	}
	if len(ids) > limit {
		return refuse(wire.PlanLimit, "The plan allows %d ids a request, not %d.", limit, len(ids))
	}

	var seen doubles
	missing := r.cards[:0] // numbers of ids

	// Twice the same string is one entry; an id and a slug of one card are two.
	out.Body = append(out.Body, `{"data":[`...)
	for i, id := range ids {
		same := func(k int) bool { return ids[k] == id }
		if _, again := seen.enter(maphash.String(doublesSeed, id), i, same); again {
			continue
		}
		card, ok := r.View.Index.Card(id)
		if !ok {
			missing = append(missing, uint32(i))
			continue
		}

		out.Body = append(wire.Comma(out.Body), entry(card)...)
	}

	// What is not there is named, so that a client need not compare the lists.
	out.Body = append(out.Body, `],"not_found":[`...)
	for _, i := range missing {
		out.Body = wire.AppendString(wire.Comma(out.Body), ids[i])
	}
	r.cards = missing
	out.Body = append(out.Body, ']', '}')
	return nil
}
