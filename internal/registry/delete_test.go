package registry

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
)

// TestClosedBillsOfADeletedTenant deletes a tenant without a running server. No file has its name,
// its contact or its key any more. The bills of past months are unchanged, under the opaque name.
func TestClosedBillsOfADeletedTenant(t *testing.T) {
	t.Parallel()
	dir := DirStore(t.TempDir())
	ring, raw := writeTenants(t, dir)
	begun := access.Instant{Wall: noon(2026, 10, 3).UnixMilli()}
	store, err := access.OpenLocal(string(dir), access.LocalOptions{Now: begun})
	if err != nil {
		t.Fatal(err)
	}
	for day := range 28 {
		now := access.Instant{Mono: int64(day) * 86_400_000, Wall: noon(2026, 10, 3+day).UnixMilli()}
		for tenant, key := range raw {
			p, err := ring.FindCached([]byte(key), now.Wall, nil)
			if err != nil {
				t.Fatal(tenant, err)
			}
			decision := store.Admit(p, access.SpecFor(p, access.CardsGet), now)
			if _, err := store.Finish(decision.Reservation, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	bills := func() map[string]MonthBill {
		t.Helper()
		month, _ := ParseMonth("2026-10")
		file, err := dir.ReadKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := dir.ReadLedger(t.Context(), "", month.First, month.Last)
		if err != nil {
			t.Fatal(err)
		}
		changes, _, err := Changes(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		plans := keys.DefaultPlans()
		plans.Set("starter", keys.Plan{Price: &keys.Price{Month: 900, Included: 5, Overage: 12_500, Currency: "USD"}})
		plans.Set("pro", keys.Plan{Price: &keys.Price{Month: 4900, Included: 9, Overage: 150, Currency: "USD"}})
		b := Bill{Keys: file, Plans: plans, Rows: rows, Changes: changes}
		all := map[string]MonthBill{}
		for _, bill := range b.Months(month, noon(2026, 11, 20)) {
			all[bill.Tenant] = bill
		}
		return all
	}
	want := bills()
	if bill := want["customer"]; bill.Plan != "pro+starter" || bill.Used != 28 || !bill.Complete || *bill.Amount == 0 {
		t.Fatalf("%+v", bill)
	}

	opaque := keys.MintOpaque()
	if err := dir.DeleteTenant(t.Context(), "customer", opaque, noon(2026, 11, 20)); err != nil {
		t.Fatal(err)
	}
	if err := Record(t.Context(), dir, Change{At: noon(2026, 11, 20), Command: "delete", Tenant: opaque}); err != nil {
		t.Fatal(err)
	}
	moved := want["customer"]
	moved.Tenant = opaque
	delete(want, "customer")
	want[opaque] = moved
	if diff := cmp.Diff(want, bills()); diff != "" {
		t.Errorf("bills (- before, + after): %s", diff)
	}

	err = filepath.WalkDir(string(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, word := range []string{"customer", "Ada", raw["customer"][9:20]} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s has %q", path, word)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if report, err := access.VerifyState(string(dir)); err != nil || len(report.Damage) > 0 {
		t.Errorf("%v, %v", report.Damage, err)
	}
}

// writeTenants writes the keys of two tenants, and the key log with a change in the middle of October.
func writeTenants(t *testing.T, dir DirStore) (*keys.Ring, map[string]string) {
	t.Helper()
	raw := map[string]string{}
	begun := noon(2026, 9, 10)
	changed := noon(2026, 10, 12)
	var log []Change
	err := dir.UpdateKeys(t.Context(), func(file *keys.File) error {
		for _, tenant := range []string{"customer", "another"} {
			key, text, err := file.Create(keys.NewKey{Tenant: tenant, Surface: keys.Live, Plan: "starter"}, begun)
			if err != nil {
				return err
			}
			raw[tenant] = text
			log = append(log, Change{
				At: begun, Command: "create", Tenant: tenant, Key: key.ID, Surface: "live", Plan: "starter",
			})
		}
		file.KeysOf("customer")[0].Name = "Ada"
		file.Tenants["customer"].Contact = "Ada"
		_, err := file.ChangeTenant(keys.NewKey{Tenant: "customer", Surface: keys.Live, Plan: "pro"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range append(log,
		Change{
			At: changed, Command: "set-plan", Tenant: "customer", Surface: "live", Plan: "pro", PlanBefore: "starter",
			What: "plan, contact",
		},
		Change{At: changed, Command: "suspend", Tenant: "customer", Reason: "customer, that is Ada, has not paid"},
	) {
		if err := Record(t.Context(), dir, change); err != nil {
			t.Fatal(err)
		}
	}

	// A line that was torn when the machine died.
	name := filepath.Join(string(dir), statedir.KeyRecordName)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(`{"at":"2026-10-13T12:00:00Z","tenant":"customer`)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keys.OpenRing(string(dir), keys.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	return ring, raw
}

// TestDryRunDeletesNothing tries a deletion.
func TestDryRunDeletesNothing(t *testing.T) {
	t.Parallel()
	dir := DirStore(t.TempDir())
	writeTenants(t, dir)
	if err := (DryRun{dir}).DeleteTenant(t.Context(), "customer", keys.MintOpaque(), time.Now()); err != nil {
		t.Fatal(err)
	}
	file, err := dir.ReadKeys(t.Context())
	if err != nil || file.Tenants["customer"] == nil {
		t.Errorf("%v, %v", file, err)
	}
}
