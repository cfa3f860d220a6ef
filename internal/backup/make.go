package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/internal/disk"
	"ninepocket/internal/tombstone"
)

// The parts of a backup.
const (
	Configuration = "configuration" // the file, and the database of a fleet
	Mapping       = "mapping"
	Feed          = "feed"
	Store         = "store"
	State         = "state"
)

// parts are in the order in which they are copied, and put in place: no server starts before it has keys.
var parts = []string{Configuration, Mapping, Feed, Store, State}

// Files of the configuration.
const (
	ConfigurationFile = "ninepocket.toml"
	DumpFile          = "control.dump"
)

// copied matches the files that belong to a backup. Those of the feed are the archived days, also
// those that a rollback discarded. Other files of a store are locks and unfinished files.
var copied = regexp.MustCompile(`^(configuration|mapping|state)/|^feed/(days|aside)/[^/]+\.(tar\.zst|refs)$|` +
	`^store/([A-Z]+S|CURRENT|(snapshots|holds|events|changes)/.*)$`)

// Job says what to back up.
type Job struct {
	Now           time.Time         // when the backup begins
	Places        map[string]string // the folder of each part; a part without one is left out
	Configuration []byte            // without secrets
	Control       string            // URL of a database, "" for none
	Retain        int               // how many of the newest backups stay, 0 for all
	DryRun        bool
	Progress      func(phase string, done, total int64)
}

// Result is what a job did, or would do.
type Result struct {
	Backup
	NewFiles int      `json:"new_files"`
	NewBytes int64    `json:"new_bytes"`
	Removed  []string `json:"removed"`
}

// run is a job that runs.
type run struct {
	Job
	folder
	ctx     context.Context //nolint:containedctx // it is that of the run
	temp    string          // a folder for what is being written
	made    Result
	before  *Backup // the last one
	careful bool    // a drill found something bad: content is read before it is believed
}

// Run makes a backup in a folder, also while a server runs. After an error the earlier backups are
// unchanged.
func (j Job) Run(ctx context.Context, dir string) (*Result, error) {
	if err := j.check(dir); err != nil {
		return nil, err
	}
	r := &run{Job: j, folder: folder(dir), ctx: ctx, before: &Backup{}}
	r.Places = maps.Clone(j.Places)
	r.made = Result{Backup: Backup{At: j.Now.UTC(), Files: map[string]File{}}, Removed: []string{}}

	// A drill says what is damaged of them.
	stones, _ := tombstone.Read(dir)
	r.made.Tombstones = len(stones)
	end, err := r.begin()
	defer end()
	if err == nil {
		err = r.stage()
	}
	for _, part := range parts {
		if err == nil {
			err = r.addPart(part)
		}
	}
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot back up into %q: %w", dir, err)
	}
	return &r.made, nil
}

// check returns every reason why the job cannot be done.
func (j Job) check(dir string) error {
	_, err := openFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	problems := []error{err}
	for _, part := range parts {
		from := j.Places[part]
		if from == "" {
			continue
		}

		_, err := os.ReadDir(from)
		inside, relErr := filepath.Rel(resolve(from), resolve(dir))
		if relErr == nil && filepath.IsLocal(inside) {
			err = fmt.Errorf("the backup folder %q is in it, and would be lost with it", dir)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot back up the %s: %w", part, err))
		}
	}
	return errors.Join(problems...)
}

// resolve follows the links of a path as far as it exists.
func resolve(name string) string {
	name, _ = filepath.Abs(name)
	resolved, err := filepath.EvalSymlinks(name)
	if err != nil && name != filepath.Dir(name) {
		return filepath.Join(resolve(filepath.Dir(name)), filepath.Base(name))
	}
	return resolved
}

// begin makes a folder for what is being written, and reads the backups before.
func (r *run) begin() (end func(), err error) {
	if r.DryRun {
		r.temp, err = os.MkdirTemp("", "ninepocket-backup-")
		end = func() { _ = os.RemoveAll(r.temp) }
	} else {
		end, err = r.lockFolder()
	}
	if err != nil {
		return end, err
	}

	all, err := List(r.path())
	if r.DryRun && errors.Is(err, fs.ErrNotExist) {
		err = nil // it would be made
	}
	drilled := LastDrill(all)
	r.careful = drilled != nil && !drilled.Good
	if len(all) > 0 {
		r.before = all[0]
	}
	// Ids ascend, also where the clock went back.
	next := r.before.At.Add(time.Millisecond)
	if next.After(r.made.At) {
		r.made.At = next
	}
	return end, err
}

