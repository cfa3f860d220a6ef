// Package backup copies all that a server is made of into a folder, as one thing, and brings it back.
//
// A backup folder has
//
//	content/HASH       each file's bytes once, by their SHA-256
//	backups/ID.json    what a [Backup] has; the id ends with the hash of this file
//	backups/ID.good    empty, as old as the last drill of the backup; or ID.bad
//	tombstones.jsonl   the tenants that were deleted (package tombstone)
//	tmp/               what is being written
//	LOCK               held by a backup, and shared by a restore
//
// The file of a backup is written last and removed first, so that a crash leaves at worst content that no
// backup names.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

// An id has the time of its backup, and the beginning of its hash.
const (
	idTime    = "20060102T150405.000Z"
	sumLength = 16
)

// Backup is what a backup folder says of one backup.
type Backup struct {
	ID    string          `json:"id,omitempty"`
	At    time.Time       `json:"at"` // it has all that was acknowledged before
	Files map[string]File `json:"files,omitempty"`

	// Tombstones are those that the folder had then; a drill misses what it lacks of them.
	Tombstones int `json:"tombstones,omitempty"`

	Count   int       `json:"file_count,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	Damage  string    `json:"damage,omitempty"` // why nothing else is known of it
	Drilled time.Time `json:"drilled_at,omitzero"`
	Good    bool      `json:"drill_good"`
}

// File is a file of a backup, by its part and its path there. All but the hash is that of the original.
type File struct {
	SHA256        string
	Size, Changed int64 // Changed is in nanoseconds since 1970
	Inode         uint64
	Mode          fs.FileMode
}

// folder is the path of a backup folder.
type folder string

func (f folder) path(names ...string) string {
	return filepath.Join(string(f), filepath.Join(names...))
}

// openFolder refuses a folder that others can read.
func openFolder(dir string) (folder, error) {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = ErrReadable
	}
	if err != nil {
		return "", fmt.Errorf("cannot use backup folder %q: %w", dir, err)
	}
	return folder(dir), nil
}

// List returns the backups of a folder, the newest first, with their last drills.
func List(dir string) (all []*Backup, err error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	entries, err := disk.OS.List(f.path("backups"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range slices.Backward(entries) {
		id, is := strings.CutSuffix(entry.Name(), ".json")
		if is {
			all = append(all, f.read(id))
		}
	}
	return all, err
}

// LastDrill returns the backup that was drilled last, nil for none. A drill reads the content of all.
func LastDrill(all []*Backup) (last *Backup) {
	for _, b := range all {
		if !b.Drilled.IsZero() && (last == nil || b.Drilled.After(last.Drilled)) {
			last = b
		}
	}
	return last
}

// read reads the file of a backup, and compares it with the hash in its name.
func (f folder) read(id string) *Backup {
	b := &Backup{}
	stamp, sum, _ := strings.Cut(id, "-")
	data, err := disk.ReadFile(disk.OS, f.path("backups", id+".json"))
	if err == nil && (sum != hashOf(data) || json.Unmarshal(data, b) != nil) {
		err = ErrDamaged
	}
	if err != nil {
		b = &Backup{Damage: err.Error()}
		b.At, _ = time.Parse(idTime, stamp)
	}

	b.ID = id
	b.Count = len(b.Files)
	for _, file := range b.Files {
		b.Bytes += file.Size
	}
	for verdict, good := range map[string]bool{".good": true, ".bad": false} {
		if info, err := os.Stat(f.path("backups", id+verdict)); err == nil {
			b.Drilled = info.ModTime().UTC()
			b.Good = good
		}
	}
	return b
}

// find returns the backup of an id, or the newest one.
func find(dir, id string) (*Backup, error) {
	all, err := List(dir)
	at := slices.IndexFunc(all, func(b *Backup) bool { return b.ID == id || id == "" })
	switch {
	case err != nil:
		return nil, err
	case at < 0:
		return nil, fmt.Errorf("cannot find backup %q in %q: %w", id, dir, ErrNone)
	case all[at].Damage != "":
		return nil, fmt.Errorf("cannot use backup %s: %w", all[at].ID, ErrDamaged)
	}
	return all[at], nil
}

// hashOf returns the part of the SHA-256 of data that an id has.
func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data))[:sumLength] }

// copyFile copies a file to a new one, or only reads it for "", and returns the SHA-256 of what it read.
func copyFile(from, to string, mode fs.FileMode) (sum string, err error) {
	in, err := disk.OS.Open(from, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // only read

	hash := sha256.New()
	if to == "" {
		_, err = io.Copy(hash, in)
	} else {
		var out disk.File
		out, err = disk.OS.Open(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err == nil {
			_, err = io.Copy(out, io.TeeReader(in, hash))
			err = errors.Join(err, out.Sync(), out.Close())
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), err
}
