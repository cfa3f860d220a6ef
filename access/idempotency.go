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
func (l *limits) Begin(t Reservation, key string, body BodyHash, now Instant) (Claim, error) {
	defer l.metrics.times.Since(timeBegin, time.Now())
	if err := l.Err(); err != nil {
		return Claim{}, err
	}
	if !t.Rule.ReserveAtBegin {
		return Claim{}, fmt.Errorf("cannot begin %q: %w: the operation takes no idempotency key",
			string(t.Rule.Operation), ErrReservation)
	}

	at := l.time(now)
	name := NewReplyKey(t.Rule.Operation, key)
	a := l.slot(t.Principal).account
	a.mu.Lock()
	a.replies.purge(at)
	flying := a.replies.pending[name]
	stored, found := a.replies.find(name, at)
	if flying == nil && !found {
		defer a.mu.Unlock()
		return l.begin(a, &t, key, body, now)
	}

	// What flies, and the data of what is kept, never changes.
	a.mu.Unlock()
	switch {
	case flying != nil && flying.body != body, flying == nil && stored.body != body:
		return Claim{Result: Conflict}, nil
	case flying != nil:
		return Claim{Result: InProgress, Done: flying.done}, nil
	}

	plain, err := l.plain(t.Principal.Tenant, name, stored)
	if err != nil {
		return Claim{}, err
	}
	return Claim{Result: Replay, Reply: plain}, nil
}

// plain returns a kept reply as it was committed.
func (l *limits) plain(tenant string, name ReplyKey, r storedReply) ([]byte, error) {
	data := r.data
	if data == nil {
		var err error
		data, err = l.readReply(tenant, name, r.replyMeta)
		if err != nil {
			return nil, fmt.Errorf("%w: stored reply: %w", ErrUnavailable, err)
		}
	}
	return UnpackReply(data)
}

// readReply returns the data of a reply that is in the checkpoint file alone.
func (j *usageLog) readReply(tenant string, name ReplyKey, want replyMeta) (data []byte, err error) {
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
func (l *limits) begin(a *tenantState, t *Reservation, key string, body BodyHash, now Instant) (Claim, error) {
	st := a.stand(t.Principal, &t.Rule, l.moment(now))
	if st.full(t.Rule.Cost) {
		policy := st.limitState(true)
		return Claim{Result: Exhausted, Quota: policy, RetryAfter: policy.Wait}, nil
	}

	// No record is dropped early to make room: its caller may ask again.
	if wait, full := a.replies.full(l.maxRecords, l.time(now)); full {
		return Claim{}, &IdempotencyFullError{Records: l.maxRecords, RetryAfter: secondsUp(wait)}
	}
	if l.waiting.Load() > l.waitingMax {
		return Claim{}, &IdempotencyFullError{RetryAfter: UnavailableRetry}
	}

	// The key may alias the request's memory, which the claim outlives.
	flying := &pendingKey{id: l.claims.Add(1), body: body, done: make(chan struct{}), period: st.period}
	a.reserve(&t.Rule, st.day, st.period)
	a.replies.pending[NewReplyKey(t.Rule.Operation, key)] = flying
	return Claim{Result: Fresh, Key: strings.Clone(key), Body: body, ID: flying.id}, nil
}

// IdempotencyFullError says that no other idempotent reply can be kept. It is an
// ErrIdempotencyFull.
type IdempotencyFullError struct {
	Records    int   // replies of the tenant, which is as many as there may be; 0: the disk takes none
	RetryAfter int64 // seconds until one leaves
}

func (full *IdempotencyFullError) Error() string {
	if full.Records == 0 {
		return "replies cannot be written to the checkpoint: " + ErrIdempotencyFull.Error()
	}
	return fmt.Sprintf("%d replies of the last ten minutes are kept: %v", full.Records, ErrIdempotencyFull)
}

func (full *IdempotencyFullError) Unwrap() error { return ErrIdempotencyFull }

// ownedBy returns the record in flight that a claim names, or nil. The caller holds the account.
func (a *tenantState) ownedBy(t *Reservation, claim *Claim) *pendingKey {
	flying := a.replies.pending[NewReplyKey(t.Rule.Operation, claim.Key)]
	if flying == nil || flying.id != claim.ID || claim.ID == 0 {
		return nil
	}
	return flying
}

// finish ends a record in flight and wakes those that wait for it. The caller holds the account.
func (a *tenantState) finish(t *Reservation, claim *Claim, flying *pendingKey) {
	delete(a.replies.pending, NewReplyKey(t.Rule.Operation, claim.Key))
	close(flying.done)
}

// Commit implements [Store].
func (l *limits) Commit(t Reservation, claim Claim, plain []byte) (Charge, error) {
	defer l.metrics.times.Since(timeCommit, time.Now())
	data, err := PackReply(plain) // before the lock: it takes longer than all that follows
	if err != nil {
		_, aborted := l.Abort(t, claim)
		return Charge{}, cmp.Or(aborted, err)
	}

	a := l.slot(t.Principal).account
	a.mu.Lock()
	flying := a.ownedBy(&t, &claim)
	if flying == nil {
		a.mu.Unlock()
		err := fmt.Errorf("cannot commit %q: %w: the claim is not open", string(t.Rule.Operation), ErrReservation)
		return Charge{}, err
	}
	if err := l.Err(); err != nil {
		a.mu.Unlock()
		_, _ = l.Abort(t, claim) // which ends the claim, so that no caller waits for it in vain
		return Charge{}, err
	}

	// A checkpoint that has the charge has to have the reply: both go in under one lock.
	name := NewReplyKey(t.Rule.Operation, claim.Key)
	a.release(&t.Rule, t.Day, flying.period)
	a.replies.add(name, storedReply{replyMeta: replyMeta{body: flying.body, at: t.At}, data: data})
	e := ticketEntry(&t, t.Rule.Cost)
	e.period = flying.period
	e.reply = &replyRecord{name: claim.Key, body: flying.body, data: data}
	receipt, seq := l.enter(a, &t, &e)
	a.mu.Unlock()

	// Those who wait for the reply are woken only when it is on disk, or never will be.
	err = l.await(seq, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.undo(&e)
		a.replies.undoAdd(name, t.At)
		receipt = Charge{}
	}
	a.finish(&t, &claim, flying)
	return receipt, err
}

// Abort implements [Store]. Waiters are woken even when the store is down.
func (l *limits) Abort(t Reservation, claim Claim) (Charge, error) {
	a := l.slot(t.Principal).account
	a.mu.Lock()
	flying := a.ownedBy(&t, &claim)
	if flying == nil {
		// A commit ended it: what is left is told as it stands.
		st := a.stand(t.Principal, &t.Rule, timePair{store: t.At, wall: t.Now.Wall})
		a.mu.Unlock()
		return Charge{Quota: st.limitState(false)}, nil
	}

	a.release(&t.Rule, t.Day, flying.period)
	a.finish(&t, &claim, flying)
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
