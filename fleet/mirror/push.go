package mirror

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ninepocket/snapshot"
)

// maxParallel is how many sections are sent or fetched at the same time.
const maxParallel = 4

// Reasons why a push fails. Nothing was published, except perhaps with ErrUnknownResult,
// ErrNoConditionalWrites, or ErrTooLate after a lost answer.
var (
	ErrNoConditionalWrites = errors.New("the snapshot store ignores conditional writes")
	ErrFrozen              = errors.New("publications are frozen")
	ErrTooLate             = errors.New("somebody else published meanwhile")
	ErrNotPublisher        = errors.New("servers would refuse what it signs")
	ErrUnknownResult       = errors.New("nobody knows whether it is published")
	ErrContentDiffers      = errors.New("the store has other bytes there")
)

// PushOptions configure a push.
type PushOptions struct {
	Now time.Time
	Key *Key
	// Lead is how long after Now all servers begin to serve the snapshot; 0 is as soon as they have
	// it.
	Lead time.Duration
	// Freeze refuses the pushes after this one; Unfreeze pushes although the last push had Freeze.
	Freeze, Unfreeze bool
	// OnWarning receives messages for an operator about a push that continues; may be nil.
	OnWarning func(text string)
	// AfterEpoch is the highest epoch that servers have seen, if the store lost it: a new release
	// gets a greater one.
	AfterEpoch uint64
	// ForceReplace replaces a CURRENT that no trusted key signed, after all keys were lost.
	ForceReplace bool
}

// PushResult is the result of a push. It is only meaningful without an error.
type PushResult struct {
	Pointer
	Changed bool  `json:"published"`  // false: it was published before
	Sent    int64 `json:"sent_bytes"` // of sections
	Reused  int64 `json:"had_bytes"`  // of sections that the store had
}

// Push publishes a snapshot of a directory store to all servers that follow the bucket. They see
// nothing of it until CURRENT is written, after all sections and the manifest, and only if nobody else
// has written CURRENT since Push last read it. A copy under its epoch follows.
func (b *Bucket) Push(ctx context.Context, dir *snapshot.Store, id string, o PushOptions) (PushResult, error) {
	manifest, err := dir.ManifestBytes(id)
	if err == nil && !dir.Has(id) {
		err = fmt.Errorf("snapshot %q: %w", id, snapshot.ErrDamaged)
	}
	var m *snapshot.Manifest
	if err == nil {
		m, err = snapshot.ParseManifest(manifest, id)
	}
	if err != nil {
		return PushResult{}, fmt.Errorf("cannot push a snapshot: %w", err)
	}

	if err := b.probe(ctx); err != nil {
		return PushResult{}, err
	}
	ring, err := b.readSigners(ctx, o.Key)
	if err != nil {
		return PushResult{}, err
	}

	// A freeze is reported before anything is sent, and checked again below.
	old, _, err := b.readPublished(ctx, &ring, &o)
	if err != nil {
		return PushResult{}, err
	}
	// Servers refuse a CURRENT that was set back, by accident or by a thief: the highest epoch is
	// the newest.
	floor, err := b.lastEpoch(ctx, old.Epoch)
	if err != nil {
		return PushResult{}, err
	}
	floor = max(floor, o.AfterEpoch)
	if old.ID == id && old.signer == o.Key.ID && old.Freeze == o.Freeze && old.Epoch >= floor {
		return PushResult{Pointer: old.Pointer}, nil
	}

	done := PushResult{Changed: true}
	if err := b.sendSections(ctx, dir, m, o.Now, &done); err != nil {
		return done, fmt.Errorf("cannot push snapshot %q: %w", id, err)
	}
	if err := b.putImmutable(ctx, manifestPrefix+id, manifest); err != nil {
		return done, fmt.Errorf("cannot push snapshot %q: %w", id, err)
	}

	old, tag, err := b.readPublished(ctx, &ring, &o)
	if err != nil {
		return done, err
	}
	done.Pointer, err = old.successor(m.ID, manifest, floor, &o)
	if err != nil {
		return done, err
	}
	b.sendChanges(ctx, dir, &done.Pointer, &o)
	return done, b.publish(ctx, &ring, &done.Pointer, tag, o.Key)
}

