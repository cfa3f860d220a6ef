package access

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// replyMillis is how long a reply is kept, exactly (decision 30).
	replyMillis = int64(600_000)
	// replyOverhead is what a record is taken to cost beside its key and reply.
	replyOverhead = 512
	// defaultReplyBytes bounds the idempotency records of one tenant.
	defaultReplyBytes = 8 << 20
	// maxReply bounds one reply before compression.
	maxReply = 4 << 20
)

// replyName names an idempotency record inside a tenant.
type replyName struct {
	op  Operation
	key string
}

// reply is one idempotency record. It is in flight until done is nil.
type reply struct {
	name   replyName
	id     uint64
	body   BodyHash
	done   chan struct{} // closed when the owner ended; nil once the reply is durable
	period Period        // that the unit is reserved in
	data   []byte        // compressed reply, immutable; nil until charged
	at     int64         // store time of the request that was answered
}

func (r *reply) size() int { return replyOverhead + len(r.name.key) + len(r.data) }

// replies are the idempotency records of a tenant, guarded by its account.
type replies struct {
	byName  map[replyName]*reply
	order   []*reply           // answered ones, in order of their commit: nearly oldest first
	bytes   int                // of all records
	touched map[replyName]bool // embedded: changed since the last checkpoint
}

func (rs *replies) add(r *reply) {
	rs.byName[r.name] = r
	rs.bytes += r.size()
}

// keep turns a record in flight into an answered one.
func (rs *replies) keep(r *reply, data []byte, at int64) {
	r.data = data
	r.at = at
	rs.bytes += len(data)
	rs.order = append(rs.order, r)
	rs.touch(r.name)
}

func (rs *replies) touch(name replyName) {
	if rs.touched != nil {
		rs.touched[name] = true
	}
}

// drop removes a record if it is still the one of its name.
func (rs *replies) drop(r *reply) {
	if rs.byName[r.name] == r {
		delete(rs.byName, r.name)
		rs.bytes -= r.size()
		if r.data != nil {
			rs.touch(r.name)
		}
	}
}

// purge drops the records whose time is over.
func (rs *replies) purge(at int64) {
	n := 0
	for n < len(rs.order) && rs.order[n].over(at) {
		rs.drop(rs.order[n])
		rs.order[n] = nil // the array behind the slice outlives it
		n++
	}

	rs.order = rs.order[n:]
	if len(rs.order) == 0 {
		rs.order = nil
	}
}

// over reports whether an answered record is past its ten minutes.
func (r *reply) over(at int64) bool { return r.data != nil && r.done == nil && at-r.at >= replyMillis }

// find returns the record of a name if it still counts at a time.
func (rs *replies) find(name replyName, at int64) *reply {
	r := rs.byName[name]
	if r != nil && r.over(at) {
		rs.drop(r)
		return nil
	}
	return r
}

// Begin implements [Store].
func (l *limits) Begin(t Ticket, key string, body BodyHash, now Instant) (Claim, error) {
	defer l.meter.time(timeBegin, time.Now())
	if err := l.Err(); err != nil {
		return Claim{}, err
	}
	if !t.Rule.Deferred {
		return Claim{}, fmt.Errorf("cannot begin %q: %w: the operation takes no idempotency key",
			string(t.Rule.Operation), ErrTicket)
	}

	at := l.time(now)
	a := l.slot(t.Principal).account
	a.mu.Lock()
	a.replies.purge(at)
	r := a.replies.find(replyName{op: t.Rule.Operation, key: key}, at)
	if r == nil {
		defer a.mu.Unlock()
		return l.begin(a, &t, key, body, now)
	}
	found := *r
	a.mu.Unlock()

	// What was found is a copy, and the reply itself never changes: it is expanded without the
	// lock.
	switch {
	case found.body != body:
		return Claim{Outcome: Conflict}, nil
	case found.done != nil:
		return Claim{Outcome: Wait, Done: found.done}, nil
	}
	plain, err := l.codec.expand(found.data)
	if err != nil {
		return Claim{}, fmt.Errorf("%w: stored reply: %w", ErrUnavailable, err)
	}
	return Claim{Outcome: Replay, Reply: plain}, nil
}

