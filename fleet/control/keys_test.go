package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/engine/cursor"
	"ninepocket/internal/postgrestest"
)

// create adds a live key and returns its record and text.
func create(t *testing.T, db *DB, tenant string) (*keys.Key, string) {
	t.Helper()
	var key *keys.Key
	var text string
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) (err error) {
		key, text, err = f.Create(keys.NewKey{Tenant: tenant, Surface: keys.Live, Plan: "free"}, noon())
		return err
	}))
	return key, text
}

// TestKeysAreAFile compares the database with a keys file that gets the same changes.
func TestKeysAreAFile(t *testing.T) {
	db, _ := open(t)
	file := keys.NewFile()
	source := db.KeySource(time.Now)
	both := func(change func(*keys.File) error) {
		t.Helper()
		// Keys are random: what the file made goes into the database.
		do(t, change(file))
		want, err := encodeKeys(file)
		do(t, err)
		do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error {
			f.Tenants = file.Tenants
			f.Keys = file.Keys
			return nil
		}))

		read, err := db.ReadKeys(t.Context())
		do(t, err)
		got, err := encodeKeys(read)
		do(t, err)
		if diff := cmp.Diff(want.tenants, got.tenants) + cmp.Diff(want.keys, got.keys); diff != "" {
			t.Errorf("the database has (- file, + database)\n%s", diff)
		}

		// A follower applies the changes, and ends with the same keys in the same order.
		followed, changed, err := source.Read(t.Context())
		if err != nil || !changed {
			t.Fatalf("who follows hears of nothing: %v", err)
		}
		if diff := cmp.Diff(ids(file), ids(followed)); diff != "" {
			t.Errorf("who follows has (- file, + followed)\n%s", diff)
		}
		again, err := encodeKeys(followed)
		do(t, err)
		if diff := cmp.Diff(want.tenants, again.tenants) + cmp.Diff(want.keys, again.keys); diff != "" {
			t.Errorf("who follows has (- file, + followed)\n%s", diff)
		}
		if _, changed, err := source.Read(t.Context()); changed || err != nil {
			t.Errorf("nothing changed, and it is told: %t, %v", changed, err)
		}
	}

	creating := func(want keys.NewKey) func(*keys.File) error {
		return func(f *keys.File) error {
			_, _, err := f.Create(want, noon())
			return err
		}
	}
	credits := int64(70)
	both(creating(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "free", Name: "Kätzchen \"x\" 猫"}))
	both(func(f *keys.File) error {
		_, _, err := f.Create(keys.NewKey{
			Tenant: "acme", Surface: keys.Preview, Plan: "preview", Credits: &credits,
		}, noon())
		f.Tenants["acme"].PeriodStart = new(noon())
		f.Tenants["acme"].PeriodEnd = new(noon().Add(time.Hour))
		return err
	})
	both(creating(keys.NewKey{Tenant: "other", Surface: keys.Sandbox, Plan: "free"}))
	both(func(f *keys.File) error {
		_, _, err := f.Rotate(f.Keys[0].ID, time.Hour+time.Nanosecond, noon())
		return err
	})
	both(func(f *keys.File) error { _, err := f.Revoke(f.Keys[1].ID, noon()); return err })
	both(func(f *keys.File) error { return f.ResetDay("acme", true, noon().Add(time.Millisecond)) })
}

func ids(f *keys.File) (all []string) {
	for _, key := range f.Keys {
		all = append(all, key.ID)
	}
	return all
}

