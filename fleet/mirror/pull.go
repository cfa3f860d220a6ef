package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

// pulledRetained is how many snapshots a server keeps of those that it pulled: the one it serves,
// the one before, and one to go back to without a network.
const pulledRetained = 3

// maxEpochsBack is how many epochs a server looks back for the publication before.
const maxEpochsBack = 8

// ErrNoPublication means: nothing is published in the store.
var ErrNoPublication = errors.New("nothing is published there")

// ErrManifest means: a manifest is not the one that CURRENT names.
var ErrManifest = errors.New("its manifest is not the one that CURRENT names")

// FollowerOptions say whom a cache believes.
type FollowerOptions struct {
	// Publishers are the keys that are trusted before any TRUST was taken up.
	Publishers []Publisher
	// Recent keeps a snapshot that was current less than this time ago: a cursor may still lead to
	// it.
	Recent time.Duration
	Log    *slog.Logger
}

// Follower follows a bucket into a directory store. Its methods may be called by several
// goroutines.
type Follower struct {
	bucket *Bucket
	dir    *snapshot.Store
	disk   disk.FS
	o      FollowerOptions

	mu           sync.Mutex // held while pulling; guards the next four
	ring         *Trust     // nil before it was read
	currentTag   string     // of the CURRENT that was activated last
	trustTag     string     // tag of the TRUST that was looked at last
	downloadSlot struct {
		tag string // of the CURRENT that this server downloads
		at  time.Time
	}

	statsMu   sync.Mutex // guards the next two
	stats     Stats
	published snapshot.Current // whether it is here or not
}

// NewFollower returns a follower of the bucket into a directory store.
func NewFollower(bucket *Bucket, dir *snapshot.Store, options FollowerOptions) *Follower {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &Follower{bucket: bucket, dir: dir, disk: disk.OS, o: options}
}

// Stats are figures of a cache.
type Stats struct {
	Asked      time.Time // when the store last answered what is published; zero: never
	Downloaded int64     // bytes
	Took       time.Duration
	Trust      uint64 // version of the TRUST that holds
	Epoch      uint64 // that was activated last
	Published  uint64 // epoch that the store told last
}

// Stats returns the figures.
func (c *Follower) Stats() Stats {
	c.statsMu.Lock()
	defer c.statsMu.Unlock()
	return c.stats
}

// update changes the figures.
func (c *Follower) update(change func(*Stats)) {
	c.statsMu.Lock()
	defer c.statsMu.Unlock()
	change(&c.stats)
}

// Published is what the store said last, before its bytes are here; zero: it never said anything.
func (c *Follower) Published() (cur snapshot.Current, asked time.Time) {
	c.statsMu.Lock()
	defer c.statsMu.Unlock()
	return c.published, c.stats.Asked
}

// PullResult is what became of a pull.
type PullResult struct {
	Pointer
	By         string `json:"publisher"`        // key that signed it
	Changed    bool   `json:"pulled"`           // false: nothing new is published
	Downloaded int64  `json:"downloaded_bytes"` // of sections
}

// Pull asks once what is published and takes it up: first the signature, then the epoch, the
// manifest, and the sections one by one. Whatever is wrong leaves the directory store as it was.
func (c *Follower) Pull(ctx context.Context) (PullResult, error) {
	return c.pull(ctx, false)
}

// pull is Pull, which a patient server puts off until its turn.
func (c *Follower) pull(ctx context.Context, retries bool) (PullResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, tag, err := c.check(ctx)
	if err != nil || !done.Changed {
		return done, err
	}
	if retries && c.mustWait(tag, &done.Pointer, time.Now()) {
		done.Changed = false
		return done, nil
	}

	began := time.Now()
	before := c.Stats().Downloaded
	err = c.install(ctx, &done.Pointer, done.By)
	done.Downloaded = c.Stats().Downloaded - before
	c.update(func(s *Stats) { s.Took += time.Since(began) })
	if err != nil {
		return done, fmt.Errorf("cannot pull epoch %d, snapshot %q, from %s: %w", done.Epoch, done.ID, c.bucket, err)
	}

	c.currentTag = tag
	c.update(func(s *Stats) { s.Epoch = done.Epoch })
	return done, nil
}

