package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// Errors of a backup folder.
var (
	ErrNone     = errors.New("there is no such backup")
	ErrDamaged  = errors.New("the backup is damaged")
	ErrReadable = errors.New("others may read it")
	ErrNoFolder = errors.New("there is no backup folder")
)

// idTime is how ids write the time of a backup or a drill, and sumLength how much of its hash an id has.
const (
	idTime    = "20060102T150405.000Z"
	sumLength = 16
)

// Folder is a folder with backups.
type Folder struct{ dir string }

// Manifest lists the files of a backup.
type Manifest struct {
	ID      string    `json:"-"`
	At      time.Time `json:"at"` // it has all that was acknowledged before
	Program string    `json:"program"`
	Files   []File    `json:"files"`
	// Damage is why nothing else is known of it.
	Damage error `json:"-"`
}

// File is a file of a backup. Changed and Inode are those of the original.
type File struct {
	Part    string `json:"part"`
	Path    string `json:"path"` // with slashes, below the part's place
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
	Changed int64  `json:"changed"` // in nanoseconds since 1970
	Inode   uint64 `json:"inode"`
}

// Bytes returns the size of all files.
func (m *Manifest) Bytes() (total int64) {
	for i := range m.Files {
		total += m.Files[i].Size
	}
	return total
}

// Drill is the last trial of a backup.
type Drill struct {
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
	Good bool      `json:"good"`
}

// Open opens a backup folder. It is an ErrNoFolder if there is none, and an ErrReadable if others may read
// it.
func Open(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = ErrNoFolder
	case err == nil && !info.IsDir():
		err = fs.ErrInvalid
	case err == nil && info.Mode().Perm()&0o077 != 0:
		err = ErrReadable
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use backup folder %q: %w", dir, err)
	}
	return &Folder{dir}, nil
}

func (f *Folder) path(names ...string) string { return filepath.Join(append([]string{f.dir}, names...)...) }

func (f *Folder) content(sum string) string { return f.path("content", sum) }

