package access

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// oldState unpacks a state directory that an earlier version left when it was killed: four rounds
// of calls (see TestOldState), with a checkpoint after the second, and a mapped log segment.
func oldState(t *testing.T) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "state-format1.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()

	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	files := tar.NewReader(plain)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "state")
		}
		if err != nil {
			t.Fatal(err)
		}

		path := filepath.Join(dir, filepath.Clean(head.Name))
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var data []byte
			data, err = io.ReadAll(files)
			err = errors.Join(err, os.WriteFile(path, data, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOldState opens a state directory of an earlier version. Its rounds were a second apart. Each
// was two live calls of the first key, one of which failed, then a live call and a usage request of
// the second key. A product list, a usage request and a batch of the preview key ended it.
func TestOldState(t *testing.T) {
	t.Parallel()
	dir := oldState(t)
	usage, err := readUsage(dir, "", 0)
	if err != nil {
		t.Fatal(err)
	}

	ofTenant := usage.Tenants[0].Keys
	if len(usage.Tenants) != 2 || len(ofTenant) != 2 {
		t.Fatalf("read %+v", usage)
	}

	file, err := keys.Read(dir)
	if err != nil {
		t.Fatal(err)
	}

	var who []*keys.Principal
	for _, key := range file.Keys {
		who = append(who, principalOf(file, key, keys.DefaultPlans()))
	}

	end := instant(testTime)
	end.Wall += 28_000 // and the process started again
	store, err := OpenLocal(dir, LocalOptions{Now: end, CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	rows, err := store.Ledger("", 0)
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]Counts{}
	for _, row := range rows {
		for k, p := range who {
			if p.KeyID == row.Key && row.Day == calendar.DayOf(end.Wall) {
				got[string(rune('0'+k))+" "+string(row.Operation)] = row.Counts
			}
		}
	}

	want := map[string]Counts{
		"0 cards_get": {4, 4}, "0 cards_search": {4, 0}, "1 cards_get": {4, 4}, "1 usage_get": {4, 0},
		"2 products_list": {4, 4}, "2 usage_get": {4, 0}, "2 prices_batch": {4, 4},
	}

	if len(rows) != len(want) {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}

	for name, counts := range want {
		if got[name] != counts {
			t.Errorf("%s: %+v, want %+v", name, got[name], counts)
		}
	}

	for k, want := range []int64{30 - 8, 30 - 4, 60 - 8} { // of the minute, without what is asked here
		op := CardsGet
		if k == 2 {
			op = PricesBatch
		}
		decision := store.Admit(who[k], SpecFor(who[k], op), end)
		if decision.Minute.Remaining != want-1 {
			t.Errorf("key %d: %+v, want %d left", k, decision.Minute, want-1)
		}
		if _, err := store.Finish(decision.Reservation, false); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"first", "second", "third", "fourth"} {
		claim, err := store.Begin(Reservation{Principal: who[2], Spec: SpecFor(who[2], PricesBatch)}, name,
			BodyHash{1}, end)
		if err != nil || claim.Result != Replay || string(claim.Reply) != "reply of "+name {
			t.Errorf("batch %s: %+v (%v)", name, claim, err)
		}
	}
}

// TestEntryBytesAreStable encodes the log of an earlier version again.
func TestEntryBytesAreStable(t *testing.T) {
	t.Parallel()
	count := 0
	_, err := wal.Read(filepath.Join(oldState(t), statedir.LogName), 14, func(seq uint64, payload []byte) error {
		count++
		e, err := decodeEntry(payload)
		if again := e.append(nil); err != nil || string(again) != string(payload) {
			t.Errorf("record %d became %q, was %q (%v)", seq, again, payload, err)
		}
		return nil
	})

	if err != nil || count != 14 {
		t.Fatalf("%d records, %v", count, err)
	}
}
