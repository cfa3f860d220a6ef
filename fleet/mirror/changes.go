package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"ninepocket/snapshot"
)

// kindChanges begins the kind of a signed delta, which goes on with its epoch: no delta is that of another.
const kindChanges = "CHANGES "

// changesName is the object with what an epoch changed.
func changesName(epoch uint64) string { return fmt.Sprintf("%s%012d", changesPrefix, epoch) }

// compare returns the delta from what is published to a snapshot, nil for none: of the same snapshot, or with a
// warning. Clients then take the bulk again, and the push goes on.
func (o *PushOptions) compare(ctx context.Context, dir *snapshot.Store, from, to string) *snapshot.Delta {
	if from == "" || from == to {
		return nil
	}
	delta, err := snapshot.Compare(ctx, dir, from, to)
	if err != nil {
		o.warn(err)
		return nil
	}
	return delta
}

func (o *PushOptions) warn(err error) {
	if o.OnWarning != nil {
		o.OnWarning("clients are not told what changed, and have to take the bulk again: " + err.Error())
	}
}

// sendChanges sends what the next publication changes, signed, before servers see that. delta may be nil.
func (b *Bucket) sendChanges(ctx context.Context, delta *snapshot.Delta, next *Pointer, o *PushOptions) {
	if delta == nil || delta.From != next.Previous {
		return
	}

	delta.Epoch = next.Epoch
	body, err := delta.Encode()
	signed := sign(kindChanges+strconv.FormatUint(next.Epoch, 10), body, o.Key)
	if err == nil && len(signed) > maxSigned {
		err = fmt.Errorf("what changed has more than %d bytes", maxSigned)
	}
	if err == nil {
		// Without a condition: another publisher may have failed at this epoch.
		_, err = b.put(ctx, changesName(next.Epoch), signed, writeCondition{})
	}
	if err != nil {
		o.warn(err)
	}

	// No server reads an older one. What remains takes room.
	if next.Epoch > snapshot.MaxDeltas {
		_ = b.remove(ctx, changesName(next.Epoch-snapshot.MaxDeltas))
	}
}

// pullChanges copies what the publications after an epoch changed into the directory store, the newest first and
// no more than it has room for. A server serves without them.
func (c *Follower) pullChanges(ctx context.Context, after uint64, next *Pointer) {
	for epoch := next.Epoch; epoch > after && epoch+snapshot.MaxDeltas > next.Epoch; epoch-- {
		err := c.pullDelta(ctx, epoch)
		if err == nil || errors.Is(err, errNotFound) {
			continue // an earlier program sent none, and a publication of the same snapshot has none
		}
		c.options.Log.Warn("cannot pull what changed: clients may have to take the bulk again",
			slog.Uint64("epoch", epoch), slog.Any("cause", err))
		if errors.Is(err, ErrUnavailable) {
			return
		}
	}
}

// pullDelta copies the delta of an epoch, which a trusted key must have signed.
func (c *Follower) pullDelta(ctx context.Context, epoch uint64) error {
	signed, _, err := c.bucket.get(ctx, changesName(epoch), "")
	if err != nil {
		return err
	}
	text, err := cutSigned(kindChanges+strconv.FormatUint(epoch, 10), signed)
	if err != nil {
		return err
	}
	if _, err := c.ring.signer(&text); err != nil {
		return err
	}

	delta, err := snapshot.ParseDelta(text.body)
	if err != nil {
		return err
	}
	delta.Epoch = epoch
	return snapshot.DeltasOf(c.dir).Add(delta)
}
