package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
)

// The parts of a backup.
const (
	Configuration = "configuration"
	Mapping       = "mapping"
	Feed          = "feed"
	Store         = "store"
	State         = "state"
	Control       = "control"
)

// place is how a part is copied and put in place.
type place struct {
	part     string
	lockName string      // of a file in it, which those who write hold
	last     string      // nobody uses the part before it has this
	mode     fs.FileMode // of its files
	has      func(name string) bool
}

// places are the parts in the order in which they are copied, and put in place: no server starts before it
// has keys.
var places = []place{
	{Configuration, "", "", 0o600, isAny},
	{Control, "", "", 0o600, isAny},
	{Mapping, "", "", 0o644, isAny},
	{Feed, "", "", 0o644, isDay},
	{Store, "LOCK", "CURRENT", 0o644, isStored},
	{State, "", statedir.KeysName, 0o600, isAny},
}

func isAny(string) bool { return true }

// isDay reports whether a file of the feed is of an archived day, or of one that a rollback discarded.
func isDay(name string) bool {
	folder, _ := path.Split(name)
	return (folder == "days/" || folder == "aside/") && !strings.HasSuffix(name, ".part")
}

// isStored reports whether a file of a store is not of a moment alone.
func isStored(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return !slices.Contains([]string{"tmp", "incoming", "LOCK", "DAILY.LOCK"}, top)
}

// Job says what to back up.
type Job struct {
	Places        map[string]string // the folder of each part; a part without one is left out
	Configuration []byte            // without secrets
	Control       string            // URL of a database, "" for none
	Program       string            // version of the program
	Retain        int               // how many of the newest backups stay, 0 for all
	DryRun        bool
	Progress      func(phase string, done, total int64)
}

// Result is what a backup did.
type Result struct {
	ID       string           `json:"id"`
	At       time.Time        `json:"at"`
	Files    int              `json:"files"`
	Bytes    int64            `json:"bytes"`
	Parts    map[string]int64 `json:"parts"` // bytes
	NewFiles int              `json:"new_files"`
	NewBytes int64            `json:"new_bytes"`
	Removed  []string         `json:"removed"`
	DryRun   bool             `json:"dry_run,omitempty"`
}

// run is a job that runs.
type run struct {
	Job
	*Folder
	ctx      context.Context //nolint:containedctx // it is that of the run
	manifest Manifest
	result   Result
	before   map[string]File // of the backup before, by part and path
	trusted  int64           // a file that changed later may have changed again within a tick of its clock
	careful  bool            // the last drill was bad: content is read before it is believed
}

// errChanging reports that a tree changed while it was copied.
var errChanging = errors.New("it changes all the time")

// Run makes a backup in a folder, also beside a running server. All that was acknowledged before is in it.
// After an error the earlier backups are as they were.
func (j Job) Run(ctx context.Context, dir string) (*Result, error) {
	if err := j.check(dir); err != nil {
		return nil, err
	}
	r := &run{Job: j, Folder: &Folder{dir}, ctx: ctx}
	unlock, err := r.prepare()
	if err != nil {
		return nil, err
	}
	defer unlock()

	err = r.copyParts()
	if err == nil {
		err = r.commit()
	}
	r.result.Removed = []string{}
	if err == nil && r.Retain > 0 {
		// A dry run has not made the one that would push the oldest out.
		retain := r.Retain
		if r.DryRun {
			retain--
		}
		removed, pruneErr := r.prune(retain, r.DryRun)
		r.result.Removed = append(r.result.Removed, removed...)
		err = pruneErr
	}
	if !r.DryRun {
		err = errors.Join(err, disk.OS.Remove(r.path("tmp")))
	}
	return &r.result, err
}

