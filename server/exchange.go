package server

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/wire"
)

// exchange is one request and its answer. It is pooled: nothing in it outlives the handler.
type exchange struct {
	s   *Server
	ctx *fasthttp.RequestCtx

	id   []byte // request id
	time time.Time
	now  access.Instant

	param   []byte // the path's {id} as sent, where the router was not asked
	path    *path
	surface *surface
	op      *operation
	creds   credentials

	principal *access.Principal
	decision  access.Decision
	receipt   access.Receipt
	admitted  bool
	charged   bool // receipt is valid
	free      bool // a success that costs nothing: a replay

	view     *engine.View
	args     args
	problems []string
	unnamed  int // problems beyond those

	body                 []byte // the answer being made
	stored               []byte // the answer, when a View already has it; takes the place of body
	etag                 uint64 // of the answer, valid with hasETag
	hasETag, notModified bool

	mediaType string // of the page being made

	text  []byte // scratch for header values
	cards []uint32
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// keepBuffer is the largest answer buffer that goes back to the pool; larger ones are left to the collector.
const keepBuffer = 256 << 10

// handle is the fasthttp handler: it recovers, routes and answers.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x, _ := exchanges.Get().(*exchange)
	x.begin(s, ctx)
	ctx.SetUserValue(exchangeKey{}, x)
	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
		}
		ctx.RemoveUserValue(exchangeKey{})
		x.end()
	}()
	if s.draining.Load() {
		ctx.SetConnectionClose()
	}
	if x.smuggles() {
		x.refuse(wire.Fault{Code: wire.InvalidRequest, Detail: "A request must not have both Content-Length and Transfer-Encoding."})
		x.closeSlowly()
		return
	}
	s.route(ctx)
}

// smuggles reports whether a chunked request also says how long it is: two readers of such a request may disagree
// where the next one begins (RFC 9112, 6.3).
func (x *exchange) smuggles() bool {
	h := &x.ctx.Request.Header
	if h.ContentLength() == noBody {
		return false
	}
	// fasthttp forgets the two headers once it has read the body; the raw ones remain.
	x.text = x.text[:0]
	for _, b := range h.RawHeaders() {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		x.text = append(x.text, b)
	}
	return bytes.Contains(x.text, []byte("transfer-encoding:")) && bytes.Contains(x.text, []byte("content-length:"))
}

// noBody is the ContentLength by which fasthttp tells a request that has neither header.
const noBody = -2

// closeSlowly ends the connection after the answer, reading on for a moment so that the client gets it.
func (x *exchange) closeSlowly() {
	x.ctx.SetConnectionClose()
	if c, ok := x.ctx.Conn().(*lingerConn); ok {
		c.linger.Store(true)
	}
}

// exchangeKey finds the exchange of a RequestCtx.
type exchangeKey struct{}