// TestRefusedChangeWritesNothing lets changes fail in every way.
func TestRefusedChangeWritesNothing(t *testing.T) {
	db, _ := open(t)
	create(t, db, "acme")
	before, err := db.ReadKeys(t.Context())
	do(t, err)
	refused := errors.New("refused")

	for _, change := range []func(*keys.File) error{
		func(f *keys.File) error { f.Tenants["acme"].Plan = "pro"; return refused },
		func(f *keys.File) error { f.Tenants["no name"] = &keys.Tenant{Plan: "free"}; return nil },
		func(f *keys.File) error { f.Keys = append(f.Keys, f.Keys[0]); return nil },
	} {
		if err := db.UpdateKeys(t.Context(), change); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("a change that cannot be made: %v", err)
		}
	}
	after, err := db.ReadKeys(t.Context())
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestWritersSideBySide lets commands change keys at once: none is lost, and who follows misses none.
func TestWritersSideBySide(t *testing.T) {
	db, url := open(t)
	other := connect(t, url)
	source := other.KeySource(time.Now)

	const writers, each = 3, 6
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				err := db.UpdateKeys(t.Context(), func(f *keys.File) error {
					want := keys.NewKey{Tenant: fmt.Sprint("t", w), Surface: keys.Live, Plan: "free"}
					_, _, err := f.Create(want, noon())
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		if _, _, err := source.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // the writers need the processor, too
	}
	if f, _, err := source.Read(t.Context()); err != nil || len(f.Keys) != writers*each {
		t.Errorf("who follows has %d keys, %v, want %d", len(f.Keys), err, writers*each)
	}
}

// counted counts the readings of a source that ended.
type counted struct {
	*KeySource
	n atomic.Int64
}

func (c *counted) Read(ctx context.Context) (*keys.File, bool, error) {
	defer c.n.Add(1)
	return c.KeySource.Read(ctx)
}

// TestKeysWithin2s revokes a key while servers use it. The reading that begins after it ends
// second, and they are half a second apart. A busy machine is no error.
func TestKeysWithin2s(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	key, text := create(t, db, "acme")

	// Two servers.
	type seen struct {
		ring *keys.Ring
		keys *counted
	}
	var servers []seen
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock := access.StartClock(time.Now())
	for range 2 {
		source := &counted{KeySource: connect(t, url).KeySource(time.Now)}
		ring, err := keys.RingFrom(source, keys.DefaultPlans())
		do(t, err)
		go ring.Watch(ctx, keys.Poll, func(bool, error) {})
		servers = append(servers, seen{ring, source})
	}
	authenticate := func(s seen, text string) error {
		_, err := s.ring.FindCached([]byte(text), clock.At(time.Now()).Wall, nil)
		return err
	}
	// eventually wants something of all servers.
	eventually := func(what string, is func(seen) bool) {
		t.Helper()
		began := time.Now()
		for _, s := range servers {
			for !is(s) {
				if time.Since(began) > time.Minute {
					t.Fatalf("after a minute: not %s", what)
				}
				<-time.After(10 * time.Millisecond)
			}
		}
	}
	eventually("a key that is taken", func(s seen) bool { return authenticate(s, text) == nil })

	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error {
		_, err := f.Revoke(key.ID, time.Now())
		return err
	}))
	var before []int64
	for _, s := range servers {
		before = append(before, s.keys.n.Load())
	}
	if 3*keys.Poll > 2*time.Second {
		t.Errorf("servers ask every %s, too seldom for the promise", keys.Poll)
	}
	for i, s := range servers {
		eventually("two readings", func(seen) bool { return s.keys.n.Load() >= before[i]+2 })
		eventually("revoked by then", func(seen) bool {
			// The reading is taken over right after it ended.
			read := s.keys.n.Load()
			refused := errors.Is(authenticate(s, text), keys.ErrRevoked)
			if !refused && read > before[i]+3 {
				t.Fatal("a revoked key is taken after three readings")
			}
			return refused
		})
	}
	_, fresh := create(t, db, "acme")
	eventually("a new key that is taken", func(s seen) bool { return authenticate(s, fresh) == nil })

	// Without the database the last good keys stay, and that is known.
	server.Kill(t)
	eventually("trouble", func(s seen) bool { return s.ring.ReloadError() != nil })
	for _, s := range servers {
		if err := authenticate(s, fresh); err != nil {
			t.Errorf("without a database a good key is refused: %v", err)
		}
		if err := authenticate(s, text); !errors.Is(err, keys.ErrRevoked) {
			t.Errorf("without a database a revoked key is taken: %v", err)
		}
		if strings.Contains(s.ring.ReloadError().Error(), postgrestest.Password) {
			t.Error("a message shows the password")
		}
	}
	server.Resume(t)
	eventually("well again", func(s seen) bool { return s.ring.ReloadError() == nil })
	_, later := create(t, db, "acme")
	eventually("a later key that is taken", func(s seen) bool { return authenticate(s, later) == nil })
}