// begin makes a fresh record and reserves its cost. The caller holds the account.
func (l *limits) begin(a *account, t *Ticket, key string, body BodyHash, now Instant) (Claim, error) {
	s := a.stand(t.Principal, &t.Rule, now.Wall)
	if s.full(t.Rule.Cost) {
		policy := s.policy(now.Wall, true)
		return Claim{Outcome: Exhausted, Allowance: policy, RetryAfter: policy.Wait}, nil
	}

	// The key may alias the request's memory, which the record outlives.
	name := replyName{op: t.Rule.Operation, key: strings.Clone(key)}
	r := &reply{name: name, id: l.claims.Add(1), body: body, done: make(chan struct{}), period: s.period}

	// No record is dropped early to make room: its caller may ask again.
	if a.replies.bytes+r.size() > l.replyBytes {
		return Claim{}, ErrIdempotencyFull
	}

	a.rollPeriod(s.period)
	a.reserve(&t.Rule, s.day, s.period)
	a.replies.add(r)
	return Claim{Outcome: Fresh, Key: name.key, Body: body, ID: r.id}, nil
}

// owned returns the record in flight that a claim names, or nil. The caller holds the account.
func (a *account) owned(t *Ticket, claim *Claim) *reply {
	r := a.replies.byName[replyName{op: t.Rule.Operation, key: claim.Key}]
	if r == nil || r.id != claim.ID || r.data != nil || claim.ID == 0 {
		return nil
	}
	return r
}

// Commit implements [Store].
func (l *limits) Commit(t Ticket, claim Claim, answer []byte) (Receipt, error) {
	defer l.meter.time(timeCommit, time.Now())
	if len(answer) > maxReply {
		_, err := l.Abort(t, claim)
		err = cmp.Or(err, ErrIdempotencyFull)
		return Receipt{}, fmt.Errorf("cannot keep a reply of %d bytes: %w", len(answer), err)
	}

	data := l.codec.compress(answer) // before the lock: it takes longer than all that follows
	a := l.slot(t.Principal).account
	a.mu.Lock()
	r := a.owned(&t, &claim)
	if r == nil {
		a.mu.Unlock()
		return Receipt{}, fmt.Errorf("cannot commit %q: %w: the claim is not open", string(t.Rule.Operation), ErrTicket)
	}

	// A reply that does not fit ends the claim, so that no caller waits for it in vain.
	if err := l.Err(); err != nil || a.replies.bytes+len(data) > l.replyBytes {
		a.mu.Unlock()
		if _, err := l.Abort(t, claim); err != nil {
			return Receipt{}, err
		}
		return Receipt{}, ErrIdempotencyFull
	}

	a.release(&t.Rule, t.Day, r.period)
	a.replies.keep(r, data, t.At)
	e := ticketEntry(&t, t.Rule.Cost)
	e.period = r.period
	e.reply = &replyEntry{name: r.name.key, body: r.body, data: data}
	receipt, seq := l.enter(a, &t, &e)
	a.mu.Unlock()

	// Those who wait for the reply are woken only when it is on disk, or never will be.
	err := l.await(seq, true)
	a.mu.Lock()
	close(r.done)
	r.done = nil
	a.mu.Unlock()
	if err != nil {
		return Receipt{}, err
	}
	return receipt, nil
}

// Abort implements [Store]. Waiters are woken even when the store is down.
func (l *limits) Abort(t Ticket, claim Claim) (Receipt, error) {
	a := l.slot(t.Principal).account
	a.mu.Lock()
	r := a.owned(&t, &claim)
	if r == nil {
		a.mu.Unlock()
		return Receipt{}, nil
	}

	a.replies.drop(r)
	a.release(&t.Rule, t.Day, r.period)
	close(r.done)
	a.mu.Unlock()

	return l.Finish(t, false)
}

// replyCodec compresses replies. It is safe for concurrent use.
type replyCodec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newReplyCodec() replyCodec {
	encoder, encodeErr := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10), zstd.WithEncoderConcurrency(2))
	decoder, decodeErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(2*maxReply))
	if err := cmp.Or(encodeErr, decodeErr); err != nil {
		panic(err) // the options are constants
	}

	encoder.EncodeAll(nil, nil) // makes its pool now, in the goroutine that owns the store
	return replyCodec{encoder: encoder, decoder: decoder}
}

func (c replyCodec) compress(plain []byte) []byte {
	return c.encoder.EncodeAll(plain, make([]byte, 0, len(plain)/8+64))
}

func (c replyCodec) expand(data []byte) ([]byte, error) { return c.decoder.DecodeAll(data, nil) }
