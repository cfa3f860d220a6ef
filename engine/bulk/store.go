package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"ninepocket/internal/throttle"
	"ninepocket/snapshot"
)

const (
	// poll is the interval between two looks at the current View.
	poll = 250 * time.Millisecond
	// retryAfter is the wait after a failure, such as a full disk: the next snapshot is tried at once.
	retryAfter = time.Minute
	// retained is how many snapshots have files.
	retained = 2

	manifestName = "manifest.json"
	partSuffix   = ".part" // of a folder that is being made
	// format changes with what the files hold, so that a new program makes them again.
	format = 1
)

// UseFor is how long prices may be used after the instant of their snapshot.
const UseFor = 24 * time.Hour

// File describes a file.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"` // without a header line
	SHA256 string `json:"sha256"`
}

// Files are the files of a snapshot. It is never changed.
type Files struct {
	ID          string `json:"snapshot_id"`
	At          int64  `json:"snapshot_at"` // ms
	Attribution string `json:"attribution"`
	Files       []File `json:"files"`
	Format      int    `json:"format"`
	// URLs are those that the files were made with: others make other files.
	URLs string `json:"urls"`
	// Reserved means that there are no files, because a source may not be passed on.
	Reserved bool `json:"-"`
}

// UseUntil is until when the prices may be used.
func (f *Files) UseUntil() time.Time { return time.UnixMilli(f.At).Add(UseFor) }

// Find returns a file by its name, nil for none.
func (f *Files) Find(name string) *File {
	if i := slices.IndexFunc(f.Files, func(file File) bool { return file.Name == name }); i >= 0 {
		return &f.Files[i]
	}
	return nil
}

// Describe returns what is known of a View's files before they are made.
func Describe(v *engine.View) *Files {
	site := v.Site()
	files := &Files{
		ID: v.ID, At: v.Catalog.SnapshotAt, Attribution: attribution(v.Catalog), Format: format,
		URLs: strings.Join([]string{site.URL, site.Images, site.ProductPrefix}, " "),
	}
	_, free := contentOf(v)
	files.Reserved = !free
	return files
}

// Store makes files and stores those of the newest snapshots.
type Store struct {
	Options
	all      atomic.Pointer[[]*Files] // the last made or wanted first
	failures atomic.Uint64
	changing sync.Mutex // locked while all is changed
}

// Options configure a Store.
type Options struct {
	Dir  string
	Disk disk.FS // nil means disk.OS
	Log  *slog.Logger
	// Wrap runs work that rests now and then; nil calls it directly.
	Wrap func(work func())
}

// New returns a store without files; Run fills it.
func New(o Options) *Store {
	if o.Disk == nil {
		o.Disk = disk.OS
	}
	if o.Wrap == nil {
		o.Wrap = func(work func()) { work() }
	}
	s := &Store{Options: o}
	s.all.Store(&[]*Files{})
	return s
}

// Failures returns how often files could not be made.
func (s *Store) Failures() uint64 { return s.failures.Load() }

