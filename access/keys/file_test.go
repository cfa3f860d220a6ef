package keys

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

func TestKeyFileCreate(t *testing.T) {
	t.Parallel()
	f := NewFile()
	mustCreate(t, f, NewKey{Tenant: "acme", Surface: Live, Plan: "pro", Name: "web shop"})
	refused := func(key NewKey, want string) {
		t.Helper()
		before, _ := f.encode()
		_, raw, err := f.Create(key, testTime)
		if err == nil || !strings.Contains(err.Error(), want) || raw != "" {
			t.Fatalf("Create(%+v): %v, want %q", key, err, want)
		}
		if after, _ := f.encode(); !bytes.Equal(before, after) {
			t.Fatal("a refused key changed the file")
		}
	}

	refused(NewKey{Tenant: "acme", Surface: Live, Plan: "free"}, "another plan")
	refused(NewKey{Tenant: "new", Surface: Live}, "want a plan")
	refused(NewKey{Tenant: "", Surface: Live, Plan: "pro"}, "tenant")
	refused(NewKey{Tenant: "a b", Surface: Live, Plan: "pro"}, "tenant")
	refused(NewKey{Tenant: "acme", Plan: "pro"}, "surface")
	refused(NewKey{Tenant: "acme", Surface: Live, Scopes: PricesRead}, "scopes")
	refused(NewKey{Tenant: "acme", Surface: Live, Credits: new(int64(5))}, "credits")
	refused(NewKey{Tenant: "acme", Surface: Preview, Credits: new(int64(-5))}, "credits")
	refused(NewKey{Tenant: "acme", Surface: Live, Expires: &testTime}, "expires")
	refused(NewKey{Tenant: "acme", Surface: Live, Name: "line\nfeed"}, "name")
	_, err := f.find("key_none")
	if !errors.Is(err, ErrNoSuchKey) {
		t.Fatal(err)
	}

	mustCreate(t, f, NewKey{Tenant: "acme", Surface: Live, Plan: "free", ChangePlan: true})
	if got := f.Tenants["acme"].PlanOf("live"); got != "free" {
		t.Fatalf("plan %q, not changed", got)
	}

	// Another surface brings its own plan, and leaves the first alone.
	mustCreate(t, f, NewKey{Tenant: "acme", Surface: Preview, Plan: "preview"})
	acme := f.Tenants["acme"]
	if acme.PlanOf("live") != "free" || acme.PlanOf("preview") != "preview" {
		t.Fatalf("%+v", acme)
	}
	refused(NewKey{Tenant: "acme", Surface: Preview, Plan: "free"}, "on this surface")

	// Credits stay, too: one key more does not change the credits that all keys of a tenant share.
	refused(NewKey{Tenant: "acme", Surface: Preview, Credits: new(int64(7))}, "other credits")
	mustCreate(t, f, NewKey{Tenant: "acme", Surface: Preview, Credits: new(int64(7)), ChangePlan: true})
	mustCreate(t, f, NewKey{Tenant: "acme", Surface: Preview, Credits: new(int64(7))})
	if acme.PlanOf("preview") != "preview" || *acme.Credits != 7 {
		t.Fatalf("%+v", acme)
	}

	key, _ := mustCreate(t, f, NewKey{Tenant: "org", Surface: Preview, Plan: "preview"})
	if strings.Join(key.Scopes, ",") != "catalog:read,prices:read,usage:read" {
		t.Fatalf("scopes %v", key.Scopes)
	}
}

func TestKeyFileHasNoKey(t *testing.T) {
	t.Parallel()
	f := NewFile()
	var raws []string
	for range 20 {
		_, raw := mustCreate(t, f, NewKey{Tenant: "acme", Surface: Live, Plan: "pro"})
		raws = append(raws, raw)
	}

	data, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}

	for _, raw := range raws {
		if bytes.Contains(data, []byte(raw[prefixLength:prefixLength+bodyLength])) {
			t.Fatal("the file holds a key")
		}
	}
}

