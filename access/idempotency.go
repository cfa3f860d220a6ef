package access

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/access/state"
)

// Begin implements [Store].
func (l *limits) Begin(res Reservation, key string, body BodyHash, now Instant) (Claim, error) {
	defer l.metrics.times.Since(timeBegin, time.Now())
	if err := l.Err(); err != nil {
		return Claim{}, err
	}
	if !res.Spec.ReserveAtBegin {
		return Claim{}, fmt.Errorf("cannot begin %q: %w: the operation takes no idempotency key",
			string(res.Spec.Operation), ErrReservation)
	}

	at := l.storeTime(now)
	name := NewReplyKey(res.Spec.Operation, key)
	a := l.stateOf(res.Principal).tenant
	a.mu.Lock()
	a.replies.purge(at)
	pending := a.replies.pending[name]
	stored, found := a.replies.find(name, at)
	if pending == nil && !found {
		defer a.mu.Unlock()
		pending = &pendingKey{name: name, body: body, done: make(chan struct{})}
		return l.begin(a, &res, pending, key, now)
	}

	// A pending key and a stored reply's data never change.
	a.mu.Unlock()
	switch {
	case pending != nil && pending.body != body, pending == nil && stored.body != body:
		return Claim{Result: Conflict}, nil
	case pending != nil:
		return Claim{Result: InProgress, Done: pending.done}, nil
	}

	plain, err := l.plain(res.Principal.Tenant, name, stored)
	if err != nil {
		return Claim{}, err
	}
	return Claim{Result: Replay, Reply: plain}, nil
}

// plain returns a stored reply as committed.
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

