package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Poll is how often a server should poll a Ring: a change is honoured well within the
// promised two seconds.
const Poll = 500 * time.Millisecond

// readTimeout is how long a caller waits for the keys file: a disk that is only slow answers by
// then.
const readTimeout = 5 * time.Second

// ErrTimeout means: the keys file does not answer, as on a mount whose server is gone.
var ErrTimeout = errors.New("it does not answer")

// keyReloader is how a ring reads its file again. A reading may wait for ever where a mount hangs:
// a goroutine of its own does it, one at a time, and nobody waits longer than [readTimeout].
type keyReloader struct {
	reading chan struct{} // one slot: who fills it reads the file, and has the next three

	badContent []byte // damaged content
	contentErr error  // what is wrong with it, or with what a source has; nil when the content is in force
	info       os.FileInfo

	readErr  atomic.Pointer[error] // why the file could not be read; nil when it is in force
	reloads  atomic.Uint64
	failures atomic.Uint64
}

// ReloadError returns why the keys file is not in force as it is now, or nil.
func (f *keyReloader) ReloadError() error {
	if err := f.readErr.Load(); err != nil {
		return *err
	}
	return nil
}

// recordResult keeps what came of a reading.
func (f *keyReloader) recordResult(err error) {
	if err == nil {
		f.readErr.Store(nil)
		return
	}
	f.failures.Add(1)
	f.readErr.Store(&err)
}

// Reload reads the keys file if its content changed. On an error the last good reading stays. A file
// that stays bad is an error each time.
func (ring *Ring) Reload() error { return ring.reload(context.Background()) }

// reload is Reload for a caller that may end while it waits, which is no failure.
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

	// What comes too late for this caller is taken over all the same.
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

// readError says which keys cannot be read, and why.
func (ring *Ring) readError(err error) error {
	if ring.source != nil {
		return fmt.Errorf("cannot read keys from %s: %w", ring.source, err)
	}
	return fmt.Errorf("cannot read keys file %q: %w", ring.path, err)
}

// reloadSource reads the source. The caller has the turn.
func (ring *Ring) reloadSource(ctx context.Context) error {
	f, changed, err := ring.source.Read(ctx)
	if err != nil || !changed && ring.contentErr == nil && ring.current.Load() != nil {
		return err
	}

	// What cannot be used stays wrong until the source has something else.
	ring.contentErr = ring.Replace(f)
	if ring.contentErr != nil {
		ring.contentErr = ring.readError(ring.contentErr)
	}
	return ring.contentErr
}

// reloadFile reads the file. The caller has the turn.
func (ring *Ring) reloadFile(context.Context) error {
	info, statErr := os.Stat(ring.path)
	if statErr == nil && ring.unchanged(info) {
		return ring.contentErr
	}

	// The content decides: a file whose time is unknown is read again at each look.
	ring.info = nil
	data, err := readFile(ring.path)
	if err != nil {
		return err
	}
	// A file that was just written may be written again within the same tick of its clock.
	if statErr == nil && time.Since(info.ModTime()) > minFileAge {
		ring.info = info
	}

	// What was read before is not parsed again, good or bad. An empty file equals nothing read yet.
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

	err = ring.install(data)
	if err != nil {
		ring.badContent = data
		ring.contentErr = ring.readError(err)
	}
	return ring.contentErr
}

// minFileAge is how old a file's time must be when the file is read. Then an equal time later
// proves that the file was not written again, because every file system keeps finer times than
// this.
const minFileAge = 3 * time.Second

// unchanged reports whether a file surely has the content last read.
func (f *keyReloader) unchanged(info os.FileInfo) bool {
	return f.info != nil && os.SameFile(f.info, info) && f.info.Size() == info.Size() &&
		f.info.ModTime().Equal(info.ModTime())
}

// Watch reloads the ring every interval until ctx ends. It calls report when the keys changed, also by
// a Reload of somebody else, when a failure begins or becomes another one, and with neither when a
// failure ended and the keys are what they were.
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
	Keys     int    // expired and revoked ones included
	Reloads  uint64 // that took a changed file, the first reading included
	Failures uint64 // readings that failed, each try
	Readable bool   // the file as it is now is in force
}

// Stats returns the ring's figures.
func (ring *Ring) Stats() RingStats {
	return RingStats{
		Keys: ring.Len(), Reloads: ring.reloads.Load(), Failures: ring.failures.Load(),
		Readable: ring.ReloadError() == nil,
	}
}