// TestRestoredKeys puts an older copy of the keys into the database: who follows has what it has.
func TestRestoredKeys(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	create(t, db, "acme")
	create(t, db, "acme")
	source := db.KeySource(time.Now)
	_, _, err := source.Read(t.Context())
	do(t, err)

	server.SQL(t, url, "delete from ninepocket.keys where version = 2; update ninepocket.control set version = 1")
	f, changed, err := source.Read(t.Context())
	if err != nil || !changed || len(f.Keys) != 1 {
		t.Errorf("who follows has %d keys, %t, %v, want the one of the copy", len(f.Keys), changed, err)
	}
}

// TestCursorKeys rotates secrets: servers agree, a secret is known before it signs, and two are stored.
func TestCursorKeys(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	other := connect(t, url)
	var wg sync.WaitGroup
	firsts := make([][]cursor.Key, 4)
	for i := range firsts {
		wg.Go(func() {
			var err error
			firsts[i], err = []*DB{db, other}[i%2].CursorKeys(t.Context())
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, source := range firsts {
		if len(source) != 1 || source[0] != firsts[0][0] {
			t.Fatalf("servers that start at once have %v and %v", firsts[0], source)
		}
	}

	first := firsts[0][0]
	older := func(by string) {
		server.SQL(t, url, "update ninepocket.cursor_keys set made_at = made_at - interval '"+by+"'")
	}
	older("31 days")
	two, err := db.CursorKeys(t.Context())
	do(t, err)
	if len(two) != 2 || two[0] != first || two[1].ID == first.ID || two[1].Secret == first.Secret {
		t.Fatalf("right after the change it is %v, want the old one first, and a new one", two)
	}
	older("11 minutes")
	signs, err := other.CursorKeys(t.Context())
	if err != nil || len(signs) != 2 || signs[0] != two[1] || signs[1] != first {
		t.Errorf("ten minutes later it is %v, %v, want the new one first", signs, err)
	}
	older("31 days")
	last, err := db.CursorKeys(t.Context())
	if err != nil || len(last) != 2 || last[0] != two[1] {
		t.Errorf("a month later it is %v, %v, want two", last, err)
	}
}

// TestImport takes two machines into a fleet, one of them twice.
func TestImport(t *testing.T) {
	db, _ := open(t)
	home := keys.NewFile()
	key, _, err := home.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "free"}, noon())
	do(t, err)
	b := newMemorySource()
	b.charge(rowOf("acme", key.ID, today), 9, noon())
	rows, used, _ := b.Totals(0)

	for i := range 2 {
		got, err := db.ImportKeys(t.Context(), home)
		do(t, err)
		if want := (Imported{Tenants: 1 - i, Keys: 1 - i, Unchanged: []string{}}); !cmp.Equal(got, want) {
			t.Errorf("import %d did %+v, want %+v", i, got, want)
		}
		do(t, db.ImportRows(t.Context(), "home", "host", rows))
		do(t, db.ImportLastUses(t.Context(), used))
		wantBills(t, db, b)
	}

	// Later changes stay.
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error {
		f.Tenants["acme"].Plan = "pro"
		_, err := f.Revoke(key.ID, noon())
		return err
	}))
	got, err := db.ImportKeys(t.Context(), home)
	if err != nil || !cmp.Equal(got, Imported{Unchanged: []string{"acme"}}) {
		t.Errorf("an import after a change did %+v, %v", got, err)
	}
	f, err := db.ReadKeys(t.Context())
	if err != nil || f.Tenants["acme"].Plan != "pro" || f.Keys[0].Status(noon()) != "revoked" {
		t.Errorf("an import undid a change: %v", err)
	}

	// A key that was revoked on the machine, or that ends, ends in the fleet too.
	sooner := noon().Add(time.Hour)
	for i, end := range []func(*keys.Key){
		func(k *keys.Key) { k.ExpiresAt = &sooner },
		func(k *keys.Key) { now := noon(); k.RevokedAt = &now },
	} {
		do(t, db.UpdateKeys(t.Context(), func(f *keys.File) error {
			f.Keys[0].RevokedAt = nil
			return nil
		}))
		end(home.Keys[0])
		got, err = db.ImportKeys(t.Context(), home)
		do(t, err)
		f, err = db.ReadKeys(t.Context())
		do(t, err)
		if got.Revoked != 1 || f.Keys[0].Status(sooner) != []string{"expired", "revoked"}[i] {
			t.Errorf("an import after a key was let end did %+v, and the key is %+v", got, f.Keys[0])
		}
	}

	// The machine goes on as a server of the fleet.
	ex := exporter(t, db, "home", b)
	b.charge(rowOf("acme", key.ID, today), 1, noon())
	do(t, ex.Export(t.Context()))
	wantBills(t, db, b)
}

