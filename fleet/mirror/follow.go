package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"ninepocket/internal/disk"
)

const (
	// pollInterval is the time between two reads of CURRENT, each time a fifth more or less, so
	// that many servers do not read at the same time.
	pollInterval = 2 * time.Second
	// minRetryWait and maxRetryWait bound the time between two tries after a failure. With currentTimeout the
	// longest one is below ten seconds: so soon a server notices that the store is well again.
	minRetryWait = 250 * time.Millisecond
	maxRetryWait = 4 * time.Second
	// currentTimeout bounds a read of CURRENT.
	currentTimeout = 5 * time.Second
)

// Follow pulls until ctx is done. It retries after every failure, and logs a repeated failure once.
func (c *Follower) Follow(ctx context.Context) {
	c.followWith(ctx, func(ctx context.Context) (PullResult, error) { return c.pull(ctx, true) })
}

func (c *Follower) followWith(ctx context.Context, pull func(context.Context) (PullResult, error)) {
	reported := ""
	var failing time.Duration
	for {
		done, err := pull(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != reported:
			reported = err.Error()
			c.options.Log.Error("snapshot store away: still serving the last snapshot", slog.Any("cause", err))
		case err == nil && reported != "":
			reported = ""
			c.options.Log.Info("snapshot store reachable again")
		}
		if done.Changed && err == nil {
			c.options.Log.Info("snapshot is pulled", slog.String("snapshot_id", done.ID),
				slog.Uint64("epoch", done.Epoch), slog.String("publisher", done.By),
				slog.Int64("downloaded_bytes", done.Downloaded))
		}

		failing = min(max(minRetryWait, 2*failing), maxRetryWait)
		if err == nil {
			failing = 0
		}
		if !pause(ctx, cmp.Or(failing, pollInterval)) {
			return
		}
	}
}

// pause waits, a fifth more or less than wait. It returns false if ctx is done first.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	//nolint:gosec // it spreads load, and hides nothing
	case <-time.After(wait*4/5 + time.Duration(rand.Int64N(int64(wait)*2/5))):
		return true
	}
}

// trustFile is the file in the folder of the store with the last accepted TRUST.
const trustFile = "TRUST"

// trustRecord is the content of trustFile. It is void if the configuration has other publishers:
// an operator who lost all keys configures new ones.
type trustRecord struct {
	Publishers []Publisher `json:"publishers"`
	Trust      string      `json:"trust"`
}

// loadTrust reads the TRUST that was accepted last, if that was not done yet.
func (c *Follower) loadTrust() error {
	if c.ring != nil {
		return nil
	}

	ring := Trust{Keys: c.options.Publishers}
	b, err := disk.ReadFile(c.disk, filepath.Join(c.dir.Root(), trustFile))
	var last trustRecord
	if err == nil {
		err = json.Unmarshal(b, &last)
	}
	same := func(a, b Publisher) bool { return a.String() == b.String() }
	if err == nil && slices.EqualFunc(last.Publishers, c.options.Publishers, same) {
		ring, _, err = parseTrust([]byte(last.Trust))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read which keys are trusted here: %w", err)
	}

	c.ring = &ring
	c.update(func(s *Stats) { s.TrustVersion = ring.Version })
	return nil
}

// followTrust accepts the TRUST of the bucket, version by version. A TRUST that is older than the
// accepted one is ignored, because a store may answer with an earlier state.
func (c *Follower) followTrust(ctx context.Context) error {
	t, newest, tag, err := c.bucket.trust(ctx, trustName, c.trustTag)
	if errors.Is(err, errNotFound) || errors.Is(err, errNotModified) {
		return nil
	}
	if err != nil {
		return err
	}

	ring, last, err := c.chain(ctx, &t, newest)
	if err != nil {
		return err
	}
	if last != nil {
		if err := c.saveTrust(last); err != nil {
			return err
		}
		c.options.Log.Info("trusted publisher keys updated", slog.Uint64("trust", ring.Version))
	}
	c.ring = &ring
	c.trustTag = tag
	c.update(func(s *Stats) { s.TrustVersion = ring.Version })
	return nil
}

// chain verifies each version of TRUST up to the newest, whose content is given. last is the content of
// the last one accepted, nil if there was no new version.
func (c *Follower) chain(ctx context.Context, newest *Trust, content []byte) (ring Trust, last []byte, err error) {
	ring = *c.ring
	if newest.Version > ring.Version+maxVersions {
		return ring, nil, fmt.Errorf("cannot load TRUST %d after TRUST %d: %w", newest.Version, ring.Version,
			ErrTrustBroken)
	}

	begun := ring.Version > 0
	for version := ring.Version + 1; version <= newest.Version; version++ {
		next := content
		if version < newest.Version {
			next, _, err = c.bucket.get(ctx, trustVersionName(version), "")
			if err != nil {
				return ring, nil, err
			}
		}

		// The configured publishers may appear first in a later version than the first.
		accepted, err := ring.verifyNext(next)
		if _, untrusted := errors.AsType[*UntrustedError](err); untrusted && !begun && version < newest.Version {
			continue
		}
		if err == nil && accepted.Version != version {
			err = fmt.Errorf("cannot load TRUST %d as version %d: %w", accepted.Version, version, ErrTrustBroken)
		}
		if err != nil {
			return ring, nil, err
		}
		begun = true
		ring = accepted
		last = bytes.Clone(next)
	}
	return ring, last, nil
}

// saveTrust stores the accepted TRUST, so that no older one is accepted after a restart.
func (c *Follower) saveTrust(trust []byte) error {
	b, err := json.Marshal(trustRecord{c.options.Publishers, string(trust)})
	if err == nil {
		err = disk.MkdirAll(c.disk, c.dir.Root(), 0o755)
	}
	if err == nil {
		path := filepath.Join(c.dir.Root(), trustFile)
		err = disk.Replace(c.disk, path+".part", path, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot keep which keys are trusted: %w", err)
	}
	return nil
}
