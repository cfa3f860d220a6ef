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

// copied matches the files that belong to a backup. Of the feed these are the archived days, and those that a
// rollback discarded; others of a store are locks and what is being written.
var copied = regexp.MustCompile(`^(configuration|mapping|state)/|^feed/(days|aside)/[^/]+\.(tar\.zst|refs)$|` +
	`^store/([A-Z]+S|CURRENT|(snapshots|holds|events)/.*)$`)

// Job says what to back up.
type Job struct {
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
	made    Result
	before  *Backup // the last one
	careful bool    // a drill found something bad: content is read before it is believed
}

// Run makes a backup in a folder, also beside a running server. After an error the earlier ones are as they
// were.
func (j Job) Run(ctx context.Context, dir string) (*Result, error) {
	if err := j.check(dir); err != nil {
		return nil, err
	}
	r := &run{Job: j, folder: folder(dir), ctx: ctx, before: &Backup{}}
	r.Places = maps.Clone(j.Places)
	r.made = Result{Backup: Backup{At: time.Now().UTC(), Files: map[string]File{}}, Removed: []string{}}

	temp := ""
	if !j.DryRun {
		unlock, err := r.make()
		if err != nil {
			return nil, fmt.Errorf("cannot write into backup folder %q: %w", dir, err)
		}
		defer unlock()
		temp = r.path("tmp")
	}
	if err := r.recall(); err != nil {
		return nil, err
	}
	staged, err := os.MkdirTemp(temp, "run-")
	if err != nil {
		return nil, fmt.Errorf("cannot write into backup folder %q: %w", dir, err)
	}
	defer os.RemoveAll(staged) //nolint:errcheck // the next run removes it
	if err := r.stage(staged); err != nil {
		return nil, err
	}
	for _, part := range parts {
		if err := r.addPart(part); err != nil {
			return nil, fmt.Errorf("cannot back up the %s %q: %w", part, r.Places[part], err)
		}
	}
	if err := r.commit(); err != nil {
		return nil, fmt.Errorf("cannot write into backup folder %q: %w", dir, err)
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
		if inside, relErr := filepath.Rel(resolve(from), resolve(dir)); relErr == nil && filepath.IsLocal(inside) {
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
	real, err := filepath.EvalSymlinks(name)
	if err != nil && name != filepath.Dir(name) {
		return filepath.Join(resolve(filepath.Dir(name)), filepath.Base(name))
	}
	return real
}

// make makes the folder, takes its lock, and removes what a crash left.
func (r *run) make() (unlock func(), err error) {
	if err := disk.MkdirAll(disk.OS, r.path(), 0o700); err != nil {
		return nil, err
	}
	lock, err := disk.TakeLock(r.path("LOCK"), 0o600, disk.Forever)
	if err != nil {
		return nil, err
	}

	err = disk.OS.Remove(r.path("tmp"))
	for _, name := range []string{"backups", "content", "tmp"} {
		err = errors.Join(err, disk.MkdirAll(disk.OS, r.path(name), 0o700))
	}
	err = errors.Join(err, disk.OS.SyncDir(r.path()), disk.OS.SyncDir(filepath.Dir(r.path())))
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() { _ = lock.Unlock() }, nil
}

// recall reads the backups before.
func (r *run) recall() error {
	all, err := List(r.path())
	if r.DryRun && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	drilled := LastDrill(all)
	r.careful = drilled != nil && !drilled.Good
	if len(all) > 0 {
		r.before = all[0]
	}
	// Ids ascend, also where the clock went back.
	if next := r.before.At.Add(time.Millisecond); next.After(r.made.At) {
		r.made.At = next
	}
	return err
}

// stage makes what is not copied from its place: the configuration, and a copy of the state.
func (r *run) stage(staged string) (err error) {
	if r.Configuration != nil || r.Control != "" {
		r.Places[Configuration] = filepath.Join(staged, Configuration)
		err = os.Mkdir(r.Places[Configuration], 0o700)
	}
	if err == nil && r.Configuration != nil {
		err = os.WriteFile(filepath.Join(staged, Configuration, ConfigurationFile), r.Configuration, 0o600)
	}
	if err == nil && r.Control != "" {
		err = r.dump(filepath.Join(staged, Configuration, DumpFile))
	}
	if from := r.Places[State]; err == nil && from != "" {
		r.Places[State] = filepath.Join(staged, State)
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

	cmd := exec.CommandContext(r.ctx, "pg_dump", "--format=custom", "--file="+into, "--dbname="+at.String())
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

// addPart adds the files of a part as they are at one moment: it begins anew when they changed meanwhile.
// Nobody publishes while the store is copied.
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
		if err = errors.Join(err, listErr); err == nil && !maps.Equal(before, after) {
			err = errChanged
		}
		if err == nil {
			maps.Copy(r.made.Files, files)
		}
		if attempt == attempts || !errors.Is(err, fs.ErrNotExist) {
			return err
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
	for i, name := range slices.Sorted(maps.Keys(files)) {
		r.Progress("backing up the "+part, int64(i), int64(len(files)))
		file := files[name]
		file.SHA256 = r.before.Files[name].SHA256
		unchanged := file == r.before.Files[name] && file.Changed < r.before.At.Add(-tick).UnixNano()
		if !unchanged || !r.stored(file) {
			from := filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(name, part+"/")))
			if err := r.store(&file, from); err != nil {
				return err
			}
		}
		files[name] = file
		if err := r.ctx.Err(); err != nil {
			return err
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

	staged := r.path("tmp", file.SHA256)
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
	if err != nil {
		return err
	}
	r.made.ID = r.made.At.Format(idTime) + "-" + hashOf(data)
	retain := r.Retain
	if r.DryRun {
		// The one that is not made would push one out.
		retain--
	} else {
		name := r.made.ID + ".json"
		err = disk.OS.SyncDir(r.path("content"))
		if err == nil {
			err = disk.Replace(disk.OS, r.path("tmp", name), r.path("backups", name), data, 0o600)
		}
	}
	if err == nil && r.Retain > 0 {
		removed, pruneErr := r.prune(retain, r.DryRun)
		r.made.Removed = append(r.made.Removed, removed...)
		if !r.DryRun || !errors.Is(pruneErr, fs.ErrNotExist) {
			err = pruneErr
		}
	}

	r.made.Count = len(r.made.Files)
	for _, file := range r.made.Files {
		r.made.Bytes += file.Size
	}
	r.made.Files = nil
	return err
}
