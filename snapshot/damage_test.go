package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// damagedSection checks that err is damage and returns the section that it names.
func damagedSection(t testing.TB, err error) string {
	t.Helper()
	var damage *snapshot.DamageError
	if !errors.Is(err, snapshot.ErrDamaged) || !errors.As(err, &damage) {
		t.Fatalf("want damage, got %v", err)
	}
	if !strings.Contains(err.Error(), `"`+damage.Section+`"`) {
		t.Errorf("the message %q does not name section %q", err, damage.Section)
	}

	return damage.Section
}

// fileSections maps the files of a snapshot to the sections that damage to them is reported of.
func fileSections(m *snapshot.Manifest) map[string]string {
	sections := map[string]string{"manifest": "manifest"}
	for _, s := range m.Sections {
		sections[s.File] = s.Name
	}
	return sections
}

// TestEveryFlippedByteIsFound flips each byte of each file of a snapshot and of CURRENT, one at a
// time.
func TestEveryFlippedByteIsFound(t *testing.T) {
	t.Parallel()
	d := openDir(t.TempDir())
	m := write(t, d, fixture.Random(1, fixture.Size{Sets: 1, Cards: 1, Days: 3}).Catalog())
	if _, err := d.Publish(m.ID, snapshot.PublishOptions{Now: time.Now(), Check: anything}); err != nil {
		t.Fatal(err)
	}

	flip := func(path string, check func(at int)) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()

		put := func(at int, b byte) {
			if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
				t.Fatal(err)
			}
		}

		for at := 0; at < len(whole); at += testsweep.Stride(7) {
			put(at, whole[at]^1<<(at%8))
			check(at)
			put(at, whole[at])
		}
	}

	for name, section := range fileSections(m) {
		flip(filepath.Join(d.Path(m.ID), name), func(at int) {
			if got := damagedSection(t, d.Verify(m.ID)); got != section {
				t.Errorf("byte %d of %s flipped: section %q is named", at, name, got)
			}
		})
	}

	flip(filepath.Join(d.Root(), "CURRENT"), func(int) {
		_, err := d.Current()
		if got := damagedSection(t, err); got != "CURRENT" {
			t.Errorf("section %q is named", got)
		}
	})

	if err := d.Verify(m.ID); err != nil {
		t.Errorf("put back together: %v", err)
	}
}

func TestCutAndGrownFiles(t *testing.T) {
	d := openDir(t.TempDir())
	m := write(t, d, fixture.Random(1, fixture.Small).Catalog())
	for name, section := range fileSections(m) {
		path := filepath.Join(d.Path(m.ID), name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		n := len(whole)
		for _, length := range []int{0, 1, 2, 7, n / 4, n / 2, n - 73, n - 72, n - 71, n - 2, n - 1, n + 1, 2 * n} {
			if length < 0 || length == n {
				continue
			}

			if err := os.WriteFile(path, append(append([]byte(nil), whole...), whole...)[:length], 0o600); err != nil {
				t.Fatal(err)
			}

			err := d.Verify(m.ID)
			if got := damagedSection(t, err); got != section {
				t.Errorf("%s with %d of %d bytes: section %q is named", name, length, n, got)
			}

			if name != "manifest" &&
				!strings.Contains(err.Error(), fmt.Sprintf("has %d bytes instead of %d", length, n)) {
				t.Errorf("%s with %d of %d bytes: %v", name, length, n, err)
			}
		}

		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingFiles(t *testing.T) {
	d := openDir(t.TempDir())
	m := write(t, d, fixture.Random(1, tiny).Catalog())
	for name, section := range fileSections(m) {
		path := filepath.Join(d.Path(m.ID), name)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}

		err := d.Verify(m.ID)
		if got := damagedSection(t, err); got != section || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("without %s: %v", name, err)
		}

		_, err = d.Load(context.Background(), m.ID, nil)
		if serves := err == nil; serves != (section == "quarantine") {
			t.Errorf("without %s: loading gives %v; only the quarantine report is not needed to serve", name, err)
		}

		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNotAJSONManifest(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		_, err := snapshot.ParseManifest(sealed([]byte(body)), "20260314T200530Z-0123456789abcdef")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", body, want, err)
		}
	}

	f("{}\n", "has format 0")
	f("[]\n", "is not what this program writes")
	f("", "is not what this program writes")
	f(`{"format":-1}`, "has format -1")
	f(fmt.Sprintf(`{"format":%d,"id":"x"}`, snapshot.Format+1), "newer version")
	f(`{"format":1,"id":"../../etc"}`, "is not that of snapshot")
	f(`{"format":1,"id":"20260314T200530Z-0123456789abcdef"}`, "is not that of snapshot")
}

// TestPointerIsNoFile puts a fifo in place of the pointer: no reader waits for it.
func TestPointerIsNoFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "CURRENT"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.OpenStore(root).Current(); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
}