// Of returns the files of a snapshot, nil if there are none.
func (s *Store) Of(id string) *Files {
	for _, files := range *s.all.Load() {
		if files.ID == id {
			return files
		}
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

// Open opens a file to be sent. Files that somebody removed or cut are made again.
func (s *Store) Open(files *Files, file *File) (*Download, error) {
	opened, err := os.Open(filepath.Join(s.Dir, files.ID, file.Name))
	if err == nil {
		var info fs.FileInfo
		if info, err = opened.Stat(); err == nil && info.Size() == file.Bytes {
			return &Download{File: opened, About: file}, nil
		}
		_ = opened.Close() // nothing was read
		err = errors.Join(err, fmt.Errorf("%s has another length than %d bytes", file.Name, file.Bytes))
	}
	s.change(func(all []*Files) []*Files {
		return slices.DeleteFunc(all, func(f *Files) bool { return f == files })
	})
	return nil, err
}

// change replaces the list of all files.
func (s *Store) change(edit func([]*Files) []*Files) {
	s.changing.Lock()
	defer s.changing.Unlock()
	all := edit(slices.Clone(*s.all.Load()))
	s.all.Store(&all)
}

// Run makes the files of each View that becomes the current one, until ctx is done. First it takes over
// what an earlier process made.
func (s *Store) Run(ctx context.Context, current func() *engine.View) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	s.Wrap(func() { s.Adopt(ctx, throttle.New().Step) })

	var failed *engine.View
	var again time.Time
	for ; ctx.Err() == nil; waitFor(ctx, tick) {
		v := current()
		if v == nil || v == failed && time.Now().Before(again) {
			continue
		}
		if files := s.Of(v.ID); files != nil && files.URLs == Describe(v).URLs {
			s.prefer(files, retained)
			continue
		}

		var err error
		s.Wrap(func() { err = s.Make(ctx, v, throttle.New().Step) })
		if err != nil && ctx.Err() == nil {
			failed = v
			again = time.Now().Add(retryAfter)
			s.failures.Add(1)
			s.Log.Error("cannot make the bulk files, trying again later", slog.String("snapshot_id", v.ID),
				slog.Duration("retry_after", retryAfter), slog.Any("cause", err))
		}
	}
}

func waitFor(ctx context.Context, tick *time.Ticker) {
	select {
	case <-ctx.Done():
	case <-tick.C:
	}
}

// prefer makes files the newest and removes those beyond a number. A download of removed files goes on.
func (s *Store) prefer(files *Files, most int) {
	all := *s.all.Load()
	if len(all) <= most && (files == nil || len(all) > 0 && all[0] == files) {
		return
	}

	var gone []*Files
	s.change(func(all []*Files) []*Files {
		if files != nil {
			all = slices.DeleteFunc(all, func(f *Files) bool { return f.ID == files.ID })
			all = slices.Insert(all, 0, files)
		}
		n := min(most, len(all))
		gone = all[n:]
		return all[:n:n]
	})
	for _, files := range gone {
		s.remove(files.ID)
	}
}

// remove removes a folder; a leftover is removed at the next start.
func (s *Store) remove(name string) {
	if err := s.Disk.Remove(filepath.Join(s.Dir, name)); err != nil {
		s.Log.Warn("cannot remove old bulk files", slog.String("folder", name), slog.Any("cause", err))
	}
}

// Make makes the files of a View, all of them or none. It calls step often, and step may rest.
func (s *Store) Make(ctx context.Context, v *engine.View, step func()) error {
	start := time.Now()
	files := Describe(v)
	all, free := contentOf(v)
	if !free {
		s.prefer(files, retained)
		s.Log.Info("there are no bulk files: a source may not be passed on", slog.String("snapshot_id", v.ID))
		return nil
	}

	// One other snapshot stays, so that the disk has two at most.
	s.change(func(all []*Files) []*Files {
		return slices.DeleteFunc(all, func(f *Files) bool { return f.ID == files.ID })
	})
	s.prefer(nil, retained-1)
	if err := s.write(ctx, files, all, step); err != nil {
		s.remove(files.ID + partSuffix)
		return err
	}

	s.prefer(files, retained)
	bytes := int64(0)
	for _, file := range files.Files {
		bytes += file.Bytes
	}
	s.Log.Info("bulk files are made", slog.String("snapshot_id", v.ID), slog.Int64("bytes", bytes),
		slog.Duration("took", time.Since(start)))
	return nil
}

// write writes the folder of a snapshot under another name, and moves it into place.
func (s *Store) write(ctx context.Context, files *Files, all *content, step func()) error {
	place := filepath.Join(s.Dir, files.ID)
	staged := place + partSuffix
	err := disk.MkdirAll(s.Disk, s.Dir, 0o700)
	for _, old := range []string{place, staged} {
		if err == nil {
			err = s.Disk.Remove(old)
		}
	}
	if err == nil {
		err = s.Disk.Mkdir(staged, 0o700)
	}
	if err != nil {
		return fmt.Errorf("cannot prepare the folder %s: %w", staged, err)
	}

	encoder, err := newEncoder()
	if err != nil {
		return fmt.Errorf("cannot compress: %w", err)
	}
	pack := &packer{ctx: ctx, step: step, encoder: encoder}
	for _, name := range Names {
		file, err := s.Disk.Open(filepath.Join(staged, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
		pack.begin(file)
		all.write(name, pack)
		described, err := pack.end(name)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
		files.Files = append(files.Files, described)
	}

	text, err := json.Marshal(files)
	if err == nil {
		err = disk.Create(s.Disk, filepath.Join(staged, manifestName), text, 0o600)
	}
	if err == nil {
		err = s.Disk.SyncDir(staged)
	}
	if err == nil {
		err = s.Disk.Rename(staged, place)
	}
	if err == nil {
		err = s.Disk.SyncDir(s.Dir)
	}
	if err != nil {
		return fmt.Errorf("cannot put %s in place: %w", place, err)
	}
	return nil
}

// Adopt takes over the files of an earlier process that are as its manifests say, those of the newest
// snapshots, and removes the others.
func (s *Store) Adopt(ctx context.Context, step func()) {
	entries, err := s.Disk.List(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Log.Warn("cannot read the folder of bulk files", slog.Any("cause", err))
	}

	var found []*Files
	// An id begins with the instant of its snapshot. What is not ours stays.
	for _, entry := range slices.Backward(entries) {
		if !snapshot.ValidID(strings.TrimSuffix(entry.Name(), partSuffix)) {
			continue
		}
		files, err := s.verify(ctx, entry.Name(), step)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && len(found) < retained:
			found = append(found, files)
			continue
		case err != nil && !strings.HasSuffix(entry.Name(), partSuffix):
			s.Log.Warn("bulk files are not usable, making them again", slog.String("folder", entry.Name()),
				slog.Any("cause", err))
		}
		s.remove(entry.Name())
	}
	s.change(func([]*Files) []*Files { return found })
}

// verify reads the manifest of a folder and compares the files with it.
func (s *Store) verify(ctx context.Context, id string, step func()) (*Files, error) {
	text, err := disk.ReadFile(s.Disk, filepath.Join(s.Dir, id, manifestName))
	if err != nil {
		return nil, err
	}
	files := &Files{}
	if err := json.Unmarshal(text, files); err != nil {
		return nil, err
	}
	if files.ID != id || files.Format != format || len(files.Files) != len(Names) {
		return nil, errors.New("the manifest is of another snapshot or program")
	}
	for i := range files.Files {
		if files.Files[i].Name != Names[i] {
			return nil, errors.New("the manifest lacks a file")
		}
		if err := s.verifyFile(ctx, id, &files.Files[i], step); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (s *Store) verifyFile(ctx context.Context, id string, want *File, step func()) error {
	file, err := s.Disk.Open(filepath.Join(s.Dir, id, want.Name), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read

	sum := sha256.New()
	for {
		step()
		_, err := io.CopyN(sum, file, piece)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil && hex.EncodeToString(sum.Sum(nil)) != want.SHA256:
			return fmt.Errorf("%s has another SHA-256 than the manifest", want.Name)
		case err != nil:
			return nil
		}
	}
}