// TestServers lists, misses and forgets them.
func TestServers(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	a := exporter(t, db, "aaaa", newMemorySource())
	do(t, a.Export(t.Context()))
	do(t, exporter(t, db, "bbbb", newMemorySource()).Export(t.Context()))
	if err := db.Forget(t.Context(), "bbbb"); !errors.Is(err, ErrServerAlive) {
		t.Errorf("a server that reports is forgotten: %v", err)
	}
	if err := db.Forget(t.Context(), "cccc"); !errors.Is(err, ErrNoSuchServer) {
		t.Errorf("a server that is none is forgotten: %v", err)
	}

	server.SQL(t, url,
		"update ninepocket.servers set seen_at = now() - interval '181 minutes' where incarnation = 'bbbb'")
	do(t, a.Export(t.Context()))
	all, err := db.Servers(t.Context())
	do(t, err)
	if len(all) != 2 || all[0].ServerID != "aaaa" || all[0].Problem("") != "" || all[0].Snapshot != "snapshot" ||
		all[0].Epoch != 7 || a.SilentServers() != 1 ||
		all[1].Problem("2 units") !=
			"server id bbbb has not reported for 3 h and holds 2 units: start it, or fleet forget" {
		t.Errorf("servers are %+v, %d are silent", all, a.SilentServers())
	}

	do(t, db.Forget(t.Context(), "bbbb"))
	do(t, a.Export(t.Context()))
	all, err = db.Servers(t.Context())
	if err != nil || len(all) != 2 || all[1].Problem("") != "" || all[1].ForgottenAt == nil || a.SilentServers() != 0 {
		t.Errorf("after fleet forget servers are %+v, %v, %d are silent", all, err, a.SilentServers())
	}

	// One that comes back is a server again.
	do(t, exporter(t, db, "bbbb", newMemorySource()).Export(t.Context()))
	all, err = db.Servers(t.Context())
	if err != nil || all[0].ForgottenAt != nil || all[1].ForgottenAt != nil {
		t.Errorf("a server that came back is %+v, %v", all, err)
	}
}

// TestServerCharges asks what one server charged to days and to credits. Of days that are summed up
// nobody knows.
func TestServerCharges(t *testing.T) {
	db, _ := open(t)
	live, _ := create(t, db, "acme")
	var preview *keys.Key
	do(t, db.UpdateKeys(t.Context(), func(f *keys.File) (err error) {
		preview, _, err = f.Create(keys.NewKey{Tenant: "acme", Surface: keys.Preview, Plan: "preview"}, noon())
		return err
	}))
	b := newMemorySource()
	for day := range calendar.Day(4) {
		b.charge(rowOf("acme", live.ID, today-day), 10+int64(day), time.UnixMilli(1))
		b.charge(rowOf("acme", preview.ID, today-day), 100, time.UnixMilli(1))
	}
	b.charge(rowOf("acme", live.ID, today-60), 7, time.UnixMilli(1))
	do(t, exporter(t, db, "a", b).Export(t.Context()))
	do(t, exporter(t, db, "b", b).Export(t.Context()))
	do(t, db.aggregateDays(t.Context(), today-50))

	charges, err := db.ChargesByServer(t.Context(), "a")
	do(t, err)
	noonAgo := func(days calendar.Day) int64 { return (today - days).Start() + 12*60*60*1000 }
	for _, c := range []struct {
		tenant    string
		allowance access.QuotaKind
		from      int64
		want      int64
		known     bool
	}{
		{"acme", access.DayQuota, today.Start(), 10, true},
		{"acme", access.DayQuota, (today - 2).Start(), 12, true},
		{"acme", access.PeriodCredits, today.Start(), 100, true},
		{"acme", access.PeriodCredits, noonAgo(2), 300, true}, // all of the day that it begins in
		{"acme", access.PeriodCredits, noonAgo(60), 400, false},
		{"other", access.DayQuota, today.Start(), 0, true},
	} {
		if n, known := charges.Of(c.tenant, c.allowance, c.from); n != c.want || known != c.known {
			t.Errorf("%+v: %d, %v", c, n, known)
		}
	}
	both, err := db.ChargesByTenant(t.Context(), "acme", access.PeriodCredits, noonAgo(2), noonAgo(0))
	if want := map[string]int64{"a": 300, "b": 300}; err != nil || !maps.Equal(both, want) {
		t.Errorf("of credits: %v, want %v (%v)", both, want, err)
	}
	both, err = db.ChargesByTenant(t.Context(), "acme", access.DayQuota, (today - 60).Start(), (today - 59).Start())
	if want := map[string]int64{"": 14}; err != nil || !maps.Equal(both, want) {
		t.Errorf("of a day that is summed up: %v, want %v (%v)", both, want, err)
	}
	if _, err := db.ChargesByServer(t.Context(), "none"); err == nil {
		t.Error("a server that never was has charges")
	}
}

