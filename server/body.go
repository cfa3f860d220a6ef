package server

import (
	"bytes"
	"errors"
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

// readIDs reads a body {"ids": […]} with 1 to most strings. Unknown members are ignored on live (decision 7).
// Problems are noted. The ids alias the request.
func (x *exchange) readIDs(most int) []string {
	body := x.ctx.PostBody()
	d := jsontext.NewDecoder(bytes.NewBuffer(body)) // rejects duplicate names and invalid UTF-8
	ids, seen, err := x.decodeIDs(d, body, most)
	if err == nil {
		if _, err = d.ReadToken(); err == nil {
			err = errTrailing
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	switch {
	case len(x.problems) > 0:
	case err != nil:
		x.problem("the body is not valid: " + jsonProblem(err))
	case !seen:
		x.problem("ids is required")
	case len(ids) == 0:
		x.problem("ids must have 1 to " + decimal(int64(most)) + " entries, not 0")
	}
	return ids
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

func (x *exchange) decodeIDs(d *jsontext.Decoder, body []byte, most int) (ids []string, seen bool, err error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, false, err
	}
	if token.Kind() != '{' {
		return nil, false, errNotObject
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, seen, err
		}
		if name.String() != "ids" {
			if err := skipValue(d); err != nil {
				return nil, seen, err
			}
			continue
		}
		seen = true
		if ids, err = x.decodeStrings(d, body, most); err != nil {
			return nil, seen, err
		}
	}
	_, err = d.ReadToken()
	return ids, seen, err
}

func (x *exchange) decodeStrings(d *jsontext.Decoder, body []byte, most int) ([]string, error) {
	if d.PeekKind() != '[' {
		if err := skipValue(d); err != nil {
			return nil, err
		}
		x.problem("ids must be an array of strings")
		return nil, nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var ids []string
	n, wrong := 0, false
	for d.PeekKind() != ']' {
		if d.PeekKind() != '"' {
			wrong = true
			if err := skipValue(d); err != nil {
				return nil, err
			}
			n++
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if n++; n <= most {
			ids = append(ids, bodyString(raw, body[:d.InputOffset()]))
		}
	}
	if wrong {
		x.problem("ids must hold strings only")
	}
	if n > most {
		x.problem("ids must have 1 to " + decimal(int64(most)) + " entries, not " + decimal(int64(n)))
	}
	_, err := d.ReadToken()
	return ids, err
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
	seen := make(map[string]struct{}, len(ids))
	var missing []string
	x.body = append(x.body, `{"data":[`...)
	first := true
	for _, id := range ids {
		if _, again := seen[id]; again {
			continue
		}
		seen[id] = struct{}{}
		card, ok := x.view.Index.Card(id)
		if !ok {
			missing = append(missing, id)
			continue
		}
		if !first {
			x.body = append(x.body, ',')
		}
		first = false
		x.body = append(x.body, entry(card)...)
	}
	x.body = append(x.body, `],"not_found":[`...)
	for i, id := range missing {
		if i > 0 {
			x.body = append(x.body, ',')
		}
		x.body = wire.AppendString(x.body, id)
	}
	x.body = append(x.body, ']', '}')
	return nil
}
