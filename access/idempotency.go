package access

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/access/state"
)

// Begin implements [Store].
func (l *limits) Begin(t Ticket, key string, body BodyHash, now Instant) (Claim, error) {
	defer l.meter.times.Since(timeBegin, time.Now())
	if err := l.Err(); err != nil {
		return Claim{}, err
	}
	if !t.Rule.Deferred {
		return Claim{}, fmt.Errorf("cannot begin %q: %w: the operation takes no idempotency key",
			string(t.Rule.Operation), ErrTicket)
	}

	at := l.time(now)
	name := NameReply(t.Rule.Operation, key)
	a := l.slot(t.Principal).account
	a.mu.Lock()
	a.replies.purge(at)
	flying := a.replies.flying[name]
	kept, found := a.replies.find(name, at)
	if flying == nil && !found {
		defer a.mu.Unlock()
		return l.begin(a, &t, key, body, now)
	}

	// What flies, and the data of what is kept, never changes.
	a.mu.Unlock()
	switch {
	case flying != nil && flying.body != body, flying == nil && kept.body != body:
		return Claim{Outcome: Conflict}, nil
	case flying != nil:
		return Claim{Outcome: Wait, Done: flying.done}, nil
	}

	plain, err := l.plain(t.Principal.Tenant, name, kept)
	if err != nil {
		return Claim{}, err
	}
	return Claim{Outcome: Replay, Reply: plain}, nil
}

// plain returns a kept reply as it was committed.
func (l *limits) plain(tenant string, name ReplyName, r reply) ([]byte, error) {
	data := r.data
	if data == nil {
		var err error
		data, err = l.readReply(tenant, name, r.answer)
		if err != nil {
			return nil, fmt.Errorf("%w: stored reply: %w", ErrUnavailable, err)
		}
	}
	return UnpackReply(data)
}

// readReply returns the data of a reply that is in the checkpoint file alone.
func (j *journal) readReply(tenant string, name ReplyName, want answer) (data []byte, err error) {
	err = j.dir.Between(func(file *state.File) error {
		return file.Read(func(stored *state.View) error {
			key := replyKey(tenant, minuteOf(want.at), name)
			value, err := stored.Reply(key)
			if err == nil && value == nil {
				err = fmt.Errorf("%w: a reply is gone", ErrCorrupt)
			}
			if err != nil {
				return err
			}

			_, _, r, err := decodeReply(state.Replies, key, value)
			if err == nil && len(r.data) == 0 {
				err = fmt.Errorf("%w: a reply was in a file that was lost", ErrCorrupt)
			}
			data = r.data
			return err
		})
	})
	return data, err
}

// begin makes a fresh record and reserves its cost. The caller holds the account.
func (l *limits) begin(a *account, t *Ticket, key string, body BodyHash, now Instant) (Claim, error) {
	st := a.stand(t.Principal, &t.Rule, l.moment(now))
	if st.full(t.Rule.Cost) {
		policy := st.policy(true)
		return Claim{Outcome: Exhausted, Allowance: policy, RetryAfter: policy.Wait}, nil
	}

	// No record is dropped early to make room: its caller may ask again.
	if wait, full := a.replies.full(l.repliesMax, l.time(now)); full {
		return Claim{}, &FullError{Kept: l.repliesMax, RetryAfter: secondsUp(wait)}
	}
	if l.waiting.Load() > l.waitingMax {
		return Claim{}, &FullError{RetryAfter: UnavailableRetry}
	}

	// The key may alias the request's memory, which the claim outlives.
	flying := &flight{id: l.claims.Add(1), body: body, done: make(chan struct{}), period: st.period}
	a.reserve(&t.Rule, st.day, st.period)
	a.replies.flying[NameReply(t.Rule.Operation, key)] = flying
	return Claim{Outcome: Fresh, Key: strings.Clone(key), Body: body, ID: flying.id}, nil
}

// FullError says that no other idempotent reply can be kept. It is an ErrIdempotencyFull.
type FullError struct {
	Kept       int   // replies of the tenant, which is as many as there may be; 0: the disk takes none
	RetryAfter int64 // seconds until one leaves
}

func (full *FullError) Error() string {
	if full.Kept == 0 {
		return "replies cannot be written to the checkpoint: " + ErrIdempotencyFull.Error()
	}
	return fmt.Sprintf("%d replies of the last ten minutes are kept: %v", full.Kept, ErrIdempotencyFull)
}

