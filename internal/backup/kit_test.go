package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/backup"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/fixture"
	"ninepocket/internal/tombstone"
	"ninepocket/snapshot"
)

// TestMain runs all on a disk that syncs nothing: tests of power cuts have their own.
func TestMain(m *testing.M) {
	disk.OS = disktest.Unsynced(false)
	os.Exit(m.Run())
}

// world is a place with everything that a backup copies.
type world struct {
	*testing.T
	dir    string // the backup folder
	places map[string]string
	store  *snapshot.Store
	days   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	top := t.TempDir()
	w := &world{T: t, dir: filepath.Join(top, "backup"), places: map[string]string{}}
	for _, part := range []string{backup.Mapping, backup.Feed, backup.Store, backup.State} {
		w.places[part] = filepath.Join(top, "live", part)
	}
	w.store = snapshot.OpenStore(w.places[backup.Store])
	w.publish()
	w.publish()
	w.archive("2026-08-21")
	w.archive("2026-08-22")
	w.write(backup.Mapping, "sealed.csv", "namespace,ref,package_type,units_per_package,unit_kind,edition\n")
	w.write(backup.Feed, "current/tcgplayer/3/groups", "{}")
	w.write(backup.Store, "tmp/half", "half")

	w.must(keys.Update(w.places[backup.State], func(file *keys.File) error {
		_, _, err := file.Create(keys.NewKey{Name: "key", Tenant: "acme", Surface: keys.Live, Plan: "pro"}, time.Now())
		return err
	}))
	store, err := access.OpenLocal(w.places[backup.State], access.LocalOptions{})
	w.must(err)
	w.must(store.Close())
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// write writes a file of a part as if it had been there for an hour.
func (w *world) write(part, name, text string) {
	w.Helper()
	full := filepath.Join(w.places[part], name)
	before := time.Now().Add(-time.Hour)
	w.must(os.MkdirAll(filepath.Dir(full), 0o755))
	w.must(errors.Join(os.WriteFile(full, []byte(text), 0o644), os.Chtimes(full, before, before)))
}

// publish publishes one more snapshot and keeps three.
func (w *world) publish() (id string) {
	w.Helper()
	w.days++
	catalog := fixture.Random(uint64(w.days), fixture.Size{Cards: 3, Days: 2}).Catalog()
	m, _, err := w.store.Write(catalog, snapshot.WriteOptions{})
	w.must(err)
	_, err = w.store.Publish(m.ID, snapshot.PublishOptions{
		Now: time.Now(), Check: func(*snapshot.Catalog) error { return nil },
		Retention: snapshot.Retention{RetainCount: 3},
	})
	w.must(err)
	return m.ID
}

// archive writes the file of an archived day.
func (w *world) archive(day string) {
	w.Helper()
	var packed bytes.Buffer
	into, err := zstd.NewWriter(&packed)
	w.must(err)
	archive := tar.NewWriter(into)
	text := []byte("day " + day)
	w.must(archive.WriteHeader(&tar.Header{Name: day + "/prices", Mode: 0o644, Size: int64(len(text))}))
	_, err = archive.Write(text)
	w.must(errors.Join(err, archive.Close(), into.Close()))
	w.write(backup.Feed, "days/"+day+".tar.zst", packed.String())
}

func (w *world) job() backup.Job {
	return backup.Job{Now: time.Now(), Places: w.places, Configuration: []byte("state = \"state\"\n"), Progress: quiet}
}

func quiet(string, int64, int64) {}

func (w *world) backup() *backup.Result {
	w.Helper()
	made, err := w.job().Run(w.Context(), w.dir)
	w.must(err)
	return made
}

// restore restores a backup, "" for the newest, into a new place.
func (w *world) restore(id string) (into map[string]string, err error) {
	w.Helper()
	into = map[string]string{}
	top := w.TempDir()
	for _, part := range []string{backup.Configuration, backup.Mapping, backup.Feed, backup.Store, backup.State} {
		into[part] = filepath.Join(top, part)
	}
	_, err = backup.Restore{ID: id, Places: into, Progress: quiet}.Run(w.Context(), w.dir)
	return into, err
}

func (w *world) drill() *backup.Trial {
	w.Helper()
	none := func(context.Context, string, []tombstone.Tombstone) (int, error) { return 0, nil }
	read := func(file string) error {
		_, err := os.ReadFile(file)
		return err
	}
	trial, err := backup.Restore{Now: time.Now(), Progress: quiet, Delete: none}.Check(w.Context(), w.dir, read)
	w.must(err)
	return trial
}

// files are the files below a folder with their content; of those that match no part alone.
func files(t *testing.T, root string, without ...string) map[string]string {
	t.Helper()
	all := map[string]string{}

	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, name)
		has := func(part string) bool { return strings.HasPrefix(rel, part) }
		if err != nil || slices.ContainsFunc(without, has) {
			return err
		}
		data, err := os.ReadFile(name)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// isWhole wants a folder that a power cut left to have a backup, with all of its content.
func (w *world) isWhole(left map[string][]byte) {
	w.Helper()
	whole := 0
	for path, list := range left {
		id, is := strings.CutSuffix(path, ".json")
		if !is {
			continue
		}
		var b backup.Backup
		if err := json.Unmarshal(list, &b); err != nil {
			w.Fatalf("after a crash %s is no list of files: %v", id, err)
		}

		whole++
		for name, file := range b.Files {
			data, there := left["/backup/content/"+file.SHA256]
			if !there || fmt.Sprintf("%x", sha256.Sum256(data)) != file.SHA256 {
				w.Fatalf("after a crash %s of %s has %d bytes of %d", name, id, len(data), file.Size)
			}
		}
	}
	if whole == 0 {
		w.Fatal("after a crash no backup is left")
	}
}
