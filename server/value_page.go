package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"ninepocket/server/httpconn"
	"ninepocket/site"
	"ninepocket/wire"
)

// valuePath is where a list is valued. What is posted there is answered and forgotten.
const valuePath = "/value"

// valuePage answers GET /value: the empty form.
func (v *pageRequest) valuePage(dst []byte) ([]byte, error) {
	return v.pages.Value(dst, v.view, v.time, site.ValueQuery{}), nil
}

// valueList answers POST /value: the list with its prices, as a page or as a table to take away.
func (v *pageRequest) valueList(dst []byte) ([]byte, error) {
	v.cache = listCache
	asked, csv, f := v.readList()
	switch {
	case f != nil && v.wroteProblem(f):
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
	// maxCounted is how much of a list is counted that is too long to be valued: as much as is read
	// of a connection that closes.
	maxCounted = 4 << 20
	maxParts   = 2*site.ValueLines + 8
	// maxField bounds every field but the list.
	maxField = 512
	// maxStreams is how many lists are read as streams at the same time. Each holds two of 64 KiB,
	// that of the box and that of the file, and as much again while they grow: 16 MiB for all
	// visitors together, apart from the room of clients with keys.
	maxStreams = 64
)

// tooManyLists is what a visitor is told while others' lists take all the places.
var tooManyLists = &wire.APIError{
	Code: wire.TemporarilyUnavailable, RetryAfter: noRoom.RetryAfter,
	Detail: "Too many long lists are being read right now. Send this one again in a few seconds.",
}

// takesList reports whether a request is a list to value, which is read by itself.
func (s *Server) takesList(ctx *fasthttp.RequestCtx) bool {
	return s.Pages != nil && ctx.IsPost() && string(httpconn.Path(ctx)) == valuePath
}

// openBody is the body of the request. A longer one comes as a stream, so that a list that is too
// long is counted and never held; close is called when it was read.
func (v *pageRequest) openBody() (content io.Reader, closed func(), f *wire.APIError) {
	header := &v.x.Ctx.Request.Header
	if coding := header.Peek(fasthttp.HeaderContentEncoding); len(coding) > 0 && string(coding) != "identity" {
		return nil, nil, problem(wire.UnsupportedMediaType, "This list is compressed. Send it as it is.")
	}
	body, isStream := v.x.Ctx.UserValue(unread{}).(unreadBody)
	if !isStream {
		return bytes.NewReader(v.x.Ctx.PostBody()), func() {}, nil
	}
	if body.Reader == nil {
		return nil, nil, problem(wire.PayloadTooLarge, "This list comes without its length. Send its length first.")
	}

	reading := &v.x.s.lists
	if reading.Add(1) > maxStreams {
		reading.Add(-1)
		return nil, nil, tooManyLists
	}

	// Nobody else tells the client that its list is wanted: the body was refused at first.
	if v.x.Ctx.Request.MayContinue() {
		_, _ = io.WriteString(v.x.Ctx.Conn(), "HTTP/1.1 100 Continue\r\n\r\n") // who is gone sends no list
	}
	return io.LimitReader(body, maxCounted), func() { reading.Add(-1) }, nil
}

// readList reads the form, and refuses a list that is too long. What it does not know counts as absent, as
// everywhere on the pages.
func (v *pageRequest) readList() (asked site.ValueQuery, csv bool, f *wire.APIError) {
	body, closed, f := v.openBody()
	if f != nil {
		return asked, false, f
	}
	defer closed()

	length := v.x.Ctx.Request.Header.ContentLength()
	var box, file site.List
	lists := map[string]*site.List{"lines": &box, "file": &file}
	take := func(name string, value io.Reader) error {
		if list := lists[name]; list != nil {
			_, err := io.Copy(list, value)
			return err
		}

		text, err := io.ReadAll(io.LimitReader(value, maxField))
		switch pick, ok := site.ParsePick(string(text)); {
		case name == "pick" && ok && len(asked.Picks) < 2*site.ValueLines:
			asked.Picks = append(asked.Picks, pick)
		case name == "as":
			csv = string(text) == "csv"
		}
		return err
	}

	var late net.Error
	err := v.readFields(body, take)
	switch {
	case errors.As(err, &late):
		return asked, false, problem(wire.RequestTimeout, "This list did not arrive in time.")
	case errors.Is(err, errNoList):
		return asked, false, problem(wire.UnsupportedMediaType, "This is no form. Send the list as one: "+
			"multipart/form-data, or application/x-www-form-urlencoded.")
	// A list that is too long is refused for that, and its end was not read.
	case err != nil && length <= maxCounted:
		return asked, false, problem(wire.InvalidRequest, "This list was cut short. Send it again.")
	}

	// A file that is given goes before what is still in the box.
	asked.List = box
	if !file.Empty() {
		asked.List = file
	}
	asked.More = length > maxCounted
	why := asked.TooLong()
	if why != "" {
		f = problem(wire.PayloadTooLarge, why)
	}
	return asked, csv, f
}

// errNoList means: the body is of no type that a form has.
var errNoList = errors.New("no form")

// readFields hands the fields of a form on, one after the other. An error is of a form that ends before its
// end, or is none.
func (v *pageRequest) readFields(body io.Reader, take func(name string, value io.Reader) error) error {
	text := bufio.NewReader(body)
	if _, err := text.Peek(1); errors.Is(err, io.EOF) {
		return nil // an empty body has no type and no end
	}

	header := &v.x.Ctx.Request.Header
	boundary := string(header.MultipartFormBoundary())
	kind, _, _ := bytes.Cut(header.ContentType(), []byte(";"))
	switch {
	case boundary != "":
		return readParts(multipart.NewReader(text, boundary), take)
	case !bytes.EqualFold(bytes.TrimSpace(kind), []byte("application/x-www-form-urlencoded")):
		return errNoList
	}
	return readEscaped(text, header.ContentLength(), take)
}

// readParts reads a multipart form. Parts beyond those that a page sends are not looked at.
func readParts(parts *multipart.Reader, take func(name string, value io.Reader) error) error {
	for range maxParts {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a form that is cut short wraps it
			return nil
		}
		if err == nil {
			err = take(part.FormName(), part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readEscaped reads a url-encoded form. A name without a value is passed over.
func readEscaped(text *bufio.Reader, length int, take func(name string, value io.Reader) error) error {
	fields := &escaped{from: text}
	for range maxParts {
		fields.begin("=&")
		name, err := io.ReadAll(io.LimitReader(fields, maxField))
		if err == nil && fields.by == '=' {
			fields.begin("&")
			err = take(string(name), fields)
		}

		if err == nil {
			_, err = io.Copy(io.Discard, fields) // what nobody read of it
		}
		if err != nil || fields.by == 0 {
			return fields.cut(err, length)
		}
	}
	return nil
}

// escaped reads a name or a value of a url-encoded form up to what ends it.
type escaped struct {
	from *bufio.Reader
	ends string
	by   byte  // what ended it, 0 for the end of the form
	read int   // bytes of the form
	err  error // io.EOF once it is over
}

// begin begins a name or a value, which one of some bytes ends.
func (e *escaped) begin(ends string) {
	e.ends = ends
	e.by = 0
	e.err = nil
}

// cut is the error of a form that has fewer bytes than it said.
func (e *escaped) cut(err error, length int) error {
	if err == nil && e.read < min(length, maxCounted) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads the text with its escapes resolved. What is no escape stays as it is.
func (e *escaped) Read(p []byte) (n int, _ error) {
	for n < len(p) && e.err == nil {
		var b byte
		b, e.err = e.from.ReadByte()
		if e.err != nil {
			break
		}
		e.read++
		if strings.IndexByte(e.ends, b) >= 0 {
			e.by = b
			e.err = io.EOF
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
				e.read += 2
			}
		}
		p[n] = b
		n++
	}
	return n, e.err
}