// check reads CURRENT and decides whether it is to be taken up.
func (c *Follower) check(ctx context.Context) (done PullResult, tag string, err error) {
	if err := c.loadTrust(); err != nil {
		return done, "", err
	}
	content, tag, err := c.bucket.get(ctx, currentName, c.currentTag)
	if err == nil || errors.Is(err, errNotModified) {
		c.update(func(s *Stats) { s.Asked = time.Now().Truncate(time.Millisecond) })
	}
	switch {
	case errors.Is(err, errNotModified):
		return done, "", nil
	case errors.Is(err, errNotFound):
		return done, "", fmt.Errorf("cannot pull from %s: %w", c.bucket, ErrNoPublication)
	case err != nil:
		return done, "", err
	}

	text, err := cutSigned(kindCurrent, content)
	if err != nil {
		return done, "", fmt.Errorf("cannot pull from %s: %w", c.bucket, err)
	}
	// A new CURRENT may be the first that a new key signs, or the last that an old one did.
	if err := c.followTrust(ctx); err != nil {
		return done, "", err
	}
	next, err := c.ring.pointer(&text)
	if err != nil {
		return done, "", fmt.Errorf("cannot pull from %s: %w", c.bucket, err)
	}
	done.Pointer = next.Pointer
	done.By = next.by

	here, err := c.dir.Current()
	switch {
	case errors.Is(err, snapshot.ErrNoCurrent), errors.Is(err, snapshot.ErrDamaged):
		done.Changed = true
	case err != nil:
		return done, "", err
	case done.Epoch < here.Epoch, done.Epoch == here.Epoch && done.ID != here.ID:
		err := &snapshot.StaleEpochError{Published: done.current(), Here: here}
		return done, "", fmt.Errorf("cannot pull from %s: %w", c.bucket, err)
	case done.Epoch == here.Epoch && c.dir.Has(here.ID):
		c.currentTag = tag
		c.update(func(s *Stats) { s.Epoch = done.Epoch })
	default:
		done.Changed = true
	}
	c.update(func(s *Stats) {
		s.Published = done.Epoch
		c.published = done.current()
	})
	return done, tag, nil
}

// mustWait reports whether this server downloads a publication later: a thousand servers must not
// ask the store for the same sections in the same second. It goes on asking what is published
// meanwhile.
func (c *Follower) mustWait(tag string, next *Pointer, now time.Time) bool {
	if c.downloadSlot.tag != tag {
		c.downloadSlot.tag = tag
		c.downloadSlot.at = now.Add(jitter(next, now))
	}
	return now.Before(c.downloadSlot.at)
}

// jitter is a part of the time until all servers begin with a publication, another one on each.
func jitter(next *Pointer, now time.Time) time.Duration {
	lead := next.ActivateAt.Sub(now)
	if next.ActivateAt.IsZero() || lead <= 0 {
		return 0
	}
	return time.Duration(rand.Int64N(int64(lead)/4 + 1)) //nolint:gosec // it spreads load, and hides nothing
}

// install brings a snapshot into the directory store and makes it current there.
func (c *Follower) install(ctx context.Context, next *Pointer, by string) error {
	cur := next.current()
	if before, ok := c.previous(ctx, next); ok {
		cur.PreviousEpoch = before.Epoch
		if err := c.obtain(ctx, &before); err != nil {
			c.o.Log.Warn("cannot pull the snapshot before: its cursors go on in the next one, or must start again",
				slog.String("snapshot_id", before.ID), slog.Any("cause", err))
		}
	}

	if err := c.obtain(ctx, next); err != nil {
		return err
	}
	return c.dir.PublishFrom(cur, by, snapshot.Retention{RetainCount: pulledRetained, MinAge: c.o.Recent})
}

// previous finds the publication before, when it is not here and cursors may still lead to it, or
// all other servers still serve it. Its manifest is named by the CURRENT that was signed then.
func (c *Follower) previous(ctx context.Context, next *Pointer) (before Pointer, found bool) {
	if next.Previous == "" || time.Since(next.PreviousUntil) >= c.o.Recent || c.dir.Has(next.Previous) {
		return before, false
	}

	// Epochs may have been passed over, or be of the same snapshot.
	for epoch := next.Epoch - 1; epoch > 0 && epoch+maxEpochsBack >= next.Epoch; epoch-- {
		content, _, err := c.bucket.get(ctx, epochName(epoch), "")
		var old signedPointer
		if err == nil {
			old, err = c.ring.current(content)
		}
		if err == nil && old.ID == next.Previous && old.Epoch == epoch {
			return old.Pointer, true
		}
	}
	return Pointer{}, false
}

// obtain brings a snapshot into the directory store, unless it is there.
func (c *Follower) obtain(ctx context.Context, next *Pointer) error {
	manifest, _, err := c.bucket.get(ctx, manifests+next.ID, "")
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(manifest); hex.EncodeToString(sum[:]) != next.ManifestSHA256 {
		return ErrManifest
	}
	m, err := snapshot.ParseManifest(manifest, next.ID)
	if err != nil || c.dir.Has(next.ID) {
		return err
	}

	if err := c.fetch(ctx, m); err != nil {
		return err
	}
	if err := c.dir.ImportSnapshot(next.ID, manifest, c.open); err != nil {
		return err
	}
	_ = os.RemoveAll(c.incoming()) // what stays is used by the next pull, or removed by it
	return nil
}
