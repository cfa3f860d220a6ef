package access

import (
	"errors"
	"testing"
	"time"
)

// TestRecognize asks with one Recall as a connection does: every answer is that of Authenticate,
// whatever was asked before, and a key that is revoked, expires or changes its plan does so at
// once.
func TestRecognize(t *testing.T) {
	t.Parallel()
	f := NewKeyFile()
	first, firstRaw := mustCreate(t, f, NewKey{Tenant: "one", Kind: Live, Plan: "pro"})
	_, secondRaw := mustCreate(t, f, NewKey{Tenant: "two", Kind: Live, Plan: "free"})
	_, sandboxRaw := mustCreate(t, f, NewKey{Tenant: "two", Kind: Sandbox, Plan: "free"})
	ends := testTime.Add(time.Hour)
	_, endsRaw := mustCreate(t, f, NewKey{Tenant: "two", Kind: Live, Plan: "free", Expires: &ends})
	ring, err := FixedKeyRing(f, DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	var last Recall
	now := instant(testTime)
	raws := []string{
		firstRaw, secondRaw, sandboxRaw, endsRaw,
		"", "npk_live_", firstRaw[:len(firstRaw)-1], firstRaw + "x", MintKey(Live),
	}

	ask := func() {
		t.Helper()
		for _, before := range raws {
			for _, raw := range raws {
				for _, key := range []string{before, raw, raw} {
					got, err := ring.recognize([]byte(key), now, &last)
					want, wanted := ring.Authenticate([]byte(key), now)
					if got != want || !errors.Is(err, wanted) {
						t.Fatalf("key %d characters after another of %d: %v, %v; want %v, %v",
							len(key), len(before), got, err, want, wanted)
					}
				}
			}
		}
		ring.recognize([]byte(firstRaw), now, &last) // what a connection would hold on to
	}

	ask()
	now = instant(ends)
	if ask(); last.principal == nil || last.principal.KeyID != first.ID {
		t.Fatalf("%+v", last)
	}
	if _, err := ring.recognize([]byte(endsRaw), now, &last); !errors.Is(err, ErrExpired) {
		t.Fatal(err)
	}

	plans := DefaultPlans()
	plans.Set("pro", Plan{PerMinute: 7})
	if err := ring.SetPlans(plans); err != nil {
		t.Fatal(err)
	}
	if p, err := ring.recognize([]byte(firstRaw), now, &last); err != nil || p.Plan.PerMinute != 7 {
		t.Fatalf("after a change of plans: %+v, %v", p, err)
	}
	if _, err := f.Revoke(first.ID, testTime); err != nil {
		t.Fatal(err)
	}
	if err := ring.Replace(f); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.recognize([]byte(firstRaw), now, &last); !errors.Is(err, ErrRevoked) {
		t.Fatalf("after it was revoked: %v", err)
	}

	ask()
	other, err := FixedKeyRing(NewKeyFile(), DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.recognize([]byte(secondRaw), now, &last); !errors.Is(err, ErrInvalid) {
		t.Fatalf("in another ring: %v", err)
	}
}
