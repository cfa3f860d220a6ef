package mirror

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// TestTrustRotation takes a fleet from one key to another and to a third, while one server follows
// each step, one sleeps through all of them, and one begins at the end.
func TestTrustRotation(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	old := w.key
	first := w.build(1)
	second := w.build(2)
	third := w.build(3)
	folder := t.TempDir()
	awake := w.restarted(folder, old.Publisher())
	asleep := w.restarted(t.TempDir(), old.Publisher())
	must(t)(w.bucket.InitTrust(t.Context(), old, false, day))
	w.push(first)
	w.pulls(awake, first, 1)
	w.pulls(asleep, first, 1)

	// A key that was added signs at once.
	next := newKey(t, "ops-2027")
	must(t)(w.bucket.AddTrustedKey(t.Context(), old, next.Publisher(), day))
	w.key = next
	w.push(second)
	w.pulls(awake, second, 2)

	// One that was retired signs no more, for who publishes and for servers.
	must(t)(w.bucket.RetireTrustedKey(t.Context(), next, old.ID, day))
	o := w.pushing()
	o.Key = old
	if _, err := w.bucket.Push(t.Context(), w.dir, third, o); !errors.Is(err, ErrNotPublisher) {
		t.Errorf("a push with a retired key: %v", err)
	}
	last := newKey(t, "ops-2028")
	must(t)(w.bucket.AddTrustedKey(t.Context(), next, last.Publisher(), day))
	w.key = last
	w.push(third)
	w.pulls(awake, third, 3)
	w.pulls(asleep, third, 3)
	w.pulls(w.restarted(t.TempDir(), old.Publisher()), third, 3)
	w.pulls(w.restarted(t.TempDir(), next.Publisher()), third, 3)
	w.refuses(w.restarted(t.TempDir(), newKey(t, "other").Publisher()), nil, "")

	// A thief of the retired key who can write to the store reaches no follower.
	genuine := model.Get("prod/CURRENT")
	stolen, err := encodeSigned(kindCurrent, &Pointer{
		Format: pointerVersion, Epoch: 9, ID: first, ManifestSHA256: strings.Repeat("ab", 32), PublishedAt: day,
	}, old)
	if err != nil {
		t.Fatal(err)
	}
	model.Put("prod/CURRENT", stolen)
	for _, server := range []*Follower{awake, asleep, w.restarted(folder, old.Publisher())} {
		w.refuses(server, nil, `CURRENT is signed by "ops-2026", which TRUST 3 retired`)
	}

	// Nor by a TRUST of their own.
	forged, err := encodeSigned(kindTrust,
		&Trust{Format: trustFormatVersion, Version: 5, At: day, Keys: []Publisher{old.Publisher()}}, old)
	if err != nil {
		t.Fatal(err)
	}
	model.Put("prod/TRUST", forged)
	w.refuses(awake, ErrTrustBroken, `which TRUST 3 retired`)

	// An older TRUST is passed over, also after a restart.
	model.Put("prod/TRUST", model.Get("prod/trust/000000000001"))
	for _, server := range []*Follower{awake, w.restarted(folder, old.Publisher())} {
		w.refuses(server, nil, `CURRENT is signed by "ops-2026", which TRUST 3 retired`)
	}
	model.Put("prod/CURRENT", genuine)
	if _, err := awake.Pull(t.Context()); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T) func(Trust, error) {
	t.Helper()
	return func(_ Trust, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrustRefusals asks for every rotation that must not happen.
func TestTrustRefusals(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	other := newKey(t, "ops-2027")
	f := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}

	_, err := w.bucket.AddTrustedKey(t.Context(), w.key, other.Publisher(), day)
	f("to add before the first TRUST", err, ErrNoTrust)
	must(t)(w.bucket.InitTrust(t.Context(), w.key, false, day))
	_, err = w.bucket.InitTrust(t.Context(), other, false, day)
	f("to begin twice", err, ErrTrustExists)
	_, err = w.bucket.AddTrustedKey(t.Context(), other, other.Publisher(), day)
	f("to add itself", err, ErrNotPublisher)
	_, err = w.bucket.RetireTrustedKey(t.Context(), w.key, w.key.ID, day)
	f("to retire the key that signs", err, ErrInUse)
	_, err = w.bucket.AddTrustedKey(t.Context(), w.key, w.key.Publisher(), day)
	if err == nil {
		t.Error("a key was added twice")
	}
	_, err = w.bucket.RetireTrustedKey(t.Context(), w.key, "nobody", day)
	if err == nil {
		t.Error("a key was retired that is not there")
	}

	// The published objects must stay readable.
	must(t)(w.bucket.AddTrustedKey(t.Context(), w.key, other.Publisher(), day))
	id := w.build(1)
	w.push(id)
	_, err = w.bucket.RetireTrustedKey(t.Context(), other, w.key.ID, day)
	f("to retire the key of CURRENT", err, ErrInUse)
	w.key = other
	if done := w.push(id); !done.Changed || done.Epoch != 2 {
		t.Errorf("the same snapshot with another key: %+v", done)
	}
	must(t)(w.bucket.RetireTrustedKey(t.Context(), other, "ops-2026", day))
	_, err = w.bucket.AddTrustedKey(t.Context(), other, Publisher{"ops-2026", other.Publisher().Key}, day)
	if err == nil {
		t.Error("the name of a retired key was given again")
	}
}

// TestTrustOverOthers wants no key to start a TRUST over another key's release: servers would
// refuse it, and the publisher could not continue.
func TestTrustOverOthers(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	first := w.build(1)
	second := w.build(2)
	w.push(first)
	_, err := w.bucket.InitTrust(t.Context(), newKey(t, "other"), false, day)
	if !errors.Is(err, ErrNotTrustMember) {
		t.Errorf("a TRUST over a CURRENT of another key: %v", err)
	}
	w.push(second)
	must(t)(w.bucket.InitTrust(t.Context(), w.key, false, day))
}

// TestTrustCutOff loses the second write of a rotation. The next command finishes it.
func TestTrustCutOff(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	a := newKey(t, "a")
	b := newKey(t, "b")
	must(t)(w.bucket.InitTrust(t.Context(), w.key, false, day))
	model.Set(s3test.Answer(s3test.Of(http.MethodPut, "prod/TRUST"), http.StatusServiceUnavailable))
	if _, err := w.bucket.AddTrustedKey(t.Context(), w.key, a.Publisher(), day); err == nil {
		t.Fatal("a rotation that was cut off is told as done")
	}
	model.Set(nil)
	if done, err := w.bucket.AddTrustedKey(t.Context(), w.key, b.Publisher(), day); err != nil || done.Version != 3 ||
		!done.trusts(a.Publisher()) {
		t.Errorf("the rotation after: %+v, %v", done, err)
	}
}

// TestTrustLost starts again after all keys were lost: servers whose publishers are edited go on, and
// others do not.
func TestTrustLost(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	lost := w.key
	folder := t.TempDir()
	other := t.TempDir()
	must(t)(w.bucket.InitTrust(t.Context(), lost, false, day))
	first := w.build(1)
	second := w.build(2)
	w.push(first)
	w.pulls(w.restarted(folder, lost.Publisher()), first, 1)
	w.pulls(w.restarted(other, lost.Publisher()), first, 1)

	w.key = newKey(t, "new")
	must(t)(w.bucket.InitTrust(t.Context(), w.key, true, day))
	if _, err := w.bucket.Push(t.Context(), w.dir, second, w.pushing()); err == nil {
		t.Error("a push over a CURRENT that nobody trusted signed")
	}
	o := w.pushing()
	o.ForceReplace = true
	done, err := w.bucket.Push(t.Context(), w.dir, second, o)
	if err != nil || done.Epoch != 2 {
		t.Fatalf("a push that replaces: %+v, %v", done, err)
	}
	w.pulls(w.restarted(folder, w.key.Publisher()), second, 2)
	w.refuses(w.restarted(other, lost.Publisher()), ErrTrustBroken, "")
}

// TestKeyFile reads what was written, and nothing else.
func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	made, err := CreateKey(path, "ops-2026")
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadKey(path)
	if err != nil || read.Publisher().String() != made.Publisher().String() {
		t.Errorf("read %v, %v", read, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key can be read by others: %v, %v", info.Mode(), err)
	}
	if _, err := CreateKey(path, "ops-2026"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a key was written over another: %v", err)
	}
	if _, err := CreateKey(path+"2", "Ops 2026"); !errors.Is(err, ErrKey) {
		t.Errorf("a key of a bad name: %v", err)
	}

	secret, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, secret[:30], append([]byte("x"), secret...), bytes.ToUpper(secret)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadKey(path)
		if !errors.Is(err, ErrKey) || strings.Contains(err.Error(), string(secret[30:])) {
			t.Errorf("the key %q: %v", bad, err)
		}
	}

	again, err := ParsePublisher(made.Publisher().String())
	if err != nil || !again.Key.Equal(made.Publisher().Key) {
		t.Errorf("the publisher %v, %v", again, err)
	}
	text := made.Publisher().String()
	for _, bad := range []string{"", "a", "a:", ":" + text, text + "A", "A:AAAA"} {
		if _, err := ParsePublisher(bad); !errors.Is(err, ErrKey) {
			t.Errorf("publisher %q: %v", bad, err)
		}
	}
}

