package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access/keys"
	"ninepocket/internal/backup"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/tombstone"
	"ninepocket/snapshot"
)

// TestRoundTrip restores what was backed up: each file has its bytes, and a store its order. A second backup
// of the same writes a list of files and nothing else.
func TestRoundTrip(t *testing.T) {
	w := newWorld(t)
	made := w.backup()
	before := files(t, w.dir)
	listed, err := w.store.List()
	w.must(err)

	into, err := w.restore("")
	w.must(err)
	for part, without := range map[string][]string{
		backup.Mapping: nil, backup.Feed: {"current"}, backup.Store: {"tmp", "LOCK"},
		backup.State: {"keys.lock", "server.lock"},
	} {
		if diff := cmp.Diff(files(t, w.places[part], without...), files(t, into[part])); diff != "" {
			t.Errorf("%s (-was +is):\n%s", part, diff)
		}
	}
	again, err := snapshot.OpenStore(into[backup.Store]).List()
	if diff := cmp.Diff(listed, again); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if text := files(t, into[backup.Configuration])["ninepocket.toml"]; text != "state = \"state\"\n" {
		t.Errorf("the configuration is %q", text)
	}

	second := w.backup()
	after := files(t, w.dir)
	delete(after, filepath.Join("backups", second.ID+".json"))
	if diff := cmp.Diff(before, after); diff != "" || second.NewFiles != 0 || made.NewFiles == 0 ||
		second.Count != made.Count {
		t.Errorf("the second one wrote %d files:\n%s", second.NewFiles, diff)
	}
	if trial := w.drill(); !trial.Good || !maps.Equal(trial.Verified, map[string]int{
		"snapshots": 2, "keys": 1, "days": 2, "ledger_rows": 0, "content": len(before) - 2,
	}) {
		t.Errorf("%+v", trial)
	}
}

