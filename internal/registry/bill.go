package registry

import (
	"cmp"
	"maps"
	"slices"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/fleet/control"
)

// Bill is a part of the ledger, with the keys and plans to bill it.
type Bill struct {
	Keys  *keys.File
	Plans keys.Plans
	Rows  []access.LedgerRow
	// Changes are those of the key log, the oldest first: the plans of days that are over.
	Changes []Change
	// PlanChanges are those of the plans of a fleet, the oldest first.
	PlanChanges []control.PlanChange
}

// Total is the usage of a tenant on a surface. Limits are those of the present plan, null if the
// configuration does not have it.
type Total struct {
	Tenant    string `json:"tenant"`
	Surface   string `json:"surface"` // unknown if the key is not in the keys file
	Plan      string `json:"plan"`
	PerMinute *int   `json:"per_minute"`
	PerDay    *int64 `json:"per_day"`
	Quota     *int64 `json:"credits_a_period"` // preview
	Calls     int64  `json:"calls"`
	Charged   int64  `json:"charged"` // units of the daily quota, on live
	Credits   int64  `json:"credits"` // on preview
}

// Totals returns the sums of each tenant and surface, sorted.
func (b *Bill) Totals() []Total {
	surfaces := b.surfaces()
	sums := map[[2]string]*Total{}
	for _, row := range b.Rows {
		surface := cmp.Or(surfaces[row.Key], "unknown")
		at := [2]string{row.Tenant, surface}
		sum := sums[at]
		if sum == nil {
			sum = &Total{Tenant: row.Tenant, Surface: surface}
			b.limits(sum)
			sums[at] = sum
		}

		sum.Calls += row.Calls
		// Credits and units of a day must not be added.
		if surface == keys.Preview.String() {
			sum.Credits += row.Charged
		} else {
			sum.Charged += row.Charged
		}
	}

	all := []Total{}
	inOrder := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, at := range slices.SortedFunc(maps.Keys(sums), inOrder) {
		all = append(all, *sums[at])
	}
	return all
}

// surfaces returns the surfaces of the keys by their ids.
func (b *Bill) surfaces() map[string]string {
	surfaces := map[string]string{}
	for _, key := range b.Keys.Keys {
		surfaces[key.ID] = key.Surface
	}
	return surfaces
}

// limits sets the plan of a tenant on a surface, and its limits.
func (b *Bill) limits(sum *Total) {
	tenant := b.Keys.Tenants[sum.Tenant]
	// Charges without a known tenant are billed nevertheless.
	if tenant == nil || sum.Surface == "unknown" {
		return
	}
	sum.Plan = tenant.PlanOf(sum.Surface)
	plan := b.Plans[sum.Plan]
	if plan == nil {
		return
	}

	sum.PerMinute = &plan.PerMinute
	if sum.Surface == keys.Preview.String() {
		sum.Quota = cmp.Or(tenant.Credits, &plan.Credits)
	} else {
		sum.PerDay = &plan.PerDay
	}
}
