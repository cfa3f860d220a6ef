package access

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.etcd.io/bbolt"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

// smallState makes a state directory with two tenants, calls on two days, replies and a checkpoint,
// and then calls in the log alone.
func smallState(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := keys.Update(dir, func(f *keys.File) error {
		_, _, err := f.Create(keys.NewKey{Tenant: "live", Surface: keys.Live, Plan: "pro"}, testTime)
		preview := keys.NewKey{Tenant: "prev", Surface: keys.Preview, Plan: "preview", Credits: new(int64(100))}
		_, _, again := f.Create(preview, testTime)
		return errors.Join(err, again)
	})
	if err != nil {
		t.Fatal(err)
	}

	live, preview := faultKeys(t)
	script := &faultScript{
		t: t, live: live, preview: preview, now: instant(testTime),
		tried: map[string]int64{}, acked: map[string]int64{}, replies: map[string]string{},
	}
	script.store, err = OpenLocal(dir, LocalOptions{
		Now: script.now, boot: noBoot,
		Seams: state.Seams{Inline: true, Disk: disktest.Unsynced(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		script.call(live, CardsGet, true)
		script.call(preview, ProductsList, i%2 == 0)
		script.batch(fmt.Sprint("batch", i))
		if i == 3 {
			script.now.Wall += calendar.DayMillis
		}
		if i == 5 {
			if err := script.store.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	script.store.Kill()
	return dir
}

// everything is what a state directory holds, with the data of its replies.
type everything struct {
	*content
	data map[string][]byte
}

func (e *everything) Load(of state.Bucket, key, value []byte) error {
	if of == state.Replies {
		tenant, name, r, err := decodeReply(state.Replies, key, value)
		if err != nil {
			return err
		}
		e.data[tenant+string(name[:])] = r.data
	}
	return e.content.Load(of, key, value)
}

// figures is everything that a state directory says, in words that differ when anything does. It
// never changes the directory.
func figures(dir string) (string, error) {
	found := &everything{content: newOfflineContent(), data: map[string][]byte{}}
	if _, err := state.LoadOnce(dir, found); err != nil {
		return "", err
	}

	var out strings.Builder
	fmt.Fprintln(&out, sumRows(append(found.rows, found.usage.rowsOf("", -1<<30)...), "", -1<<30))
	for _, a := range found.usage.all("") {
		names := []string{}
		for _, gen := range a.replies.byMinute {
			for name, meta := range gen.byName {
				restored, ok := a.replies.find(name, meta.at)
				data := restored.data
				if ok && data == nil {
					data = found.data[a.tenant+string(name[:])]
				}
				names = append(names, fmt.Sprintf("%x %x %d %x", name, meta.body, meta.at, data))
			}
		}
		slices.Sort(names)
		a.seq = 0
		fmt.Fprintf(&out, "%s %x %v\n", a.tenant, a.append(nil), names)
	}
	return out.String(), nil
}

// TestCheckpointBits flips bits of every page of a checkpoint, and of the log: the state is
// refused, or has exactly the same figures. It never has other figures, and never crashes.
// NINEPOCKET_TORTURE flips every one.
func TestCheckpointBits(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	want, err := figures(dir)
	if err != nil {
		t.Fatal(err)
	}

	segments, _ := filepath.Glob(filepath.Join(dir, statedir.LogName, "*.wal"))
	for _, path := range append(segments, filepath.Join(dir, statedir.CheckpointName)) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		isLog := path != filepath.Join(dir, statedir.CheckpointName)
		// Every byte that is not zero, and some that are; one bit of each, and each bit in turn.
		refused := 0
		same := 0
		for at := range data {
			bits := []int{at % 8}
			if os.Getenv("NINEPOCKET_TORTURE") != "" {
				bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
			} else if data[at] == 0 && at%(61*testsweep.Stride(3)) != 0 ||
				data[at] != 0 && at%(5*testsweep.Stride(3)) != 0 {
				continue
			}
			for _, bit := range bits {
				data[at] ^= 1 << bit
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := figures(dir)
				data[at] ^= 1 << bit
				switch {
				case errors.Is(err, ErrCorrupt):
					refused++
				case err != nil:
					t.Fatalf("%s: bit %d of byte %d: %v", path, bit, at, err)
				case got == want:
					same++
				case !isLog: // a torn end of the log is as if the machine had stopped earlier
					t.Fatalf("%s: bit %d of byte %d made another figure:\n%s\nwant\n%s", path, bit, at, got, want)
				}
			}
		}
		t.Logf("%s: %d flips refused, %d without effect", filepath.Base(path), refused, same)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if !isLog && refused < 100/testsweep.Stride(3) {
			t.Errorf("only %d flips were refused", refused)
		}
	}
}

// TestRepair damages a state directory in each way that there is. Verify finds it, the server
// refuses it, backup does not copy it, and after a repair the server starts: with figures that are
// right for every tenant that the report does not name.
func TestRepair(t *testing.T) {
	t.Parallel()
	flip := func(path string, at int) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[at] ^= 4
		return os.WriteFile(path, data, 0o600)
	}
	// The middle of a bucket's first value, or its page.
	flipIn := func(bucket string, wholePage bool) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, statedir.CheckpointName)
			value, page := placesOf(t, path, bucket)
			if wholePage {
				return flip(path, page)
			}
			return flip(path, value)
		}
	}

	for _, test := range []struct {
		name   string
		damage func(dir string) error
		touch  string // tenant that the report names; "" = none is known
	}{
		{"an account", flipIn("accounts", false), "prev"},
		{"a row of the ledger", flipIn("ledger", false), "prev"},
		{"a reply", flipIn("answers", false), "prev"},
		{"the state", flipIn("meta", false), ""},
		{"both meta pages", func(dir string) error {
			path := filepath.Join(dir, statedir.CheckpointName)
			return errors.Join(flip(path, 40), flip(path, 4096+40))
		}, ""},
		{"the root page", flipIn("", true), ""},
		{"a record in the middle of the log", func(dir string) error {
			names, _ := filepath.Glob(filepath.Join(dir, statedir.LogName, "*.wal"))
			info, err := os.Stat(names[0])
			if err != nil {
				return err
			}
			return flip(names[0], int(info.Size()/2))
		}, ""},
		{"the log gone", func(dir string) error { return os.RemoveAll(filepath.Join(dir, statedir.LogName)) }, ""},
		{"the log emptied", func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, statedir.LogName, "*"))
			for _, name := range names {
				err = errors.Join(err, os.Truncate(name, 0))
			}
			return err
		}, ""},
		{"the checkpoint gone", func(dir string) error {
			return os.Remove(filepath.Join(dir, statedir.CheckpointName))
		}, ""},
		{"the checkpoint cut short", func(dir string) error {
			return os.Truncate(filepath.Join(dir, statedir.CheckpointName), 9000)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := smallState(t)
			before, err := readUsage(dir, "", -1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}

			report, err := VerifyState(dir)
			if err != nil || len(report.Damage) == 0 {
				t.Fatalf("verify: %+v, %v", report, err)
			}
			options := LocalOptions{Now: instant(testTime), boot: noBoot, Seams: quick()}
			if _, err := OpenLocal(dir, options); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("a server starts on it: %v", err)
			}
			if _, err := BackupState(dir, filepath.Join(t.TempDir(), "copy")); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("backup: %v", err)
			}

			repair, err := RepairState(dir, false, time.Now())
			if err != nil || len(repair.Dropped) == 0 {
				t.Fatalf("repair: %+v, %v", repair, err)
			}
			t.Logf("%+v", repair)
			if test.touch != "" && !slices.Contains(repair.Accounts, test.touch) {
				t.Errorf("the report does not name %s", test.touch)
			}
			if again, err := VerifyState(dir); err != nil || len(again.Damage) > 0 {
				t.Fatalf("after the repair: %+v, %v", again, err)
			}

			store, err := OpenLocal(dir, options)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			after, err := readUsage(dir, "live", -1<<30)
			if err != nil {
				t.Fatal(err)
			}
			whole := test.touch == "prev" // and so all of live
			got := fmt.Sprint(after.Tenants)
			want := fmt.Sprint(before.Tenants[:1])
			if whole && got != want {
				t.Errorf("live has %s, had %s", got, want)
			}
		})
	}
}

