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

// valuePath is the path of the valuation of lists. Posted lists are not stored.
const valuePath = "/value"

// valuePage answers GET /value: the empty form.
func (v *pageRequest) valuePage(dst []byte) ([]byte, error) {
	return v.pages.Value(dst, v.view, v.time, site.ValueQuery{}), nil
}

// valueList answers POST /value: the list with its prices, as a page or as a CSV file.
func (v *pageRequest) valueList(dst []byte) ([]byte, error) {
	v.cache = listCache
	asked, csv, f := v.readList()
	switch {
	case f != nil && v.answeredAsProblem(f):
		return dst, errAnswered
	case f != nil:
		v.sendErrorPage(f, v.pages.ValueRefused(dst, v.view, v.time, asked, f.Detail))
		return dst, errAnswered
	case !csv:
		return v.pages.Value(dst, v.view, v.time, asked), nil
	}

	v.mediaType = "text/csv; charset=utf-8"
	v.x.Ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="valued.csv"`)
	return v.pages.AppendValueCSV(dst, v.view, asked)
}

// listCache lets only the client's browser cache the response.
const listCache = "private, max-age=0"

// Limits of a form.
const (
	// maxListBytes is how much of a list is read that is too long to be valued: as much as is read
	// of a connection that closes.
	maxListBytes = 4 << 20
	maxParts     = 2*site.ValueLines + 8
	// maxField limits every field except the list.
	maxField = 512
	// maxStreams is how many lists are read as streams at the same time. Each takes two buffers of
	// 64 KiB, that of the box and that of the file, and as much again while they grow: 16 MiB for
	// all visitors together, in addition to Options.BodyBudget.
	maxStreams = 64
)

// tooManyLists refuses a list because maxStreams other lists are being read.
var tooManyLists = &wire.APIError{
	Code: wire.TemporarilyUnavailable, RetryAfter: bodyBudgetFull.RetryAfter,
	Detail: "Too many long lists are being read right now. Send this one again in a few seconds.",
}

// isListUpload reports whether a request has a list to value, whose body its page reads.
func (s *Server) isListUpload(ctx *fasthttp.RequestCtx) bool {
	return s.Pages != nil && ctx.IsPost() && string(httpconn.Path(ctx)) == valuePath
}

// openBody returns the body of the request. A larger one is a stream, so that a list that is too
// long is counted and never in memory. The caller calls closed after reading.
func (v *pageRequest) openBody() (content io.Reader, closed func(), f *wire.APIError) {
	header := &v.x.Ctx.Request.Header
	if coding := header.Peek(fasthttp.HeaderContentEncoding); len(coding) > 0 && string(coding) != "identity" {
		return nil, nil, problem(wire.UnsupportedMediaType, "This list is compressed. Send it as it is.")
	}
	body, isStream := v.x.Ctx.UserValue(unreadBodyKey{}).(unreadBody)
	if !isStream {
		return bytes.NewReader(v.x.Ctx.PostBody()), func() {}, nil
	}
	if body.Reader == nil {
		return nil, nil, problem(wire.PayloadTooLarge, "This list comes without its length. Send its length first.")
	}

	reading := &v.x.s.openLists
	if reading.Add(1) > maxStreams {
		reading.Add(-1)
		return nil, nil, tooManyLists
	}

	// The guard refused the body, so fasthttp does not send 100 Continue.
	if v.x.Ctx.Request.MayContinue() {
		_, _ = io.WriteString(v.x.Ctx.Conn(), "HTTP/1.1 100 Continue\r\n\r\n") // a client that is gone sends no list
	}
	return io.LimitReader(body, maxListBytes), func() { reading.Add(-1) }, nil
}

// readList reads the form, and refuses a list that is too long. Unknown fields are ignored, as
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
	case err != nil && length <= maxListBytes:
		return asked, false, problem(wire.InvalidRequest, "This list was cut short. Send it again.")
	}

	// A file that is given goes before what is still in the box.
	asked.List = box
	if !file.Empty() {
		asked.List = file
	}
	asked.More = length > maxListBytes
	why := asked.TooLong()
	if why != "" {
		f = problem(wire.PayloadTooLarge, why)
	}
	return asked, csv, f
}

// errNoList reports a body that has no type of a form.
var errNoList = errors.New("no form")

// readFields calls take with the fields of a form, one after the other. The error is that of a form
// that is incomplete or not a form.
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

// readParts reads a multipart form. Parts beyond those that a page sends are ignored.
func readParts(parts *multipart.Reader, take func(name string, value io.Reader) error) error {
	for range maxParts {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a truncated form wraps io.EOF
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

// readEscaped reads a URL-encoded form. A name without a value is skipped.
func readEscaped(text *bufio.Reader, length int, take func(name string, value io.Reader) error) error {
	fields := &escapedReader{source: text}
	for range maxParts {
		fields.begin("=&")
		name, err := io.ReadAll(io.LimitReader(fields, maxField))
		if err == nil && fields.delimiter == '=' {
			fields.begin("&")
			err = take(string(name), fields)
		}

		if err == nil {
			_, err = io.Copy(io.Discard, fields) // the unread rest
		}
		// A form that ends has as many bytes as its length says.
		if err == nil && fields.delimiter == 0 && fields.read < min(length, maxListBytes) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || fields.delimiter == 0 {
			return err
		}
	}
	return nil
}

// escapedReader reads a name or a value of a URL-encoded form up to its delimiter.
type escapedReader struct {
	source     *bufio.Reader
	delimiters string
	delimiter  byte  // the one that was found, 0 for the end of the form
	read       int   // bytes of the form
	err        error // io.EOF after the end
}

// begin begins a name or a value, which one of the delimiters ends.
func (e *escapedReader) begin(ends string) {
	e.delimiters = ends
	e.delimiter = 0
	e.err = nil
}

// Read reads the text with its escapes decoded. An invalid escape stays as it is.
func (e *escapedReader) Read(p []byte) (n int, _ error) {
	for n < len(p) && e.err == nil {
		var b byte
		b, e.err = e.source.ReadByte()
		if e.err != nil {
			break
		}
		e.read++
		if strings.IndexByte(e.delimiters, b) >= 0 {
			e.delimiter = b
			e.err = io.EOF
			break
		}

		switch b {
		case '+':
			b = ' '
		case '%':
			digits, _ := e.source.Peek(2)
			if code, err := strconv.ParseUint(string(digits), 16, 8); err == nil && len(digits) == 2 {
				b = byte(code)
				_, _ = e.source.Discard(2) // Peek returned them
				e.read += 2
			}
		}
		p[n] = b
		n++
	}
	return n, e.err
}