// TestWrongDatabases provokes the errors of databases that operators see.
func TestWrongDatabases(t *testing.T) {
	server := postgrestest.Start(t)
	url := server.Database(t)
	f := func(url string, want error, text string) {
		t.Helper()
		db, err := openWithTimeout(t.Context(), url, time.Minute)
		if err == nil {
			db.Close()
		}
		if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%v, want %q", err, text)
		}
		if strings.Contains(fmt.Sprint(err), postgrestest.Password) || strings.Contains(fmt.Sprint(err), "wrong-word") {
			t.Errorf("a password is shown: %v", err)
		}
	}
	f(strings.Replace(url, postgrestest.Password, "wrong-word", 1), ErrPermission, "password authentication failed")
	f(strings.Replace(url, "/test", "/none", 1), ErrPermission, "does not exist")
	f("postgres://np:wrong-word@127.0.0.1:1/x", ErrUnavailable,
		"cannot reach PostgreSQL at 127.0.0.1:1/x: it does not answer: ")
	f("postgres://np:wrong-word@127.0.0.1:many/x", ErrURL, "want postgres://")

	do(t, func() error { db, err := Open(t.Context(), url); db.Close(); return err }())
	server.SQL(t, url, "update ninepocket.control set form = 2")
	f(url, ErrSchemaVersion, "its form is 2, want 1")
	server.SQL(t, url, "update ninepocket.control set form = 1; "+
		"drop role if exists guest; create role guest login password 'wrong-word'")
	f(strings.Replace(url, "np:"+postgrestest.Password, "guest:wrong-word", 1), ErrPermission, "permission denied")
}

func TestCheck(t *testing.T) {
	db, _ := open(t)
	all, err := db.Check(t.Context(), time.Now)
	do(t, err)
	good := map[string]bool{}
	for _, found := range all {
		good[found.What] = found.Good
	}
	// The server of these tests runs without fsync.
	want := map[string]bool{"version": true, "primary": true, "durable": false, "clock": true, "plans": true}
	if diff := cmp.Diff(want, good); diff != "" {
		t.Error(diff, all)
	}

	all, err = db.Check(t.Context(), func() time.Time { return time.Now().Add(-time.Minute) })
	do(t, err)
	for _, found := range all {
		if found.What == "clock" && (found.Good || !strings.Contains(found.Text, "run chrony on both")) {
			t.Errorf("a clock that is a minute off is %+v", found)
		}
	}
}

// TestCheckImages has servers with the same folder of card images, with another one, and one that is
// forgotten.
func TestCheckImages(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	for serverID, images := range map[string]string{"aaaa": "1f", "bbbb": "1f", "cccc": "2e"} {
		b := newMemorySource()
		b.images = images
		do(t, exporter(t, db, serverID, b).Export(t.Context()))
	}
	finding := func() (text string) {
		all, err := db.Check(t.Context(), time.Now)
		do(t, err)
		for _, found := range all {
			if found.What == "images" && !found.Good {
				text += found.Text
			}
		}
		return text
	}

	if text := finding(); !strings.Contains(text, "cccc at test") || !strings.Contains(text, "different folders") {
		t.Errorf("of different folders it is told %q", text)
	}
	server.SQL(t, url,
		"update ninepocket.servers set seen_at = now() - interval '1 hour' where incarnation = 'cccc'")
	if text := finding(); text != "" {
		t.Errorf("of a server that does not report it is told %q", text)
	}
}
