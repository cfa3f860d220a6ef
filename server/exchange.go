package server

import (
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
	"ninepocket/internal/tally"
	"ninepocket/wire"
)

// exchange is one request and its answer. It is pooled: nothing in it outlives the handler.
type exchange struct {
	s    *Server
	ctx  *fasthttp.RequestCtx
	last *access.Recall // the key that the connection's last request came with; nil without a connection

	shard tally.Shard // where it counts
	row   int         // what it counts as: see counts

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
	varying              int    // from where on the body is new each time; 0 when nothing is
	packed               []byte // the answer compressed
	stored               []byte // the answer, when a View already has it; takes the place of body
	etag                 uint64 // of the answer, valid with hasETag
	hasETag, notModified bool

	mediaType string // of the page being made

	asked  fields
	policy policy
	head   head   // of the answer
	hasID  bool   // the head has the request id
	varies bool   // and Vary
	link   []byte // the Link header of a page that has a next one, empty without
	text   []byte // scratch for header values
	cards  []uint32

	ids        []string         // of a batch, parts of the request's body
	selections []wire.Selection // likewise
}

var exchanges = sync.Pool{New: func() any { return &exchange{shard: tally.NextShard()} }}

// keepBuffer is the largest answer buffer that goes back to the pool; larger ones are left to the collector.
const keepBuffer = 256 << 10

// handle is the fasthttp handler: it recovers, routes and answers.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x, _ := exchanges.Get().(*exchange)
	x.begin(s, ctx, ctx.Time())
	x.total(totalBegun, 1)
	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
		}
		if x.asked.closes || s.draining.Load() { // here, for a panic begins the answer anew
			ctx.SetConnectionClose()
		}
		x.count()
		x.name()
		x.end()
	}()
	s.route(x)
}

// begin takes a request that was whole at an instant, the one reading of the clock of the request; zero is now, for a
// request that did not come through a connection.
func (x *exchange) begin(s *Server, ctx *fasthttp.RequestCtx, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}
	*x = exchange{
		s: s, ctx: ctx, shard: x.shard, id: x.id[:0], body: x.body[:0], text: x.text[:0], link: x.link[:0], cards: x.cards[:0],
		head: head{block: x.head.block[:0]}, policy: x.policy, args: x.args.reset(), problems: x.problems[:0], surface: &liveSurface,
		ids: x.ids[:0], selections: x.selections[:0], packed: x.packed[:0],
	}
	ctx.Response.Header.DisableNormalizing() // names are spelt as documented, and not respelt for each answer
	x.time, x.now = s.instant(at)
	if c, ok := ctx.Conn().(*conn); ok {
		c.served, c.fresh, x.last = at, true, &c.key
	}
	x.asked.read(&ctx.Request.Header)
	x.requestID()
	x.readCredentials()
	x.allowOrigin()
}

func (x *exchange) end() {
	if cap(x.body) > keepBuffer {
		x.body = nil
	}
	if cap(x.packed) > keepBuffer {
		x.packed = nil
	}
	clear(x.problems)
	clear(x.ids)
	clear(x.selections)
	x.ctx, x.last, x.view, x.stored, x.principal, x.path = nil, nil, nil, nil, nil, nil
	x.decision, x.receipt, x.creds, x.asked = access.Decision{}, access.Receipt{}, credentials{}, fields{}
	exchanges.Put(x)
}

// name sends what is left of the head and the request id, unless the other headers brought it along.
func (x *exchange) name() {
	if x.hasID {
		return
	}
	h := &x.ctx.Response.Header
	if len(x.s.Origins) > 0 && !x.varies && len(h.Peek(fasthttp.HeaderVary)) == 0 {
		x.vary("")
	}
	x.head.setBytes("X-Request-Id", x.id)
	x.head.send(h)
}

// idPairs are all pairs of characters of request ids.
var idPairs = func() (pairs [1024][2]byte) {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	for i := range pairs {
		pairs[i] = [2]byte{alphabet[i&31], alphabet[i>>5]}
	}
	return pairs
}()

// requestID takes the caller's id when it has the form, else mints one (decision 11).
func (x *exchange) requestID() {
	if given := x.asked.requestID; given != nil && validRequestID(given) {
		x.id = append(x.id, given...)
		return
	}
	var text [24]byte
	for half := range 2 {
		bits := rand.Uint64() //nolint:gosec // an id for correlation, not a secret
		for i := range 6 {
			*(*[2]byte)(text[12*half+2*i:]) = idPairs[bits&1023]
			bits >>= 10
		}
	}
	x.id = append(append(x.id, "req_"...), text[:]...)
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
		x.row = p.row
		p.open(x)
		return
	}
	x.choose()
	x.row = x.op.row
	if f := x.authenticate(); f != nil {
		x.refuse(*f)
		return
	}
	if x.view = x.s.Engine.View(); x.view == nil {
		x.refuse(noCatalog)
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
	principal, err := x.s.Gate.Recognize(key, x.now, x.last)
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
	x.total(totalPanics, 1)
	x.s.Log.Error("a handler panicked", slog.String("request_id", string(x.id)), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if x.admitted {
		if _, err := x.s.Gate.Finish(x.decision.Ticket, false); err != nil {
			x.s.Log.Error("cannot give back a reserved request", slog.String("request_id", string(x.id)), slog.Any("cause", err))
		}
	}
	x.ctx.Response.Reset()
	x.ctx.Response.Header.DisableNormalizing()
	x.allowOrigin()
	x.refuse(wire.Fault{Code: wire.InternalError, Detail: somethingWrong})
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
