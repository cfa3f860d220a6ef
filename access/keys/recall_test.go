package keys

import (
	"errors"
	"testing"
	"time"
)

// TestRecognize asks with one KeyCache as a connection does: every answer is that of Authenticate,
// independent of earlier calls. A key that is revoked, expires or changes its plan does so at once.
func TestRecognize(t *testing.T) {
	t.Parallel()
	f := NewFile()
	first, firstRaw := mustCreate(t, f, NewKey{Tenant: "one", Surface: Live, Plan: "pro"})
	_, secondRaw := mustCreate(t, f, NewKey{Tenant: "two", Surface: Live, Plan: "free"})
	_, sandboxRaw := mustCreate(t, f, NewKey{Tenant: "two", Surface: Sandbox, Plan: "free"})
	ends := testTime.Add(time.Hour)
	_, endsRaw := mustCreate(t, f, NewKey{Tenant: "two", Surface: Live, Plan: "free", Expires: &ends})
	ring, err := FixedRing(f, DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	var last KeyCache
	now := testTime.UnixMilli()
	raws := []string{
		firstRaw, secondRaw, sandboxRaw, endsRaw,
		"", "npk_live_", firstRaw[:len(firstRaw)-1], firstRaw + "x", Mint(Live),
	}

	ask := func() {
		t.Helper()
		for _, before := range raws {
			for _, raw := range raws {
				for _, key := range []string{before, raw, raw} {
					got, err := ring.FindCached([]byte(key), now, &last)
					want, wanted := ring.FindCached([]byte(key), now, nil)
					if got != want || !errors.Is(err, wanted) {
						t.Fatalf("key %d characters after another of %d: %v, %v; want %v, %v",
							len(key), len(before), got, err, want, wanted)
					}
				}
			}
		}
		ring.FindCached([]byte(firstRaw), now, &last) // what a connection would hold on to
	}

	ask()
	now = ends.UnixMilli()
	if ask(); last.principal == nil || last.principal.KeyID != first.ID {
		t.Fatalf("%+v", last)
	}
	if _, err := ring.FindCached([]byte(endsRaw), now, &last); !errors.Is(err, ErrExpired) {
		t.Fatal(err)
	}

	plans := DefaultPlans()
	plans.Set("pro", Plan{PerMinute: 7})
	if err := ring.SetPlans(plans); err != nil {
		t.Fatal(err)
	}
	if p, err := ring.FindCached([]byte(firstRaw), now, &last); err != nil || p.Plan.PerMinute != 7 {
		t.Fatalf("after a change of plans: %+v, %v", p, err)
	}
	if _, err := f.Revoke(first.ID, testTime); err != nil {
		t.Fatal(err)
	}
	if err := ring.Replace(f); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.FindCached([]byte(firstRaw), now, &last); !errors.Is(err, ErrRevoked) {
		t.Fatalf("after it was revoked: %v", err)
	}

	ask()
	other, err := FixedRing(NewFile(), DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.FindCached([]byte(secondRaw), now, &last); !errors.Is(err, ErrInvalid) {
		t.Fatalf("in another ring: %v", err)
	}
}
