package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/access/statedir"
	"ninepocket/feed"
	"ninepocket/internal/disk"
	"ninepocket/internal/tombstone"
	"ninepocket/snapshot"
)

// ErrPlace reports that a backup cannot be put into a place.
var ErrPlace = errors.New("the place cannot take it")

// Restore says what to bring back, and where to.
type Restore struct {
	ID     string            // "" for the newest
	Now    time.Time         // when a drill is made
	Places map[string]string // the folder of each part, none for the configuration if it is not wanted
	DryRun bool
	// Delete deletes again in a state directory the tenants of tombstones, and returns how many it had.
	Delete   func(ctx context.Context, state string, stones []tombstone.Tombstone) (int, error)
	Progress func(phase string, done, total int64)
}

// Restored is what a restore did, or would do.
type Restored struct {
	Backup
	Places     map[string]string `json:"places"`
	Tombstones int               `json:"tombstones"`
	Deleted    int               `json:"deleted_again"`          // tenants that it had and that have a tombstone
	Dump       string            `json:"control_dump,omitempty"` // the file with the database of a fleet
}

// Run brings a backup back into empty places: all of it, or after an error nothing.
func (r Restore) Run(ctx context.Context, dir string) (*Restored, error) {
	f := folder(dir)
	defer f.share()()
	b, err := find(dir, r.ID)
	if err != nil {
		return nil, err
	}

	stones, err := tombstone.Read(dir)
	deleted := 0
	r.Places = maps.Clone(r.Places)
	err = errors.Join(err, r.check(b))
	if err == nil && !r.DryRun {
		err = r.stage(ctx, f, b)
		if state := r.Places[State]; err == nil && state != "" && len(stones) > 0 {
			deleted, err = r.Delete(ctx, staged(state), stones)
		}
		if err == nil {
			err = r.place()
		}
	}
	// A leftover only takes space, and the next restore removes it.
	if err != nil && !r.DryRun {
		for _, into := range r.Places {
			err = errors.Join(err, disk.OS.Remove(staged(into)))
		}
	}
	dump := b.Files[Configuration+"/"+DumpFile].SHA256
	if dump != "" {
		dump = f.path("content", dump)
	}
	b.Files = nil
	return &Restored{*b, r.Places, len(stones), deleted, dump}, err
}

// share keeps backups from removing anything.
func (f folder) share() (unlock func()) {
	lock, err := disk.TakeShared(f.path("LOCK"), disk.Forever)
	// A copy of a folder may lack the file, and nobody writes there.
	if err != nil {
		return func() {}
	}
	return func() { _ = lock.Unlock() }
}

// staged is where the files of a place are until all are there.
func staged(into string) string { return filepath.Clean(into) + ".restoring" }

// check returns every reason why the places cannot take a backup. The places of parts that it lacks are left
// out.
func (r Restore) check(b *Backup) error {
	var problems []error
	for _, part := range parts {
		into := r.Places[part]
		isPart := func(name string) bool { return strings.HasPrefix(name, part+"/") }
		has := slices.ContainsFunc(slices.Collect(maps.Keys(b.Files)), isPart)
		if !has || into == "" {
			delete(r.Places, part)
		}

		entries, err := os.ReadDir(into)
		switch {
		case has && into == "" && part != Configuration:
			err = errors.New("no place is given")
		case !has || into == "" || errors.Is(err, fs.ErrNotExist):
			err = nil
		case len(entries) > 0:
			err = fmt.Errorf("%q is not empty: it has %s", into, entries[0].Name())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot restore the %s: %w: %w", part, ErrPlace, err))
		}
	}
	return errors.Join(problems...)
}