// probe checks that the store supports conditional writes. Without them two publishers would overwrite
// each other.
func (b *Bucket) probe(ctx context.Context) error {
	name := probePrefix + rand.Text()
	tag, err := b.put(ctx, name, []byte("1\n"), writeCondition{absent: true})
	if err != nil {
		return err
	}
	defer b.remove(context.WithoutCancel(ctx), name) //nolint:errcheck // a probe that remains does no harm

	mustRefuse := func(header string, only writeCondition) error {
		switch _, err := b.put(ctx, name, []byte("2\n"), only); {
		case err == nil:
			const text = "%w (%s was answered 200): two publishers would overwrite each other"
			return fmt.Errorf("cannot publish to %s: "+text, b, ErrNoConditionalWrites, header)
		case !errors.Is(err, errPreconditionFailed):
			return err
		}
		return nil
	}
	if err := mustRefuse("If-None-Match", writeCondition{absent: true}); err != nil {
		return err
	}

	// After this write the first ETag is stale.
	if _, err := b.put(ctx, name, []byte("3\n"), writeCondition{tag: tag}); err != nil {
		return err
	}
	return mustRefuse("If-Match", writeCondition{tag: tag})
}

// readSigners reads TRUST, which must name key. A bucket without one trusts key alone.
func (b *Bucket) readSigners(ctx context.Context, key *Key) (Trust, error) {
	t, _, _, err := b.trust(ctx, trustName, "")
	if errors.Is(err, errNotFound) {
		return Trust{Keys: []Publisher{key.Publisher()}}, nil
	}
	if err != nil || t.trusts(key.Publisher()) {
		return t, err
	}
	return t, fmt.Errorf("cannot publish with key %q: TRUST %d does not name it: %w", key.ID, t.Version,
		ErrNotPublisher)
}

// verifiedCurrent is the content of a CURRENT that a trusted key signed.
type verifiedCurrent struct {
	Pointer
	signer string // id of the key
}

// readPublished reads CURRENT and its ETag, which is "" if nothing is published. The error is ErrFrozen
// if releases are frozen.
func (b *Bucket) readPublished(ctx context.Context, ring *Trust, o *PushOptions) (old verifiedCurrent, tag string,
	err error,
) {
	content, tag, err := b.get(ctx, currentName, "")
	if errors.Is(err, errNotFound) {
		return verifiedCurrent{}, "", nil
	}
	if err != nil {
		return verifiedCurrent{}, "", err
	}

	old, err = ring.verifyCurrent(content)
	switch {
	case err != nil && o.ForceReplace:
		return verifiedCurrent{}, tag, nil
	case err != nil:
		return verifiedCurrent{}, "", fmt.Errorf("cannot publish after what is there: %w", err)
	case old.Freeze && !o.Unfreeze:
		return old, tag, fmt.Errorf("cannot publish after epoch %d, which %q published at %s: %w",
			old.Epoch, old.signer, old.PublishedAt.Format(time.RFC3339), ErrFrozen)
	}
	return old, tag, nil
}

// successor returns the pointer that follows old, with an epoch greater than floor.
func (old *verifiedCurrent) successor(id string, manifest []byte, floor uint64, o *PushOptions) (Pointer, error) {
	now := o.Now.UTC().Truncate(time.Millisecond)
	next := Pointer{
		Format: pointerVersion, Epoch: max(old.Epoch, floor) + 1, ID: id, PublishedAt: now, Previous: old.ID,
		ManifestSHA256: fmt.Sprintf("%x", sha256.Sum256(manifest)), Freeze: o.Freeze,
	}

	if o.Lead > 0 {
		next.ActivateAt = now.Add(o.Lead)
	}
	if old.ID != "" {
		next.PreviousUntil = now.Add(o.Lead)
	}
	if old.ID == id {
		// Only the signature or the freeze is new.
		next.Previous = old.Previous
		next.PreviousUntil = old.PreviousUntil
		next.ActivateAt = time.Time{}
		if old.ActivateAt.After(now) {
			next.ActivateAt = old.ActivateAt
		}
	}
	if problem := next.problem(); problem != "" {
		return Pointer{}, fmt.Errorf("cannot publish a CURRENT that %s: %w", problem, ErrVersion)
	}
	return next, nil
}

// lastEpoch returns the highest epoch above after that the bucket has a copy of, 0 if there is none.
func (b *Bucket) lastEpoch(ctx context.Context, after uint64) (uint64, error) {
	names, err := b.names(ctx, epochPrefix, epochName(after))
	if err != nil || len(names) == 0 {
		return 0, err
	}

	name := names[len(names)-1]
	epoch, err := strconv.ParseUint(strings.TrimPrefix(name, epochPrefix), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read the epochs of %s: %q is none: %w", b, name, ErrVersion)
	}
	return epoch, nil
}

