package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"ninepocket/server/front"
	"ninepocket/site"
	"ninepocket/wire"
)

// valuePath is where a list is valued. What is posted there is answered and forgotten.
const valuePath = "/value"

// valuePage answers GET /value: the empty form.
func (v *visit) valuePage(dst []byte) ([]byte, error) {
	return v.pages.Value(dst, v.view, v.time, site.ValueQuery{}), nil
}

// valueList answers POST /value: the list with its prices, as a page or as a table to take away.
func (v *visit) valueList(dst []byte) ([]byte, error) {
	v.cache = listCache
	asked, csv, f := v.readList()
	why := ""
	if f == nil {
		why = asked.TooLong()
	}
	if why != "" {
		f = problem(wire.PayloadTooLarge, why)
	}
	switch {
	case f != nil && v.toldAsProblem(f):
		return dst, errMoved
	case f != nil:
		v.sendFault(f, v.pages.ValueRefused(dst, v.view, v.time, asked, f.Detail))
		return dst, errMoved
	case !csv:
		return v.pages.Value(dst, v.view, v.time, asked), nil
	}

	v.mediaType = "text/csv; charset=utf-8"
	v.x.Ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="valued.csv"`)
	return v.pages.AppendValueCSV(dst, v.view, asked)
}

// listCache lets a browser go back to its answer, and nobody else keep it.
const listCache = "private, max-age=0"

// Bounds of a form that is read.
const (
	// mostCounted is how much of a list is counted that is too long to be valued: as much as is read of a
	// connection that closes.
	mostCounted = 4 << 20
	mostParts   = 2*site.ValueLines + 8
	// mostField bounds every field but the list.
	mostField = 512
)

// takesList reports whether a request is a list to value, which is read by itself.
func (s *Server) takesList(ctx *fasthttp.RequestCtx) bool {
	return s.Pages != nil && ctx.IsPost() && string(front.Path(ctx)) == valuePath
}

// form is the body of the request. A longer one comes as a stream, so that a list that is too long is counted
// and never held.
func (v *visit) form() (io.Reader, *wire.Fault) {
	body, isStream := v.x.Ctx.UserValue(unread{}).(unreadBody)
	if !isStream {
		return bytes.NewReader(v.x.Ctx.PostBody()), nil
	}
	if body.Reader == nil {
		return nil, problem(wire.PayloadTooLarge, "This list comes without its length. Send its length first.")
	}

	conn, guarded := v.x.Ctx.Conn().(*front.Conn)
	if guarded && !conn.TakeRoom(site.ValueText) {
		return nil, noRoom
	}
	return io.LimitReader(body, mostCounted), nil
}

// readList reads the form. What it does not know counts as absent, as everywhere on the pages.
func (v *visit) readList() (asked site.ValueQuery, csv bool, f *wire.Fault) {
	form, f := v.form()
	if f != nil {
		return asked, false, f
	}

	length := v.x.Ctx.Request.Header.ContentLength()
	var box, file site.List
	take := func(name string, value io.Reader) error {
		switch name {
		case "lines":
			_, err := io.Copy(&box, value)
			return err
		case "file":
			_, err := io.Copy(&file, value)
			return err
		}

		text, err := io.ReadAll(io.LimitReader(value, mostField))
		switch pick, ok := site.ParsePick(string(text)); {
		case name == "pick" && ok && len(asked.Picks) < 2*site.ValueLines:
			asked.Picks = append(asked.Picks, pick)
		case name == "as":
			csv = string(text) == "csv"
		}
		return err
	}

	var late net.Error
	if err := v.readFields(form, take); errors.As(err, &late) {
		return asked, false, problem(wire.RequestTimeout, "This list did not arrive in time.")
	}

	// A file that is given goes before what is still in the box.
	asked.List = box
	if !file.Empty() {
		asked.List = file
	}
	asked.More = length > mostCounted
	return asked, csv, nil
}

// readFields hands the fields of a form on, one after the other. It ends where the form does, or is no form.
func (v *visit) readFields(form io.Reader, take func(name string, value io.Reader) error) error {
	header := &v.x.Ctx.Request.Header
	if boundary := string(header.MultipartFormBoundary()); boundary != "" {
		parts := multipart.NewReader(form, boundary)
		for range mostParts {
			part, err := parts.NextPart()
			if err == nil {
				err = take(part.FormName(), part)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if !bytes.HasPrefix(header.ContentType(), []byte("application/x-www-form-urlencoded")) {
		return nil
	}

	text := bufio.NewReader(form)
	for range mostParts {
		name, err := io.ReadAll(io.LimitReader(&escaped{from: text, end: '='}, mostField))
		if err == nil {
			value := &escaped{from: text, end: '&'}
			err = errors.Join(take(string(name), value), value.skip())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// escaped reads a name or a value of a url-encoded form up to what ends it.
type escaped struct {
	from *bufio.Reader
	end  byte
	err  error // io.EOF once it is over
}

// skip passes over what nobody read of it.
func (e *escaped) skip() error {
	_, err := io.Copy(io.Discard, e)
	if err == nil {
		_, err = e.from.Peek(1) // io.EOF where this was the last one
	}
	return err
}

// Read reads the text with its escapes resolved. What is no escape stays as it is.
func (e *escaped) Read(p []byte) (n int, _ error) {
	for n < len(p) && e.err == nil {
		var b byte
		b, e.err = e.from.ReadByte()
		if b == e.end {
			e.err = io.EOF
		}
		if e.err != nil {
			break
		}

		switch b {
		case '+':
			b = ' '
		case '%':
			digits, _ := e.from.Peek(2)
			if code, err := strconv.ParseUint(string(digits), 16, 8); err == nil && len(digits) == 2 {
				b = byte(code)
				_, _ = e.from.Discard(2) // they were there
			}
		}
		p[n] = b
		n++
	}
	return n, e.err
}