// lockFolder makes the folder, takes its lock, and removes what a crash left.
func (r *run) lockFolder() (end func(), err error) {
	r.temp = r.path("tmp")
	err = disk.MkdirAll(disk.OS, r.path(), 0o700)
	if err != nil {
		return func() {}, err
	}
	lock, err := disk.TakeLock(r.path("LOCK"), 0o600, disk.Forever)
	if err != nil {
		return func() {}, err
	}

	err = disk.OS.Remove(r.temp)
	for _, name := range []string{"backups", "content", "tmp"} {
		err = errors.Join(err, disk.MkdirAll(disk.OS, r.path(name), 0o700))
	}
	err = errors.Join(err, disk.OS.SyncDir(r.path()), disk.OS.SyncDir(filepath.Dir(r.path())))
	return func() {
		_ = disk.OS.Remove(r.temp) // the next one removes it
		_ = lock.Unlock()
	}, err
}

// stage makes what is not copied from its place: the configuration, and a copy of the state.
func (r *run) stage() (err error) {
	folder := filepath.Join(r.temp, Configuration)
	err = os.Mkdir(folder, 0o700)
	if err == nil && r.Configuration != nil {
		err = os.WriteFile(filepath.Join(folder, ConfigurationFile), r.Configuration, 0o600)
	}
	if err == nil && r.Control != "" {
		err = r.dump(filepath.Join(folder, DumpFile))
	}
	r.Places[Configuration] = folder

	if from := r.Places[State]; err == nil && from != "" {
		r.Places[State] = filepath.Join(r.temp, State)
		_, err = access.BackupState(from, r.Places[State])
	}
	return err
}

// dump writes the database of a fleet into a file. Its password stands in no list of processes.
func (r *run) dump(into string) error {
	at, err := url.Parse(r.Control)
	if err != nil {
		return errors.New("cannot back up the database: its address is no URL")
	}
	parameters := at.Query()
	password := parameters.Get("password")
	parameters.Del("password")
	at.RawQuery = parameters.Encode()
	if at.User != nil {
		given, _ := at.User.Password()
		password = cmp.Or(given, password)
		at.User = url.User(at.User.Username())
	}

	cmd := exec.CommandContext(r.ctx, "pg_dump", "--format=custom", "--file="+into, //nolint:gosec // of the operator
		"--dbname="+at.String())
	cmd.Env = append(os.Environ(), "PGPASSWORD="+cmp.Or(password, os.Getenv("PGPASSWORD")))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot back up the database: pg_dump: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// attempts is how often a part is copied that changed meanwhile. The second time only that is left to copy.
const attempts = 100

// errChanged reports that a file is another one by now.
var errChanged = fmt.Errorf("it changes all the time: %w", fs.ErrNotExist)

// addPart adds the files of a part as they are at one moment: it starts again if they changed
// meanwhile. Nobody publishes while the store is copied.
func (r *run) addPart(part string) error {
	root := r.Places[part]
	if root == "" {
		return nil
	}
	if part == Store {
		lock, err := disk.TakeShared(filepath.Join(root, "LOCK"), disk.Forever)
		if err == nil {
			defer lock.Unlock() //nolint:errcheck // it ends with the process at the latest
		}
	}

	for attempt := 1; ; attempt++ {
		files, err := list(part, root)
		before := maps.Clone(files)
		if err == nil {
			err = r.add(part, root, files)
		}
		after, listErr := list(part, root)
		err = errors.Join(err, listErr)
		if err == nil && !maps.Equal(before, after) {
			err = errChanged
		}
		if err == nil {
			maps.Copy(r.made.Files, files)
			return nil
		}
		if attempt == attempts || !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the %s: %w", part, err)
		}
	}
}

// list returns the files of a part, without their hashes.
func list(part, root string) (map[string]File, error) {
	files := map[string]File{}
	err := filepath.WalkDir(resolve(root), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(resolve(root), name)
		key := part + "/" + filepath.ToSlash(rel)
		info, statErr := os.Stat(name)
		if statErr == nil && info.Mode().IsRegular() && copied.MatchString(key) {
			files[key] = File{"", info.Size(), info.ModTime().UnixNano(), disk.Inode(info), info.Mode().Perm()}
		}
		return errors.Join(err, statErr)
	})
	return files, err
}

