package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

// retainedSnapshots is how many pulled snapshots a server retains: the current one,
// the previous one, and one to go back to without a network.
const retainedSnapshots = 3

// maxEpochsBack is how many epochs a server searches for the previous release.
const maxEpochsBack = 8

// ErrNoPublication reports a bucket without a CURRENT.
var ErrNoPublication = errors.New("nothing is published there")

// ErrManifest reports a manifest with another SHA-256 than CURRENT has.
var ErrManifest = errors.New("its manifest is not the one that CURRENT names")

// FollowerOptions configure a Follower.
type FollowerOptions struct {
	// Publishers are the keys that are trusted before any TRUST was accepted.
	Publishers []Publisher
	// RetainFor is how long a snapshot is retained after it was current: a cursor may still name it.
	RetainFor time.Duration
	// Floor returns the highest epoch that a server of the fleet served: no lower epoch is loaded.
	// Nil, and an error, is 0: what was published must not depend on a database.
	Floor func(context.Context) (uint64, error)
	Log   *slog.Logger // nil logs nothing
}

// ErrBelowFleet reports a release that is older than what other servers of the fleet served.
var ErrBelowFleet = errors.New("refused as a rollback; publish again, with --above that one")

// Follower copies the releases of a bucket to a directory store. It is safe for concurrent use.
type Follower struct {
	bucket  *Bucket
	dir     *snapshot.Store
	disk    disk.FS
	options FollowerOptions

	mu           sync.Mutex // locked during a pull; guards the next four
	ring         *Trust     // nil before it was read
	currentTag   string     // ETag of the CURRENT that was installed last
	trustTag     string     // ETag of the TRUST that was read last
	downloadSlot struct {
		tag string // of the CURRENT that this server downloads
		at  time.Time
	}

	statsMu   sync.Mutex // guards the next two
	stats     Stats
	published snapshot.Current // last known state of the bucket, installed or not
}

// NewFollower returns a Follower of a bucket into a directory store.
func NewFollower(bucket *Bucket, dir *snapshot.Store, options FollowerOptions) *Follower {
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	return &Follower{bucket: bucket, dir: dir, disk: disk.OS, options: options}
}

// Stats are the metrics of a Follower.
type Stats struct {
	AnsweredAt     time.Time     // when the store last answered a read of CURRENT; zero: never
	Downloaded     int64         // bytes of sections
	PullTime       time.Duration // of all pulls of new snapshots
	TrustVersion   uint64        // of the accepted TRUST
	Epoch          uint64        // that was installed last
	PublishedEpoch uint64        // of the last valid CURRENT of the bucket
	// Refused counts refused releases, by RefusalReasons.
	Refused [len(RefusalReasons)]uint64
}

// RefusalReasons name the rows of Stats.Refused.
var RefusalReasons = [...]string{"rollback", "untrusted", "signature", "trust", "content", "version"}

// refusalOf returns the row of an error in Stats.Refused, -1 if it is no refusal.
func refusalOf(err error) int {
	_, stale := errors.AsType[*snapshot.StaleEpochError](err)
	_, untrusted := errors.AsType[*UntrustedError](err)
	return slices.Index([]bool{
		stale || errors.Is(err, ErrBelowFleet), untrusted && !errors.Is(err, ErrTrustBroken),
		errors.Is(err, ErrBadSignature), errors.Is(err, ErrTrustBroken),
		errors.Is(err, ErrManifest) || errors.Is(err, ErrChecksum) || errors.Is(err, ErrContentDiffers),
		errors.Is(err, ErrVersion),
	}, true)
}

// Stats returns the metrics.
func (c *Follower) Stats() Stats {
	c.statsMu.Lock()
	defer c.statsMu.Unlock()
	return c.stats
}

// update changes the metrics.
func (c *Follower) update(change func(*Stats)) {
	c.statsMu.Lock()
	defer c.statsMu.Unlock()
	change(&c.stats)
}

// Published returns the last known state of the bucket, installed or not, and when the store last
// answered; zero before the first answer.
func (c *Follower) Published() (cur snapshot.Current, answeredAt time.Time) {
	c.statsMu.Lock()
	defer c.statsMu.Unlock()
	return c.published, c.stats.AnsweredAt
}

