package accesstest

import (
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// epoch is when tests start: noon, far from any boundary.
var epoch = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// start is the Instant of epoch.
var start = access.Instant{Mono: 0, Wall: epoch.UnixMilli()}

// after returns an Instant some time after another, by both clocks.
func after(now access.Instant, d time.Duration) access.Instant {
	return access.Instant{Mono: now.Mono + d.Milliseconds(), Wall: now.Wall + d.Milliseconds()}
}

// world is a ring of keys by name, for a store under test.
type world struct {
	t     testing.TB
	file  *keys.File
	plans keys.Plans
	ring  *keys.Ring
	raw   map[string]string // name → key
	ids   map[string]string // name → key id
}

// newWorld has the tenants and keys of the suite. Live tenants are small (keys small and small2: 5
// a minute, 12 a day), wide (key wide: 3,000 a minute, bucketed) and free (key free). Preview
// tenants are org (keys org and org2: 60 a minute, 7 credits) and rival (key rival: 10,000
// credits).
func newWorld(t testing.TB) *world {
	w := &world{
		t: t, file: keys.NewFile(), plans: keys.DefaultPlans(),
		raw: map[string]string{}, ids: map[string]string{},
	}
	w.plans.Set("small", keys.Plan{PerMinute: 5, PerDay: 12})
	w.plans.Set("wide", keys.Plan{PerMinute: 3_000, PerDay: 1_000_000})

	w.add("small", keys.NewKey{Tenant: "small", Surface: keys.Live, Plan: "small"})
	w.add("small2", keys.NewKey{Tenant: "small", Surface: keys.Live})
	w.add("wide", keys.NewKey{Tenant: "wide", Surface: keys.Live, Plan: "wide"})
	w.add("free", keys.NewKey{Tenant: "free", Surface: keys.Live, Plan: "free"})
	w.add("org", keys.NewKey{Tenant: "org", Surface: keys.Preview, Plan: "preview", Credits: new(int64(7))})
	w.add("org2", keys.NewKey{Tenant: "org", Surface: keys.Preview})
	w.add("rival", keys.NewKey{Tenant: "rival", Surface: keys.Preview, Plan: "preview"})

	ring, err := keys.FixedRing(w.file, w.plans)
	if err != nil {
		t.Fatal(err)
	}
	w.ring = ring
	return w
}

// add creates a key. A name that is used again means the new key.
func (w *world) add(name string, want keys.NewKey) {
	w.t.Helper()
	key, raw, err := w.file.Create(want, epoch)
	if err != nil {
		w.t.Fatal(err)
	}
	w.raw[name] = raw
	w.ids[name] = key.ID
}

// reload loads the file into the ring.
func (w *world) reload() {
	w.t.Helper()
	if err := w.ring.Replace(w.file); err != nil {
		w.t.Fatal(err)
	}
}

// who authenticates a key by name.
func (w *world) who(name string, now access.Instant) *keys.Principal {
	w.t.Helper()
	p, err := w.ring.FindCached([]byte(w.raw[name]), now.Wall, nil)
	if err != nil {
		w.t.Fatalf("authenticate %s: %v", name, err)
	}
	return p
}