func TestKeyLife(t *testing.T) {
	t.Parallel()
	f := NewFile()
	old, oldRaw := mustCreate(t, f, NewKey{Tenant: "acme", Surface: Live, Plan: "pro"})
	expires := testTime.Add(time.Hour)
	_, briefRaw := mustCreate(t, f, NewKey{Tenant: "acme", Surface: Live, Expires: &expires})
	_, sandboxRaw := mustCreate(t, f, NewKey{Tenant: "acme", Surface: Sandbox})
	_, goneRaw := mustCreate(t, f, NewKey{Tenant: "gone", Surface: Live, Plan: "gold"})
	ring, err := FixedRing(f, DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	want := func(raw string, now time.Time, want error) {
		t.Helper()
		p, err := ring.FindCached([]byte(raw), now.UnixMilli(), nil)
		if !errors.Is(err, want) || want == nil && p == nil {
			t.Fatalf("authenticate: %v %v, want %v", p, err, want)
		}
	}

	want("", testTime, ErrNoKey)
	want("npk_live_nonsense", testTime, ErrInvalid)
	want(Mint(Live), testTime, ErrInvalid)
	want(oldRaw, testTime, nil)
	want(sandboxRaw, testTime, ErrSandbox)
	want(goneRaw, testTime, ErrUnavailable)
	want(briefRaw, expires.Add(-time.Millisecond), nil)
	want(briefRaw, expires, ErrExpired)

	fresh, freshRaw, err := f.Rotate(old.ID, 24*time.Hour, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Replace(f); err != nil {
		t.Fatal(err)
	}

	want(oldRaw, testTime.Add(24*time.Hour-time.Millisecond), nil)
	want(oldRaw, testTime.Add(24*time.Hour), ErrExpired)
	want(freshRaw, testTime.Add(100*24*time.Hour), nil)
	if _, _, err := f.Rotate(old.ID, 0, testTime); err == nil {
		t.Fatal("rotated twice")
	}
	if _, err := f.Revoke(fresh.ID, testTime); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Rotate(fresh.ID, 0, testTime); err == nil {
		t.Fatal("rotated a revoked key")
	}

	want(freshRaw, testTime, nil) // not yet seen
	if err := ring.Replace(f); err != nil {
		t.Fatal(err)
	}

	want(freshRaw, testTime, ErrRevoked)
	for when, status := range map[time.Time]string{testTime: "active", testTime.Add(24 * time.Hour): "expired"} {
		if got := f.Keys[0].Status(when); got != status {
			t.Fatalf("status at %s: %s", when, got)
		}
	}
}

func TestUpdateKeysOnDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := Read(dir); !errors.Is(err, ErrNoFile) {
		t.Fatalf("no file: %v", err)
	}

	create := func(f *File) error {
		_, _, err := f.Create(NewKey{Tenant: "acme", Surface: Live, Plan: "pro"}, testTime)
		return err
	}

	if err := Update(dir, create); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(dir, statedir.KeysName)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}

	before, _ := os.ReadFile(path)
	failed := errors.New("changed my mind")
	err = Update(dir, func(f *File) error { return errors.Join(create(f), failed) })
	if after, _ := os.ReadFile(path); !errors.Is(err, failed) || !bytes.Equal(before, after) {
		t.Fatalf("a failed change was written: %v", err)
	}
	if err := os.WriteFile(path, before[:len(before)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Update(dir, create); !errors.Is(err, wal.ErrCorrupt) {
		t.Fatalf("damaged file: %v", err)
	}
	if after, _ := os.ReadFile(path); len(after) != len(before)/2 {
		t.Fatal("a damaged file was overwritten")
	}

	names, _ := filepath.Glob(filepath.Join(dir, "*tmp*"))
	if len(names) > 0 {
		t.Fatalf("left behind: %v", names)
	}
}

const createKeysEnv = "NINEPOCKET_TEST_CREATE_KEYS"

// TestUpdateKeysProcesses has several processes and goroutines create keys at once; none may be
// lost.
func TestUpdateKeysProcesses(t *testing.T) {
	if dir := os.Getenv(createKeysEnv); dir != "" {
		createKeys(t, dir, 10)
		return
	}

	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestUpdateKeysProcesses$")
			cmd.Env = append(os.Environ(), createKeysEnv+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		group.Go(func() { createKeys(t, dir, 10) })
	}

	group.Wait()
	f, err := Read(dir)
	if err != nil || len(f.Keys) != 60 {
		t.Fatalf("%d keys, want 60 (%v)", len(f.Keys), err)
	}
}

func createKeys(t *testing.T, dir string, n int) {
	for range n {
		create := func(f *File) error {
			_, _, err := f.Create(NewKey{Tenant: "acme", Surface: Live, Plan: "pro"}, testTime)
			return err
		}
		err := Update(dir, create)
		for errors.Is(err, statedir.ErrLocked) { // six who want it all the time are not fair to each other
			err = Update(dir, create)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestEmptyKeysFile opens a keys file that was cut to nothing: it is damaged, and no ring.
func TestEmptyKeysFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", " ", "\n", "null", "{", "{}"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, statedir.KeysName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if ring, err := OpenRing(dir, DefaultPlans()); !errors.Is(err, ErrDamaged) || ring != nil {
			t.Errorf("content %q: a ring %v, error %v", content, ring != nil, err)
		}
	}
}

// TestKeyRingFollows changes, damages and removes the file under a ring.
func TestKeyRingFollows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := OpenRing(dir, DefaultPlans()); !errors.Is(err, ErrNoFile) {
		t.Fatalf("no file: %v", err)
	}

	var id, raw string
	update := func(change func(f *File) error) {
		t.Helper()
		if err := Update(dir, change); err != nil {
			t.Fatal(err)
		}
	}

	update(func(f *File) error {
		key, text, err := f.Create(NewKey{Tenant: "acme", Surface: Live, Plan: "pro"}, testTime)
		id = key.ID
		raw = text
		return err
	})

	ring, err := OpenRing(dir, DefaultPlans())
	if err != nil || ring.Len() != 1 {
		t.Fatal(ring.Len(), err)
	}

	reports := make(chan error, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	report := func(changed bool, err error) {
		if changed || err != nil {
			reports <- err
		}
	}
	go func() { ring.Watch(ctx, 5*time.Millisecond, report); close(done) }()
	next := func() error {
		select {
		case err := <-reports:
			return err
		case <-time.After(time.Minute):
			t.Fatal("no report")
			return nil
		}
	}

	check := func(want error) {
		t.Helper()
		if _, err := ring.FindCached([]byte(raw), testTime.UnixMilli(), nil); !errors.Is(err, want) {
			t.Fatalf("authenticate: %v, want %v", err, want)
		}
	}

	// A file that is written in place may be read half done.
	path := filepath.Join(dir, statedir.KeysName)
	replace := func(data []byte) {
		t.Helper()
		fresh := filepath.Join(t.TempDir(), statedir.KeysName)
		if err := errors.Join(os.WriteFile(fresh, data, 0o600), os.Rename(fresh, path)); err != nil {
			t.Fatal(err)
		}
	}
	good, _ := os.ReadFile(path)
	replace(good[:len(good)-20])
	if err := next(); !errors.Is(err, wal.ErrCorrupt) || strings.Contains(err.Error(), "npk_") {
		t.Fatalf("damaged: %v", err)
	}

	check(nil)
	os.Remove(path)
	if err := next(); !errors.Is(err, ErrNoFile) {
		t.Fatalf("removed: %v", err)
	}

	check(nil)
	replace(good)
	update(func(f *File) error { _, err := f.Revoke(id, testTime); return err })
	if err := next(); err != nil {
		t.Fatalf("changed: %v", err)
	}

	check(ErrRevoked)
	cancel()
	<-done
}

func FuzzParseKeyFile(f *testing.F) {
	file := NewFile()
	mustCreate(f, file, NewKey{Tenant: "acme", Surface: Live, Plan: "pro"})
	mustCreate(f, file, NewKey{
		Tenant: "org", Surface: Preview, Plan: "preview", Credits: new(int64(5)),
	})
	org := file.Tenants["org"]
	org.PeriodStart = &testTime
	org.PeriodEnd = new(testTime.Add(time.Hour))

	good, err := file.encode()
	if err != nil {
		f.Fatal(err)
	}

	f.Add(good)
	f.Add([]byte(`{"version":1,"tenants":{"a":null},"keys":[null]}`))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseFile(data)
		if err != nil {
			if !errors.Is(err, wal.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		ring, err := FixedRing(file, DefaultPlans())
		if err != nil || ring.Len() != len(file.Keys) {
			t.Fatalf("a parsed file makes no ring: %v", err)
		}

		for _, p := range ring.current.Load().keys {
			p.PeriodAt(testTime.UnixMilli())
		}
	})
}
