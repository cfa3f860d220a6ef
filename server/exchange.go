package server

import (
	"cmp"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/internal/counters"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// exchange is one request on its way through the pipeline, and its answer. It is pooled: nothing in
// it outlives the handler.
type exchange struct {
	httpconn.Call
	s     *Server
	shard counters.Shard // where it counts
	row   int            // what it counts as: see counts

	id   []byte // request id
	time time.Time
	now  access.Instant
	current

	surface     *surface
	request     api.Request
	reply       api.Reply
	rateHeaders rateHeaderCache
}

// current is what an exchange has of one request alone.
type current struct {
	last *keys.KeyCache // the key that the connection's last request came with; nil without a connection
	keys credentials
	path *route
	op   *operation // nil where the path does nothing on the surface

	charge      metering
	notModified bool
	named       bool // the head has the request id
	varies      bool // and Vary
}

var exchanges = sync.Pool{New: func() any { return &exchange{shard: counters.NextShard()} }}

// handle is the fasthttp handler.
func (s *Server) handle(ctx *fasthttp.RequestCtx) { s.handleAt(ctx, ctx.Time()) }

// handleAt recovers, routes and answers a request that had arrived at an instant.
func (s *Server) handleAt(ctx *fasthttp.RequestCtx, at time.Time) {
	x, _ := exchanges.Get().(*exchange)
	x.start(s, ctx, at)
	s.metrics.total(x.shard, totalBegun, 1)

	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
		}

		// Not before: a panic begins the answer anew.
		if x.Fields.Closes || s.draining.Load() {
			ctx.SetConnectionClose()
		}

		// An answer may have waited for a slow disk. Its client then has the whole time to take it.
		took := s.metrics.answered(x)
		if s.OnAccess != nil {
			x.logAccess(took)
		}
		if took > slowResponse {
			if conn, ok := ctx.Conn().(*httpconn.Conn); ok {
				conn.ResponseReady(time.Now())
			}
		}
		x.nameAnswer()
		x.end()
	}()
	s.route(x)
}

// slowResponse is when an answer is so late that the client's time to take it begins anew: far
// above what any request takes that waits for nothing, and far below that time.
const slowResponse = time.Second

// start begins a request. at is when it had arrived. Zero means now, for requests without a
// connection.
func (x *exchange) start(s *Server, ctx *fasthttp.RequestCtx, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}

	x.s = s
	x.Begin(ctx, s.packs)
	x.time, x.now = s.instant(at)

	// A test may hand in a request without a connection of ours.
	if conn, ok := ctx.Conn().(*httpconn.Conn); ok {
		conn.RequestRead(at)
		if conn.UserData == nil {
			conn.UserData = &keys.KeyCache{}
		}
		x.last, _ = conn.UserData.(*keys.KeyCache) // the only note there is
	}

	// Until the path is known, errors are told as the live surface does (decision 3).
	x.row = rowUnknown
	x.surface = &liveSurface
	x.charge.gate = s.Gate
	x.id = x.appendRequestID(x.id[:0])
	x.keys = readCredentials(x.Fields.APIKey, x.Fields.Authorization)
	x.allowOrigin()
}

// end lets go of everything that belongs to the request.
func (x *exchange) end() {
	x.End()
	x.request.Reset()
	x.reply.Reset()
	x.current = current{}
	exchanges.Put(x)
}

// serve takes a request whose path and method are known to what answers it.
func (x *exchange) serve(p *route) {
	x.path = p

	// Pages, the document and MCP have ways of their own.
	if p.open != nil {
		x.row = p.metricRow
		p.open(x)
		return
	}

	x.selectSurface()
	x.row = x.op.metricRow
	if f := x.authenticate(); f != nil {
		x.refuse(f)
		return
	}
	x.process()
}

