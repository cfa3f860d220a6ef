package httpconn

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// Call is one request and the answer being made to it. Its memory is used again by the next
// request: Begin starts it, and End lets go of the request.
type Call struct {
	Ctx    *fasthttp.RequestCtx
	Fields Fields
	Head   Head
	// Encoded is the content encoding that the answer was sent in, "" for none.
	Encoded string

	packs  *CompressedCache
	picked string // the encoding that the client prefers, known once it was asked for
	asked  bool
	packed []byte // the answer compressed
	tag    []byte // scratch for a validator
}

// maxPooledBuffer is the largest answer buffer that is used again; larger ones are left to the
// collector.
const maxPooledBuffer = 256 << 10

// maxIdleBuffer is the largest buffer of a body, and of an answer, that stays with a connection:
// there may be 65,000 of them that are idle.
const maxIdleBuffer = 16 << 10

// Begin takes up a request.
func (c *Call) Begin(ctx *fasthttp.RequestCtx, packs *CompressedCache) {
	c.Ctx = ctx
	c.packs = packs
	c.Encoded = ""
	c.asked = false
	c.Head.Reset()
	c.Fields.read(&ctx.Request.Header)
	ctx.Response.Header.DisableNormalizing() // as documented, and not normalised for each answer
}

// End lets go of the request.
func (c *Call) End() {
	if cap(c.packed) > maxPooledBuffer {
		c.packed = nil
	}

	// Before the answer is written: a client may take its time to read it.
	if cap(c.Ctx.Request.Body()) > maxIdleBuffer {
		c.Ctx.Request.SwapBody(nil)
	}
	if conn, ok := c.Ctx.Conn().(*Conn); ok {
		conn.released()
	}
	c.Ctx = nil
	c.Fields = Fields{}
}

// Path is the path as the client spelt it, without the one trailing slash that is tolerated
// (decision 4).
func Path(ctx *fasthttp.RequestCtx) []byte {
	raw := ctx.URI().PathOriginal()
	if uri := ctx.RequestURI(); len(uri) > 1 && uri[0] == '/' && uri[1] == '/' {
		raw = uri // a path that begins with an empty segment, where fasthttp may take the next one for a host
	}
	if n := len(raw) - 1; n > 0 && raw[n] == '/' {
		raw = raw[:n]
	}
	return raw
}

// Field is the value of a list header; several lines are one list.
func (c *Call) Field(name string) []byte {
	lines := c.Ctx.Request.Header.PeekAll(name)
	if len(lines) == 1 {
		return lines[0]
	}
	return bytes.Join(lines, []byte{','})
}

// Encoding picks the content encoding of an answer of n bytes from Accept-Encoding: gzip or zstd by
// weight, zstd on a tie, "" for none.
func (c *Call) Encoding(n int) string {
	if n < compressFrom {
		return ""
	}
	// Asked for twice at most, for the validator and for the body.
	if !c.asked {
		accept := c.Fields.Accept
		if c.Fields.repeated&repeatedAccept != 0 {
			accept = c.Field(fasthttp.HeaderAcceptEncoding)
		}
		c.picked = pickEncoding(accept)
		c.asked = true
	}
	return c.picked
}

// Conditional reports whether there is an If-None-Match.
func (c *Call) Conditional() bool {
	return len(c.Fields.NoneMatch) > 0 || c.Fields.repeated&repeatedNoneMatch != 0
}

// Matches reports whether If-None-Match names the answer with a validator in an encoding, by weak
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

	for len(list) > 0 {
		var one []byte
		one, list, _ = bytes.Cut(list, []byte{','})
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

// SendShared sends bytes that belong to somebody else and are never written to.
func (c *Call) SendShared(content []byte) { c.Ctx.Response.SetBodyRaw(content) }

// SendOwned sends content and returns a buffer in its place: the two change owners instead of being
// copied.
func (c *Call) SendOwned(content []byte) (spare []byte) {
	conn, ok := c.Ctx.Conn().(*Conn)
	if !ok || cap(content) <= maxIdleBuffer {
		return c.Ctx.Response.SwapBody(content)
	}
	c.Ctx.Response.SetBodyRaw(content)
	return conn.lendBuffer(content)
}

// Send sends content that belongs to the caller, and returns memory that the caller may have for
// the next answer. encoding is "" for plain content. tail is where the part begins that is new each
// time, 0 when there is none. store lets the part before it be cached compressed, because it is the
// same for everybody.
func (c *Call) Send(content []byte, tail int, encoding string, store bool) (spare []byte) {
	if encoding == "" {
		return c.SendOwned(content)
	}
	c.Encode(encoding)

	// A tail beyond the length of a stored block is compressed like the rest.
	if tail == 0 || len(content)-tail > maxEnd {
		tail = len(content)
	}
	begin := content[:tail]

	var sum uint32
	c.packed, sum = c.packs.append(c.packed[:0], begin, encoding, store)
	c.packed = appendEnd(c.packed, content[tail:], encoding, sum, len(content))

	c.packed = c.SendOwned(c.packed)
	return content
}

// Encode notes that the answer's body is in an encoding.
func (c *Call) Encode(encoding string) {
	c.Ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, encoding)
	c.Encoded = encoding
}