// TestReadsWhatMayHaveChanged changes an old file in place. A file with another time is read. A
// file that changed within a tick of the previous backup is read, too, although its time is equal.
func TestReadsWhatMayHaveChanged(t *testing.T) {
	w := newWorld(t)
	w.write(backup.Mapping, "aliases.csv", "old")
	w.backup()
	if made := w.backup(); made.NewFiles != 0 {
		t.Errorf("nothing changed, and %d files were copied", made.NewFiles)
	}

	name := filepath.Join(w.places[backup.Mapping], "aliases.csv")
	now := time.Now()
	w.must(errors.Join(os.WriteFile(name, []byte("new"), 0o644), os.Chtimes(name, now, now)))
	if made := w.backup(); made.NewFiles != 1 {
		t.Errorf("%d files were copied", made.NewFiles)
	}
	w.must(errors.Join(os.WriteFile(name, []byte("odd"), 0o644), os.Chtimes(name, now, now)))
	if made := w.backup(); made.NewFiles != 1 {
		t.Errorf("%d files were copied of one that changed within a tick", made.NewFiles)
	}
	into, err := w.restore("")
	if text := files(t, into[backup.Mapping])["aliases.csv"]; err != nil || text != "odd" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestFlippedBit flips a bit in each file of a folder, cuts each short, and removes it: a drill
// finds it each time, and is good again when it is undone. The next backup repairs a folder that
// was found bad.
func TestFlippedBit(t *testing.T) {
	w := newWorld(t)
	w.backup()
	w.publish()
	w.backup()
	w.must(tombstone.Append(w.dir, tombstone.New("gone", "tenant_x", time.Now())))
	if trial := w.drill(); !trial.Good {
		t.Fatal(trial.Problems)
	}

	dice := rand.New(rand.NewPCG(3, uint64(time.Now().UnixNano())))
	for name, was := range files(t, w.dir) {
		if was == "" {
			continue
		}
		full := filepath.Join(w.dir, name)
		data := []byte(was)
		at := dice.IntN(len(data))
		data[at] ^= 1 << dice.IntN(8)
		how := "a flipped bit"
		// Nobody knows how many tombstones there were.
		if dice.IntN(3) == 0 && name != tombstone.Name {
			how = "a cut"
			data = data[:at]
		}
		w.must(os.WriteFile(full, data, 0o600))
		if trial := w.drill(); trial.Good || len(trial.Problems) == 0 {
			t.Fatalf("%s in %s at %d is not found", how, name, at)
		}
		w.must(os.WriteFile(full, []byte(was), 0o600))
	}
	if trial := w.drill(); !trial.Good {
		t.Fatal(trial.Problems)
	}

	for name, was := range files(t, filepath.Join(w.dir, "content")) {
		full := filepath.Join(w.dir, "content", name)
		if len(was) > 0 {
			w.must(os.WriteFile(full, bytes.Repeat([]byte{'x'}, len(was)), 0o600))
		}
	}
	if trial := w.drill(); trial.Good {
		t.Fatal("content that is no content is good")
	}
	w.must(os.Remove(filepath.Join(w.dir, tombstone.Name)))
	w.backup()
	if _, err := w.restore(""); err != nil {
		t.Error(err)
	}
}

// TestEachCallFails fails each call to the disk in turn: the previous backup is whole, no other
// folder counts as one, and the next run works.
func TestEachCallFails(t *testing.T) {
	w := newWorld(t)
	first := w.backup()
	quick := disk.OS
	defer func() { disk.OS = quick }()
	failed := map[string]bool{}
	ends := 0
	for k := 1; ; k++ {
		w.publish()
		nth := &disktest.Nth{K: k, Short: k%4 == 1, Of: func(call disktest.Call) bool {
			return call.Writes() && strings.HasPrefix(call.Path, w.dir)
		}}
		broken := disktest.New(nth.Rule)
		broken.Unsynced = true
		disk.OS = broken
		job := w.job()
		job.Retain = 2
		_, err := job.Run(t.Context(), w.dir)
		disk.OS = quick

		op := nth.Failed().Op
		failed[op] = true
		// The next backup removes what is left of this one.
		if isEnd := op == "remove" && filepath.Base(nth.Failed().Path) == "tmp"; isEnd && err == nil {
			ends++
		} else if (op != "") != (err != nil) {
			t.Fatalf("a failure of %s is told as %v", nth.Failed(), err)
		}
		left := map[string][]byte{}
		for name, text := range files(t, w.dir) {
			left["/backup/"+name] = []byte(text)
		}
		w.isWhole(left)
		if list := left["/backup/backups/"+first.ID+".json"]; k == 1 && list == nil {
			t.Error("the first backup is gone")
		}
		if op == "" {
			break
		}
	}
	if ends != 1 {
		t.Errorf("%d failures are told as nil", ends)
	}
	for _, op := range []string{"create", "write", "sync", "rename", "syncdir", "remove"} {
		if !failed[op] {
			t.Errorf("no %s failed: %v", op, failed)
		}
	}
	w.backup()
	if trial := w.drill(); !trial.Good {
		t.Error(trial.Problems)
	}
}

// TestPowerCuts cuts the power before each call of a backup that removes old ones, and after it: what a list
// of files names is there.
func TestPowerCuts(t *testing.T) {
	w := newWorld(t)
	w.backup()
	quick := disk.OS
	defer func() { disk.OS = quick }()
	on := disktest.New(nil)
	on.Watch(filepath.Dir(w.dir))

	dice := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	on.Set(func(call disktest.Call) disktest.Effect {
		if call.Writes() && strings.HasPrefix(call.Path, w.dir) && dice.IntN(3) == 0 {
			for _, left := range on.PowerCuts(dice, "tmp") {
				cuts++
				w.isWhole(left)
			}
		}
		return disktest.Effect{}
	})
	disk.OS = on
	for range 2 {
		w.publish()
		job := w.job()
		job.Retain = 1
		_, err := job.Run(t.Context(), w.dir)
		w.must(err)
	}
	if cuts < 30 {
		t.Errorf("%d cuts", cuts)
	}
}

// TestBesideChanges backs up while snapshots are published, pruned and rolled back, and days are
// archived again. The restored folders are whole, and their current snapshot was current at some
// moment.
func TestBesideChanges(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	changed := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			w.publish()
			if n%3 == 0 {
				_, err := w.store.Rollback("", snapshot.PublishOptions{
					Now: time.Now(), Check: func(*snapshot.Catalog) error { return nil },
				})
				if err != nil {
					t.Error(err)
				}
			}
			day := filepath.Join(w.places[backup.Feed], "days", "2026-08-22")
			if err := os.Rename(day+".tar.zst", fmt.Sprint(day, ".", n%9+1, ".tar.zst")); err != nil {
				t.Error(err)
			}
			w.archive("2026-08-22")
		}
		changed <- n
	}()

	for range 12 {
		made := w.backup()
		into, err := w.restore(made.ID)
		w.must(err)
		days := slices.Collect(maps.Keys(files(t, filepath.Join(into[backup.Feed], "days"))))
		isDay := func(name string) bool { return strings.HasPrefix(name, "2026-08-22.") }
		if !slices.ContainsFunc(days, isDay) {
			t.Errorf("a day is in no file: %v", days)
		}
		store := snapshot.OpenStore(into[backup.Store])
		current, err := store.Current()
		w.must(err)
		w.must(store.Verify(current.ID))
		if past, err := store.Publications(); err != nil || len(past) == 0 || past[len(past)-1].Current != current {
			t.Errorf("the journal does not end with what is current: %v", err)
		}
	}
	stop()
	n := <-changed
	t.Logf("12 backups beside %d publications", n)
	if trial := w.drill(); !trial.Good {
		t.Error(trial.Problems)
	}
}

