package server

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/api"
	"ninepocket/server/httpconn"
	"ninepocket/site"
	"ninepocket/wire"
)

// Paths of the valuation of lists. Posted lists are not stored. rowsPath answers the script of the
// page, which posts a list in pieces.
const (
	valuePath = "/value"
	rowsPath  = "/value/rows"
)

// valuePage answers GET /value: the empty form.
func (v *pageRequest) valuePage(dst []byte) ([]byte, error) {
	return v.pages.Value(dst, v.view, v.time, site.ValueQuery{})
}

// valueList answers POST /value: the list with its prices, as a page or as a CSV file.
func (v *pageRequest) valueList(dst []byte) ([]byte, error) {
	return v.answerList(dst, func(posted *postedList) (page []byte, err error) {
		if !posted.csv {
			return v.pages.Value(dst, v.view, v.time, posted.list)
		}

		page, err = v.pages.AppendValueCSV(dst, v.view, posted.list)
		if err == nil {
			v.mediaType = "text/csv; charset=utf-8"
			v.x.Ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="valued.csv"`)
		}
		return page, err
	})
}

// valueRows answers POST /value/rows: a piece of a list, as JSON for the script of the page.
func (v *pageRequest) valueRows(dst []byte) ([]byte, error) {
	return v.answerList(dst, func(posted *postedList) ([]byte, error) {
		v.mediaType = "application/json"
		rows := &posted.rows
		rows.Text = posted.list.Text()
		rows.Picks = posted.list.Picks
		if rows.Version != v.pages.ScriptVersion() {
			return dst, errors.New("this page is of another version of the site: load it again")
		}
		return v.pages.AppendRows(dst, v.view, rows)
	})
}

// answerList reads the posted list and answers it, or the reason why it is refused.
func (v *pageRequest) answerList(dst []byte, answer func(*postedList) ([]byte, error)) ([]byte, error) {
	v.cache = listCache
	posted := &postedList{request: v}
	defer posted.close()
	f := posted.read()
	if f == nil {
		// One long list is valued at a time, so that other requests have the other processors.
		if posted.isStream {
			v.x.s.valuing.Lock()
			defer v.x.s.valuing.Unlock()
		}
		page, err := answer(posted)
		if err == nil {
			return page, nil
		}
		f = problem(wire.InvalidRequest, err.Error()) // of a row, or of the script
	}

	if !v.answeredAsProblem(f) {
		v.sendErrorPage(f, v.pages.ValueRefused(dst, v.view, v.time, posted.list, f.Detail))
	}
	return dst, errAnswered
}

// listCache lets only the client's browser cache the response.
const listCache = "private, max-age=0"

// Limits of a form.
const (
	// maxListBytes is how much of a form is read: the largest list with the form around it. It is
	// about as much as is read of a connection that closes.
	maxListBytes = site.MaxListText + 64<<10
	maxParts     = 2*site.ValueLines + 8
	// maxField limits every field except the list.
	maxField = 512
	// pageBytes and site.RowsAtATime are how much of a list counts as a page of a visitor's limit.
	// maxListPages is how much a list counts at most: its rest is read for its size.
	pageBytes    = 100 << 10
	maxListPages = (maxListBytes + pageBytes - 1) / pageBytes
	// maxStreams is how many lists are read as streams at the same time. An address has one at
	// most. Each takes its text twice, and its answer, which is no longer than a table of its rows:
	// 64 MiB for both, in addition to Options.BodyBudget.
	maxStreams = 2
	// paceBytes is how much of a list must come in listPace, so that nobody has a stream for long.
	paceBytes = 64 << 10
	listPace  = 10 * time.Second
	// listPaces is the number of listPace periods within which the whole list must have come. The
	// longest list then needs 280 kbit/s, and two slow clients have the streams for two minutes
	// only.
	listPaces = 12
)

// listRetry is the number of seconds after which a client without a stream sends its list again.
// Lists of 64 KiB are read and valued meanwhile; those of slow clients are not.
const listRetry = 2

// listStreams are the clients whose lists are being read as streams.
type listStreams struct {
	mu      sync.Mutex
	clients []netip.Addr
}

// open takes a stream for a client. This machine may have several, as it may be many visitors.
func (l *listStreams) open(client netip.Addr) *wire.APIError {
	l.mu.Lock()
	defer l.mu.Unlock()

	many := !client.IsValid() || client.IsLoopback()
	var f *wire.APIError
	switch {
	case !many && slices.Contains(l.clients, client):
		f = problem(wire.RateLimitExceeded, "Another list of this address is being read. Send this one after it.")
	case len(l.clients) == maxStreams:
		f = problem(wire.TemporarilyUnavailable,
			"Too many long lists are being read right now. Send this one again in a few seconds.")
	default:
		l.clients = append(l.clients, client)
		return nil
	}

	f.RetryAfter = listRetry
	return f
}

// close releases the stream of a client.
func (l *listStreams) close(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.clients, client)
	l.clients = slices.Delete(l.clients, at, at+1)
}

// isListUpload reports whether a request has a list to value, whose body its page reads.
func (s *Server) isListUpload(ctx *fasthttp.RequestCtx) bool {
	if s.Pages == nil || !ctx.IsPost() {
		return false
	}
	path := string(httpconn.Path(ctx))
	return path == valuePath || path == rowsPath
}

// listPages returns how many pages a list of so many rows or bytes counts as.
func listPages(rows, size int) int {
	pages := max((rows+site.RowsAtATime-1)/site.RowsAtATime, (size+pageBytes-1)/pageBytes)
	return min(max(pages, 1), maxListPages)
}

// postedList is a list that is being read from a form.
type postedList struct {
	request *pageRequest
	list    site.ValueQuery
	rows    site.RowsQuery // fields of a piece
	csv     bool

	box, file site.List
	client    netip.Addr // of the stream
	isStream  bool
	length    int
	pages     int            // of the client's limit that were taken
	refusal   *wire.APIError // once the limit is reached
}

// close releases what was taken to read and to answer the list.
func (p *postedList) close() {
	if p.isStream {
		p.request.x.s.listStreams.close(p.client)
	}
}

// open returns the body of the request. A larger one is a stream, so that a list that is too long
// is counted and never in memory.
func (p *postedList) open() (content io.Reader, f *wire.APIError) {
	x := p.request.x
	header := &x.Ctx.Request.Header
	p.length = header.ContentLength()

	if coding := header.Peek(fasthttp.HeaderContentEncoding); len(coding) > 0 && string(coding) != "identity" {
		return nil, problem(wire.UnsupportedMediaType, "This list is compressed. Send it as it is.")
	}

	body, unread := x.Ctx.UserValue(unreadBodyKey{}).(unreadBody)
	if !unread {
		return bytes.NewReader(x.Ctx.PostBody()), nil
	}
	if body.Reader == nil {
		return nil, problem(wire.PayloadTooLarge, "This list comes without its length. Send its length first.")
	}

	p.client = limitedAddr(x.s.clientAddr(x))
	if f := x.s.listStreams.open(p.client); f != nil {
		return nil, f
	}
	p.isStream = true

	// The guard refused the body, so fasthttp does not send 100 Continue.
	if x.Ctx.Request.MayContinue() {
		_, _ = io.WriteString(x.Ctx.Conn(), "HTTP/1.1 100 Continue\r\n\r\n") // a client that is gone sends no list
	}
	pace := cmp.Or(x.s.listPace, listPace)
	paced := &pacedReader{Reader: body, conn: x.Ctx.Conn(), pace: pace, end: time.Now().Add(listPaces * pace)}
	return io.LimitReader(paced, maxListBytes), nil
}

// pacedReader gives a client a time for each paceBytes that it sends, and one for all.
type pacedReader struct {
	io.Reader
	conn net.Conn
	pace time.Duration
	end  time.Time
	left int // bytes until the next deadline
}

// Read reads what has come within the time.
func (r *pacedReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		r.left = paceBytes
		until := time.Now().Add(r.pace)
		if until.After(r.end) {
			until = r.end
		}
		if err := r.conn.SetReadDeadline(until); err != nil {
			return 0, err
		}
	}

	n, err := r.Reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// read reads the form, and refuses a list that is too long. Before anything of it is read, it takes
// a page of the client's limit for each pageBytes; rows take more as they are read.
func (p *postedList) read() *wire.APIError {
	body, f := p.open()
	if f != nil {
		return f
	}

	p.pages = 1 // of the request itself
	err := p.charge(listPages(0, p.length))
	if err == nil {
		err = p.request.readFields(body, p.take)
	}
	var late interface{ Timeout() bool }
	switch {
	case p.refusal != nil:
		return p.refusal
	case errors.As(err, &late):
		return problem(wire.RequestTimeout, "This list did not arrive in time.")
	case errors.Is(err, errNoList):
		return problem(wire.UnsupportedMediaType, "This is no form. Send the list as one: "+
			"multipart/form-data, or application/x-www-form-urlencoded.")
	// A list that is too long is refused for that, and its end was not read.
	case err != nil && p.length <= maxListBytes:
		return problem(wire.InvalidRequest, "This list was cut short. Send it again.")
	}

	// A file that is given goes before what is still in the box.
	p.list.List = p.box
	if !p.file.Empty() {
		p.list.List = p.file
	}
	p.list.More = p.length > maxListBytes
	if why := p.list.TooLong(); why != "" {
		return problem(wire.PayloadTooLarge, why)
	}
	_ = p.charge(listPages(p.list.Rows(), 0)) // its only error is a refusal
	return p.refusal
}

// take reads a field. Unknown fields are ignored, as everywhere on the pages.
func (p *postedList) take(name string, value io.Reader) error {
	switch name {
	case "lines":
		return p.takeList(&p.box, value)
	case "file":
		return p.takeList(&p.file, value)
	}

	field, err := io.ReadAll(io.LimitReader(value, maxField))
	text := string(field)
	switch name {
	case "pick":
		if pick, ok := site.ParsePick(text); ok && len(p.list.Picks) < 2*site.ValueLines {
			p.list.Picks = append(p.list.Picks, pick)
		}
	case "as":
		p.csv = text == "csv"
	case "kind":
		p.rows.Kind = text
	case "before":
		before, _ := api.ParseDecimal(text)
		p.rows.Before = int(min(before, site.MaxListRows))
	case "last":
		p.rows.Last = text != ""
	case "version":
		p.rows.Version = text
	}
	return err
}

// takeList reads a list, and charges its rows.
func (p *postedList) takeList(list *site.List, value io.Reader) error {
	part := make([]byte, paceBytes/2)
	for size := 0; ; {
		n, err := value.Read(part)
		size += n
		if size > len(part) {
			list.Grow(p.length)
		}
		_, _ = list.Write(part[:n]) // List.Write does not fail

		if err := p.charge(listPages(p.box.RowsRead()+p.file.RowsRead(), 0)); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// charge takes more pages of the client's limit if the list counts as so many.
func (p *postedList) charge(pages int) error {
	x := p.request.x
	if pages <= p.pages {
		return nil
	}
	wait := x.s.addresses.allow(x.s.clientAddr(x), x.now, pages-p.pages)
	if wait > 0 {
		p.refusal = rateLimited(wait, "This address asks for too many pages: each "+strconv.Itoa(site.RowsAtATime)+
			" rows of a list count as one. Nothing of this list was valued; send it again later.")
		return errPageLimit
	}
	p.pages = pages
	return nil
}

// errPageLimit ends the reading of a list whose client has reached its limit.
var errPageLimit = errors.New("the client has reached its limit of pages")

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
	*e = escapedReader{source: e.source, delimiters: ends, read: e.read}
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
