package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

const (
	// retryAfter is the wait after a failure, such as a full disk: the next snapshot is tried at once.
	retryAfter = time.Minute
	// retained is how many snapshots have files.
	retained = 2

	// burst and rest divide the work, in place of package throttle, which works half of the time and whose rests
	// hold a processor of the scheduler. No request waits for the files: 9 of 10 requests meet no work at all.
	burst = 100 * time.Microsecond
	rest  = 5 * time.Millisecond

	manifestName = "manifest.json"
	// format changes with the content of the files, so that a new program makes them again.
	format = "1"
)

// useFor is how long prices may be used after the instant of their snapshot.
const useFor = 24 * time.Hour

// File describes a file, as the manifest and the API do.
type File struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"` // of its content
	Encoding  string `json:"encoding"`
	Bytes     int64  `json:"bytes"`
	Rows      int64  `json:"rows"` // without a header line
	SHA256    string `json:"sha256"`
	URL       string `json:"url,omitempty"` // only in responses
}

// Files are the files of a snapshot. It is never changed.
type Files struct {
	ID          string    `json:"snapshot_id"`
	At          time.Time `json:"snapshot_at"`
	UseUntil    time.Time `json:"use_until"`
	Attribution string    `json:"attribution"`
	Files       []File    `json:"files"`
	// Made is the format, and the URLs that the files hold: others make other files. In the manifest only.
	Made string `json:"made,omitempty"`
	// Reserved means that there are no files, because a source may not be passed on.
	Reserved bool `json:"-"`
}

// Describe returns the known facts of a View's files before they are made.
func Describe(v *engine.View) *Files {
	urls := v.Site()
	at := time.UnixMilli(v.Catalog.SnapshotAt).UTC().Truncate(time.Second)
	return &Files{
		ID: v.ID, At: at, UseUntil: at.Add(useFor), Attribution: attribution(v.Catalog),
		Made:     strings.Join([]string{format, urls.URL, urls.Images, urls.ProductPrefix}, " "),
		Reserved: len(v.Catalog.Reserved) > 0,
	}
}

// Store makes files and stores those of the newest snapshots.
type Store struct {
	Options

	// Wake makes Run look at the current View. It sends to the channel unless the channel is full.
	Wake chan struct{}

	mu       sync.Mutex
	all      []*Files // the last made or wanted first
	failures atomic.Uint64
}

// Options configure a Store.
type Options struct {
	Dir  string
	Disk disk.FS // nil means disk.OS
	Log  *slog.Logger
}

// New returns a store without files; Run fills it.
func New(o Options) *Store {
	o.Disk = cmp.Or(o.Disk, disk.OS)
	return &Store{Options: o, Wake: make(chan struct{}, 1)}
}

// Failures returns how often files could not be made.
func (s *Store) Failures() uint64 { return s.failures.Load() }

// Of returns the files of a snapshot, nil if there are none.
func (s *Store) Of(id string) *Files {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.all, func(f *Files) bool { return f.ID == id }); i >= 0 {
		return s.all[i]
	}
	return nil
}

// Download is a file that is open to be sent.
type Download struct {
	*os.File
	About   *File
	Release func() // is called when the file is closed; nil for nothing
}

// Close closes the file.
func (d *Download) Close() error {
	if d.Release != nil {
		d.Release()
	}
	return d.File.Close()
}

// Open opens a file to be sent, nil if it is not there. Files that somebody removed or cut are made again.
func (s *Store) Open(files *Files, name string) *Download {
	for i := range files.Files {
		about := &files.Files[i]
		if about.Name != name {
			continue
		}

		// Its length is compared, and its sum is not: that was done when it was adopted or made.
		opened, err := os.Open(filepath.Join(s.Dir, files.ID, name))
		if err != nil {
			break
		}
		info, err := opened.Stat()
		if err == nil && info.Size() == about.Bytes {
			return &Download{File: opened, About: about}
		}
		_ = opened.Close() // nothing was read
	}
	s.forget(files.ID)
	select {
	case s.Wake <- struct{}{}:
	default:
	}
	return nil
}

// forget takes a snapshot out of the list.
func (s *Store) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(f *Files) bool { return f.ID == id })
}