// process takes a recognised request through the rest of the pipeline: admit, run, validate,
// finish, answer.
func (x *exchange) process() {
	if f := x.admit(); f != nil {
		x.refuse(f)
		return
	}

	f := x.run()
	if f == nil {
		x.checkNotModified()
	}

	// What is not modified, replayed or refused costs nothing (decision 13).
	if err := x.charge.finish(f == nil && !x.notModified && !x.reply.Replay); err != nil {
		f = x.meteringError(err)
	}
	if f != nil {
		x.refuse(f)
		return
	}

	// Only now is it known what was charged.
	if x.op.Meta {
		x.reply.Close(x.id, x.charge.charge.Charged)
	}
	x.answer()
}

// authenticate finds the principal, or what to refuse the request with.
func (x *exchange) authenticate() *wire.APIError {
	key, ok := x.keys.key()
	if !ok {
		return x.surface.missingKeyError(&x.keys)
	}

	// The prefix tells a preview key, good or not, before anything is looked up (decision 1).
	kind := keys.SurfaceOf(key)
	if kind == keys.Preview && x.surface.kind == keys.Live {
		return x.surface.wrongKind
	}

	principal, err := x.s.Gate.AuthenticateCached(key, x.now, x.last)
	good := err == nil || errors.Is(err, keys.ErrSandbox)
	switch {
	case kind != keys.Preview && x.surface.kind == keys.Preview && good:
		return x.surface.wrongKind // only a good key is told that it is of the wrong kind
	case err != nil:
		return x.surface.keyFault(err)
	case x.surface.kind == keys.Preview && x.keys.header == nil:
		return x.surface.badKey
	}

	x.charge.principal = principal
	if x.op != nil && !principal.Has(x.op.Scope) {
		return problem(wire.InsufficientScope,
			"this key lacks the scope "+x.op.Scope.Names()[0]+": ask for one that has it")
	}
	return nil
}

// allow takes the View and asks the meter.
func (x *exchange) admit() *wire.APIError {
	request := &x.request

	// Taken once: whatever is published meanwhile, the request sees one catalog.
	request.View = x.s.Engine.View()
	if request.View == nil {
		return cmp.Or(x.surface.noCatalog, noCatalog)
	}

	if !x.charge.admit(x.op.Name, x.now) {
		return x.surface.denied(&x.charge.decision)
	}

	request.Service = &x.s.service
	request.Op = x.op.Operation
	request.Now = x.now.Time()
	request.Tenant = x.charge.principal.Tenant
	request.Plan = x.charge.principal.Plan
	request.ID = x.id
	request.Strict = x.surface.kind == keys.Preview
	return nil
}

// run takes the request apart and runs the operation.
func (x *exchange) run() *wire.APIError {
	// The gate of MCP has taken the message of a tool apart.
	if x.request.Message == nil {
		if f := x.read(); f != nil {
			return f
		}
	}

	// Operations do not know the meter: what they show of it is handed to them.
	if x.op.ShowsUsage {
		var err error
		x.request.Usage, err = x.s.Gate.Usage(x.charge.principal, x.now)
		if err != nil {
			return x.meteringError(err)
		}
	}

	if x.op.RequestHash != nil {
		return x.runOnce()
	}
	return x.op.Run(&x.request, &x.reply)
}

// runOnce runs an idempotent operation, or answers with the reply that its key has (decision 30).
func (x *exchange) runOnce() *wire.APIError {
	// Of two header lines Field makes a list, which is no valid key.
	x.request.Key = string(x.Field("Idempotency-Key"))
	body, f := x.op.RequestHash(&x.request)
	if f != nil {
		return f
	}

	claim, err := x.charge.begin(x.request.Key, body, x.now)
	if err != nil {
		return x.meteringError(err)
	}

	switch claim.Result {
	case access.Replay:
		if !x.reply.Restore(claim.Reply) {
			return x.meteringError(errors.New("a kept reply is damaged"))
		}
		return nil
	case access.Conflict:
		const conflict = "this Idempotency-Key was used with a different body within the last 10 minutes"
		return problem(wire.IdempotencyConflict, conflict)
	case access.Exhausted:
		return x.surface.denied(&x.charge.decision)
	case access.Fresh, access.InProgress:
	}

	if f := x.op.Run(&x.request, &x.reply); f != nil {
		x.charge.abort()
		return f
	}
	if err := x.reply.Store(x.charge.commit); err != nil {
		return x.meteringError(err)
	}
	return nil
}