// TestRetention removes old backups and their own content, but never the newest that a drill found
// good. It removes no content while the content of a damaged backup is unknown.
func TestRetention(t *testing.T) {
	w := newWorld(t)
	w.backup()
	w.drill()
	proven := w.drill().ID
	job := w.job()
	job.Retain = 2
	var last *backup.Result
	for range 4 {
		w.publish()
		var err error
		last, err = job.Run(t.Context(), w.dir)
		w.must(err)
	}
	ids := func() (ids []string) {
		all, err := backup.List(w.dir)
		w.must(err)
		for _, b := range all {
			ids = append(ids, b.ID)
		}
		return ids
	}
	if left := ids(); len(left) != 3 || left[0] != last.ID || left[2] != proven || !w.drill().Good {
		t.Errorf("%v are left, %s was good", left, proven)
	}

	// The one that was good is no longer the newest that was.
	w.publish()
	last, err := job.Run(t.Context(), w.dir)
	w.must(err)
	named := map[string]bool{}
	for _, id := range ids() {
		damaged := filepath.Join(w.dir, "backups", id+".json")
		text, err := os.ReadFile(damaged)
		w.must(err)
		for word := range strings.SplitSeq(string(text), `"`) {
			named[word] = true
		}
	}
	content := files(t, filepath.Join(w.dir, "content"))
	for sum := range content {
		if !named[sum] {
			t.Errorf("content %s is still there", sum)
		}
	}
	if left := ids(); len(left) != 2 || len(last.Removed) != 2 {
		t.Errorf("%v are left, and %v were removed", left, last.Removed)
	}

	w.must(os.WriteFile(filepath.Join(w.dir, "backups", last.ID+".json"), []byte("{}"), 0o600))
	w.publish()
	_, err = job.Run(t.Context(), w.dir)
	w.must(err)
	for sum := range content {
		if _, err := os.Stat(filepath.Join(w.dir, "content", sum)); err != nil {
			t.Errorf("content that a damaged backup may have: %v", err)
		}
	}
}

// TestDryRun says what would be done, and does nothing.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	job := w.job()
	job.DryRun = true
	job.Retain = 1
	made, err := job.Run(t.Context(), w.dir)
	if _, statErr := os.Stat(w.dir); err != nil || made.NewFiles == 0 || !errors.Is(statErr, fs.ErrNotExist) {
		t.Fatalf("%+v, %v, %v", made, err, statErr)
	}

	first := w.backup()
	before := files(t, w.dir)
	made, err = job.Run(t.Context(), w.dir)
	if err != nil || made.NewFiles != 0 || made.Bytes != first.Bytes ||
		!slices.Equal(made.Removed, []string{first.ID}) {
		t.Errorf("%+v, %v", made, err)
	}

	places := map[string]string{}
	for part := range w.places {
		places[part] = filepath.Join(t.TempDir(), part)
	}
	_, err = backup.Restore{Places: places, DryRun: true, Progress: quiet}.Run(t.Context(), w.dir)
	if diff := cmp.Diff(before, files(t, w.dir)); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	if _, err := os.Stat(places[backup.State]); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestModes makes a folder and files for their owner alone, and refuses what others can read.
func TestModes(t *testing.T) {
	w := newWorld(t)
	w.backup()
	w.must(filepath.WalkDir(w.dir, func(name string, entry fs.DirEntry, err error) error {
		info, statErr := entry.Info()
		if statErr == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has %v", name, info.Mode())
		}
		return errors.Join(err, statErr)
	}))
	w.must(os.Chmod(w.dir, 0o750))
	_, err := w.job().Run(t.Context(), w.dir)
	_, listErr := backup.List(w.dir)
	if !errors.Is(err, backup.ErrReadable) || !errors.Is(listErr, backup.ErrReadable) {
		t.Error(err, listErr)
	}
}