// Run makes the files of each View that becomes the current one, until ctx is done. First it adopts the
// files of an earlier process.
func (s *Store) Run(ctx context.Context, current func() *engine.View) {
	began := time.Now()
	step := func() {
		if time.Since(began) > burst {
			select {
			case <-ctx.Done():
			case <-time.After(rest):
			}
			began = time.Now()
		}
	}
	s.Adopt(ctx, step)

	for {
		var again <-chan time.Time // never, unless it failed
		if v := current(); v != nil {
			if err := s.Make(ctx, v, step); err != nil && ctx.Err() == nil {
				again = time.After(retryAfter)
				s.failures.Add(1)
				s.Log.Error("cannot make the bulk files: trying again in a minute", slog.String("snapshot_id", v.ID),
					slog.Any("cause", err))
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-s.Wake:
		case <-again:
		}
	}
}

// Make makes the files of a View, all of them or none, unless they are there. It calls step often, and step
// may rest.
func (s *Store) Make(ctx context.Context, v *engine.View, step func()) error {
	files := Describe(v)
	if old := s.Of(v.ID); old != nil && old.Made == files.Made {
		s.prefer(old)
		return nil
	}
	if !files.Reserved {
		start := time.Now()
		s.forget(v.ID)
		if err := s.write(ctx, v, files, step); err != nil {
			return errors.Join(err, s.clear(v.ID))
		}
		s.Log.Info("bulk files are made", slog.String("snapshot_id", v.ID), slog.Duration("took", time.Since(start)))
	}
	s.prefer(files)
	return nil
}

// prefer makes files the newest, and removes the files of snapshots beyond the newest. A download of
// removed files continues.
func (s *Store) prefer(files *Files) {
	// Data that must no longer be passed on stood in the earlier files, too.
	count := retained
	if files.Reserved {
		count = 1
	}

	s.mu.Lock()
	all := slices.DeleteFunc(s.all, func(f *Files) bool { return f.ID == files.ID })
	all = slices.Insert(all, 0, files)
	s.all = all[:min(count, len(all))]
	s.mu.Unlock()

	// Requests do not wait for the disk.
	for _, old := range all[len(s.all):] {
		s.remove(old.ID)
	}
}

// remove removes a folder; a leftover is removed at the next start.
func (s *Store) remove(name string) {
	if err := s.clear(name); err != nil {
		s.Log.Warn("cannot remove old bulk files", slog.String("folder", name), slog.Any("cause", err))
	}
}

// clear removes a folder, unless others put something there: a bulk_dir may be the folder of the snapshots.
func (s *Store) clear(id string) error {
	place := filepath.Join(s.Dir, id)
	entries, _ := s.Disk.List(place) // there may be none
	for _, entry := range entries {
		if entry.Name() != manifestName && !slices.Contains(Names, entry.Name()) {
			return fmt.Errorf("%s has %s, which is no bulk file", place, entry.Name())
		}
	}
	return s.Disk.Remove(place)
}

// write writes the folder of a snapshot, the manifest last. Nothing is synced: a folder that a crash left
// incomplete does not verify, and is made again.
func (s *Store) write(ctx context.Context, v *engine.View, files *Files, step func()) error {
	place := filepath.Join(s.Dir, files.ID)
	err := s.clear(files.ID)
	if err == nil {
		err = disk.MkdirAll(s.Disk, place, 0o700)
	}
	if err != nil {
		return fmt.Errorf("cannot prepare %s: %w", place, err)
	}

	pack := &packer{ended: ctx.Err, step: step}
	for _, name := range Names {
		file, err := s.Disk.Open(filepath.Join(place, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
		pack.begin(name, file)
		writeRows(v, name, pack)
		about, err := pack.end()
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
		files.Files = append(files.Files, about)
	}

	text, err := json.Marshal(files)
	return errors.Join(err, disk.Create(s.Disk, filepath.Join(place, manifestName), text, 0o600))
}

// Adopt adopts the files of an earlier process that agree with its manifests, for the newest
// snapshots, and removes the others. Foreign files stay.
func (s *Store) Adopt(ctx context.Context, step func()) {
	var found []*Files
	entries, _ := s.Disk.List(s.Dir) // there may be none yet
	for _, entry := range slices.Backward(entries) {
		// An id begins with the instant of its snapshot.
		if !snapshot.ValidID(entry.Name()) {
			continue
		}

		// Files that do not verify are made again if they are wanted.
		files, err := s.verify(ctx, entry.Name(), step)
		if ctx.Err() != nil {
			return
		}
		if err == nil && len(found) < retained {
			found = append(found, files)
			continue
		}
		s.Log.Info("removing old bulk files", slog.String("folder", entry.Name()), slog.Any("cause", err))
		s.remove(entry.Name())
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = found
}

// verify reads the manifest of a folder and compares the files with it.
func (s *Store) verify(ctx context.Context, id string, step func()) (*Files, error) {
	text, err := disk.ReadFile(s.Disk, filepath.Join(s.Dir, id, manifestName))
	if err != nil {
		return nil, err
	}
	files := &Files{}
	err = json.Unmarshal(text, files)
	if err != nil || files.ID != id || len(files.Files) != len(Names) {
		return nil, errors.Join(err, errors.New("the manifest is of another snapshot or program"))
	}

	for i, name := range Names {
		file, err := s.Disk.Open(filepath.Join(s.Dir, id, name), os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		for err == nil && ctx.Err() == nil {
			step()
			_, err = io.CopyN(sum, file, piece)
		}
		_ = file.Close() // it was only read
		if !errors.Is(err, io.EOF) || hex.EncodeToString(sum.Sum(nil)) != files.Files[i].SHA256 {
			return nil, errors.Join(err, fmt.Errorf("%s has another SHA-256 than the manifest", name))
		}
	}
	return files, nil
}
