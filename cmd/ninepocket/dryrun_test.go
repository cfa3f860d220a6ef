package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/internal/feedtest"
	"ninepocket/snapshot"
)

// bytesOf are all files, folders and links below a folder, with their contents.
func bytesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()

		// Folders have no content of their own.
		switch {
		case entry.Type() == fs.ModeSymlink:
			leads, err := os.Readlink(name)
			all[name] += leads
			return err
		case !entry.IsDir():
			data, err := os.ReadFile(name)
			all[name] += info.ModTime().String() + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// dryRuns runs a command with --dry-run and then for real: the first changes no byte below the root and ends
// with the code of the second.
func dryRuns(t *testing.T, root string, want int, says string, args ...string) {
	t.Helper()
	before := bytesOf(t, root)
	temporary, _ := filepath.Glob(filepath.Join(os.TempDir(), "ninepocket-dry-run-*"))
	var out, errs bytes.Buffer
	if code := runPlain(t, append(slices.Clone(args), "--dry-run"), &out, &errs); code != want {
		t.Errorf("%q --dry-run: exit code %d, want %d\n%s%s", args, code, want, &out, &errs)
	}
	after := bytesOf(t, root)
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%q --dry-run changed %s", args, name)
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			t.Errorf("%q --dry-run made %s", args, name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "ninepocket-dry-run-*")); len(left) > len(temporary) {
		t.Errorf("%q --dry-run leaves %q", args, left)
	}
	printed := out.String() + errs.String()
	// Mistakes in the command line end it before it begins.
	if !strings.Contains(printed, says) || strings.Contains(printed, "ninepocket-dry-run-") ||
		says != "cannot" && !strings.Contains(printed, "a dry run") {
		t.Errorf("%q --dry-run does not say %q: %s", args, says, printed)
	}

	out.Reset()
	errs.Reset()
	if code := runPlain(t, args, &out, &errs); code != want {
		t.Errorf("%q: exit code %d, want %d\n%s%s", args, code, want, &out, &errs)
	}
}

// TestDryRuns runs each command that has --dry-run. It must print the command's steps and end with
// its exit code, and no byte may change.
func TestDryRuns(t *testing.T) {
	h := newFeedStore(t, 4, 5)
	t.Setenv("TMPDIR", t.TempDir())
	root := filepath.Dir(h.store)
	file := h.configures("[guards]\nminimum_cards = 10\n")
	daily := []string{"daily", "--config", file}

	// A first day, one with nothing new, one more, a pull that fails, and a day that is refused.
	dryRuns(t, root, exitOK, "published ", daily...)
	dryRuns(t, root, exitOK, "nothing is new", daily...)
	h.evening(1, feedtest.Faults{})
	dryRuns(t, root, exitOK, "pulled 4 groups", daily...)
	h.evening(2, feedtest.Faults{Down: true})
	dryRuns(t, root, exitFailure, "the pull failed", daily...)
	h.evening(3, feedtest.Faults{Wrong: []string{"tcgplayer/"}})
	dryRuns(t, root, exitRefused, "refused by prices_moved", daily...)
	h.evening(4, feedtest.Faults{})
	dryRuns(t, root, exitOK, "published ", daily...)
	dryRuns(t, root, exitUsage, "cannot", "daily", "--config", filepath.Join(root, "nowhere.toml"))

	store := []string{"--store", h.store, "--config", file}
	in := func(words ...string) []string { return append(append([]string{"snapshot"}, words...), store...) }
	dryRuns(t, root, exitOK, "stay out of the history", in("rollback", "--discard-day")...)
	dryRuns(t, root, exitRefused, "was rolled back", daily...)
	dryRuns(t, root, exitOK, "published ", in("publish", "latest", "--override", "prices_moved", "--reason", "why")...)
	dryRuns(t, root, exitFailure, "cannot", in("publish", "20260101T000000Z-0000000000000000")...)
	dryRuns(t, root, exitRefused, "minimum_cards", "snapshot", "publish", h.other(), "--store", h.store, "--config",
		h.configures("[guards]\nminimum_cards = 1000\n"))
	dryRuns(t, root, exitOK, "removed ", in("prune", "--keep", "1")...)
	dryRuns(t, root, exitFailure, "cannot", "snapshot", "prune", "--keep", "1", "--store", filepath.Join(root, "none"))

	state := filepath.Join(root, "state")
	key := []string{"--tenant", "acme", "--plan", "free", "--state", state}
	dryRuns(t, root, exitOK, "a key of tenant acme on live, plan free", append([]string{"keys", "create"}, key...)...)
	dryRuns(t, root, exitFailure, "the plan belongs to the tenant",
		"keys", "create", "--tenant", "acme", "--plan", "pro", "--state", state)
	id := firstKey(t, state)
	dryRuns(t, root, exitOK, "a key of tenant acme", "keys", "rotate", id, "--state", state)
	dryRuns(t, root, exitOK, "reset the day of acme", "keys", "tenant", "reset-day", "acme", "--state", state)
	dryRuns(t, root, exitOK, "revoked "+id, "keys", "revoke", id, "--state", state)
	dryRuns(t, root, exitFailure, "cannot", "keys", "revoke", "key_x", "--state", state)
}

// other is a snapshot of the store that is not current.
func (o *operator) other() string {
	o.t.Helper()
	all, err := snapshot.OpenStore(o.store).List()
	if err != nil {
		o.t.Fatal(err)
	}
	for _, m := range all {
		if m.ID != o.current() {
			return m.ID
		}
	}
	o.t.Fatal("the store has no other snapshot")
	return ""
}

// firstKey is the id of the first key of a state directory.
func firstKey(t *testing.T, state string) string {
	t.Helper()
	file, err := keys.Read(state)
	if err != nil {
		t.Fatal(err)
	}
	return file.Keys[0].ID
}