// PullResult is the result of a pull.
type PullResult struct {
	Pointer
	By         string `json:"publisher"`        // key that signed it
	Changed    bool   `json:"pulled"`           // false: nothing new is published
	Downloaded int64  `json:"downloaded_bytes"` // of sections
}

// Pull reads CURRENT once and installs a new release. It checks the signature, the epoch, the
// manifest, and each section. An error leaves the directory store unchanged.
func (c *Follower) Pull(ctx context.Context) (PullResult, error) {
	return c.pull(ctx, false)
}

// pull is Pull; a server that polls may delay the download until its slot.
func (c *Follower) pull(ctx context.Context, mayDelay bool) (PullResult, error) {
	done, err := c.pullOnce(ctx, mayDelay)
	if reason := refusalOf(err); reason >= 0 {
		c.update(func(s *Stats) { s.Refused[reason]++ })
	}
	return done, err
}

func (c *Follower) pullOnce(ctx context.Context, mayDelay bool) (PullResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, tag, err := c.checkCurrent(ctx)
	if err != nil || !done.Changed {
		return done, err
	}
	if mayDelay && c.mustWait(tag, &done.Pointer, time.Now()) {
		done.Changed = false
		return done, nil
	}

	began := time.Now()
	before := c.Stats().Downloaded
	err = c.install(ctx, &done.Pointer, done.By)
	done.Downloaded = c.Stats().Downloaded - before
	c.update(func(s *Stats) { s.PullTime += time.Since(began) })
	if err != nil {
		return done, fmt.Errorf("cannot pull epoch %d, snapshot %q, from %s: %w", done.Epoch, done.ID, c.bucket, err)
	}

	c.currentTag = tag
	c.update(func(s *Stats) { s.Epoch = done.Epoch })
	return done, nil
}

