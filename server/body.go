package server

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"mime"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"ninepocket/wire"
)

// maxDepth bounds the nesting of a body (decision 7).
const maxDepth = 16

// checkMediaType wants a JSON body without content encoding (decision 3).
func (x *exchange) checkMediaType() *wire.Fault {
	h := &x.ctx.Request.Header
	media, params, err := mime.ParseMediaType(string(h.ContentType()))
	charset, named := params["charset"]
	if err != nil || media != "application/json" || named && !strings.EqualFold(charset, "utf-8") {
		return &wire.Fault{Code: wire.UnsupportedMediaType, Detail: "The body must be sent as Content-Type: application/json."}
	}
	if encoding := x.field(fasthttp.HeaderContentEncoding); len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity")) {
		return &wire.Fault{Code: wire.UnsupportedMediaType, Detail: "The body must not have a content encoding."}
	}
	return nil
}

// readArray reads a body that is an object with one array of 1 to most elements, each of which element reads. Unknown
// members are errors where the surface is strict and ignored elsewhere (decision 7). Problems are noted.
func (x *exchange) readArray(member string, most int, element func(d *jsontext.Decoder, n int) error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(x.ctx.PostBody())) // rejects duplicate names and invalid UTF-8
	before := len(x.problems)
	n, seen, err := x.decodeArray(d, member, element)
	if err == nil {
		if _, err = d.ReadToken(); err == nil {
			err = errTrailing
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	switch {
	case err != nil:
		x.problem("the body is not valid: " + jsonProblem(err))
	case !seen:
		x.problem(member + " is required")
	case n == notArray:
		x.problem(member + " must be an array")
	case n > most || n == 0 && len(x.problems) == before:
		x.problem(member + " must have 1 to " + decimal(int64(most)) + " entries, not " + decimal(int64(n)))
	}
}

// notArray is the number of elements of a member that is not an array.
const notArray = -1

func (x *exchange) decodeArray(d *jsontext.Decoder, member string, element func(d *jsontext.Decoder, n int) error) (n int, seen bool, err error) {
	token, err := d.ReadToken()
	if err != nil {
		return 0, false, err
	}
	if token.Kind() != '{' {
		return 0, false, errNotObject
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return n, seen, err
		}
		switch {
		case name.String() != member:
			if x.surface.strict {
				x.problem("the body has the unknown member " + quoteName(name.String()))
			}
			err = skipValue(d)
		case d.PeekKind() != '[':
			seen, n = true, notArray
			err = skipValue(d)
		default:
			seen = true
			n, err = decodeElements(d, element)
		}
		if err != nil {
			return n, seen, err
		}
	}
	_, err = d.ReadToken()
	return n, seen, err
}

func decodeElements(d *jsontext.Decoder, element func(d *jsontext.Decoder, n int) error) (n int, err error) {
	if _, err := d.ReadToken(); err != nil {
		return 0, err
	}
	for ; d.PeekKind() != ']'; n++ {
		if err := element(d, n); err != nil {
			return n, err
		}
	}
	_, err = d.ReadToken()
	return n, err
}

// readIDs reads a body {"ids": […]} with 1 to most strings. Problems are noted. The ids alias the request, and the list
// is the exchange's.
func (x *exchange) readIDs(most int) []string {
	if !x.scanIDs(most) {
		x.decodeIDs(most)
	}
	return x.ids
}

// scanIDs is decodeIDs of a body that is spelt as usual; false for any other.
func (x *exchange) scanIDs(most int) bool {
	x.ids = x.ids[:0]
	usual := scan(x.ctx.PostBody())
	return usual.list("ids", most, func(s *scanner) bool {
		id, ok := s.str()
		x.ids = append(x.ids, id)
		return ok
	})
}

// decodeIDs is readIDs of any body.
func (x *exchange) decodeIDs(most int) {
	body := x.ctx.PostBody()
	x.ids = x.ids[:0]
	wrong := false
	x.readArray("ids", most, func(d *jsontext.Decoder, n int) error {
		if d.PeekKind() != '"' {
			wrong = true
			return skipValue(d)
		}
		raw, err := d.ReadValue()
		if err == nil && n < most {
			x.ids = append(x.ids, bodyString(raw, body[:d.InputOffset()]))
		}
		return err
	})
	if wrong {
		x.problem("ids must hold strings only")
	}
}

var (
	errTrailing  = errors.New("there is data after the JSON value")
	errTooDeep   = errors.New("it is nested more than 16 levels deep")
	errNotObject = errors.New("it must be a JSON object")
)

// jsonProblem says what is wrong with JSON without echoing it.
func jsonProblem(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errTrailing), errors.Is(err, errTooDeep), errors.Is(err, errNotObject):
		return err.Error()
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a member occurs twice"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case errors.As(err, &syntax):
		return "it is not JSON at byte " + decimal(syntax.ByteOffset)
	}
	return "it is not JSON"
}

// bodyString is the string that a JSON string literal spells, which the body read so far ends with. Without escapes it
// is a part of the body itself and lives as long.
func bodyString(raw jsontext.Value, read []byte) string {
	if bytes.IndexByte(raw, '\\') >= 0 {
		plain, _ := jsontext.AppendUnquote(nil, raw) // the decoder has checked it
		return string(plain)
	}
	plain := read[len(read)-len(raw)+1 : len(read)-1]
	return unsafe.String(unsafe.SliceData(plain), len(plain))
}

// skipValue reads over one value, no deeper than maxDepth.
func skipValue(d *jsontext.Decoder) error {
	depth := d.StackDepth()
	for {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		switch at := d.StackDepth(); {
		case at > maxDepth:
			return errTooDeep
		case at <= depth:
			return nil
		}
	}
}

// batch answers a live batch: the entries of the ids that are found, in request order, and the ids that are not.
// Identical strings collapse to one (decision 24). most is the specification's bound, limit the plan's.
func (x *exchange) batch(most, limit int, entry func(card int) []byte) *wire.Fault {
	ids := x.readIDs(most)
	if f := x.invalid(); f != nil {
		return f
	}
	if len(ids) > limit {
		return &wire.Fault{Code: wire.PlanLimit, Detail: "The plan allows " + decimal(int64(limit)) + " ids a request, not " + decimal(int64(len(ids))) + "."}
	}
	var seen doubles
	missing := x.cards[:0] // numbers of ids
	x.body = append(x.body, `{"data":[`...)
	first := true
	for i, id := range ids {
		if _, again := seen.enter(maphash.String(doublesSeed, id), i, func(k int) bool { return ids[k] == id }); again {
			continue
		}
		card, ok := x.view.Index.Card(id)
		if !ok {
			missing = append(missing, uint32(i))
			continue
		}
		if !first {
			x.body = append(x.body, ',')
		}
		first = false
		x.body = append(x.body, entry(card)...)
	}
	x.body = append(x.body, `],"not_found":[`...)
	for k, i := range missing {
		if k > 0 {
			x.body = append(x.body, ',')
		}
		x.body = wire.AppendString(x.body, ids[i])
	}
	x.cards = missing
	x.body = append(x.body, ']', '}')
	return nil
}