// stage writes all files next to their places, and names each that is damaged.
func (r Restore) stage(ctx context.Context, f folder, b *Backup) (err error) {
	for _, into := range r.Places {
		err = errors.Join(err, disk.OS.Remove(staged(into)), disk.MkdirAll(disk.OS, staged(into), 0o700))
		// An empty place says whose it is.
		owner, ownerErr := statedir.OwnerFor(into)
		if ownerErr == nil {
			owner.Mode |= 0o100
			ownerErr = owner.ChownPath(staged(into))
		}
		err = errors.Join(err, ownerErr)
	}
	if err != nil {
		return fmt.Errorf("cannot restore: %w", err)
	}

	var problems []error
	for i, name := range slices.Sorted(maps.Keys(b.Files)) {
		r.Progress("restoring", int64(i), int64(len(b.Files)))
		part, rel, _ := strings.Cut(name, "/")
		if r.Places[part] == "" {
			continue
		}
		err := f.bring(b.Files[name], filepath.Join(staged(r.Places[part]), filepath.FromSlash(rel)))
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot restore %s: %w", name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(problems...)
}

// bring writes a file of a backup. A store lists its snapshots by the times of their files.
func (f folder) bring(file File, to string) error {
	folderMode := file.Mode | file.Mode>>2&0o111
	if err := disk.MkdirAll(disk.OS, filepath.Dir(to), folderMode); err != nil {
		return err
	}
	if err := f.compare(file.SHA256, to, file.Mode); err != nil {
		return err
	}
	// The time of files that were made for the backup is of no use, and does no harm.
	changed := time.Unix(0, file.Changed)
	return os.Chtimes(to, changed, changed)
}

// compare compares content with its hash, and copies it to a new file, unless that is "".
func (f folder) compare(sum, to string, mode fs.FileMode) error {
	has, err := copyFile(f.path("content", sum), to, mode)
	if err == nil && has != sum {
		err = fmt.Errorf("%w: content %s has another hash", ErrDamaged, sum)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: content %s is missing", ErrDamaged, sum)
	}
	return err
}

// place gives all that is staged its name, and takes the names back when one cannot be given.
func (r Restore) place() (err error) {
	var placed []string
	for _, part := range parts {
		into := r.Places[part]
		if into == "" || err != nil {
			continue
		}
		// A file with its name is on disk.
		err = disk.SyncFolders(disk.OS, staged(into))
		if err == nil {
			err = disk.OS.Rename(staged(into), into)
		}
		if err == nil {
			placed = append(placed, into)
			err = disk.OS.SyncDir(filepath.Dir(into))
		}
	}
	if err == nil {
		return nil
	}

	for _, into := range placed {
		err = errors.Join(err, disk.OS.Rename(into, staged(into)))
	}
	return fmt.Errorf("cannot restore: %w", err)
}

// Trial is what a drill did and found.
type Trial struct {
	Restored
	Verified map[string]int `json:"verified"`
	Problems []string       `json:"problems"`
}

func (t *Trial) wrong(err error) {
	if err != nil {
		t.Problems = append(t.Problems, err.Error())
	}
}

// Check is a drill: it reads everything in a folder, restores a backup into a temporary place, and verifies
// what is there. read reads the file of its configuration. The error is that of a drill that could not end.
func (r Restore) Check(ctx context.Context, dir string, read func(file string) error) (*Trial, error) {
	f := folder(dir)
	defer f.share()()
	all, err := List(dir)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("cannot try backup folder %q: %w", dir, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "ninepocket-drill-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // it is temporary

	t := &Trial{Verified: map[string]int{}, Problems: []string{}}
	t.readAll(ctx, f, all, r.Progress)
	r.ID = cmp.Or(r.ID, all[0].ID)
	r.DryRun = false
	r.Places = map[string]string{}
	for _, part := range parts {
		r.Places[part] = filepath.Join(temp, part)
	}
	done, err := r.Run(ctx, dir)
	// A full disk here says nothing of the backup.
	if ctx.Err() != nil || err != nil && !errors.Is(err, ErrDamaged) && len(t.Problems) == 0 {
		return nil, errors.Join(err, ctx.Err())
	}
	t.wrong(err)
	if err == nil {
		t.Restored = *done
		t.verify(r.Places, read, r.Progress)
	}

	t.ID = r.ID
	t.Drilled = r.Now
	t.Good = len(t.Problems) == 0
	return t, f.record(t)
}

// record notes the result of a drill.
func (f folder) record(t *Trial) error {
	end := map[bool]string{true: ".good", false: ".bad"}
	name := f.path("backups", t.ID+end[t.Good])
	err := errors.Join(disk.OS.Remove(f.path("backups", t.ID+end[!t.Good])), disk.OS.Remove(name),
		disk.Create(disk.OS, name, nil, 0o600), disk.OS.SyncDir(f.path("backups")))
	if err != nil {
		return fmt.Errorf("cannot record the drill: %w", err)
	}
	return nil
}

// readAll compares all content with its hashes, and all backups with the content.
func (t *Trial) readAll(ctx context.Context, f folder, all []*Backup, progress func(string, int64, int64)) {
	content, err := disk.OS.List(f.path("content"))
	t.wrong(err)
	bad := map[string]error{}
	for i, entry := range content {
		progress("reading the content", int64(i), int64(len(content)))
		if ctx.Err() != nil {
			return
		}
		sum := entry.Name()
		bad[sum] = f.compare(sum, "", 0)
		t.wrong(bad[sum])
	}

	for _, b := range all {
		if b.Damage != "" {
			t.wrong(fmt.Errorf("cannot read backup %s: %s", b.ID, b.Damage))
		}
		for name, file := range b.Files {
			// The content itself is named once, and here who needs it.
			err, there := bad[file.SHA256]
			if !there || err != nil {
				t.wrong(fmt.Errorf("%s of backup %s is missing or damaged: content %s", name, b.ID, file.SHA256))
			}
		}
	}
	stones, err := tombstone.Read(string(f))
	t.wrong(err)
	for _, b := range all {
		if err == nil && len(stones) < b.Tombstones {
			t.wrong(fmt.Errorf("%s has %d tombstones of deleted tenants, and had %d at backup %s: "+
				"tenants would come back", tombstone.Name, len(stones), b.Tombstones, b.ID))
			break
		}
	}
	t.Verified["content"] = len(content)
}

// verify verifies what was restored.
func (t *Trial) verify(at map[string]string, read func(file string) error, progress func(string, int64, int64)) {
	report, err := access.VerifyState(at[State])
	t.wrong(err)
	t.Verified["keys"] = report.Keys
	t.Verified["ledger_rows"] = report.Rows
	t.Problems = append(t.Problems, report.Damage...)

	store := snapshot.OpenStore(at[Store])
	all, err := store.List()
	for _, err := range append(store.ListErrors(), err) {
		t.wrong(err)
	}
	for i, m := range all {
		progress("verifying snapshots", int64(i), int64(len(all)))
		t.wrong(store.Verify(m.ID))
	}
	// The published snapshot is there.
	current, err := store.Current()
	if err == nil {
		_, err = store.Manifest(current.ID)
	}
	if !errors.Is(err, snapshot.ErrNoCurrent) {
		t.wrong(err)
	}

	days, err := filepath.Glob(filepath.Join(at[Feed], "*", "*.tar.zst"))
	t.wrong(err)
	for i, day := range days {
		progress("reading the days", int64(i), int64(len(days)))
		t.wrong(feed.CheckDay(day))
	}
	t.Verified["snapshots"] = len(all)
	t.Verified["days"] = len(days)
	file := filepath.Join(at[Configuration], ConfigurationFile)
	if _, err := os.Stat(file); err == nil {
		t.wrong(read(file))
	}
}
