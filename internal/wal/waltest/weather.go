package waltest

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"ninepocket/internal/wal"
)

// Weather is a disk whose faults come and go, as the environment's do. After a failed sync it forgets
// what was written since the last good one, and the next sync succeeds: that is what a page cache
// may do. It is safe for concurrent use.
type Weather struct {
	Make Create

	mu   sync.Mutex
	bad  map[string]error // by verb: create, write, sync
	once map[string]error // of the next call alone
	slow time.Duration    // that a sync takes
}

// Set makes calls of a verb fail from now on; nil ends that.
func (w *Weather) Set(verb string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad == nil {
		w.bad = map[string]error{}
	}
	w.bad[verb] = err
}

// Once makes the next call of a verb fail.
func (w *Weather) Once(verb string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.once == nil {
		w.once = map[string]error{}
	}
	w.once[verb] = err
}

// Slow makes every sync take so long.
func (w *Weather) Slow(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow = d
}

// Fails is what a call of a verb fails with, nil when it does not.
func (w *Weather) Fails(verb string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.once[verb]; err != nil {
		delete(w.once, verb)
		return err
	}
	return w.bad[verb]
}

// Create makes a segment.
func (w *Weather) Create(path string) (wal.Segment, error) {
	if err := w.Fails("create"); err != nil {
		return nil, err
	}
	file, err := w.Make(path)
	if err != nil {
		return nil, err
	}
	return &weatheredFile{Segment: file, path: path, disk: w}, nil
}

type weatheredFile struct {
	wal.Segment
	path string
	disk *Weather

	mu            sync.Mutex
	length, saved int64 // written, and of it on disk
}

func (f *weatheredFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.disk.Fails("write"); err != nil {
		// Some failures come when everything is there, others before anything is.
		if errors.Is(err, syscall.EIO) {
			n, _ := f.Segment.Write(p)
			f.length += int64(n)
		}
		return 0, err
	}
	n, err := f.Segment.Write(p)
	f.length += int64(n)
	return n, err
}

func (f *weatheredFile) Sync() error {
	f.disk.mu.Lock()
	slow := f.disk.slow
	f.disk.mu.Unlock()
	time.Sleep(slow)

	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.disk.Fails("sync"); err != nil {
		f.forget()
		return err
	}
	f.saved = f.length
	return f.Segment.Sync()
}

// forget overwrites with zeros what was not on disk when a sync failed.
func (f *weatheredFile) forget() {
	path := f.path
	if _, err := os.Stat(path); err != nil {
		path = strings.TrimSuffix(path, unfinished)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	_, _ = file.WriteAt(make([]byte, f.length-f.saved), f.saved) // what it cannot forget it keeps
	_ = file.Close()
}
