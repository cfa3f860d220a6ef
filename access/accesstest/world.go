package accesstest

import (
	"testing"
	"time"

	"ninepocket/access"
)

// epoch is when tests start: noon, far from any boundary.
var epoch = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// start is the Instant of epoch.
var start = access.Instant{Mono: 0, Wall: epoch.UnixMilli()}

// after returns an Instant some time after another, both clocks agreeing.
func after(now access.Instant, d time.Duration) access.Instant {
	return access.Instant{Mono: now.Mono + d.Milliseconds(), Wall: now.Wall + d.Milliseconds()}
}

// world is a ring of keys by name, for a store under test.
type world struct {
	t     testing.TB
	file  *access.KeyFile
	plans access.Plans
	ring  *access.KeyRing
	raw   map[string]string // name → key
	ids   map[string]string // name → key id
}

// newWorld has the tenants and keys that the suite speaks of: live tenants small (keys small,
// small2: 5 a minute, 12 a day), wide (key wide: 3,000 a minute, bucketed), free (key free);
// preview tenants org (keys org, org2: 60 a minute, 7 credits), rival (key rival: 10,000 credits).
func newWorld(t testing.TB) *world {
	w := &world{
		t: t, file: access.NewKeyFile(), plans: access.DefaultPlans(),
		raw: map[string]string{}, ids: map[string]string{},
	}
	w.plans.Set("small", access.Plan{PerMinute: 5, PerDay: 12})
	w.plans.Set("wide", access.Plan{PerMinute: 3_000, PerDay: 1_000_000})

	w.add("small", access.NewKey{Tenant: "small", Kind: access.Live, Plan: "small"})
	w.add("small2", access.NewKey{Tenant: "small", Kind: access.Live})
	w.add("wide", access.NewKey{Tenant: "wide", Kind: access.Live, Plan: "wide"})
	w.add("free", access.NewKey{Tenant: "free", Kind: access.Live, Plan: "free"})
	w.add("org", access.NewKey{Tenant: "org", Kind: access.Preview, Plan: "preview", Credits: new(int64(7))})
	w.add("org2", access.NewKey{Tenant: "org", Kind: access.Preview})
	w.add("rival", access.NewKey{Tenant: "rival", Kind: access.Preview, Plan: "preview"})

	ring, err := access.FixedKeyRing(w.file, w.plans)
	if err != nil {
		t.Fatal(err)
	}
	w.ring = ring
	return w
}

// add creates a key; a name used before now means the new one.
func (w *world) add(name string, want access.NewKey) {
	w.t.Helper()
	key, raw, err := w.file.Create(want, epoch)
	if err != nil {
		w.t.Fatal(err)
	}
	w.raw[name] = raw
	w.ids[name] = key.ID
}

// reload makes the ring see the file.
func (w *world) reload() {
	w.t.Helper()
	if err := w.ring.Replace(w.file); err != nil {
		w.t.Fatal(err)
	}
}

// who authenticates a key by name.
func (w *world) who(name string, now access.Instant) *access.Principal {
	w.t.Helper()
	p, err := w.ring.Authenticate([]byte(w.raw[name]), now)
	if err != nil {
		w.t.Fatalf("authenticate %s: %v", name, err)
	}
	return p
}
