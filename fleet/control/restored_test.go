package control

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/postgrestest"
)

// dump is a copy of the database of a URL, as an operator makes one.
func dump(t *testing.T, url string) string {
	t.Helper()
	if _, err := exec.LookPath("pg_dump"); err != nil {
		t.Skip("skipped: copies of a database, because there is no pg_dump")
	}
	out, err := exec.CommandContext(t.Context(), "pg_dump", "--schema=ninepocket", url).Output()
	do(t, err)
	return string(out)
}

// restore puts a copy in the place of what a database has, while servers follow it.
func restore(t *testing.T, url, copied string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.sql")
	do(t, os.WriteFile(path, []byte("drop schema ninepocket cascade;\n"+copied), 0o600))
	out, err := exec.CommandContext(t.Context(), "psql", "-qX1", "-v", "ON_ERROR_STOP=1", "-f", path, url).
		CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
}

// follower is a server as far as keys go.
type follower struct {
	source *KeySource
	ring   *keys.Ring
	lost   []string
}

func follow(t *testing.T, db *DB, state string) *follower {
	t.Helper()
	f := &follower{source: db.KeySource(time.Now)}
	do(t, f.source.RememberRevocations(state, "m1", func(lost []string, err error) {
		if err != nil {
			t.Error(err)
		}
		f.lost = append(f.lost, lost...)
	}))
	ring, err := keys.RingFrom(f.source, keys.DefaultPlans())
	do(t, err)
	f.ring = ring
	return f
}

// status is what a server says to a key.
func (f *follower) status(t *testing.T, text string) error {
	t.Helper()
	do(t, f.ring.Reload())
	_, err := f.ring.FindCached([]byte(text), time.Now().UnixMilli(), nil)
	return err
}

func revoke(t *testing.T, db *DB, id string) {
	t.Helper()
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error { _, err := f.Revoke(id, time.Now()); return err }))
}

// TestRestoredToTheSameVersion restores a copy and changes other keys than before, so that the
// version equals that of the servers or is later. The servers have the keys of the database.
func TestRestoredToTheSameVersion(t *testing.T) {
	for name, after := range map[string]func(t *testing.T, db *DB, old *keys.Key) (revoked bool, fresh []string){
		"one revoked": func(t *testing.T, db *DB, old *keys.Key) (bool, []string) {
			revoke(t, db, old.ID)
			return true, nil
		},
		"another made": func(t *testing.T, db *DB, _ *keys.Key) (bool, []string) {
			_, text := create(t, db, "acme")
			return false, []string{text}
		},
		"another made, and a further change": func(t *testing.T, db *DB, old *keys.Key) (bool, []string) {
			_, first := create(t, db, "acme")
			revoke(t, db, old.ID)
			_, second := create(t, db, "other")
			return true, []string{first, second}
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, url := open(t)
			old, text := create(t, db, "acme")
			copied := dump(t, url)
			_, gone := create(t, db, "acme")
			f := follow(t, db, t.TempDir())
			if err := f.status(t, gone); err != nil {
				t.Fatal(err)
			}

			restore(t, url, copied)
			revoked, fresh := after(t, db, old)
			if err := f.status(t, text); errors.Is(err, keys.ErrRevoked) != revoked {
				t.Errorf("the key of the copy: %v, and revoked there: %t", err, revoked)
			}
			if err := f.status(t, gone); !errors.Is(err, keys.ErrInvalid) {
				t.Errorf("a key that the database does not have: %v", err)
			}
			for _, text := range fresh {
				if err := f.status(t, text); err != nil {
					t.Errorf("a key made after the restore: %v", err)
				}
			}
		})
	}
}

// TestOlderProgramsHaveALineage changes keys as 60ec478 does, which enters none, on both sides of a copy.
func TestOlderProgramsHaveALineage(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	key, text := create(t, db, "acme")
	f := follow(t, db, t.TempDir())
	copied := dump(t, url)
	older := func(member string) {
		t.Helper()
		server.SQL(t, url, fmt.Sprintf(`begin; update ninepocket.control set version = version + 1;
			update ninepocket.keys set version = (select version from ninepocket.control),
			record = record || '{%s}' where id = '%s'; commit`, member, key.ID))
	}

	older(`"name": "Ada"`)
	if err := f.status(t, text); err != nil {
		t.Fatal(err)
	}
	restore(t, url, copied)
	older(`"revoked_at": "2026-11-20T00:00:00Z"`)
	if err := f.status(t, text); !errors.Is(err, keys.ErrRevoked) {
		t.Errorf("a key that an older program revoked after a restore: %v", err)
	}
}