// publish writes CURRENT if it still has the ETag, and stores a copy under its epoch.
func (b *Bucket) publish(ctx context.Context, ring *Trust, next *Pointer, tag string, key *Key) error {
	signed, err := encodeSigned(kindCurrent, next, key)
	if err != nil {
		return err
	}

	_, err = b.put(ctx, currentName, signed, writeCondition{absent: tag == "", tag: tag})
	if err != nil {
		err = b.resolveWrite(ctx, ring, next, signed, tag, err)
	}
	if err != nil {
		return err
	}

	// The copy is a record, and the next push after a lost CURRENT continues from it. The release
	// is valid without it.
	err = b.putImmutable(ctx, epochName(next.Epoch), signed)
	if errors.Is(err, ErrContentDiffers) {
		const text = "%w (two writes of epoch %d were answered 200): publish again, and repair the store"
		return fmt.Errorf("cannot determine the published snapshot: "+text, ErrNoConditionalWrites, next.Epoch)
	}
	if err != nil {
		return fmt.Errorf("epoch %d is published, but it is not kept for later: %w", next.Epoch, err)
	}
	return nil
}

// resolveWrite reads CURRENT after a write that was refused or whose answer was lost, and decides
// whether the write took effect.
func (b *Bucket) resolveWrite(
	ctx context.Context, ring *Trust, next *Pointer, signed []byte, tag string, cause error,
) error {
	content, now, err := b.get(ctx, currentName, "")
	switch {
	case err != nil && !errors.Is(err, errNotFound):
		return fmt.Errorf("cannot tell whether epoch %d is published: %w: %w; then %w",
			next.Epoch, ErrUnknownResult, cause, err)
	case bytes.Equal(content, signed):
		return nil
	case now == tag && !errors.Is(cause, errPreconditionFailed):
		return fmt.Errorf("cannot publish epoch %d: %w", next.Epoch, cause)
	}

	other, err := ring.verifyCurrent(content)
	who := "somebody without a trusted key"
	if other.signer != "" {
		who = strconv.Quote(other.signer)
	}
	if err != nil {
		return fmt.Errorf("cannot publish epoch %d: %s wrote CURRENT: %w: %w", next.Epoch, who, ErrTooLate, err)
	}
	return fmt.Errorf("cannot publish epoch %d: %s published epoch %d, snapshot %q, at %s: %w", next.Epoch, who,
		other.Epoch, other.ID, other.PublishedAt.Format(time.RFC3339), ErrTooLate)
}

// resendAfter is the age at which an object is sent again. Operators expire objects by their age, and a section
// may stay the same for long.
const resendAfter = 30 * 24 * time.Hour

// sendSections uploads the sections that the bucket does not have, or has for long.
func (b *Bucket) sendSections(
	ctx context.Context, dir *snapshot.Store, m *snapshot.Manifest, now time.Time, done *PushResult,
) error {
	all := distinctSections(m)
	sent := make([]bool, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for i, section := range all {
		group.Go(func() (err error) {
			path := filepath.Join(dir.Path(m.ID), section.File)
			sent[i], err = b.sendSection(ctx, path, &section, now.Add(-resendAfter))
			return err
		})
	}
	err := group.Wait()

	for i, section := range all {
		if sent[i] {
			done.Sent += section.Bytes
		} else {
			done.Reused += section.Bytes
		}
	}
	return err
}

// sendSection uploads a section, unless the bucket has an object of its name and length since an instant.
func (b *Bucket) sendSection(
	ctx context.Context, path string, section *snapshot.Section, since time.Time,
) (sent bool, err error) {
	name := blobPrefix + section.SHA256
	length, written, err := b.head(ctx, name)
	if err == nil && length == section.Bytes && (written.IsZero() || written.After(since)) {
		return false, nil
	}
	if err != nil && !errors.Is(err, errNotFound) {
		return false, err
	}

	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // only read

	// The name is the hash of the bytes: two writers write the same.
	_, err = b.upload(ctx, name, file, section.Bytes, writeCondition{})
	return true, err
}

// putImmutable writes an object that never changes. It succeeds if the object exists with the same bytes.
func (b *Bucket) putImmutable(ctx context.Context, name string, content []byte) error {
	_, err := b.put(ctx, name, content, writeCondition{absent: true})
	if err == nil {
		return nil
	}

	// The object exists, or the answer was lost.
	found, _, readErr := b.get(ctx, name, "")
	switch {
	case readErr == nil && bytes.Equal(found, content):
		return nil
	case errors.Is(err, errPreconditionFailed) && readErr == nil:
		return fmt.Errorf("cannot write %s: %w", name, ErrContentDiffers)
	}
	return err
}
