package registry

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
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

// MonthBill is what a tenant owes for a month in one currency.
type MonthBill struct {
	Tenant   string `json:"tenant"`
	Month    string `json:"month"` // UTC
	Plan     string `json:"plan"`  // of the month, joined by +
	Used     int64  `json:"used"`  // what was charged: requests and credits
	Included int64  `json:"included"`
	Overage  int64  `json:"overage"`
	Amount   *int64 `json:"amount"` // minor units; null without a price
	Currency string `json:"currency"`
	Complete bool   `json:"complete"` // the month is over
	Problem  string `json:"problem,omitempty"`
}

// Month is a calendar month of UTC.
type Month struct{ First, Last calendar.Day }

// ParseMonth reads a month such as 2026-10.
func ParseMonth(text string) (Month, error) {
	first, err := time.Parse("2006-01", text)
	return Month{calendar.DayOf(first.UnixMilli()), calendar.DayOf(first.AddDate(0, 1, -1).UnixMilli())}, err
}

// planHistory is which plan a tenant had on a surface.
type planHistory struct {
	first, last calendar.Day // with a plan
	before      string       // the plan until the first change
	changes     []Change
}

// at returns the plan of a day: the one that the day ended with.
func (h *planHistory) at(day calendar.Day) string {
	plan := h.before
	for i := range h.changes {
		if h.changes[i].day() <= day {
			plan = h.changes[i].Plan
		}
	}
	return plan
}

func (change *Change) day() calendar.Day { return calendar.DayOf(change.At.UnixMilli()) }

// planHistories returns the plans of tenants by their names and surfaces, from keys and key log.
// Sandbox keys get no data, and their plan costs nothing.
func (b *Bill) planHistories(through calendar.Day) map[[2]string]*planHistory {
	all := map[[2]string]*planHistory{}
	for _, key := range b.Keys.Keys {
		of := [2]string{key.Tenant, key.Surface}
		day := calendar.DayOf(key.CreatedAt.UnixMilli())
		if all[of] == nil {
			all[of] = &planHistory{first: day, last: through, before: b.Keys.Tenants[key.Tenant].PlanOf(key.Surface)}
		}
		all[of].first = min(all[of].first, day)
	}
	maps.DeleteFunc(all, func(of [2]string, _ *planHistory) bool { return of[1] == keys.Sandbox.String() })

	for _, change := range b.Changes {
		for of, history := range all {
			if change.Command == "delete" && of[0] == change.Tenant {
				history.last = change.day()
			}
		}
		history := all[[2]string{change.Tenant, change.Surface}]
		if history == nil || change.Plan == "" {
			continue
		}
		// An old line does not say what was before: then nothing changed.
		if len(history.changes) == 0 {
			history.before = cmp.Or(change.PlanBefore, change.Plan)
		}
		history.changes = append(history.changes, change)
	}
	return all
}

// priceOn returns the price that a plan had when a day ended. Plans older than all changes are
// those of the first change, which took them from a file.
func (b *Bill) priceOn(name string, day calendar.Day) (price keys.Price) {
	plan := b.Plans[name]
	changed := false
	for _, change := range b.PlanChanges {
		if change.Name == name && (!changed || calendar.DayOf(change.At.UnixMilli()) <= day) {
			plan = change.Plan
			changed = true
		}
	}
	if plan != nil && plan.Price != nil {
		price = *plan.Price
	}
	return price
}

// pricedPlan is a plan of a tenant at one price.
type pricedPlan struct {
	tenant, plan string
	price        keys.Price
}

// planMonth is what a tenant had of a plan in a month.
type planMonth struct {
	days map[calendar.Day]bool
	used int64
}

// planMonths returns the months of tenants by their names, plans and prices. A plan that a tenant has on two
// surfaces is one plan, and costs once.
func (b *Bill) planMonths(month Month) map[pricedPlan]*planMonth {
	all := map[pricedPlan]*planMonth{}
	of := func(tenant, plan string, day calendar.Day) *planMonth {
		key := pricedPlan{tenant, plan, b.priceOn(plan, day)}
		if all[key] == nil {
			all[key] = &planMonth{days: map[calendar.Day]bool{}}
		}
		return all[key]
	}

	histories := b.planHistories(month.Last)
	for name, history := range histories {
		// By days, because two surfaces may have a plan on different ones.
		for day := max(month.First, history.first); day <= min(month.Last, history.last); day++ {
			of(name[0], history.at(day), day).days[day] = true
		}
	}

	surfaces := b.surfaces()
	for _, row := range b.Rows {
		history := histories[[2]string{row.Tenant, surfaces[row.Key]}]
		switch {
		case history != nil:
			of(row.Tenant, history.at(row.Day), row.Day).used += row.Charged
		case row.Charged > 0: // of a key that is gone
			of(row.Tenant, "unknown", row.Day).used += row.Charged
		}
	}
	return all
}

// Months returns the bills of a month, by tenant and currency; what has no price has none. Its rows are those
// of the month.
func (b *Bill) Months(month Month, now time.Time) []MonthBill {
	all := []MonthBill{}
	exact := []*big.Rat{}
	index := map[[2]string]int{}
	months := b.planMonths(month)
	inOrder := func(a, b pricedPlan) int {
		return cmp.Or(strings.Compare(a.tenant, b.tenant), strings.Compare(a.plan, b.plan))
	}
	for _, had := range slices.SortedFunc(maps.Keys(months), inOrder) {
		price := had.price
		i, begun := index[[2]string{had.tenant, price.Currency}]
		if !begun {
			i = len(all)
			index[[2]string{had.tenant, price.Currency}] = i
			exact = append(exact, new(big.Rat))
			all = append(all, MonthBill{
				Tenant: had.tenant, Month: month.First.String()[:len("2006-01")], Currency: price.Currency,
				Complete: calendar.DayOf(now.UnixMilli()) > month.Last,
			})
		}

		// A part of a month includes its share, rounded up.
		part := months[had]
		days := int64(len(part.days))
		length := int64(month.Last-month.First) + 1
		included := (price.Included*days + length - 1) / length
		overage := max(0, part.used-included)
		if price.Currency == "" {
			overage = 0
		}
		exact[i].Add(exact[i], product(price.Month, days, length))
		exact[i].Add(exact[i], product(price.Overage, overage, 1000))

		bill := &all[i]
		// A plan that changed its price is named once.
		if !strings.HasSuffix("+"+bill.Plan, "+"+had.plan) {
			bill.Plan = strings.TrimPrefix(bill.Plan+"+"+had.plan, "+")
		}
		bill.Used += part.used
		bill.Included += included
		bill.Overage += overage
	}

	for i := range all {
		minor, _ := strconv.ParseInt(exact[i].FloatString(0), 10, 64) // rounded, halves up
		all[i].Amount = &minor
		if all[i].Currency == "" {
			all[i].Amount = nil
			all[i].Problem = "no price is configured for plan " + all[i].Plan
		}
	}
	return all
}

// product returns a × b / c.
func product(a, b, c int64) *big.Rat {
	return new(big.Rat).Mul(big.NewRat(a, 1), big.NewRat(b, c))
}