// checkNotModified compares the caller's validators with the answer's (decision 9).
func (x *exchange) checkNotModified() {
	if x.surface.kind == keys.Preview || !x.op.Cacheable {
		return
	}

	out := &x.reply
	content := out.Content()

	// A page with a cursor brings its own validator, and so does a card.
	if !out.HasETag {
		out.Tag = xxhash.Sum64(content)
		out.HasETag = true
	}
	x.notModified = x.Conditional() && x.Matches(out.Tag, x.Encoding(len(content)))
}

// meteringError is what the caller is told when the meter failed.
func (x *exchange) meteringError(err error) *wire.APIError {
	log := &x.s.meterLog
	f := notMetered
	full, isFull := errors.AsType[*access.IdempotencyFullError](err)
	if isFull {
		log = &x.s.repliesLog
		f = tooManyReplies(full)
	}

	// While it is down, every call comes here: the log has a line a minute, or a full disk would be
	// kept full.
	if before, due := log.allow(x.time); due {
		x.s.Log.Error("cannot meter a request", slog.String("request_id", string(x.id)), slog.Any("cause", err),
			slog.Uint64("others_since_last_line", before))
	}
	return f
}

// tooManyReplies tells a tenant why its batch was not made, and when there is room for it.
func tooManyReplies(full *access.IdempotencyFullError) *wire.APIError {
	f := unavailable("Replies for idempotency keys cannot be kept at the moment; nothing was charged.")
	if full.Records > 0 {
		f = unavailable("The organization has " + wire.Decimal(int64(full.Records)) +
			" replies of the last 10 minutes, " +
			"as many as are kept for repeats; there is room when the oldest is 10 minutes old. Nothing was charged.")
	}
	f.RetryAfter = int(full.RetryAfter)
	return f
}

// logInterval is how long the log is not told again of what happens all the time.
const logInterval = time.Minute

// logThrottle lets one line a minute into the log, and counts the others.
type logThrottle struct {
	mu         sync.Mutex
	last       time.Time
	suppressed uint64
}

// allow reports whether it is time for a line, and how many were held back since the last one.
func (l *logThrottle) allow(now time.Time) (suppressed uint64, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	// A clock that is set back must not silence the log.
	since := now.Sub(l.last)
	if !l.last.IsZero() && since >= 0 && since < logInterval {
		l.suppressed++
		return 0, false
	}

	suppressed = l.suppressed
	l.suppressed = 0
	l.last = now
	return suppressed, true
}

// panicked turns a panic into a 500 of the surface; the process lives on.
func (x *exchange) panicked(p any) {
	x.s.metrics.total(x.shard, totalPanics, 1)
	x.s.Log.Error("a handler panicked", slog.String("request_id", string(x.id)), slog.Any("panic", p),
		slog.Bool("charged", x.charge.reservation == stateSettled && x.charge.charge.Charged > 0),
		slog.String("stack", string(debug.Stack())))

	// The ticket must not stay open, or the unit that it holds is lost until the period ends.
	if err := x.charge.release(); err != nil {
		x.s.Log.Error("cannot give back a reserved request", slog.String("request_id", string(x.id)),
			slog.Any("cause", err))
	}

	// Half an answer may be there already: it begins anew.
	x.Ctx.Response.Reset()
	x.Ctx.Response.Header.DisableNormalizing()
	x.Encoded = ""
	x.allowOrigin()
	if x.surface == &toolSurface {
		x.surface = &gateSurface // outside of a tool there is no result to tell it in
	}
	x.refuse(somethingWrong)
}