// TestRefusals names every reason why a backup or a restore cannot be done, and does nothing.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	job := w.job()
	job.Places = maps.Clone(w.places)
	job.Places[backup.Mapping] += "-not"
	_, err := job.Run(t.Context(), filepath.Join(w.places[backup.Store], "a", "b"))
	for _, want := range []string{"mapping-not", "the store: the backup folder"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}

	w.backup()
	into := map[string]string{backup.Store: w.places[backup.Store], backup.State: w.places[backup.State]}
	before := files(t, filepath.Dir(w.places[backup.Store]))
	_, err = backup.Restore{Places: into, Progress: quiet}.Run(t.Context(), w.dir)
	for _, want := range []string{
		"the store: ", "the state: ", "the feed: ", "the mapping: ", "not empty", "no place is given",
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, backup.ErrPlace) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if diff := cmp.Diff(before, files(t, filepath.Dir(w.places[backup.Store]))); diff != "" {
		t.Error(diff)
	}
	if _, err := w.restore("20260101T000000.000Z-0123456789abcdef"); !errors.Is(err, backup.ErrNone) {
		t.Error(err)
	}
}

// TestRestoreFails fails each call to the disk in turn, and damages a file: a restore leaves nothing, not even
// a part.
func TestRestoreFails(t *testing.T) {
	w := newWorld(t)
	w.backup()
	quick := disk.OS
	defer func() { disk.OS = quick }()
	for k := 1; ; k += 3 {
		top := t.TempDir()
		places := map[string]string{}
		for part := range w.places {
			places[part] = filepath.Join(top, part)
		}
		nth := &disktest.Nth{K: k, Of: func(call disktest.Call) bool {
			return call.Writes() && strings.HasPrefix(call.Path, top)
		}}
		broken := disktest.New(nth.Rule)
		broken.Unsynced = true
		disk.OS = broken
		_, err := backup.Restore{Places: places, Progress: quiet}.Run(t.Context(), w.dir)
		disk.OS = quick
		left := files(t, top)
		if nth.Failed().Op == "" {
			w.must(err)
			break
		}
		if err == nil || len(left) > 0 {
			t.Fatalf("after a failure of %s: %v, and %d files are left", nth.Failed(), err, len(left))
		}
	}

	all, err := backup.List(w.dir)
	w.must(err)
	for _, name := range []string{"store/CURRENT", "state/keys.json"} {
		w.must(os.Remove(filepath.Join(w.dir, "content", all[0].Files[name].SHA256)))
	}
	into, err := w.restore("")
	for _, want := range []string{"store/CURRENT", "state/keys.json"} {
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if left := files(t, filepath.Dir(into[backup.State])); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestTombstones gives the tombstones of a folder to who deletes tenants in the restored state, before anybody
// can use it, and refuses damaged ones.
func TestTombstones(t *testing.T) {
	w := newWorld(t)
	w.backup()
	want := tombstone.New("acme", "tenant_b", time.Now())
	w.must(tombstone.Append(w.dir, want))
	places := map[string]string{}
	top := t.TempDir()
	for part := range w.places {
		places[part] = filepath.Join(top, part)
	}
	var got []tombstone.Tombstone
	work := backup.Restore{Places: places, Progress: quiet}
	work.Delete = func(_ context.Context, state string, stones []tombstone.Tombstone) (int, error) {
		got = stones
		_, err := os.Stat(places[backup.State])
		if _, keysErr := keys.Read(state); keysErr != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Error(keysErr, err)
		}
		return 1, nil
	}
	done, err := work.Run(t.Context(), w.dir)
	if diff := cmp.Diff([]tombstone.Tombstone{want}, got); diff != "" || err != nil || done.Deleted != 1 ||
		done.Tombstones != 1 {
		t.Errorf("%v: %s", err, diff)
	}
	if _, err := keys.Read(places[backup.State]); err != nil {
		t.Error(err)
	}

	name := filepath.Join(w.dir, tombstone.Name)
	text, err := os.ReadFile(name)
	w.must(err)
	w.must(os.WriteFile(name, bytes.Replace(text, []byte("tenant_b"), []byte("tenant_c"), 1), 0o600))
	if _, err := w.restore(""); err == nil || !strings.Contains(err.Error(), tombstone.Name) {
		t.Error(err)
	}
}
