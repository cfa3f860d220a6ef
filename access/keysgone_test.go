package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

// TestKeysGone takes the keys file away from a state that a server used: nothing makes a new file
// by itself, and a repair does so on request.
func TestKeysGone(t *testing.T) {
	t.Parallel()
	for _, left := range []string{statedir.CheckpointName, filepath.Join(statedir.LogName, wal.SegmentName(1))} {
		dir := t.TempDir()
		store, err := OpenLocal(dir, LocalOptions{Now: instant(testTime)})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		repaired := t.TempDir()
		if err := os.CopyFS(repaired, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}

		// One of the two is enough to know.
		for _, name := range []string{statedir.CheckpointName, statedir.LogName} {
			if !strings.HasPrefix(left, name) {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}

		create := func(f *keys.File) error {
			_, _, err := f.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "pro"}, testTime)
			return err
		}
		if err := keys.Update(dir, create); !errors.Is(err, keys.ErrMissing) {
			t.Errorf("%s is left, and a key is created: %v", left, err)
		}
		_, err = keys.OpenRing(dir, keys.DefaultPlans())
		if !errors.Is(err, keys.ErrMissing) || errors.Is(err, keys.ErrNoFile) {
			t.Errorf("%s is left: %v", left, err)
		}

		if report, err := VerifyState(repaired); err != nil || len(report.Damage) != 1 {
			t.Errorf("verify: %v (%v)", report.Damage, err)
		}
		if _, err := RepairState(repaired, false, testTime); !errors.Is(err, keys.ErrMissing) {
			t.Errorf("a repair that believes nothing: %v", err)
		}
		if report, err := RepairState(repaired, true, testTime); err != nil || len(report.Dropped) != 1 {
			t.Errorf("a repair: %v (%v)", report.Dropped, err)
		}
		if err := keys.Update(repaired, create); err != nil {
			t.Error(err)
		}
	}
}
