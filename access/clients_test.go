package access

import (
	"math"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

var testTime = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func instant(now time.Time) Instant {
	return Instant{Mono: now.Sub(testTime).Milliseconds(), Wall: now.UnixMilli()}
}

func mustCreate(t testing.TB, f *keys.File, want keys.NewKey) (*keys.Key, string) {
	t.Helper()
	key, raw, err := f.Create(want, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return key, raw
}

// principalOf returns the caller of a key in a file. The key's text is not known any more.
func principalOf(f *keys.File, key *keys.Key, plans keys.Plans) *keys.Principal {
	tenant := f.Tenants[key.Tenant]
	kind, _ := keys.ParseSurface(key.Surface) // checked when the file was read
	p := &keys.Principal{KeyID: key.ID, Tenant: key.Tenant, Surface: kind, Plan: plans[tenant.PlanOf(key.Surface)]}
	if p.Plan != nil {
		p.Credits = p.Plan.Credits
	}
	if tenant.Credits != nil {
		p.Credits = *tenant.Credits
	}
	return p
}

// readUsage is the ledger of a state directory from a day on, as `ninepocket usage --json` prints
// it.
func readUsage(dir, tenant string, since calendar.Day) (LedgerReport, error) {
	rows, err := ReadLedger(dir, tenant, since, math.MaxInt32)
	return NewLedgerReport(rows), err
}