// lock takes the lock of the folder, and waits for others.
func (f *Folder) lock(shared bool) (unlock func(), err error) {
	take := func() (*disk.Lock, error) { return disk.TakeLock(f.path("LOCK"), 0o600, disk.Forever) }
	if shared {
		take = func() (*disk.Lock, error) { return disk.TakeShared(f.path("LOCK"), disk.Forever) }
	}
	lock, err := take()
	// A copy of a folder need not have it, and a disk that is read-only has no writer.
	if shared && errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock backup folder %q: %w", f.dir, err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// list returns the names in a subfolder, ascending; none if it is not there.
func (f *Folder) list(name string) (names []string, err error) {
	entries, err := disk.OS.List(f.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list backup folder %q: %w", f.dir, err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

// Backups returns the manifests of a folder, the newest first. Damaged ones are among them.
func (f *Folder) Backups() (all []*Manifest, err error) {
	names, err := f.list("backups")
	for _, name := range slices.Backward(names) {
		id := strings.TrimSuffix(name, ".json")
		m, err := f.read(id)
		if err != nil {
			// The name says when it was made.
			m = &Manifest{Damage: fmt.Errorf("cannot read backup %s: %w", id, err)}
			m.At, _ = time.Parse(idTime, strings.Split(id, "-")[0])
		}
		m.ID = id
		all = append(all, m)
	}
	return all, err
}

// read reads a manifest and compares it with the hash in its name.
func (f *Folder) read(id string) (*Manifest, error) {
	data, err := disk.ReadFile(disk.OS, f.path("backups", id+".json"))
	if err != nil {
		return nil, err
	}

	m := &Manifest{}
	_, sum, _ := strings.Cut(id, "-")
	if len(sum) != sumLength || !strings.HasPrefix(hashOf(data), sum) || json.Unmarshal(data, m) != nil {
		return nil, ErrDamaged
	}
	for _, file := range m.Files {
		if !filepath.IsLocal(file.Path) || !filepath.IsLocal(file.SHA256) {
			return nil, ErrDamaged
		}
	}
	return m, nil
}

// find returns the backup of an id, or the newest one, which must not be damaged.
func (f *Folder) find(id string) (*Manifest, error) {
	all, err := f.Backups()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(m *Manifest) bool { return m.ID == id || id == "" })
	if at < 0 {
		return nil, fmt.Errorf("cannot find backup %q in %q: %w", id, f.dir, ErrNone)
	}
	return all[at], all[at].Damage
}

// Drills returns the last drill of each backup, the latest drill first.
func (f *Folder) Drills() (all []Drill, err error) {
	names, err := f.list("drills")
	for _, name := range slices.Backward(names) {
		words := strings.SplitN(name, "-", 3)
		at, bad := time.Parse(idTime, words[0])
		if bad == nil && len(words) == 3 {
			all = append(all, Drill{ID: words[2], At: at, Good: words[1] == "good"})
		}
	}
	return all, err
}

// record makes a drill the last one of its backup.
func (f *Folder) record(drill Drill) error {
	verdict := "bad"
	if drill.Good {
		verdict = "good"
	}
	name := drill.At.UTC().Format(idTime) + "-" + verdict + "-" + drill.ID
	err := disk.MkdirAll(disk.OS, f.path("drills"), 0o700)
	if err == nil {
		err = disk.Create(disk.OS, f.path("drills", name), nil, 0o600)
	}
	if err == nil {
		err = f.dropDrills(func(other string) bool { return other != name && strings.HasSuffix(other, drill.ID) })
	}
	return errors.Join(err, disk.OS.SyncDir(f.path("drills")))
}

func (f *Folder) dropDrills(drops func(name string) bool) error {
	names, err := f.list("drills")
	for _, name := range names {
		if drops(name) {
			err = errors.Join(err, disk.OS.Remove(f.path("drills", name)))
		}
	}
	return err
}

// Latest is what a folder says of itself.
type Latest struct {
	Backup *Manifest // the newest, nil for none
	Drill  *Drill    // the last one, nil for none; perhaps of an older backup
}

// ReadLatest returns the newest backup of a folder and its last drill.
func ReadLatest(dir string) (found Latest, err error) {
	f, err := Open(dir)
	if err != nil {
		return found, err
	}
	all, err := f.Backups()
	drills, drillsErr := f.Drills()
	if len(all) > 0 {
		found.Backup = all[0]
	}
	if len(drills) > 0 {
		found.Drill = &drills[0]
	}
	return found, errors.Join(err, drillsErr)
}

// prune removes the backups beyond the newest, and what no backup names. The last that a drill found good
// stays.
func (f *Folder) prune(retain int, dry bool) (removed []string, err error) {
	all, err := f.Backups()
	drills, drillsErr := f.Drills()
	if err := errors.Join(err, drillsErr); err != nil {
		return nil, err
	}
	proven := ""
	if at := slices.IndexFunc(drills, func(drill Drill) bool { return drill.Good }); at >= 0 {
		proven = drills[at].ID
	}

	whole := 0
	damaged := false
	named := map[string]bool{}
	for _, m := range all {
		if whole >= retain && m.ID != proven {
			removed = append(removed, m.ID)
			continue
		}
		damaged = damaged || m.Damage != nil
		if m.Damage == nil {
			whole++
		}
		for i := range m.Files {
			named[m.Files[i].SHA256] = true
		}
	}
	if dry {
		return removed, nil
	}

	for _, id := range removed {
		err = errors.Join(err, disk.OS.Remove(f.path("backups", id+".json")))
	}
	gone := func(name string) bool {
		return slices.ContainsFunc(removed, func(id string) bool { return strings.HasSuffix(name, id) })
	}
	// Content goes when nothing can name it again after a crash. Nobody knows what a damaged manifest names.
	err = errors.Join(err, f.dropDrills(gone), disk.OS.SyncDir(f.path("backups")))
	if err != nil || damaged {
		return removed, err
	}
	sums, err := f.list("content")
	for _, sum := range sums {
		if !named[sum] {
			err = errors.Join(err, disk.OS.Remove(f.content(sum)))
		}
	}
	return removed, err
}

// hashOf returns the SHA-256 of data.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
