package access_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
)

// somebody is the user that a server of these tests runs as, and other another one that is not root.
const (
	somebody = 65534
	other    = 65533
)

// ownedState is a state directory of somebody, with a key and with a checkpoint and a log that are
// damaged.
func ownedState(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: files of another user, because only root can make some")
	}
	folder, err := os.MkdirTemp("", "ninepocket-owner-") //nolint:usetesting // other users reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })

	// Every user with access to the directory may write there, as in one that a group shares.
	state := filepath.Join(folder, "state")
	err = errors.Join(os.Chmod(folder, 0o755), os.Mkdir(state, 0o700), os.Chmod(state, 0o777),
		os.Chown(state, somebody, somebody))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// createKey makes a key of a tenant.
func createKey(state string) error {
	return keys.Update(state, func(f *keys.File) error {
		_, _, err := f.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "free"}, time.Now())
		return err
	})
}

// belong wants everything below a folder to belong to somebody.
func belong(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != somebody || stat.Gid != somebody {
			t.Errorf("%s belongs to %v", path, info.Sys())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRootRetainsOwners runs root's commands on the state directory of a server of another user:
// what they make and replace can be read by that server.
func TestRootRetainsOwners(t *testing.T) {
	state := ownedState(t)
	keys := filepath.Join(state, "keys.json")
	if err := createKey(state); err != nil {
		t.Fatal(err)
	}
	belong(t, state)

	if err := os.Chmod(keys, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := createKey(state); err != nil {
		t.Fatal(err)
	}
	belong(t, state)
	if info, err := os.Stat(keys); err != nil || info.Mode() != 0o640 {
		t.Errorf("the mode of keys.json is %v: %v", info.Mode(), err)
	}

	// A state directory below one of somebody is somebody's.
	if err := createKey(filepath.Join(state, "deep", "er")); err != nil {
		t.Fatal(err)
	}
	belong(t, state)

	// A server that root runs makes a log and a checkpoint, and the log once more where it was removed.
	store, err := access.OpenLocal(state, access.LocalOptions{Now: access.Instant{Wall: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	belong(t, state)
	if err := os.RemoveAll(filepath.Join(state, "wal")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Checkpoint(false, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	belong(t, state)

	copied := filepath.Join(filepath.Dir(state), "copy")
	if _, err := access.BackupState(state, copied); err != nil {
		t.Fatal(err)
	}
	belong(t, copied)

	if err := os.Truncate(filepath.Join(state, "meter.db"), 5000); err != nil {
		t.Fatal(err)
	}
	if report, err := access.RepairState(state, false, time.Now()); err != nil || report.BackupDir == "" {
		t.Fatalf("repaired %+v: %v", report, err)
	}
	belong(t, state)
}

// TestOthersAreRefused lets another user than the server's change the keys where everybody may write:
// it is refused before anything is changed.
func TestOthersAreRefused(t *testing.T) {
	state := ownedState(t)
	keys := filepath.Join(state, "keys.json")
	if err := createKey(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(keys, 0o666); err != nil {
		t.Fatal(err)
	}
	before := listing(t, state)

	// The user of files is that of the thread.
	asOther := func(do func() error) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, other, 0, 0)
		defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0) }()
		return do()
	}
	empty := filepath.Join(filepath.Dir(state), "empty")
	err := errors.Join(os.Mkdir(empty, 0o700), os.Chmod(empty, 0o777), os.Chown(empty, somebody, somebody))
	if err != nil {
		t.Fatal(err)
	}

	for what, do := range map[string]func() error{
		"a key":       func() error { return createKey(state) },
		"a first key": func() error { return createKey(empty) },
		"a repair":    func() error { _, err := access.RepairState(state, false, time.Now()); return err },
	} {
		if err := asOther(do); !errors.Is(err, statedir.ErrOwner) {
			t.Errorf("%s: %v, want ErrOwner", what, err)
		}
	}
	if after := listing(t, state); after != before {
		t.Errorf("it was changed:\n%s\n%s", before, after)
	}
	if after := listing(t, empty); after != "" {
		t.Errorf("it holds %s", after)
	}
}

// listing is what a folder holds.
func listing(t *testing.T, folder string) (text string) {
	t.Helper()
	names, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += name.Name() + " " + string(data)
	}
	return text
}
