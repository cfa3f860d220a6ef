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
	"ninepocket/engine/cursor"
	"ninepocket/internal/counters"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// exchange is one request in the pipeline, and its response. Exchanges are pooled: no field is valid
// after the handler.
type exchange struct {
	httpconn.Call
	s     *Server
	shard counters.Shard // of the metrics
	row   int            // in the metrics: see metrics.rows

	id   []byte         // request id
	time time.Time      // of arrival
	now  access.Instant // the same time on the clocks of limits and quotas
	perRequest

	surface     *surface
	request     api.Request
	reply       api.Reply
	rateHeaders rateHeaderCache
}

// perRequest is the part of an exchange that end clears before the next request.
type perRequest struct {
	keyCache    *keys.KeyCache // key of the connection's last request; nil without a connection
	credentials credentials
	route       *route
	op          *operation // nil if the path has no operation on the surface

	metering     metering
	notModified  bool
	span         span // of a file
	hasRequestID bool // writeRequestID began the head: completeHead adds nothing
	hasVary      bool // vary was called
}

var exchanges = sync.Pool{New: func() any { return &exchange{shard: counters.NextShard()} }}

// handle is the fasthttp handler.
func (s *Server) handle(ctx *fasthttp.RequestCtx) { s.handleAt(ctx, ctx.Time()) }

// handleAt routes and answers a request that arrived at an instant, and recovers from panics.
func (s *Server) handleAt(ctx *fasthttp.RequestCtx, at time.Time) {
	x, _ := exchanges.Get().(*exchange)
	x.start(s, ctx, at)
	s.metrics.total(x.shard, totalStarted, 1)

	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
		}

		// Decided after the recovery, because a panic starts a new response.
		if x.Fields.Closes || s.draining.Load() {
			ctx.SetConnectionClose()
		}

		// If the response waited for a slow disk, the client still gets the whole time to read the
		// response.
		took := s.metrics.answered(x)
		if s.OnAccess != nil {
			x.logAccess(took)
		}
		if took > slowResponse {
			if conn, ok := ctx.Conn().(*httpconn.Conn); ok {
				conn.ResponseReady(time.Now())
			}
		}
		x.completeHead()
		x.end()
	}()
	s.route(x)
}

// slowResponse is a long request time. After a longer request, the client's time to read starts when the response
// is ready. It is far above the time of a request that waits for nothing, and far below the client's time to read.
const slowResponse = time.Second

// start begins a request that arrived at an instant. If the instant is zero, it is now: the request has
// no connection.
func (x *exchange) start(s *Server, ctx *fasthttp.RequestCtx, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}

	x.s = s
	x.Begin(ctx, s.compressed)
	x.time, x.now = s.instant(at)

	// A test may pass a request without a connection of this server.
	if conn, ok := ctx.Conn().(*httpconn.Conn); ok {
		conn.RequestRead(at)
		if conn.UserData == nil {
			conn.UserData = &keys.KeyCache{}
		}
		x.keyCache, _ = conn.UserData.(*keys.KeyCache) // it has no other data
	}

	// Until the path is known, errors are those of the live surface (decision 3).
	x.row = rowUnknown
	x.surface = &liveSurface
	x.metering.gate = s.Gate
	x.id = x.appendRequestID(x.id[:0])
	x.credentials = readCredentials(x.Fields.APIKey, x.Fields.Authorization)
	x.allowOrigin()
}

// end releases everything that belongs to the request.
func (x *exchange) end() {
	x.End()
	x.request.Reset()
	x.reply.Reset()
	x.perRequest = perRequest{}
	exchanges.Put(x)
}