// check returns every reason why the job cannot be done.
func (j Job) check(dir string) error {
	var problems []error
	for _, p := range places {
		from := j.Places[p.part]
		if from == "" {
			continue
		}
		info, err := os.Stat(from)
		if err == nil && !info.IsDir() {
			err = errors.New("it is no folder")
		}
		inside, relErr := filepath.Rel(resolve(from), resolve(dir))
		if err == nil && relErr == nil && filepath.IsLocal(inside) {
			err = fmt.Errorf("the backup folder %q is in it, and would be lost with it", dir)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot back up the %s %q: %w", p.part, from, err))
		}
	}
	if j.Control != "" {
		_, err := pgDump()
		problems = append(problems, err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNoFolder) {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// resolve follows the links of a path as far as it exists.
func resolve(name string) string {
	name, _ = filepath.Abs(name)
	real, err := filepath.EvalSymlinks(name)
	if err == nil || name == filepath.Dir(name) {
		return cmp.Or(real, name)
	}
	return filepath.Join(resolve(filepath.Dir(name)), filepath.Base(name))
}

// prepare makes the folder, takes its lock, and reads what is in it.
func (r *run) prepare() (unlock func(), err error) {
	unlock = func() {}
	if !r.DryRun {
		unlock, err = r.make()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write into backup folder %q: %w", r.dir, err)
	}

	r.manifest = Manifest{At: time.Now().UTC(), Program: r.Program}
	r.before = map[string]File{}
	all, err := r.Backups()
	drills, drillsErr := r.Drills()
	r.careful = len(drills) > 0 && !drills[0].Good
	if len(all) == 0 {
		return unlock, errors.Join(err, drillsErr)
	}

	// Ids ascend, also where the clock went back.
	if next := all[0].At.Add(time.Millisecond); next.After(r.manifest.At) {
		r.manifest.At = next
	}
	const tick = 2 * time.Second
	r.trusted = all[0].At.Add(-tick).UnixNano()
	for _, file := range all[0].Files {
		r.before[file.Part+"/"+file.Path] = file
	}
	return unlock, errors.Join(err, drillsErr)
}

// make makes the folder and takes its lock. What a run left that crashed is removed.
func (r *run) make() (unlock func(), err error) {
	err = disk.MkdirAll(disk.OS, r.dir, 0o700)
	if err == nil {
		unlock, err = r.lock(false)
	}
	if err != nil {
		return nil, err
	}

	err = disk.OS.Remove(r.path("tmp"))
	for _, name := range []string{"content", "backups", "tmp"} {
		err = errors.Join(err, disk.MkdirAll(disk.OS, r.path(name), 0o700))
	}
	err = errors.Join(err, disk.OS.SyncDir(r.dir), disk.OS.SyncDir(filepath.Dir(r.dir)))
	if err != nil {
		unlock()
	}
	return unlock, err
}

// copyParts copies all parts.
func (r *run) copyParts() (err error) {
	temp := r.path("tmp")
	if r.DryRun {
		temp = ""
	}
	staged, err := os.MkdirTemp(temp, "run-")
	if err != nil {
		return fmt.Errorf("cannot write into backup folder %q: %w", r.dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staged)) }()

	r.result.Parts = map[string]int64{}
	for _, p := range places {
		from, err := r.stage(p.part, filepath.Join(staged, p.part))
		if err == nil && from != "" {
			err = r.addTree(p, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stage returns the folder of a part, "" for none. Where others write all the time, it is a copy.
func (r *run) stage(part, copied string) (folder string, err error) {
	switch {
	case part == Configuration && r.Configuration != nil:
		err = os.Mkdir(copied, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, "ninepocket.toml"), r.Configuration, 0o600)
		}
	case part == Control && r.Control != "":
		err = os.Mkdir(copied, 0o700)
		if err == nil {
			err = dump(r.ctx, r.Control, filepath.Join(copied, dumpName))
		}
	case part == State && r.Places[State] != "":
		_, err = access.BackupState(r.Places[State], copied)
	default:
		return r.Places[part], nil
	}
	return copied, err
}

// addTree adds the files of a folder as they are at one moment. From the second attempt on those who write
// wait.
func (r *run) addTree(p place, root string) (err error) {
	const attempts = 100
	for attempt := range attempts {
		if attempt == 1 && p.lockName != "" {
			lock, lockErr := disk.TakeShared(filepath.Join(root, p.lockName), disk.Forever)
			if lockErr == nil {
				defer lock.Unlock() //nolint:errcheck // it ends with the process at the latest
			}
		}

		var files []File
		files, err = r.addOnce(p, root)
		if err == nil {
			r.manifest.Files = append(r.manifest.Files, files...)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errChanging) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cannot back up the %s %q: %w", p.part, root, err)
	}
	return nil
}

// addOnce adds the files of a folder, unless they changed meanwhile.
func (r *run) addOnce(p place, root string) ([]File, error) {
	before, err := list(p, root, "")
	if err != nil {
		return nil, err
	}
	files := slices.Clone(before)
	if err := r.add(root, files); err != nil {
		return nil, err
	}
	after, err := list(p, root, "")
	if err == nil && !slices.Equal(before, after) {
		err = errChanging
	}
	return files, err
}

// list returns the files of a folder in order, also those behind links, without their hashes.
func list(p place, root, below string) (files []File, err error) {
	entries, err := os.ReadDir(filepath.Join(root, below))
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		info, statErr := os.Stat(filepath.Join(root, name))
		switch {
		case statErr != nil:
			err = errors.Join(err, statErr)
		case info.IsDir():
			inner, innerErr := list(p, root, name)
			files = append(files, inner...)
			err = errors.Join(err, innerErr)
		case info.Mode().IsRegular() && p.has(name):
			files = append(files, File{
				Part: p.part, Path: name, Size: info.Size(), Changed: info.ModTime().UnixNano(), Inode: disk.Inode(info),
			})
		}
	}
	return files, err
}

// add stores the content of files that the folder lacks, and sets their hashes.
func (r *run) add(root string, files []File) error {
	for i := range files {
		file := &files[i]
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.Progress("backing up the "+file.Part, int64(i), int64(len(files)))
		same := *file
		same.SHA256 = r.before[file.Part+"/"+file.Path].SHA256
		if same == r.before[file.Part+"/"+file.Path] && file.Changed < r.trusted && r.stored(&same) {
			*file = same
			continue
		}
		if err := r.store(file, filepath.Join(root, filepath.FromSlash(file.Path))); err != nil {
			return err
		}
	}
	return nil
}

// store reads a file, and copies it if the folder lacks its content.
func (r *run) store(file *File, from string) (err error) {
	file.SHA256, err = copyFile(from, "", 0)
	if err != nil || r.stored(file) {
		return err
	}
	r.result.NewFiles++
	r.result.NewBytes += file.Size
	if r.DryRun {
		return nil
	}

	staged := r.path("tmp", file.SHA256)
	sum, err := copyFile(from, staged, 0o600)
	if err == nil && sum != file.SHA256 {
		err = errChanging
	}
	if err == nil {
		err = disk.OS.Rename(staged, r.content(sum))
	}
	return errors.Join(err, disk.OS.Remove(staged))
}

// stored reports whether the folder has the content of a file.
func (r *run) stored(file *File) bool {
	info, err := os.Stat(r.content(file.SHA256))
	if err != nil || info.Size() != file.Size || !r.careful {
		return err == nil && info.Size() == file.Size
	}
	sum, err := copyFile(r.content(file.SHA256), "", 0)
	return err == nil && sum == file.SHA256
}

// commit makes the backup one: its content is on disk before its manifest is.
func (r *run) commit() error {
	r.result.At = r.manifest.At
	r.result.Files = len(r.manifest.Files)
	for _, file := range r.manifest.Files {
		r.result.Bytes += file.Size
		r.result.Parts[file.Part] += file.Size
	}
	data, err := json.MarshalIndent(r.manifest, "", " ")
	if err != nil || r.DryRun {
		return err
	}

	if err := disk.OS.SyncDir(r.path("content")); err != nil {
		return fmt.Errorf("cannot write into backup folder %q: %w", r.dir, err)
	}
	r.result.ID = r.manifest.At.Format(idTime) + "-" + hashOf(data)[:sumLength]
	name := r.result.ID + ".json"
	err = disk.Replace(disk.OS, r.path("tmp", name), r.path("backups", name), data, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write into backup folder %q: %w", r.dir, err)
	}
	return nil
}

// copyFile copies a file to a new one, or only reads it, and returns the hash of what it read.
func copyFile(from, to string, mode fs.FileMode) (sum string, err error) {
	in, err := disk.OS.Open(from, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // only read

	hash := sha256.New()
	var into io.Writer = hash
	var out disk.File
	if to != "" {
		out, err = disk.OS.Open(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return "", err
		}
		into = io.MultiWriter(hash, out)
	}

	_, err = io.Copy(into, in)
	if out != nil {
		if err == nil {
			err = out.Sync()
		}
		err = errors.Join(err, out.Close())
	}
	return hex.EncodeToString(hash.Sum(nil)), err
}
