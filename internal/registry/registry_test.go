package registry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
)

// TestRecord notes changes in a folder, with a torn line between them: it is named and left out.
func TestRecord(t *testing.T) {
	t.Parallel()
	folder := DirStore(t.TempDir())
	name := filepath.Join(string(folder), statedir.KeyRecordName)
	all, unreadable, err := Changes(t.Context(), folder)
	if err != nil || len(all) != 0 || all == nil || unreadable != nil {
		t.Fatalf("before the first change: %v, %v, %v", all, unreadable, err)
	}

	at := time.Date(2026, 11, 23, 21, 0, 0, 5000, time.FixedZone("", 3600))
	made := Change{At: at, By: "ops", Command: "create", Tenant: "acme", Key: "key_a", Surface: "live", Plan: "pro"}
	reset := Change{At: at, By: "ops", Command: "reset-day", Tenant: "acme", What: "day"}
	for _, change := range []Change{made, reset} {
		if err := Record(t.Context(), folder, change); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, append(text, "{\"at\":\n"...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	made.At = time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	reset.At = made.At
	all, unreadable, err = Changes(t.Context(), folder)
	if diff := cmp.Diff([]Change{made, reset}, all); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	if diff := cmp.Diff([]int{2, 4}, unreadable); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record has mode %v, %v", info.Mode(), err)
	}
}

// TestTotals sums up tenants by surface: limits are those of the plan, credits are of preview alone, and
// a key that is gone has neither surface nor plan.
func TestTotals(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	file := keys.NewFile()
	own := int64(7)
	ids := map[string]string{}
	for _, wanted := range []keys.NewKey{
		{Name: "live", Tenant: "acme", Surface: keys.Live, Plan: "pro"},
		{Name: "preview", Tenant: "acme", Surface: keys.Preview, Plan: "preview", Credits: &own},
		{Name: "odd", Tenant: "beta", Surface: keys.Live, Plan: "gold"},
	} {
		made, _, err := file.Create(wanted, now)
		if err != nil {
			t.Fatal(err)
		}
		ids[wanted.Name] = made.ID
	}

	row := func(tenant, key string, calls, charged int64) access.LedgerRow {
		return access.LedgerRow{Tenant: tenant, Key: key, Counts: access.Counts{Calls: calls, Charged: charged}}
	}
	plans := keys.DefaultPlans()
	b := Bill{Keys: file, Plans: plans, Rows: []access.LedgerRow{
		row("acme", ids["live"], 3, 2), row("acme", ids["preview"], 5, 4), row("acme", ids["live"], 10, 10),
		row("beta", ids["odd"], 1, 1), row("acme", "key_gone", 2, 1),
	}}
	want := []Total{
		{
			Tenant: "acme", Surface: "live", Plan: "pro", PerMinute: &plans["pro"].PerMinute,
			PerDay: &plans["pro"].PerDay, Calls: 13, Charged: 12,
		},
		{
			Tenant: "acme", Surface: "preview", Plan: "preview", PerMinute: &plans["preview"].PerMinute,
			Quota: &own, Calls: 5, Credits: 4,
		},
		{Tenant: "acme", Surface: "unknown", Calls: 2, Charged: 1},
		{Tenant: "beta", Surface: "live", Plan: "gold", Calls: 1, Charged: 1},
	}
	if diff := cmp.Diff(want, b.Totals()); diff != "" {
		t.Error(diff)
	}
	if none := (&Bill{Keys: keys.NewFile()}).Totals(); none == nil || len(none) != 0 {
		t.Errorf("an empty bill is %v", none)
	}
}
