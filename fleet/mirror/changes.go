package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"ninepocket/snapshot"
)

// changesName is the object with what an epoch changed.
func changesName(epoch uint64) string { return fmt.Sprintf("%s%012d", changesPrefix, epoch) }

// changesKind is its kind as a signed text. It has the epoch: no delta is that of another.
func changesKind(epoch uint64) string { return fmt.Sprintf("%s%d", kindChanges, epoch) }

const kindChanges = "CHANGES "

// sendChanges sends what the next release changes, signed, before servers see that. The push goes on where it
// cannot: clients then take the bulk again.
func (b *Bucket) sendChanges(ctx context.Context, dir *snapshot.Store, next *Pointer, o *PushOptions) {
	cur := next.current()
	snapshot.DeltasOf(dir).Record(ctx, &cur, func(delta *snapshot.Delta) error {
		body, err := delta.Encode()
		if err == nil {
			// Without a condition: another publisher may have failed at this epoch.
			_, err = b.put(ctx, changesName(next.Epoch), sign(changesKind(next.Epoch), body, o.Key), writeCondition{})
		}
		return err
	}, o.OnWarning)

	// No server reads an older one. The rest takes space.
	_ = b.remove(ctx, changesName(next.Epoch-min(next.Epoch, snapshot.MaxDeltas)))
}

// pullChanges copies what the releases after an epoch changed into the directory store, the newest first and
// no more than it has room for. A server serves without them.
func (c *Follower) pullChanges(ctx context.Context, after uint64, next *Pointer) {
	for epoch := next.Epoch; epoch > after && epoch+snapshot.MaxDeltas > next.Epoch; epoch-- {
		err := c.pullDelta(ctx, epoch)
		// An earlier program sent none, and a release of the same snapshot has none.
		if err != nil && !errors.Is(err, errNotFound) {
			c.options.Log.Warn("cannot pull changes: clients may have to download the bulk files again",
				slog.Uint64("epoch", epoch), slog.Any("cause", err))
			return
		}
	}
}

// pullDelta copies the delta of an epoch, which a trusted key must have signed.
func (c *Follower) pullDelta(ctx context.Context, epoch uint64) error {
	// It is much smaller than the snapshot, so that an interrupted download starts again.
	signed, _, err := c.bucket.get(ctx, changesName(epoch), "")
	if err != nil {
		return err
	}
	text, err := cutSigned(changesKind(epoch), signed)
	if err == nil {
		_, err = c.ring.signer(&text)
	}
	if err != nil {
		return err
	}

	delta, err := snapshot.ParseDelta(text.body)
	if err != nil {
		return err
	}
	return snapshot.DeltasOf(c.dir).Add(delta)
}
