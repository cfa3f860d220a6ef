package server

import (
	"bytes"
	"fmt"
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

// downloads counts the downloads of each tenant that had any.
type downloads struct {
	mu sync.Mutex
	of map[string]int
}

// add adds to the downloads of a tenant, and reports whether the tenant may have so many.
func (d *downloads) add(tenant string, n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of[tenant]+n > maxDownloads {
		return false
	}
	d.of[tenant] += n
	return true
}

// beginDownload finds the range that is wanted of a file, and a place for its download.
func beginDownload(x *exchange) *wire.APIError {
	file := x.reply.File
	size := file.About.Bytes
	wanted := x.Ctx.Request.Header.Peek(fasthttp.HeaderRange)

	// Several ranges, other range units and a part of another file get the whole file (RFC 9110,
	// 13.1.5, 14.2).
	condition := x.Ctx.Request.Header.Peek(fasthttp.HeaderIfRange)
	other := len(condition) > 0 && !bytes.Equal(condition, httpconn.AppendETag(nil, x.reply.Tag, ""))
	if bytes.HasPrefix(wanted, []byte("bytes=")) && bytes.IndexByte(wanted, ',') < 0 && !other && !x.Ctx.IsHead() {
		from, to, err := fasthttp.ParseByteRange(wanted, int(size))
		if err == nil {
			_, err = file.Seek(int64(from), io.SeekStart)
		}
		// The last 0 bytes are no range.
		if err != nil || from > to {
			return problem(wire.RangeNotSatisfiable, "the file has "+wire.Decimal(size)+
				" bytes: send a Range that begins within it, or none")
		}
		x.span = span{from: int64(from), to: int64(to) + 1}
	}

	tenant := x.metering.principal.Tenant
	if x.Ctx.IsHead() {
		return nil
	}
	if !x.s.downloads.add(tenant, 1) {
		// As for every 429, the time is that of the minute in RateLimit.
		return rateLimited(int(x.metering.decision.Minute.Wait),
			strconv.Itoa(maxDownloads)+" downloads of this account are under way: wait for one to end")
	}
	s := x.s // the exchange serves others when the file was sent
	file.Release = func() { s.downloads.add(tenant, -1) }
	return nil
}

// span is a range of a file, from a byte to before another; the zero span is the whole file.
type span struct{ from, to int64 }

// bulkHead adds what a response says of bulk files.
func bulkHead(x *exchange) {
	files := x.reply.Bulk
	x.Head.SetBytes("X-Attribution", wire.AppendEscaped(nil, files.Attribution))
	x.Head.Set("X-Use-Until", files.UseUntil.Format(time.RFC3339))

	if x.reply.File != nil {
		x.Head.Set(fasthttp.HeaderAcceptRanges, "bytes")
		age := max(0, int64(files.UseUntil.Sub(x.time)/time.Second))
		x.Head.Set(fasthttp.HeaderCacheControl, "private, max-age="+wire.Decimal(age)+", immutable")
	}
}

// sendFile sends the wanted part of a file.
func sendFile(x *exchange) {
	file := x.reply.File
	resp := &x.Ctx.Response
	size := file.About.Bytes
	n := size
	x.answerHead("")
	if x.span != (span{}) {
		n = x.span.to - x.span.from
		resp.SetStatusCode(fasthttp.StatusPartialContent)
		x.Head.Set(fasthttp.HeaderContentRange, fmt.Sprintf("bytes %d-%d/%d", x.span.from, x.span.to-1, size))
	}
	x.Head.Send(&resp.Header)
	resp.Header.SetContentType("application/zstd")

	// It is closed when it was sent.
	resp.SetBodyStream(httpconn.NewFileBody(x.Ctx.Conn(), file.File, n, file.Close), int(n))
	x.reply.File = nil
}