// tick is how long after a change a file may change again without having another time.
const tick = 2 * time.Second

// add stores the content that the folder lacks, and sets the hashes of files.
func (r *run) add(part, root string, files map[string]File) error {
	trusted := r.before.At.Add(-tick).UnixNano()
	for i, name := range slices.Sorted(maps.Keys(files)) {
		r.Progress("backing up the "+part, int64(i), int64(len(files)))
		before := r.before.Files[name]
		file := files[name]
		file.SHA256 = before.SHA256

		// A file with unchanged size and time is not read.
		if file != before || file.Changed >= trusted || !r.stored(file) {
			err := r.store(&file, filepath.Join(root, strings.TrimPrefix(name, part+"/")))
			if err != nil {
				return err
			}
		}
		files[name] = file
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
	}
	return nil
}

// store reads a file, and copies it if the folder lacks its content.
func (r *run) store(file *File, from string) (err error) {
	file.SHA256, err = copyFile(from, "", 0)
	if err != nil || r.stored(*file) {
		return err
	}
	r.made.NewFiles++
	r.made.NewBytes += file.Size
	if r.DryRun {
		return nil
	}

	staged := filepath.Join(r.temp, file.SHA256)
	// Another process may write to it meanwhile.
	sum, err := copyFile(from, staged, 0o600)
	if err == nil && sum != file.SHA256 {
		err = errChanged
	}
	if err == nil {
		err = disk.OS.Rename(staged, r.path("content", sum))
	}
	return errors.Join(err, disk.OS.Remove(staged))
}

// stored reports whether the folder has the content of a file.
func (r *run) stored(file File) bool {
	name := r.path("content", file.SHA256)
	info, err := os.Stat(name)
	if err != nil || info.Size() != file.Size || !r.careful {
		return err == nil && info.Size() == file.Size
	}
	sum, err := copyFile(name, "", 0)
	return err == nil && sum == file.SHA256
}

// commit makes the backup one, when its content is on disk, and removes old ones.
func (r *run) commit() error {
	data, err := json.MarshalIndent(r.made.Backup, "", " ")
	r.made.ID = r.made.At.Format(idTime) + "-" + hashOf(data)
	name := r.made.ID + ".json"
	if err == nil && !r.DryRun {
		err = disk.OS.SyncDir(r.path("content"))
	}
	if err == nil && !r.DryRun {
		err = disk.Replace(disk.OS, filepath.Join(r.temp, name), r.path("backups", name), data, 0o600)
	}
	if err == nil && r.Retain > 0 {
		err = r.prune()
	}

	r.made.Count = len(r.made.Files)
	for _, file := range r.made.Files {
		r.made.Bytes += file.Size
	}
	r.made.Files = nil
	return err
}

// prune removes the backups beyond the newest, and what no backup names. The newest that a drill found good
// stays.
func (r *run) prune() error {
	all, err := List(r.path())
	whole := 0
	if r.DryRun {
		whole++ // the one that is not made
		err = nil
	}
	proven := slices.IndexFunc(all, func(b *Backup) bool { return b.Good })
	damaged := false
	named := map[string]bool{}
	for i, b := range all {
		// Damaged ones do not count, and go when they are old enough.
		if whole >= r.Retain && i != proven {
			r.made.Removed = append(r.made.Removed, b.ID)
			continue
		}
		if b.Damage == "" {
			whole++
		} else {
			damaged = true
		}
		for _, file := range b.Files {
			named[file.SHA256] = true
		}
	}
	if err != nil || r.DryRun {
		return err
	}

	for _, id := range r.made.Removed {
		for _, end := range []string{".json", ".good", ".bad"} {
			err = errors.Join(err, disk.OS.Remove(r.path("backups", id+end)))
		}
	}
	err = errors.Join(err, disk.OS.SyncDir(r.path("backups")))
	// The content of a damaged backup is unknown.
	if err != nil || damaged {
		return err
	}
	content, err := disk.OS.List(r.path("content"))
	for _, entry := range content {
		if !named[entry.Name()] {
			err = errors.Join(err, disk.OS.Remove(r.path("content", entry.Name())))
		}
	}
	return err
}