func (full *FullError) Unwrap() error { return ErrIdempotencyFull }

// owned returns the record in flight that a claim names, or nil. The caller holds the account.
func (a *account) owned(t *Ticket, claim *Claim) *flight {
	flying := a.replies.flying[NameReply(t.Rule.Operation, claim.Key)]
	if flying == nil || flying.id != claim.ID || claim.ID == 0 {
		return nil
	}
	return flying
}

// land ends a record in flight and wakes those that wait for it. The caller holds the account.
func (a *account) land(t *Ticket, claim *Claim, flying *flight) {
	delete(a.replies.flying, NameReply(t.Rule.Operation, claim.Key))
	close(flying.done)
}

// Commit implements [Store].
func (l *limits) Commit(t Ticket, claim Claim, plain []byte) (Receipt, error) {
	defer l.meter.times.Since(timeCommit, time.Now())
	data, err := PackReply(plain) // before the lock: it takes longer than all that follows
	if err != nil {
		_, aborted := l.Abort(t, claim)
		return Receipt{}, cmp.Or(aborted, err)
	}

	a := l.slot(t.Principal).account
	a.mu.Lock()
	flying := a.owned(&t, &claim)
	if flying == nil {
		a.mu.Unlock()
		return Receipt{}, fmt.Errorf("cannot commit %q: %w: the claim is not open", string(t.Rule.Operation), ErrTicket)
	}
	if err := l.Err(); err != nil {
		a.mu.Unlock()
		_, _ = l.Abort(t, claim) // which ends the claim, so that no caller waits for it in vain
		return Receipt{}, err
	}

	// A checkpoint that has the charge has to have the reply: both go in under one lock.
	name := NameReply(t.Rule.Operation, claim.Key)
	a.release(&t.Rule, t.Day, flying.period)
	a.replies.keep(name, reply{answer: answer{body: flying.body, at: t.At}, data: data})
	e := ticketEntry(&t, t.Rule.Cost)
	e.period = flying.period
	e.reply = &replyEntry{name: claim.Key, body: flying.body, data: data}
	receipt, seq := l.enter(a, &t, &e)
	a.mu.Unlock()

	// Those who wait for the reply are woken only when it is on disk, or never will be.
	err = l.await(seq, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.undo(&e)
		a.replies.withdraw(name, t.At)
		receipt = Receipt{}
	}
	a.land(&t, &claim, flying)
	return receipt, err
}

// Abort implements [Store]. Waiters are woken even when the store is down.
func (l *limits) Abort(t Ticket, claim Claim) (Receipt, error) {
	a := l.slot(t.Principal).account
	a.mu.Lock()
	flying := a.owned(&t, &claim)
	if flying == nil {
		// A commit ended it: what is left is told as it stands.
		st := a.stand(t.Principal, &t.Rule, moment{store: t.At, wall: t.Now.Wall})
		a.mu.Unlock()
		return Receipt{Allowance: st.policy(false)}, nil
	}

	a.release(&t.Rule, t.Day, flying.period)
	a.land(&t, &claim, flying)
	a.mu.Unlock()

	return l.Finish(t, false)
}

// PackReply compresses a reply to be kept. One that is too long is an ErrIdempotencyFull.
func PackReply(plain []byte) ([]byte, error) {
	if len(plain) > maxReply {
		return nil, fmt.Errorf("cannot keep a reply of %d bytes: %w", len(plain), ErrIdempotencyFull)
	}
	return packer.EncodeAll(plain, make([]byte, 0, len(plain)/8+64)), nil
}

// UnpackReply returns a kept reply as it was before [PackReply].
func UnpackReply(data []byte) ([]byte, error) {
	plain, err := unpacker.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: stored reply: %w", ErrUnavailable, err)
	}
	return plain, nil
}

// packer and unpacker serve every store: they keep nothing from one reply to the next, are safe for
// concurrent use, and their tables take a megabyte.
var packer, unpacker = newReplyCodec()

func newReplyCodec() (*zstd.Encoder, *zstd.Decoder) {
	encoder, encodeErr := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10), zstd.WithEncoderConcurrency(2))
	decoder, decodeErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(2*maxReply))
	if err := cmp.Or(encodeErr, decodeErr); err != nil {
		panic(err) // the options are constants
	}

	encoder.EncodeAll(nil, nil) // makes its tables now, and not while a caller waits
	return encoder, decoder
}