// checkCurrent reads CURRENT, verifies it and decides whether it is new.
func (c *Follower) checkCurrent(ctx context.Context) (done PullResult, tag string, err error) {
	if err := c.loadTrust(); err != nil {
		return done, "", err
	}
	asking, cancel := context.WithTimeout(ctx, currentTimeout)
	defer cancel()
	content, tag, err := c.bucket.get(asking, currentName, c.currentTag)
	if err == nil || errors.Is(err, errNotModified) {
		c.update(func(s *Stats) { s.AnsweredAt = time.Now().Truncate(time.Millisecond) })
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
	// A new CURRENT may be signed by a key that only a new TRUST names, or retires.
	if err := c.followTrust(ctx); err != nil {
		return done, "", err
	}
	next, err := c.ring.verifyPointer(&text)
	if err != nil {
		return done, "", fmt.Errorf("cannot pull from %s: %w", c.bucket, err)
	}
	done.Pointer = next.Pointer
	done.By = next.signer

	installed, err := c.dir.Current()
	switch {
	case errors.Is(err, snapshot.ErrNoCurrent), errors.Is(err, snapshot.ErrDamaged):
		done.Changed = true
	case err != nil:
		return done, "", err
	case done.Epoch < installed.Epoch, done.Epoch == installed.Epoch && done.ID != installed.ID:
		err := &snapshot.StaleEpochError{Published: done.current(), Here: installed}
		return done, "", fmt.Errorf("cannot pull from %s: %w", c.bucket, err)
	case done.Epoch == installed.Epoch && c.dir.Has(installed.ID):
		c.currentTag = tag
		c.update(func(s *Stats) { s.Epoch = done.Epoch })
	default:
		done.Changed = true
	}
	if done.Changed && c.options.Floor != nil {
		if floor, err := c.options.Floor(ctx); err == nil && done.Epoch < floor {
			return done, "", fmt.Errorf("cannot pull from %s: epoch %d is published, this fleet served %d: %w",
				c.bucket, done.Epoch, floor, ErrBelowFleet)
		}
	}
	c.update(func(s *Stats) {
		s.PublishedEpoch = done.Epoch
		c.published = done.current()
	})
	return done, tag, nil
}

// mustWait reports whether this server downloads a release later: a thousand servers must not
// download the same sections in the same second. Meanwhile the server continues to read CURRENT.
func (c *Follower) mustWait(tag string, next *Pointer, now time.Time) bool {
	if c.downloadSlot.tag != tag {
		c.downloadSlot.tag = tag
		c.downloadSlot.at = now.Add(jitter(next, now))
	}
	return now.Before(c.downloadSlot.at)
}

// jitter returns a random part, at most a quarter, of the time until a scheduled activation.
func jitter(next *Pointer, now time.Time) time.Duration {
	lead := next.ActivateAt.Sub(now)
	if next.ActivateAt.IsZero() || lead <= 0 {
		return 0
	}
	return time.Duration(rand.Int64N(int64(lead)/4 + 1)) //nolint:gosec // it spreads load, and hides nothing
}

// install copies a release to the directory store and makes it current there.
func (c *Follower) install(ctx context.Context, next *Pointer, by string) error {
	here, _ := c.dir.Current() // nothing, if it cannot be read
	cur := next.current()
	if before, ok := c.previous(ctx, next); ok {
		cur.PreviousEpoch = before.Epoch
		if err := c.obtain(ctx, &before); err != nil {
			c.options.Log.Warn(
				"cannot pull the snapshot before: its cursors go on in the next one, or must start again",
				slog.String("snapshot_id", before.ID), slog.Any("cause", err))
		}
	}

	if err := c.obtain(ctx, next); err != nil {
		return err
	}
	c.pullChanges(ctx, here.Epoch, next)
	return c.dir.PublishFrom(cur, by, snapshot.Retention{RetainCount: retainedSnapshots, MinAge: c.options.RetainFor})
}

// previous finds the signed CURRENT of the previous release, which has the hash of its manifest. It
// is needed if it is not installed, while cursors may still name it or other servers still serve it.
func (c *Follower) previous(ctx context.Context, next *Pointer) (before Pointer, found bool) {
	if next.Previous == "" || time.Since(next.PreviousUntil) >= c.options.RetainFor || c.dir.Has(next.Previous) {
		return before, false
	}

	// Epochs may be missing, or have the same snapshot.
	for epoch := next.Epoch - 1; epoch > 0 && epoch+maxEpochsBack >= next.Epoch; epoch-- {
		content, _, err := c.bucket.get(ctx, epochName(epoch), "")
		var old verifiedCurrent
		if err == nil {
			old, err = c.ring.verifyCurrent(content)
		}
		if err == nil && old.ID == next.Previous && old.Epoch == epoch {
			return old.Pointer, true
		}
	}
	return Pointer{}, false
}

// obtain copies a snapshot to the directory store, unless it is there.
func (c *Follower) obtain(ctx context.Context, next *Pointer) error {
	manifest, _, err := c.bucket.get(ctx, manifestPrefix+next.ID, "")
	if err != nil {
		return err
	}
	if fmt.Sprintf("%x", sha256.Sum256(manifest)) != next.ManifestSHA256 {
		return ErrManifest
	}
	m, err := snapshot.ParseManifest(manifest, next.ID)
	if err != nil || c.dir.Has(next.ID) {
		return err
	}

	if err := c.fetchSections(ctx, m); err != nil {
		return err
	}
	if err := c.dir.ImportSnapshot(next.ID, manifest, c.open); err != nil {
		return err
	}
	_ = os.RemoveAll(c.incomingDir()) // the next pull uses or removes what remains
	return nil
}

// Inspect reads CURRENT as a server with an empty folder does, and lists what servers list. It returns what
// is published.
func Inspect(ctx context.Context, bucket *Bucket, options FollowerOptions) (PullResult, error) {
	dir, err := os.MkdirTemp("", "ninepocket-check-")
	if err != nil {
		return PullResult{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c := NewFollower(bucket, snapshot.OpenStore(dir), options)
	done, _, err := c.checkCurrent(ctx)
	if err == nil {
		_, err = c.EventIDs(ctx)
	}
	return done, err
}
