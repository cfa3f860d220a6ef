//go:build !race

package access

import (
	"testing"
	"time"

	"ninepocket/access/keys"
)

// TestAllocations keeps the hot path free of them.
func TestAllocations(t *testing.T) {
	f := keys.NewFile()
	_, raw := mustCreate(t, f, keys.NewKey{Tenant: "free", Surface: keys.Live, Plan: "unlimited"})
	_, slowRaw := mustCreate(t, f, keys.NewKey{Tenant: "slow", Surface: keys.Live, Plan: "pro"})
	_, previewRaw := mustCreate(t, f, keys.NewKey{Tenant: "org", Surface: keys.Preview, Plan: "unlimited"})
	ring, err := keys.FixedRing(f, keys.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	now := instant(testTime)
	embedded, err := OpenLocal(t.TempDir(), LocalOptions{Now: now, CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer embedded.Close()

	none := func(name string, run func()) {
		t.Helper()
		if n := testing.AllocsPerRun(2000, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}

	for name, store := range map[string]Store{"memory": NewMemory(MemoryOptions{}), "embedded": embedded} {
		gate := NewGate(ring, store)
		for key, op := range map[string]Operation{raw: CardsGet, previewRaw: UsageGet} {
			key := []byte(key)
			none(name+" "+string(op), func() {
				now.Mono += 10_000
				now.Wall += 10_000
				p, err := gate.Authenticate(key, now)
				decision := gate.Admit(p, op, now)
				if err != nil || decision.Result != Admitted {
					t.Fatal(err, decision.Result)
				}
				if _, err := gate.Finish(decision.Reservation, true); err != nil {
					t.Fatal(err)
				}
			})
			now = instant(testTime) // one ledger row
		}

		slow, _ := gate.Authenticate([]byte(slowRaw), now)
		none(name+" refused", func() {
			if decision := gate.Admit(slow, CardsGet, now); decision.Result == Admitted {
				gate.Finish(decision.Reservation, false)
			}
		})
	}
}