// serve passes a request to the handler or the operation of its route.
func (x *exchange) serve(p *route) {
	x.route = p

	// Pages, the OpenAPI document and MCP have their own handlers.
	if p.handler != nil {
		x.row = p.metricRow
		p.handler(x)
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

// process runs the rest of the pipeline for an authenticated request: admit, run, compare ETags,
// settle the charge, answer.
func (x *exchange) process() {
	if f := x.admit(); f != nil {
		x.refuse(f)
		return
	}

	f := x.run()
	if f == nil {
		x.checkNotModified()
	}
	if f == nil && x.reply.File != nil && !x.notModified {
		f = beginDownload(x)
	}

	// A response that is not modified, replayed or refused costs nothing (decision 13).
	if err := x.metering.finish(f == nil && !x.notModified && !x.reply.Replay); err != nil {
		f = x.meteringError(err)
	}
	if f != nil {
		x.refuse(f)
		return
	}

	// Only now the charge is known.
	if x.op.Meta {
		x.reply.Close(x.id, x.metering.charge.Charged)
	}
	x.answer()
}

// authenticate sets the principal of the request's key. If it refuses the request, it returns the error. It
// also refuses a key of another surface, and a key without the operation's scope.
func (x *exchange) authenticate() *wire.APIError {
	key, ok := x.credentials.key()
	if !ok {
		if f, anonymous := x.s.compat.admitAnonymous(x); anonymous {
			return f
		}
		return x.surface.missingKeyError(&x.credentials)
	}

	// The prefix marks a preview key, valid or not, before any look-up (decision 1).
	kind := keys.SurfaceOf(key)
	if kind == keys.Preview && x.surface.keySurface == keys.Live {
		return x.surface.wrongSurface
	}

	principal, err := x.s.Gate.AuthenticateCached(key, x.now, x.keyCache)
	good := err == nil || errors.Is(err, keys.ErrSandbox) || errors.Is(err, keys.ErrSuspended)
	switch {
	case kind != keys.Preview && x.surface.keySurface == keys.Preview && good:
		return x.surface.wrongSurface // only a valid key gets this error
	case err != nil:
		return x.surface.invalidKeyError(err)
	case x.surface.keySurface == keys.Preview && x.credentials.header == nil:
		return x.surface.badKey
	}

	x.metering.principal = principal
	if x.op != nil && !principal.Has(x.op.Scope) {
		return problem(wire.InsufficientScope,
			"this key lacks the scope "+x.op.Scope.Names()[0]+": ask for one that has it")
	}
	return nil
}

// admit takes the current View and a reservation.
func (x *exchange) admit() *wire.APIError {
	request := &x.request

	// Taken once: the request uses one catalog, even if another is published meanwhile.
	request.View = x.s.Engine.View()
	if request.View == nil {
		return cmp.Or(x.surface.noCatalog, noCatalog)
	}

	if !x.metering.admit(x.op.Name, x.now) {
		return x.surface.denied(&x.metering.decision)
	}

	request.Service = &x.s.service
	request.Op = x.op.Operation
	request.Quota = &x.metering
	request.Now = x.now.Time()
	request.NextPublication = x.s.nextPublication(x.time)
	request.Tenant = x.metering.principal.Tenant
	request.Plan = x.metering.principal.Plan
	request.Strict = x.surface.keySurface == keys.Preview
	return nil
}

// run parses the request and runs the operation.
func (x *exchange) run() *wire.APIError {
	// Usage is current. Any other answer comes from the snapshot that the client names, as long as that
	// snapshot is retained for cursors (decision 3504).
	id := x.Fields.SnapshotID
	switch {
	case len(id) == 0 || x.surface != &liveSurface || x.op.ShowsUsage:
	case x.op.FindsSnapshot:
		x.request.SnapshotID = string(id)
	default:
		view := x.s.Engine.Retained(cursor.Hash(string(id)))
		if view == nil {
			return problem(wire.SnapshotGone, "the snapshot of X-Snapshot-Id is not held any more: the current one is "+
				x.request.View.ID)
		}
		x.request.View = view
		x.request.Pinned = true
	}

	// The gate of MCP has parsed the message of a tool.
	if x.request.Message == nil {
		if f := x.read(); f != nil {
			return f
		}
	}

	// Operations do not know metering: they get the usage that they show.
	if x.op.ShowsUsage {
		var err error
		x.request.Usage, err = x.s.Gate.Usage(x.metering.principal, x.now)
		if err != nil {
			return x.meteringError(err)
		}
	}

	if x.op.RequestHash != nil {
		return x.runIdempotent()
	}
	return x.op.Run(&x.request, &x.reply)
}

// runIdempotent runs an operation that takes an Idempotency-Key and stores its response. If a response of
// that key and body is stored, it answers with the stored response (decision 30).
func (x *exchange) runIdempotent() *wire.APIError {
	// Field joins two header lines to a list, which is no valid key.
	x.request.Key = string(x.Field("Idempotency-Key"))
	body, f := x.op.RequestHash(&x.request)
	if f != nil {
		return f
	}

	claim, err := x.metering.begin(x.request.Key, body, x.now)
	if err != nil {
		return x.meteringError(err)
	}

	switch claim.Result {
	case access.Replay:
		if !x.op.Restore(&x.request, &x.reply, claim.Reply) {
			return x.meteringError(errors.New("a stored response is damaged"))
		}
		x.reply.Replay = true
		return nil
	case access.Conflict:
		const conflict = "this Idempotency-Key was used with a different body within the last 10 minutes"
		return problem(wire.IdempotencyConflict, conflict)
	case access.Exhausted:
		return x.surface.denied(&x.metering.decision)
	case access.Fresh, access.InProgress:
	}

	if f := x.op.Run(&x.request, &x.reply); f != nil {
		if err := x.metering.abort(); err != nil {
			return x.meteringError(err)
		}
		return f
	}
	if err := x.metering.commit(x.reply.Stored); err != nil {
		return x.meteringError(err)
	}
	return nil
}

// checkNotModified compares the caller's validators with that of the response (decision 9).
func (x *exchange) checkNotModified() {
	if x.surface.keySurface == keys.Preview || !x.op.Cacheable {
		return
	}

	out := &x.reply
	content := out.Content()

	// A page with a cursor has its own validator, and a card has one, too.
	if !out.HasETag {
		out.Tag = xxhash.Sum64(content)
		out.HasETag = true
	}
	x.notModified = x.Conditional() && x.Matches(out.Tag, x.Encoding(len(content)))
}

// meteringError logs that metering failed and returns the response error.
func (x *exchange) meteringError(err error) *wire.APIError {
	log := &x.s.meterLog
	f := notMetered
	full, isFull := errors.AsType[*access.IdempotencyFullError](err)
	if isFull {
		log = &x.s.repliesLog
		f = tooManyReplies(full)
	}

	// While metering is down, every call fails here. One line a minute is logged, because more lines
	// could fill a disk that is nearly full.
	if before, due := log.allow(x.time); due {
		x.s.Log.Error("cannot meter a request", slog.String("request_id", string(x.id)), slog.Any("cause", err),
			slog.Uint64("others_since_last_line", before))
	}
	return f
}

// tooManyReplies returns the error for a batch whose response cannot be stored. The error has the time to retry.
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

// logInterval is the time between two log lines about the same frequent event.
const logInterval = time.Minute

// logThrottle allows one log line a minute, and counts the suppressed ones.
type logThrottle struct {
	mu         sync.Mutex
	last       time.Time
	suppressed uint64
}

// allow reports whether a line is due, and how many were suppressed since the last one.
func (l *logThrottle) allow(now time.Time) (suppressed uint64, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	// A clock that is set back must not suppress all lines.
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

// panicked turns a panic into a 500 of the surface; the process continues.
func (x *exchange) panicked(p any) {
	x.s.metrics.total(x.shard, totalPanics, 1)
	x.s.Log.Error("a handler panicked", slog.String("request_id", string(x.id)), slog.Any("panic", p),
		slog.Bool("charged", x.metering.reservation == stateSettled && x.metering.charge.Charged > 0),
		slog.String("stack", string(debug.Stack())))

	// An open reservation would hold its unit until the period ends.
	if err := x.metering.release(); err != nil {
		x.s.Log.Error("metering: cannot release a reserved request", slog.String("request_id", string(x.id)),
			slog.Any("cause", err))
	}

	// A partly made response is discarded.
	x.Ctx.Response.Reset()
	x.Ctx.Response.Header.DisableNormalizing()
	x.Encoded = ""
	x.allowOrigin()
	if x.surface == &toolSurface {
		x.surface = &gateSurface // outside of a tool there is no tool result for the error
	}
	x.refuse(somethingWrong)
}
