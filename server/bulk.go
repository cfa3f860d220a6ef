package server

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// maxDownloads is how many bulk files a tenant downloads at a time: its files are few, and each download
// takes a connection for as long as its client likes.
const maxDownloads = 2

// retryDownload is the Retry-After of a download too many, in seconds.
const retryDownload = 5

// downloads counts the downloads of each tenant that has any.
type downloads struct {
	mu sync.Mutex
	of map[string]int
}

// begin reports whether a tenant may begin another download, which end ends.
func (d *downloads) begin(tenant string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]int{}
	}
	if d.of[tenant] == maxDownloads {
		return false
	}
	d.of[tenant]++
	return true
}

func (d *downloads) end(tenant string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[tenant]--
	if d.of[tenant] == 0 {
		delete(d.of, tenant)
	}
}

// count returns how many downloads there are.
func (d *downloads) count() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, count := range d.of {
		n += count
	}
	return n
}

// beginDownload finds the range that is wanted of a file, and a place for its download.
func (x *exchange) beginDownload() *wire.APIError {
	file := x.reply.File
	size := file.About.Bytes
	wanted := x.Ctx.Request.Header.Peek(fasthttp.HeaderRange)

	// Several ranges and other units get the whole file, and so does a part of another file (RFC 9110, 13.1.5, 14.2).
	condition := x.Ctx.Request.Header.Peek(fasthttp.HeaderIfRange)
	other := len(condition) > 0 && !bytes.Equal(condition, httpconn.AppendETag(nil, x.reply.Tag, ""))
	if bytes.HasPrefix(wanted, []byte("bytes=")) && bytes.IndexByte(wanted, ',') < 0 && !other && !x.Ctx.IsHead() {
		from, to, err := fasthttp.ParseByteRange(wanted, int(size))
		if err == nil {
			_, err = file.Seek(int64(from), io.SeekStart)
		}
		if err != nil {
			return problem(wire.RangeNotSatisfiable, "the file has "+wire.Decimal(size)+
				" bytes: send a Range that begins within it, or none")
		}
		x.span = span{from: int64(from), to: int64(to) + 1}
	}

	tenant := x.metering.principal.Tenant
	if x.Ctx.IsHead() {
		return nil
	}
	if !x.s.downloads.begin(tenant) {
		return &wire.APIError{
			Code: wire.RateLimitExceeded, RetryAfter: retryDownload,
			Detail: strconv.Itoa(maxDownloads) + " downloads of this account are under way: wait for one to end",
		}
	}
	file.Release = func() { x.s.downloads.end(tenant) }
	return nil
}

// span is a range of a file, from a byte to before another; the zero span is the whole file.
type span struct{ from, to int64 }

// bulkHead adds what a response says of bulk files.
func (x *exchange) bulkHead() {
	files := x.reply.Bulk
	until := files.UseUntil()
	x.Head.Name("X-Attribution")
	x.Head.Append(func(dst []byte) []byte {
		for _, b := range []byte(files.Attribution) {
			if b < ' ' || b > '~' || b == '%' {
				dst = wire.AppendEscaped(dst, string([]byte{b}))
			} else {
				dst = append(dst, b)
			}
		}
		return dst
	})
	x.Head.Set("X-Use-Until", until.UTC().Format(time.RFC3339))

	if x.reply.File != nil {
		x.Head.Set(fasthttp.HeaderAcceptRanges, "bytes")
		x.Head.Name(fasthttp.HeaderCacheControl)
		x.Head.Append(func(dst []byte) []byte {
			dst = wire.AppendInt(dst, "private, max-age=", max(0, int64(until.Sub(x.time)/time.Second)))
			return append(dst, ", immutable"...)
		})
	}
}

// sendFile sends the wanted part of a file.
func (x *exchange) sendFile() {
	file := x.reply.File
	resp := &x.Ctx.Response
	size := file.About.Bytes
	n := size
	x.answerHead("")
	if x.span != (span{}) {
		n = x.span.to - x.span.from
		resp.SetStatusCode(fasthttp.StatusPartialContent)
		x.Head.Set(fasthttp.HeaderContentRange, "bytes "+wire.Decimal(x.span.from)+"-"+wire.Decimal(x.span.to-1)+"/"+
			wire.Decimal(size))
	}
	x.Head.Send(&resp.Header)
	resp.Header.SetContentType("application/zstd")

	// It is closed when it was sent.
	resp.SetBodyStream(x.NewFileBody(file.File, n, file.Close), int(n))
	x.reply.File = nil
}
