package httpconn

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// Call is one request and its response. Its memory is reused by the next request: Begin starts a
// request, and End releases it.
type Call struct {
	Ctx    *fasthttp.RequestCtx
	Fields Fields
	Head   Head
	// Encoded is the content encoding of the response, "" for none.
	Encoded string

	cache          *CompressedCache
	encoding       string // preferred by the client; valid if encodingPicked
	encodingPicked bool
	compressed     []byte // the compressed response
	tag            []byte // buffer for a validator
}

// maxPooledBuffer is the largest response buffer that is reused; larger ones are garbage.
const maxPooledBuffer = 256 << 10

// maxIdleBuffer is the largest buffer of a body, and of a response, that stays with a connection:
// there may be 65,000 idle ones.
const maxIdleBuffer = 16 << 10

// Begin starts a request.
func (c *Call) Begin(ctx *fasthttp.RequestCtx, packs *CompressedCache) {
	c.Ctx = ctx
	c.cache = packs
	c.Encoded = ""
	c.encodingPicked = false
	c.Head.Reset()
	c.Fields.read(&ctx.Request.Header)
	ctx.Response.Header.DisableNormalizing() // names are sent as documented, and not normalised for each response
}

// End releases the request.
func (c *Call) End() {
	if cap(c.compressed) > maxPooledBuffer {
		c.compressed = nil
	}

	// Before the response is written: a client may be slow to read it.
	if cap(c.Ctx.Request.Body()) > maxIdleBuffer {
		c.Ctx.Request.SwapBody(nil)
	}
	if conn, ok := c.Ctx.Conn().(*Conn); ok {
		conn.requestDone()
	}
	c.Ctx = nil
	c.Fields = Fields{}
}

// Path returns the path as the client encoded it, without one trailing slash, which is tolerated
// (decision 4).
func Path(ctx *fasthttp.RequestCtx) []byte {
	raw := ctx.URI().PathOriginal()
	if uri := ctx.RequestURI(); len(uri) > 1 && uri[0] == '/' && uri[1] == '/' {
		raw = uri // the path begins with an empty segment, and fasthttp may take the next one for a host
	}
	if n := len(raw) - 1; n > 0 && raw[n] == '/' {
		raw = raw[:n]
	}
	return raw
}

// Field returns the value of a list header, with several lines joined to one list.
func (c *Call) Field(name string) []byte {
	lines := c.Ctx.Request.Header.PeekAll(name)
	if len(lines) == 1 {
		return lines[0]
	}
	return bytes.Join(lines, []byte{','})
}

// Encoding picks the content encoding of a response of n bytes from Accept-Encoding: gzip or zstd
// by weight, zstd on a tie, "" for none.
func (c *Call) Encoding(n int) string {
	if n < minCompressed {
		return ""
	}
	// It is needed for the validator and again for the body.
	if !c.encodingPicked {
		accept := c.Fields.Accept
		if c.Fields.repeated&repeatedAccept != 0 {
			accept = c.Field(fasthttp.HeaderAcceptEncoding)
		}
		c.encoding = pickEncoding(accept)
		c.encodingPicked = true
	}
	return c.encoding
}

// Conditional reports whether the request has an If-None-Match.
func (c *Call) Conditional() bool {
	return len(c.Fields.NoneMatch) > 0 || c.Fields.repeated&repeatedNoneMatch != 0
}

// Matches reports whether If-None-Match has the validator of a response in an encoding, by weak
// comparison.
func (c *Call) Matches(tag uint64, encoding string) bool {
	if !c.Conditional() {
		return false
	}
	c.tag = AppendETag(c.tag[:0], tag, encoding)

	// Several lines are one list.
	list := c.Fields.NoneMatch
	if c.Fields.repeated&repeatedNoneMatch != 0 {
		list = c.Field(fasthttp.HeaderIfNoneMatch)
	}

	for one := range bytes.SplitSeq(list, []byte{','}) {
		one = bytes.TrimSpace(one)
		if string(one) == "*" || bytes.Equal(bytes.TrimPrefix(one, []byte("W/")), c.tag) {
			return true
		}
	}
	return false
}

// SetETag adds the ETag line of a validator in an encoding.
func (c *Call) SetETag(tag uint64, encoding string) {
	c.Head.Name(fasthttp.HeaderETag)
	c.Head.block = AppendETag(c.Head.block, tag, encoding)
}

const tagAlphabet = "0123456789abcdefghijklmnopqrstuv"

// AppendETag appends a strong validator; each encoding of a body has its own (decision 9).
func AppendETag(dst []byte, tag uint64, encoding string) []byte {
	dst = append(dst, '"')
	for range 12 { // five bits each, and the last four
		dst = append(dst, tagAlphabet[tag&31])
		tag >>= 5
	}
	dst = append(dst, tagAlphabet[tag])

	if encoding != "" {
		dst = append(dst, '-')
		dst = append(dst, encoding...)
	}
	return append(dst, '"')
}

// SendShared sends bytes that others use too and that are never written to.
func (c *Call) SendShared(content []byte) { c.Ctx.Response.SetBodyRaw(content) }

// SendOwned sends content and returns a buffer in its place: the two are swapped instead of copied.
func (c *Call) SendOwned(content []byte) (spare []byte) {
	conn, ok := c.Ctx.Conn().(*Conn)
	if !ok || cap(content) <= maxIdleBuffer {
		return c.Ctx.Response.SwapBody(content)
	}
	c.Ctx.Response.SetBodyRaw(content)
	return conn.lendBuffer(content)
}

// Send sends content that belongs to the caller, and returns memory that the caller may use for the
// next response. encoding is "" for plain content. The part from tail on varies between requests; 0
// means that none does. store lets the part before it be cached compressed, because it is the same
// for everyone.
func (c *Call) Send(content []byte, tail int, encoding string, store bool) (spare []byte) {
	if encoding == "" {
		return c.SendOwned(content)
	}
	c.SetEncoding(encoding)

	// A tail that is too long for a stored block is compressed like the rest.
	if tail == 0 || len(content)-tail > maxPlainTail {
		tail = len(content)
	}
	begin := content[:tail]

	var sum uint32
	c.compressed, sum = c.cache.append(c.compressed[:0], begin, encoding, store)
	c.compressed = appendTail(c.compressed, content[tail:], encoding, sum, len(content))

	c.compressed = c.SendOwned(c.compressed)
	return content
}

// SetEncoding sets the content encoding of the response.
func (c *Call) SetEncoding(encoding string) {
	c.Ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, encoding)
	c.Encoded = encoding
}
