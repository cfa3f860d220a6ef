package keys

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUnusable wants the active keys of tenants whose plan is not configured, and no others.
func TestUnusable(t *testing.T) {
	t.Parallel()
	f := NewFile()
	ends := testTime.Add(time.Hour)
	first, _ := mustCreate(t, f, NewKey{Tenant: "b", Surface: Live, Plan: "gold"})
	second, _ := mustCreate(t, f, NewKey{Tenant: "b", Surface: Preview, Expires: &ends})
	revoked, _ := mustCreate(t, f, NewKey{Tenant: "b", Surface: Live})
	mustCreate(t, f, NewKey{Tenant: "b", Surface: Sandbox}) // is 403 whatever the plan
	third, _ := mustCreate(t, f, NewKey{Tenant: "a", Surface: Live, Plan: "silver"})
	mustCreate(t, f, NewKey{Tenant: "c", Surface: Live, Plan: "free"})
	if _, err := f.Revoke(revoked.ID, testTime); err != nil {
		t.Fatal(err)
	}

	ring, err := FixedRing(f, DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	want := func(now time.Time, want ...WithoutPlan) {
		t.Helper()
		if diff := cmp.Diff(want, ring.WithoutPlan(now)); diff != "" {
			t.Fatalf("unusable keys (-want +got):\n%s", diff)
		}
	}

	silver := WithoutPlan{Tenant: "a", Plan: "silver", Keys: []string{third.ID}}
	want(testTime, silver, WithoutPlan{Tenant: "b", Plan: "gold", Keys: []string{first.ID, second.ID}})
	want(ends, silver, WithoutPlan{Tenant: "b", Plan: "gold", Keys: []string{first.ID}})

	plans := DefaultPlans()
	plans.Set("gold", Plan{})
	if err := ring.SetPlans(plans); err != nil {
		t.Fatal(err)
	}

	want(testTime, silver)
	plans.Set("silver", Plan{})
	if err := ring.SetPlans(plans); err != nil {
		t.Fatal(err)
	}

	want(testTime)
}
