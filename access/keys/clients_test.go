package keys

import (
	"testing"
	"time"
)

var testTime = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func mustCreate(t testing.TB, f *File, want NewKey) (*Key, string) {
	t.Helper()
	key, raw, err := f.Create(want, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return key, raw
}

// stored is a state directory with the keys of two tenants.
func stored(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := Update(dir, func(f *File) error {
		mustCreate(t, f, NewKey{Tenant: "live", Surface: Live, Plan: "pro"})
		mustCreate(t, f, NewKey{Tenant: "prev", Surface: Preview, Plan: "preview", Credits: new(int64(100))})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