// TestCopyOfAnEarlierVersion restores a copy that was made before the additions to the schema: a
// server continues without a restart, and its reports continue, too.
func TestCopyOfAnEarlierVersion(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	key, text := create(t, db, "acme")
	f := follow(t, db, t.TempDir())
	b := newMemorySource()
	ex := exporter(t, db, "a", b)
	b.charge(rowOf("acme", key.ID, today), 5, noon())
	do(t, ex.Export(t.Context()))

	server.SQL(t, url, `drop trigger lineage on ninepocket.control; drop function ninepocket.enter_lineage;
		drop function ninepocket.revoke_again; drop table ninepocket.lineage;
		alter table ninepocket.servers drop reports, drop restored_at, drop restored_rows;
		delete from ninepocket.ledger; update ninepocket.control set version = version + 1;
		update ninepocket.keys set version = 2, record = record || '{"revoked_at": "2026-11-20T00:00:00Z"}'`)
	if f.ring.Reload() == nil {
		t.Error("a database without a lineage is believed")
	}
	if err := f.status(t, text); !errors.Is(err, keys.ErrRevoked) {
		t.Errorf("the next try: %v, want that the key is revoked", err)
	}
	do(t, ex.Export(t.Context()))
	wantBills(t, db, b)
	if ex.TimesOlder() != 1 {
		t.Errorf("found older %d times", ex.TimesOlder())
	}
}

// TestHalfRestored shows a server a copy of which not all is there: the keys stay.
func TestHalfRestored(t *testing.T) {
	db, url := open(t)
	_, text := create(t, db, "acme")
	copied := dump(t, url)
	_, later := create(t, db, "acme")
	f := follow(t, db, t.TempDir())
	ex := exporter(t, db, "a", newMemorySource())

	// Foreign keys come after all rows.
	whole := strings.LastIndex(copied, "ALTER TABLE ONLY ninepocket.keys")
	restore(t, url, copied[:whole])
	if err := f.ring.Reload(); err == nil {
		t.Error("half a copy is believed")
	}
	if err := ex.Export(t.Context()); err == nil {
		t.Error("a report goes into half a copy")
	}
	for _, key := range []string{text, later} {
		if _, err := f.ring.FindCached([]byte(key), 0, nil); err != nil {
			t.Errorf("half a copy: %v", err)
		}
	}
	restore(t, url, copied)
	if err := f.status(t, later); !errors.Is(err, keys.ErrInvalid) {
		t.Errorf("a key that the whole copy does not have: %v", err)
	}
}

// TestRevocationsOnlyGrow restores a copy from the time before a revocation. The key stays refused,
// also by a server that restarts. It is named, and is revoked in the database again. An operator
// may revive it.
func TestRevocationsOnlyGrow(t *testing.T) {
	db, url := open(t)
	key, text := create(t, db, "acme")
	other, suspended := create(t, db, "other")
	copied := dump(t, url)
	state := t.TempDir()
	f := follow(t, db, state)
	revoke(t, db, key.ID)
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error { return f.Suspend("other", noon()) }))
	for range 2 { // the second stores it
		if err := f.status(t, text); !errors.Is(err, keys.ErrRevoked) {
			t.Fatal(err)
		}
	}

	// A server that was off meanwhile begins with the copy.
	restore(t, url, copied)
	f = follow(t, db, state)
	if _, err := f.ring.FindCached([]byte(text), 0, nil); !errors.Is(err, keys.ErrRevoked) {
		t.Errorf("revoked before the restore: %v", err)
	}
	if err := f.status(t, suspended); err != nil {
		t.Errorf("a suspension is taken back with the copy: %v", err)
	}
	if diff := cmp.Diff([]string{key.ID}, f.lost); diff != "" || f.source.MissingRevocations() != 1 {
		t.Errorf("keys named (- want, + got):\n%s", diff)
	}

	// By now it is revoked for all, and the log says by whom.
	fresh := follow(t, db, t.TempDir())
	if err := fresh.status(t, text); !errors.Is(err, keys.ErrRevoked) {
		t.Errorf("a new server: %v", err)
	}
	ids, err := db.RevokedAgain(t.Context(), time.Now().Add(-time.Hour))
	if diff := cmp.Diff([]string{key.ID}, ids); diff != "" || err != nil {
		t.Errorf("revoked again (- want, + got): %v\n%s", err, diff)
	}

	// A suspended key of the copy is revoked for good too.
	revoke(t, db, other.ID)
	for range 2 {
		_ = f.status(t, suspended)
	}
	restore(t, url, copied)
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error { return f.Suspend("other", noon()) }))
	for range 3 {
		_ = f.status(t, suspended)
	}
	read, err := db.ReadKeys(t.Context())
	do(t, err)
	if read.Keys[1].Status(noon()) != "revoked" {
		t.Errorf("a key that the copy had suspended is %s", read.Keys[1].Status(noon()))
	}

	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error { _, err := f.Revive(key.ID, time.Now()); return err }))
	for range 2 {
		if err := f.status(t, text); err != nil {
			t.Errorf("a revived key: %v", err)
		}
	}
	// A restart does not know better, and a second revocation grows as the first did.
	f = follow(t, db, state)
	if err := f.status(t, text); err != nil {
		t.Errorf("a revived key after a restart: %v", err)
	}
	copied = dump(t, url)
	revoke(t, db, key.ID)
	_ = f.status(t, text)
	restore(t, url, copied)
	if err := f.status(t, text); !errors.Is(err, keys.ErrRevoked) {
		t.Errorf("revoked after it was revived, and before a restore: %v", err)
	}
}