// readReply returns the data of a reply that is only in the checkpoint file.
func (ul *usageLog) readReply(tenant string, name ReplyKey, want replyMeta) (data []byte, err error) {
	err = ul.dir.Between(func(file *state.File) error {
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

// begin adds a fresh record and reserves its cost. The caller holds the tenant's mutex.
func (l *limits) begin(a *tenantState, res *Reservation, pending *pendingKey, key string, now Instant) (Claim, error) {
	quota := a.quotaState(res.Principal, &res.Spec, l.times(now))
	if quota.full(res.Spec.Cost) {
		limit := quota.limitState(true, now.Wall)
		return Claim{Result: Exhausted, Quota: limit, RetryAfter: limit.Wait}, nil
	}

	// No record is dropped early to make room: its caller may repeat the call.
	if wait, full := a.replies.full(l.maxRecords, l.storeTime(now)); full {
		return Claim{}, &IdempotencyFullError{Records: l.maxRecords, RetryAfter: secondsUp(wait)}
	}
	if l.unsavedBytes.Load() > l.maxUnsaved {
		return Claim{}, &IdempotencyFullError{RetryAfter: UnavailableRetry}
	}

	// The key may alias the request's memory, which the claim outlives.
	pending.id = l.lastClaimID.Add(1)
	pending.period = quota.Period
	a.reserve(&res.Spec, quota.Day, quota.Period)
	a.replies.pending[pending.name] = pending
	return Claim{Result: Fresh, Key: strings.Clone(key), ID: pending.id}, nil
}

// IdempotencyFullError reports that no other idempotent reply can be stored. It is an
// ErrIdempotencyFull.
type IdempotencyFullError struct {
	Records    int   // records of the tenant, which are at their maximum; 0: the disk takes none
	RetryAfter int64 // seconds until one expires
}

func (full *IdempotencyFullError) Error() string {
	if full.Records == 0 {
		return "replies cannot be written to the checkpoint: " + ErrIdempotencyFull.Error()
	}
	return fmt.Sprintf("%d replies of the last ten minutes are kept: %v", full.Records, ErrIdempotencyFull)
}

func (full *IdempotencyFullError) Unwrap() error { return ErrIdempotencyFull }

// ownedBy returns the pending key of a claim, or nil. The caller holds the tenant's mutex.
func (a *tenantState) ownedBy(res *Reservation, claim *Claim) *pendingKey {
	pending := a.replies.pending[NewReplyKey(res.Spec.Operation, claim.Key)]
	if pending == nil || pending.id != claim.ID || claim.ID == 0 {
		return nil
	}
	return pending
}

// finish ends a pending key and wakes the callers that wait for it. The caller holds the tenant's
// mutex.
func (a *tenantState) finish(pending *pendingKey) {
	delete(a.replies.pending, pending.name)
	close(pending.done)
}

// Commit implements [Store].
func (l *limits) Commit(res Reservation, claim Claim, reply []byte) (Charge, error) {
	defer l.metrics.times.Since(timeCommit, time.Now())
	if err := checkReply(reply); err != nil {
		_, aborted := l.Abort(res, claim)
		return Charge{}, cmp.Or(aborted, err)
	}

	data := bytes.Clone(reply) // whose memory the caller reuses
	a := l.stateOf(res.Principal).tenant
	a.mu.Lock()
	pending := a.ownedBy(&res, &claim)
	if pending == nil {
		a.mu.Unlock()
		err := fmt.Errorf("cannot commit %q: %w: the claim is not open", string(res.Spec.Operation), ErrReservation)
		return Charge{}, err
	}
	if err := l.Err(); err != nil {
		a.mu.Unlock()
		_, _ = l.Abort(res, claim) // ends the claim, so that no caller waits for it in vain
		return Charge{}, err
	}

	// A checkpoint with the charge must have the reply: both are added under one lock.
	name := pending.name
	a.release(&res.Spec, res.Day, pending.period)
	a.replies.add(name, storedReply{replyMeta: replyMeta{body: pending.body, at: res.At}, data: data})
	e := newEntry(&res, res.Spec.Cost)
	e.period = pending.period
	e.reply = &replyRecord{name: claim.Key, body: pending.body, data: data}
	charge, seq := l.recordCall(a, &res, &e)
	a.mu.Unlock()

	// Callers that wait for the reply are woken when it is on disk, or never will be.
	err := l.await(seq, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.undo(&e)
		a.replies.undoAdd(name, res.At)
		charge = Charge{}
	}
	a.finish(pending)
	return charge, err
}

// Abort implements [Store]. Waiters are woken even when the store is down.
func (l *limits) Abort(res Reservation, claim Claim) (Charge, error) {
	a := l.stateOf(res.Principal).tenant
	a.mu.Lock()
	pending := a.ownedBy(&res, &claim)
	if pending == nil {
		defer a.mu.Unlock()
		return Charge{Quota: a.quotaAfter(&res)}, nil // Commit ended it
	}

	a.release(&res.Spec, res.Day, pending.period)
	a.finish(pending)
	a.mu.Unlock()

	return l.Finish(res, false)
}

// checkReply returns an ErrIdempotencyFull for a reply that is too long to store.
func checkReply(reply []byte) error {
	if len(reply) > maxReply {
		return fmt.Errorf("cannot keep a reply of %d bytes: %w", len(reply), ErrIdempotencyFull)
	}
	return nil
}

// PackReply compresses a text for the servers of a fleet. One that is too long is an ErrIdempotencyFull.
func PackReply(plain []byte) ([]byte, error) {
	if err := checkReply(plain); err != nil {
		return nil, err
	}
	return packer.EncodeAll(plain, make([]byte, 0, len(plain)/8+64)), nil
}

// UnpackReply returns a stored reply as committed, whether it was packed or not.
func UnpackReply(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, frameStart) {
		return data, nil
	}
	plain, err := unpacker.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: stored reply: %w", ErrUnavailable, err)
	}
	return plain, nil
}

// frameStart begins a packed reply. No reply that an operation commits begins with it.
var frameStart = []byte{0x28, 0xB5, 0x2F, 0xFD}

// packer and unpacker serve every store: they have no state between replies, are safe for concurrent
// use, and their tables take a megabyte.
var packer, unpacker = newReplyCodec()

func newReplyCodec() (*zstd.Encoder, *zstd.Decoder) {
	// Repeated texts are most of what a reply loses. To code the rest by its entropy, too, saves a quarter of what is
	// left and takes as long again.
	encoder, encodeErr := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithNoEntropyCompression(true), zstd.WithWindowSize(128<<10), zstd.WithEncoderConcurrency(2))
	decoder, decodeErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(2*maxReply))
	if err := cmp.Or(encodeErr, decodeErr); err != nil {
		panic(err) // the options are constants
	}

	encoder.EncodeAll(nil, nil) // makes its tables now, and not while a caller waits
	return encoder, decoder
}