func (s *Server) exchange(ctx *fasthttp.RequestCtx) *exchange {
	x, _ := ctx.UserValue(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) begin(s *Server, ctx *fasthttp.RequestCtx) {
	*x = exchange{
		s: s, ctx: ctx, id: x.id[:0], body: x.body[:0], text: x.text[:0], cards: x.cards[:0],
		args: x.args.reset(), problems: x.problems[:0], surface: &liveSurface,
	}
	ctx.Response.Header.DisableNormalizing() // names are spelt as documented, and not respelt for each answer
	x.time, x.now = s.now()
	x.requestID()
	x.readCredentials()
	ctx.Response.Header.SetBytesV("X-Request-Id", x.id)
	x.allowOrigin()
}

func (x *exchange) end() {
	if cap(x.body) > keepBuffer {
		x.body = nil
	}
	clear(x.problems)
	x.ctx, x.view, x.stored, x.principal, x.path = nil, nil, nil, nil, nil
	x.decision, x.receipt, x.creds = access.Decision{}, access.Receipt{}, credentials{}
	exchanges.Put(x)
}

const idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// requestID takes the caller's id when it has the form, else mints one (decision 11).
func (x *exchange) requestID() {
	if given := x.ctx.Request.Header.Peek("X-Request-Id"); validRequestID(given) {
		x.id = append(x.id, given...)
		return
	}
	x.id = append(x.id, "req_"...)
	for range 2 {
		bits := rand.Uint64() //nolint:gosec // an id for correlation, not a secret
		for range 12 {
			x.id = append(x.id, idAlphabet[bits&31])
			bits >>= 5
		}
	}
}

func validRequestID(id []byte) bool {
	if len(id) < 5 || len(id) > 68 || string(id[:4]) != "req_" {
		return false
	}
	for _, b := range id[4:] {
		if !isWord(b) && b != '-' {
			return false
		}
	}
	return true
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// serve takes a request whose path and method are known through the pipeline.
func (x *exchange) serve(p *path) {
	x.path = p
	if p.open != nil {
		p.open(x)
		return
	}
	x.choose()
	if f := x.authenticate(); f != nil {
		x.refuse(*f)
		return
	}
	if x.view = x.s.Engine.View(); x.view == nil {
		x.refuse(wire.Fault{Code: wire.TemporarilyUnavailable, Detail: "No catalog is loaded yet.", RetryAfter: retryUnavailable})
		return
	}
	x.decision = x.s.Gate.Admit(x.principal, x.op.name, x.now)
	if x.decision.Verdict != access.Admitted {
		x.refuse(x.denied())
		return
	}
	x.admitted = true
	f := x.operate()
	if f == nil {
		x.checkModified()
	}
	if err := x.finish(f == nil && !x.notModified && !x.free); err != nil {
		f = x.unmetered(err)
	}
	if f != nil {
		x.refuse(*f)
		return
	}
	x.answer()
}

// operate reads the parameters and runs the operation.
func (x *exchange) operate() *wire.Fault {
	if x.ctx.IsPost() {
		if f := x.checkMediaType(); f != nil {
			return f
		}
	}
	x.args.parse(x.ctx.URI().QueryString(), x.op.params)
	x.checkArgs()
	return x.op.run(x)
}

// finish ends the admitted call in the meter.
func (x *exchange) finish(success bool) error {
	if x.charged {
		return nil // the operation committed its own charge
	}
	var err error
	x.receipt, err = x.s.Gate.Finish(x.decision.Ticket, success)
	x.charged = err == nil
	x.admitted = false
	return err
}

func (x *exchange) unmetered(err error) *wire.Fault {
	x.s.Log.Error("cannot meter a request", slog.String("request_id", string(x.id)), slog.Any("cause", err))
	return &wire.Fault{Code: wire.TemporarilyUnavailable, Detail: "The request could not be metered and was not charged.", RetryAfter: retryUnavailable}
}

// authenticate finds the principal, or what to refuse the request with.
func (x *exchange) authenticate() *wire.Fault {
	refusal := func(err error) *wire.Fault { f := x.surface.noKey(err); return &f }
	key, ok := x.creds.key()
	if !ok {
		return refusal(access.ErrNoKey)
	}
	kind := access.KindOf(key)
	if kind == access.Preview && x.surface.kind == access.Live {
		return &x.surface.wrongKind
	}
	principal, err := x.s.Gate.Authenticate(key, x.now)
	switch {
	case kind != access.Preview && x.surface.kind == access.Preview && (err == nil || errors.Is(err, access.ErrSandbox)):
		return &x.surface.wrongKind // only a good key is told that it is of the wrong kind
	case err != nil:
		return refusal(err)
	case !x.surface.bearer && x.creds.header == nil:
		return refusal(access.ErrInvalid)
	}
	x.principal = principal
	if x.op.scope != 0 && !principal.Has(x.op.scope) {
		return &wire.Fault{Code: wire.InsufficientScope, Detail: "The key lacks the scope " + x.op.scope.Names()[0] + "."}
	}
	return nil
}

// denied is what a refused admission is told; header, body and policy agree because all come from the decision.
func (x *exchange) denied() wire.Fault {
	d := &x.decision
	f := wire.Fault{Code: wire.Code(d.Verdict.String()), RetryAfter: int(d.RetryAfter)}
	switch d.Verdict {
	case access.RateLimited:
		f.Detail = "The limit of " + decimal(d.Minute.Limit) + " requests per minute is reached."
	case access.QuotaExceeded:
		f.Detail = "The quota of " + decimal(d.Allowance.Limit) + " requests is used up."
	case access.Unavailable, access.Admitted:
		f.Detail = "Requests cannot be metered at the moment."
	}
	return f
}

// panicked turns a panic into a 500 of the surface; the process lives on.
func (x *exchange) panicked(p any) {
	x.s.Log.Error("a handler panicked", slog.String("request_id", string(x.id)), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if x.admitted {
		if _, err := x.s.Gate.Finish(x.decision.Ticket, false); err != nil {
			x.s.Log.Error("cannot give back a reserved request", slog.String("request_id", string(x.id)), slog.Any("cause", err))
		}
	}
	x.refuse(wire.Fault{Code: wire.InternalError, Detail: "Something went wrong on our side; quote the request id to support."})
}

// checkModified compares the caller's validators with the answer's (decision 9).
func (x *exchange) checkModified() {
	if !x.hasETag && x.op.name == access.UsageGet || x.surface.kind != access.Live || !x.ctx.IsGet() && !x.ctx.IsHead() {
		return
	}
	if !x.hasETag {
		x.etag, x.hasETag = xxhash.Sum64(x.content()), true
	}
	x.notModified = x.matches(x.encoding(len(x.content())))
}

// content is the answer's body.
func (x *exchange) content() []byte {
	if x.stored != nil {
		return x.stored
	}
	return x.body
}