// TestTrustOutlivesPower cuts the power after a TRUST was loaded. The restarted server uses it.
// During a change, it uses either TRUST.
func TestTrustOutlivesPower(t *testing.T) {
	key := newKey(t, "ops-2026")
	folder := t.TempDir()
	on := disktest.New(nil)
	on.Watch(folder)
	server := func(folder string, on disk.FS) *Follower {
		c := NewFollower(nil, snapshot.OpenStore(folder), FollowerOptions{Publishers: []Publisher{key.Publisher()}})
		c.disk = on
		return c
	}
	dice := rand.New(rand.NewPCG(1, 2))
	check := func(when string, minVersion uint64) {
		t.Helper()
		for _, files := range on.PowerCuts(dice, "") {
			left := t.TempDir()
			must(t)(Trust{}, disktest.WriteFiles(left, files))
			c := server(left, disk.OS)
			must(t)(Trust{}, c.loadTrust())
			if c.ring.Version < minVersion || c.ring.Version > minVersion+1 {
				t.Fatalf("%s, TRUST %d holds, %d was taken up", when, c.ring.Version, minVersion)
			}
		}
	}

	c := server(folder, on)
	for version := range uint64(3) {
		content, err := encodeSigned(kindTrust, &Trust{
			Format: trustFormatVersion, Version: version + 1, At: day, Keys: []Publisher{key.Publisher()},
		}, key)
		if err != nil {
			t.Fatal(err)
		}
		on.Set(func(call disktest.Call) disktest.Effect {
			if call.Writes() {
				check("before "+call.String(), version)
			}
			return disktest.Effect{}
		})
		must(t)(Trust{}, c.saveTrust(content))
		on.Set(nil)
		check("after it was taken up", version+1)
	}
}
