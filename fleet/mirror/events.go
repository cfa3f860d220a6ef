package mirror

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"ninepocket/snapshot"
)

// kindEvent begins the kind of a signed event, which goes on with its id: no event is another.
const kindEvent = "EVENT "

// PushEvents sends the events of a directory store that the bucket lacks, signed.
func (b *Bucket) PushEvents(ctx context.Context, dir *snapshot.Store, key *Key) error {
	there, err := b.names(ctx, eventPrefix, "")
	if err != nil {
		return err
	}
	stored := dir.Events()
	ids, err := stored.EventIDs(ctx)
	if err != nil {
		return err
	}

	for _, id := range ids {
		if slices.Contains(there, eventPrefix+id) {
			continue
		}
		body, err := stored.Event(ctx, id)
		if err == nil {
			err = b.putImmutable(ctx, eventPrefix+id, sign(kindEvent+id, append(body, '\n'), key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EventIDs returns the ids of the events of the bucket, ascending.
func (c *Follower) EventIDs(ctx context.Context) (ids []string, err error) {
	names, err := c.bucket.names(ctx, eventPrefix, "")
	for _, name := range names {
		if id := strings.TrimPrefix(name, eventPrefix); snapshot.ValidEventID(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Event returns an event of the bucket, which a trusted key must have signed.
func (c *Follower) Event(ctx context.Context, id string) ([]byte, error) {
	signed, _, err := c.bucket.get(ctx, eventPrefix+id, "")
	if err != nil {
		return nil, err
	}
	text, err := cutSigned(kindEvent+id, signed)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.loadTrust(); err != nil {
		return nil, err
	}
	_, err = c.ring.signer(&text)
	return bytes.TrimSuffix(text.body, []byte("\n")), err
}