// TestDamagedRevocations refuses a file that cannot be read, and names it.
func TestDamagedRevocations(t *testing.T) {
	db, _ := open(t)
	state := t.TempDir()
	path := filepath.Join(state, statedir.RevokedName)
	do(t, os.WriteFile(path, []byte(`{"key_a": "yest`), 0o600))
	err := db.KeySource(time.Now).RememberRevocations(state, "m1", nil)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestAnyPast changes, copies and restores at random, while servers poll, restart and miss changes.
// Each has the keys of the database without those that it once knew as revoked.
func TestAnyPast(t *testing.T) {
	db, url := open(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(3, seed))

	texts := map[string]string{} // by id
	makeKey := func() {
		key, text := create(t, db, fmt.Sprint("t", random.IntN(3)))
		texts[key.ID] = text
	}
	makeKey()
	copies := []string{dump(t, url)}
	states := []string{t.TempDir(), t.TempDir()}
	followers := []*follower{follow(t, db, states[0]), follow(t, db, states[1])}
	heard := []map[string]bool{{}, {}}

	// reload lets a server read, and notes the revocations that it read.
	reload := func(i int) *keys.File {
		t.Helper()
		do(t, followers[i].ring.Reload())
		// The one that reads may have written revocations before it read.
		file, err := db.ReadKeys(t.Context())
		do(t, err)
		for _, key := range file.Keys {
			if key.RevokedAt != nil {
				heard[i][key.ID] = true
			}
		}
		return file
	}

	for step := range 30 {
		file, err := db.ReadKeys(t.Context())
		do(t, err)
		switch random.IntN(7) {
		case 0, 1:
			makeKey()
		case 2, 3:
			revoke(t, db, file.Keys[random.IntN(len(file.Keys))].ID)
		case 4:
			copies = append(copies, dump(t, url))
		case 5:
			restore(t, url, copies[random.IntN(len(copies))])
		case 6:
			i := random.IntN(2)
			reload(i) // stores its keys and plans
			reload(i)
			followers[i] = follow(t, db, states[i])
		}

		i := random.IntN(2)
		there := map[string]bool{}
		for _, key := range reload(i).Keys {
			there[key.ID] = true
		}
		for _, id := range slices.Sorted(maps.Keys(texts)) {
			_, err := followers[i].ring.FindCached([]byte(texts[id]), 0, nil)
			var want error
			switch {
			case !there[id]:
				want = keys.ErrInvalid
			case heard[i][id]:
				want = keys.ErrRevoked
			}
			if !errors.Is(err, want) {
				t.Fatalf("step %d: server %d says %v to %s, want %v", step, i, err, id, want)
			}
		}
	}
}

// TestRevokedWithinTwoSeconds lets servers follow as they do, over a restore of which the version is
// theirs: a revocation holds within the promised time.
func TestRevokedWithinTwoSeconds(t *testing.T) {
	db, url := open(t)
	key, text := create(t, db, "acme")
	copied := dump(t, url)
	create(t, db, "acme")
	f := follow(t, db, t.TempDir())
	go f.ring.Watch(t.Context(), keys.Poll, func(bool, error) {})

	restore(t, url, copied)
	revoke(t, db, key.ID)
	readable := time.Now()
	for {
		_, err := f.ring.FindCached([]byte(text), 0, nil)
		if errors.Is(err, keys.ErrRevoked) {
			return
		}
		if by := time.Since(readable); by > 2*time.Second {
			t.Fatalf("after %s: %v", by, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestOlderLedger restores a copy of the ledger while servers charge: without a restart the bills have
// all that was charged, also of a server that the copy knows by an earlier session or not at all.
func TestOlderLedger(t *testing.T) {
	db, url := open(t)
	books := []*memorySource{newMemorySource(), newMemorySource(), newMemorySource()}
	rows := []int{}
	exporters := make([]*Exporter, 3)
	begin := func(i int) {
		exporters[i] = exporter(t, db, fmt.Sprint("server", i), books[i])
		exporters[i].options.OnOlder = func(n int) { rows = append(rows, n) }
	}
	charge := func() {
		for i, b := range books {
			if exporters[i] == nil {
				continue
			}
			b.charge(rowOf("acme", fmt.Sprint("key", i), today), 7, noon())
			b.charge(rowOf("acme", fmt.Sprint("key", i), today-1), 2, noon())
			do(t, exporters[i].Export(t.Context()))
		}
	}

	begin(0)
	begin(1)
	charge()
	copied := dump(t, url)
	charge()
	begin(1) // another session
	begin(2) // unknown to the copy
	charge()
	wantBills(t, db, books...)

	restore(t, url, copied)
	for _, ex := range exporters {
		do(t, ex.Export(t.Context()))
	}
	wantBills(t, db, books...)
	if diff := cmp.Diff([]int{2, 2, 2}, rows); diff != "" {
		t.Errorf("rows that were lacking (- want, + told):\n%s", diff)
	}
	servers, err := db.Servers(t.Context())
	do(t, err)
	for _, server := range servers {
		if server.RestoredAt == nil || server.RestoredRows != 2 {
			t.Errorf("the list of servers does not say it: %+v", server)
		}
	}

	// It is over: what comes next is no news.
	charge()
	wantBills(t, db, books...)
	for _, ex := range exporters {
		if ex.TimesOlder() != 1 {
			t.Errorf("found older %d times", ex.TimesOlder())
		}
	}
}

// TestOlderLedgerWithOldDays restores a copy in which days are not summed up yet that are since.
func TestOlderLedgerWithOldDays(t *testing.T) {
	db, url := open(t)
	b := newMemorySource()
	old := rowOf("acme", "k", today-detailDays-2)
	b.charge(old, 3, noon())
	ex := exporter(t, db, "a", b)
	do(t, ex.Export(t.Context()))
	copied := dump(t, url)
	b.charge(old, 4, noon())
	do(t, ex.Export(t.Context()))
	do(t, db.aggregateDays(t.Context(), today-detailDays))
	do(t, ex.Export(t.Context()))

	restore(t, url, copied)
	do(t, ex.Export(t.Context()))
	wantBills(t, db, b)
}

// TestImportAfterARevival imports a machine on which a key was revoked before it was revived in the
// fleet: it lives on. A later revocation of the machine ends it.
func TestImportAfterARevival(t *testing.T) {
	db, _ := open(t)
	key, _ := create(t, db, "acme")
	revoke(t, db, key.ID)
	machine, err := db.ReadKeys(t.Context())
	do(t, err)
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error { _, err := f.Revive(key.ID, time.Now()); return err }))

	for _, after := range []time.Duration{0, time.Hour} {
		at := machine.Keys[0].RevokedAt.Add(after)
		machine.Keys[0].RevokedAt = &at
		_, err := db.ImportKeys(t.Context(), machine)
		do(t, err)
		read, err := db.ReadKeys(t.Context())
		do(t, err)
		if revoked := read.Keys[0].RevokedAt != nil; revoked != (after > 0) {
			t.Errorf("revoked on the machine %s after: %t", after, revoked)
		}
	}
}
