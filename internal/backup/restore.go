package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/internal/disk"
)

// ErrPlace reports that a backup cannot be put into a place.
var ErrPlace = errors.New("cannot restore")

// stagedName is the folder of a place that the files are written into before they have their names.
const stagedName = ".restoring"

// Restore says what to bring back, and where to.
type Restore struct {
	ID     string            // "" for the newest
	Places map[string]string // the folder of each part
	DryRun bool
	// Finish ends the work on the state, before it is in its place.
	Finish   func(state string, backup *Manifest) error
	Progress func(phase string, done, total int64)
}

// Restored is what a restore did.
type Restored struct {
	ID     string            `json:"id"`
	At     time.Time         `json:"at"`
	Files  int               `json:"files"`
	Bytes  int64             `json:"bytes"`
	Places map[string]string `json:"places"`
	// Dump is the file with the database of a fleet, "" for none.
	Dump   string `json:"control_dump,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

// Run brings a backup back into empty places: all of it, or after an error nothing.
func (r Restore) Run(ctx context.Context, dir string) (*Restored, error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	unlock, err := f.lock(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := f.find(r.ID)
	if err != nil {
		return nil, err
	}

	done := &Restored{ID: m.ID, At: m.At, Bytes: m.Bytes(), Files: len(m.Files), Places: r.Places, DryRun: r.DryRun}
	for _, file := range m.Files {
		if file.Part == Control {
			done.Dump = f.content(file.SHA256)
		}
	}
	err = r.check(m)
	if err != nil || r.DryRun {
		return done, err
	}
	err = r.stage(ctx, f, m)
	if err == nil && r.Finish != nil && r.Places[State] != "" {
		err = r.Finish(filepath.Join(r.Places[State], stagedName), m)
	}
	if err == nil {
		err = r.place()
	}
	if err != nil {
		return nil, errors.Join(err, r.undo())
	}
	return done, nil
}

// check returns every reason why the places cannot take a backup.
func (r *Restore) check(m *Manifest) error {
	var problems []error
	for _, p := range places {
		into := r.Places[p.part]
		has := slices.ContainsFunc(m.Files, func(file File) bool { return file.Part == p.part })
		if p.part == Configuration || p.part == Control || !has {
			delete(r.Places, p.part)
			continue
		}
		if into == "" {
			problems = append(problems, fmt.Errorf("%w the %s: no place is given", ErrPlace, p.part))
			continue
		}
		names, err := others(into)
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("it is not empty: it has %s", strings.Join(names[:min(len(names), 3)], ", "))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%w the %s into %q: %w", ErrPlace, p.part, into, err))
		}
	}
	return errors.Join(problems...)
}

// others returns the names in a place that neither a restore nor a file system made.
func others(into string) (names []string, err error) {
	entries, err := os.ReadDir(into)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if entry.Name() != stagedName && entry.Name() != "lost+found" {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// stage writes all files next to where they belong, and names every one that is damaged.
func (r *Restore) stage(ctx context.Context, f *Folder, m *Manifest) error {
	var problems []error
	for _, into := range r.Places {
		problems = append(problems, disk.MkdirAll(disk.OS, into, 0o755),
			disk.OS.Remove(filepath.Join(into, stagedName)))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("%w: %w", ErrPlace, err)
	}

	for i, file := range m.Files {
		r.Progress("restoring the "+file.Part, int64(i), int64(len(m.Files)))
		at := slices.IndexFunc(places, func(p place) bool { return p.part == file.Part })
		into := r.Places[file.Part]
		if at < 0 || into == "" {
			continue
		}
		err := cmp.Or(ctx.Err(), f.bring(&file, filepath.Join(into, stagedName), places[at].mode))
		if err != nil {
			problems = append(problems, fmt.Errorf("%w %s of the %s: %w", ErrPlace, file.Path, file.Part, err))
		}
	}
	return errors.Join(problems...)
}

// bring writes a file of a backup with its time, and compares its hash.
func (f *Folder) bring(file *File, root string, mode fs.FileMode) error {
	to := filepath.Join(root, filepath.FromSlash(file.Path))
	if err := disk.MkdirAll(disk.OS, filepath.Dir(to), folderMode(mode)); err != nil {
		return err
	}
	sum, err := copyFile(f.content(file.SHA256), to, mode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: content %s is missing", ErrDamaged, file.SHA256)
	case err == nil && sum != file.SHA256:
		return fmt.Errorf("%w: content %s does not have this hash", ErrDamaged, file.SHA256)
	case err != nil:
		return err
	}

	// A store lists its snapshots by the times of their files.
	changed := time.Unix(0, file.Changed)
	return errors.Join(os.Chtimes(to, changed, changed), disk.OS.SyncDir(filepath.Dir(to)))
}

// folderMode lets those search a folder who may read its files.
func folderMode(mode fs.FileMode) fs.FileMode { return mode | mode>>2&0o111 }

// place gives the files their names.
func (r *Restore) place() error {
	for _, p := range places {
		into := r.Places[p.part]
		if into == "" {
			continue
		}
		staged := filepath.Join(into, stagedName)
		entries, err := disk.OS.List(staged)
		slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
			return cmp.Compare(byteOf(a.Name() == p.last), byteOf(b.Name() == p.last))
		})
		for _, entry := range entries {
			if err == nil {
				err = disk.OS.Rename(filepath.Join(staged, entry.Name()), filepath.Join(into, entry.Name()))
			}
		}
		if err == nil {
			err = errors.Join(disk.OS.Remove(staged), disk.OS.SyncDir(into), disk.OS.SyncDir(filepath.Dir(into)))
		}
		if err != nil {
			return fmt.Errorf("%w the %s into %q: %w", ErrPlace, p.part, into, err)
		}
	}
	return nil
}

// undo removes what a restore put into its places, which were empty.
func (r *Restore) undo() (err error) {
	for _, into := range r.Places {
		names, listErr := others(into)
		err = errors.Join(err, listErr)
		for _, name := range append(names, stagedName) {
			err = errors.Join(err, disk.OS.Remove(filepath.Join(into, name)))
		}
	}
	return err
}
