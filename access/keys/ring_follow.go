package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Poll is how often a server should poll a Ring: a change takes effect well within the promised two
// seconds.
const Poll = 500 * time.Millisecond

// readTimeout is how long a caller waits for the keys file: a slow disk answers within it.
const readTimeout = 5 * time.Second

// ErrTimeout reports that reading the keys file hangs, as on a mount whose server is gone.
var ErrTimeout = errors.New("it does not answer")

// ReloadError returns why the current keys file is not in use, or nil.
func (ring *Ring) ReloadError() error {
	if err := ring.readErr.Load(); err != nil {
		return *err
	}
	return nil
}

// recordResult records the result of a read.
func (ring *Ring) recordResult(err error) {
	if err != nil {
		ring.failures.Add(1)
	}
	ring.readErr.Store(&err)
}

// Reload reads the keys file if its content changed. On an error the keys stay unchanged. A file
// that stays bad is an error each time.
func (ring *Ring) Reload() error { return ring.reload(context.Background()) }

// reload is Reload with a context. If the caller's ctx ends, that is not a failed reload.
func (ring *Ring) reload(ctx context.Context) error {
	read := ring.reloadSource
	switch {
	case ring.source == nil && ring.path == "":
		return nil // the keys of a demo are in no file
	case ring.source == nil:
		read = ring.reloadFile
	}

	bounded, stop := context.WithTimeoutCause(ctx, readTimeout, ring.readError(ErrTimeout))
	defer stop()
	late := func() error {
		err := context.Cause(bounded)
		if ctx.Err() == nil {
			ring.recordResult(err)
		}
		return err
	}

	select {
	case ring.reading <- struct{}{}:
	case <-bounded.Done():
		return late()
	}

	// A result that is too late for this caller is applied all the same.
	done := make(chan error, 1)
	go func() {
		err := read(ctx)
		ring.recordResult(err)
		<-ring.reading
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-bounded.Done():
		return late()
	}
}

// readError adds the source or file of the keys to an error.
func (ring *Ring) readError(err error) error {
	if ring.source != nil {
		return fmt.Errorf("cannot read keys from %s: %w", ring.source, err)
	}
	return fmt.Errorf("cannot read keys file %q: %w", ring.path, err)
}

// reloadSource reads the source. The caller has filled the reading slot.
func (ring *Ring) reloadSource(ctx context.Context) error {
	f, changed, err := ring.source.Read(ctx)
	if err != nil || !changed && ring.contentErr == nil && ring.current.Load() != nil {
		return err
	}

	// Unusable keys stay an error until the source has others.
	ring.contentErr = ring.Replace(f)
	if ring.contentErr != nil {
		ring.contentErr = ring.readError(ring.contentErr)
	}
	return ring.contentErr
}

// reloadFile reads the file. The caller has filled the reading slot.
func (ring *Ring) reloadFile(context.Context) error {
	info, statErr := os.Stat(ring.path)
	if statErr == nil && ring.unchanged(info) {
		return ring.contentErr
	}

	// The content decides: a file without a known time is read at each reload.
	ring.info = nil
	data, err := readFile(ring.path)
	if err != nil {
		return err
	}
	// It is written first: it says at least what this content needs.
	apart, err := readTenants(filepath.Dir(ring.path))
	if err != nil {
		return err
	}
	// A file that was just written may be written again within the resolution of its time.
	if statErr == nil && time.Since(info.ModTime()) > minFileAge {
		ring.info = info
	}

	// Content that was read before is not parsed again, good or bad. An empty file equals none read yet.
	if ring.contentErr != nil && bytes.Equal(data, ring.badContent) {
		return ring.contentErr
	}

	ring.mu.Lock()
	defer ring.mu.Unlock()
	ring.badContent = nil
	ring.contentErr = nil
	if ring.content != nil && bytes.Equal(data, ring.content) {
		return nil
	}

	err = ring.install(data, apart)
	if err != nil {
		ring.badContent = data
		ring.contentErr = ring.readError(err)
	}
	return ring.contentErr
}

// minFileAge is how old a file's time must be when the file is read. Then an equal time later proves
// that the file was not written again: the times of every file system are finer.
const minFileAge = 3 * time.Second

// unchanged reports whether a file certainly has the content that was read last.
func (ring *Ring) unchanged(info os.FileInfo) bool {
	return ring.info != nil && os.SameFile(ring.info, info) && ring.info.Size() == info.Size() &&
		ring.info.ModTime().Equal(info.ModTime())
}

// Watch reloads the ring every interval until ctx ends. It calls report when the keys changed, also by
// another caller's Reload, and when a failure begins, changes or ends. At the end of a failure changed
// is false if the keys are the same.
func (ring *Ring) Watch(ctx context.Context, every time.Duration, report func(changed bool, err error)) {
	tick := time.Tick(every)

	reported := ""
	seen := ring.reloads.Load()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}

		err := ring.reload(ctx)
		if ctx.Err() != nil {
			return
		}

		now := ring.reloads.Load()
		changed := now != seen
		seen = now
		text := ""
		if err != nil {
			text = err.Error()
		}
		if changed || text != reported {
			report(changed, err)
		}
		reported = text
	}
}

// RingStats are a key ring's figures.
type RingStats struct {
	Keys     int    // including expired and revoked ones
	Reloads  uint64 // that read a changed file, including the first
	Failures uint64 // failed reads, each try
	Readable bool   // the current file is in use
}

// Stats returns the ring's figures.
func (ring *Ring) Stats() RingStats {
	return RingStats{
		Keys: ring.Len(), Reloads: ring.reloads.Load(), Failures: ring.failures.Load(),
		Readable: ring.ReloadError() == nil,
	}
}