// placesOf is where a checkpoint file has the middle of a bucket's last value, and the page of the bucket;
// "" is the bucket of buckets.
func placesOf(t *testing.T, path, bucket string) (value, page int) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		of := tx.Cursor().Bucket()
		page = int(of.Root()) * db.Info().PageSize
		if bucket == "" {
			return nil
		}

		of = tx.Bucket([]byte(bucket))
		_, last := of.Cursor().Last()
		if of.Root() == 0 { // the bucket stands in the page of buckets
			value = page + bytes.Index(data[page:], last) + len(last)/2
			return nil
		}
		value = int(uintptr(unsafe.Pointer(&last[0]))-db.Info().Data) + len(last)/2
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return value, page
}

// TestBackup copies a state directory again and again while a server writes it: every copy is
// consistent, and has everything that was acknowledged before it was begun.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	live, _ := faultKeys(t)
	now := instant(testTime)
	now.Wall += 2 * calendar.DayMillis
	store, err := OpenLocal(dir, LocalOptions{
		Now: now, CheckpointEvery: 10 * time.Millisecond, Seams: quick(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	acked := int64(0)
	for range 20 {
		for range 30 {
			now.Mono += 200
			now.Wall += 200
			charge, err := store.Finish(store.Admit(live, SpecFor(live, CardsGet), now).Reservation, true)
			if err != nil {
				t.Fatal(err)
			}
			acked += charge.Charged
		}

		to := filepath.Join(t.TempDir(), "copy")
		if _, err := BackupState(dir, to); err != nil {
			t.Fatal(err)
		}
		usage, err := readUsage(to, "live", calendar.DayOf(now.Wall))
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, key := range usage.Tenants[0].Keys {
			for _, day := range key.Days {
				got += day.Operations[CardsGet].Charged
			}
		}
		if got != acked {
			t.Fatalf("the copy has %d calls, %d were acknowledged", got, acked)
		}
		if _, err := BackupState(dir, to); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Fatalf("a copy over a copy: %v", err)
		}
	}
}

// TestBackupRefused makes backups fail: the reason is reported, and nothing of the copy is left.
func TestBackupRefused(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	outside := t.TempDir()
	link := filepath.Join(outside, "link")
	file := filepath.Join(outside, "file")
	if err := errors.Join(os.Symlink(dir, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	inside := []string{
		filepath.Join(dir, "x", "y"), filepath.Join(dir, statedir.LogName, "x"), filepath.Join(link, "x"),
	}
	for _, to := range inside {
		if _, err := BackupState(dir, to); err == nil || !strings.Contains(err.Error(), "inside the state directory") {
			t.Errorf("a copy in %q: %v", to, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q was made (%v)", to, err)
		}
	}
	if _, err := BackupState(dir, filepath.Join(file, "x")); !errors.Is(err, state.ErrCopy) {
		t.Errorf("a copy below a file: %v", err)
	}

	// The keys are copied when this one cannot be.
	if err := os.Mkdir(filepath.Join(dir, statedir.CursorKeyName), 0o700); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, to := range []string{filepath.Join(outside, "new"), empty} {
		if _, err := BackupState(dir, to); err == nil || errors.Is(err, state.ErrCopy) {
			t.Errorf("a state that cannot be read: %v", err)
		}
		if names, err := os.ReadDir(to); len(names) > 0 || (to == empty) != (err == nil) {
			t.Errorf("%q has %v (%v)", to, names, err)
		}
	}

	if err := os.Remove(filepath.Join(dir, statedir.CursorKeyName)); err != nil {
		t.Fatal(err)
	}
	if _, err := BackupState(dir, filepath.Join(outside, "new")); err != nil {
		t.Errorf("the next try: %v", err)
	}
}

// TestKeysByHand refuses a keys file that was edited, and takes it on request.
func TestKeysByHand(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	path := filepath.Join(dir, statedir.KeysName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	edited := bytes.Replace(data, []byte(`"credits": 100`), []byte(`"credits": 500`), 1)
	if err := os.WriteFile(path, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Read(dir); !errors.Is(err, keys.ErrEdited) || !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}

	if _, err := RepairState(dir, false, time.Now()); !errors.Is(err, keys.ErrEdited) {
		t.Fatalf("repaired without being told: %v", err)
	}
	if _, err := RepairState(dir, true, time.Now()); err != nil {
		t.Fatal(err)
	}
	if f, err := keys.Read(dir); err != nil || *f.Tenants["prev"].Credits != 500 {
		t.Fatalf("%v", err)
	}
}

// TestOneServerWithoutFile opens a state directory twice, with every file in it that a lock could be
// removed: the directory itself is locked.
func TestOneServerWithoutFile(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	first, err := OpenLocal(dir, LocalOptions{Now: instant(testTime), Seams: quick()})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()

	locks, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, path := range locks {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := OpenLocal(dir, LocalOptions{Now: instant(testTime)}); !errors.Is(err, statedir.ErrLocked) {
		t.Fatalf("second server: %v", err)
	}
}

// TestOldServer wants a server of the first versions, which locks a file of the directory alone, to keep
// a new one out, and to be kept out by one.
func TestOldServer(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	path := filepath.Join(dir, statedir.OldLockName)
	old, err := disk.TakeLock(path, 0o600, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := LocalOptions{Now: instant(testTime), boot: noBoot, Seams: quick()}
	if _, err := OpenLocal(dir, options); !errors.Is(err, statedir.ErrLocked) {
		t.Fatalf("beside an old server: %v", err)
	}

	if err := old.Unlock(); err != nil {
		t.Fatal(err)
	}
	store, err := OpenLocal(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.TakeLock(path, 0o600, 0); !errors.Is(err, statedir.ErrLocked) {
		t.Fatalf("an old server beside this one: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := disk.TakeLock(path, 0o600, 0); err != nil || again.Unlock() != nil {
		t.Fatalf("after this one: %v", err)
	}
}

// TestHangingReader restarts a server while another process holds the checkpoint file for reading.
func TestHangingReader(t *testing.T) {
	t.Parallel()
	dir := smallState(t)
	lock, err := disk.TakeShared(filepath.Join(dir, statedir.CheckpointName), 0)
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenLocal(dir, LocalOptions{Now: instant(testTime), Seams: quick()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	live, _ := faultKeys(t)
	admitted := store.Admit(live, SpecFor(live, CardsGet), instant(testTime))
	if _, err := store.Finish(admitted.Reservation, true); err != nil {
		t.Fatal(err)
	}

	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := store.SaveCheckpoint(); err != nil {
		t.Fatal(err)
	}
}
