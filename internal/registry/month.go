package registry

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// MonthBill is what a tenant owes for a month in one currency.
type MonthBill struct {
	Tenant   string `json:"tenant"`
	Month    string `json:"month"` // UTC
	Plan     string `json:"plan"`  // plans of the month, joined by +
	Used     int64  `json:"used"`  // charged requests and credits
	Included int64  `json:"included"`
	Overage  int64  `json:"overage"`
	Amount   *int64 `json:"amount"` // minor units; null without a price
	Currency string `json:"currency,omitempty"`
	Complete bool   `json:"complete"` // the month is over
	Problem  string `json:"problem,omitempty"`
	Parts    []Part `json:"parts"`
}

// Part is the days of a month on one plan.
type Part struct {
	Plan     string `json:"plan"`
	Days     int64  `json:"days"`
	Used     int64  `json:"used"`
	Included int64  `json:"included"` // of these days, rounded up
	Overage  int64  `json:"overage"`
}

// Month is a calendar month of UTC.
type Month struct{ First, Last calendar.Day }

// ParseMonth reads a month such as 2026-10.
func ParseMonth(text string) (Month, error) {
	first, err := time.Parse("2006-01", text)
	last := first.AddDate(0, 1, -1)
	return Month{calendar.DayOf(first.UnixMilli()), calendar.DayOf(last.UnixMilli())}, err
}

// surfaceOf is a surface of a tenant, whose plans the key log tells.
type surfaceOf struct{ tenant, surface string }

// planHistory is which plan a tenant had on a surface.
type planHistory struct {
	first, last calendar.Day // with a plan
	before      string       // the plan until the first change
	changes     []planChange
}

type planChange struct {
	day  calendar.Day
	plan string
}

// at returns the plan of a day: the one that the day ended with.
func (h *planHistory) at(day calendar.Day) string {
	plan := h.before
	for _, change := range h.changes {
		if change.day <= day {
			plan = change.plan
		}
	}
	return plan
}

// planHistories returns the plans of all tenants by surface, as the key log and the keys tell.
func (b *Bill) planHistories() map[surfaceOf]*planHistory {
	all := map[surfaceOf]*planHistory{}
	for _, key := range b.Keys.Keys {
		of := surfaceOf{key.Tenant, key.Surface}
		day := calendar.DayOf(key.CreatedAt.UnixMilli())
		if all[of] == nil {
			plan := b.Keys.Tenants[key.Tenant].PlanOf(key.Surface)
			all[of] = &planHistory{first: day, last: calendar.DayOf(farFuture), before: plan}
		}
		all[of].first = min(all[of].first, day)
	}

	// Sandbox keys get no data, and their plan costs nothing.
	maps.DeleteFunc(all, func(of surfaceOf, _ *planHistory) bool { return of.surface == keys.Sandbox.String() })
	for _, change := range b.Changes {
		day := calendar.DayOf(change.At.UnixMilli())
		if change.Command == "delete" {
			for of, history := range all {
				if of.tenant == change.Tenant {
					history.last = day
				}
			}
		}
		history := all[surfaceOf{change.Tenant, change.Surface}]
		if history == nil || change.Plan == "" {
			continue
		}
		if len(history.changes) == 0 {
			history.before = cmp.Or(change.PlanBefore, change.Plan)
		}
		history.changes = append(history.changes, planChange{day, change.Plan})
	}
	return all
}

// farFuture is after all days that a bill may name, in Unix milliseconds.
const farFuture = int64(1) << 46

// monthKey is a tenant's plan.
type monthKey struct{ tenant, plan string }

// Months returns the bills of a month, by tenant and currency. Its rows are those of the month.
func (b *Bill) Months(month Month, now time.Time) []MonthBill {
	histories := b.planHistories()
	parts := map[monthKey]*Part{}
	part := func(tenant, plan string) *Part {
		key := monthKey{tenant, plan}
		if parts[key] == nil {
			parts[key] = &Part{Plan: plan}
		}
		return parts[key]
	}

	// A plan that a tenant has on two surfaces is one plan, and costs once.
	days := map[monthKey]map[calendar.Day]bool{}
	for of, history := range histories {
		for day := max(month.First, history.first); day <= min(month.Last, history.last); day++ {
			key := monthKey{of.tenant, history.at(day)}
			if days[key] == nil {
				days[key] = map[calendar.Day]bool{}
			}
			days[key][day] = true
			part(key.tenant, key.plan).Days = int64(len(days[key]))
		}
	}

	surfaces := map[string]string{}
	for _, key := range b.Keys.Keys {
		surfaces[key.ID] = key.Surface
	}
	for _, row := range b.Rows {
		plan := ""
		if history := histories[surfaceOf{row.Tenant, surfaces[row.Key]}]; history != nil {
			plan = history.at(row.Day)
		}
		// A row without a charge, of a key that is gone, needs no plan.
		if row.Charged > 0 || plan != "" {
			part(row.Tenant, plan).Used += row.Charged
		}
	}
	return b.sumParts(month, parts, now)
}

// sumParts makes bills of the parts of all tenants.
func (b *Bill) sumParts(month Month, parts map[monthKey]*Part, now time.Time) []MonthBill {
	all := []MonthBill{}
	byTenant := func(a, b monthKey) int { return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.plan, b.plan)) }
	bills := map[[2]string]int{} // by tenant and currency; what has no price has no currency
	exact := map[int]*big.Rat{}
	for _, key := range slices.SortedFunc(maps.Keys(parts), byTenant) {
		part := parts[key]
		price := b.priceOf(key.plan)
		name := [2]string{key.tenant, price.Currency}
		i, begun := bills[name]
		if !begun {
			i = len(all)
			bills[name] = i
			all = append(all, MonthBill{
				Tenant: key.tenant, Month: month.First.String()[:len("2006-01")], Currency: price.Currency,
				Complete: calendar.DayOf(now.UnixMilli()) > month.Last,
			})
			exact[i] = new(big.Rat)
		}

		length := int64(month.Last - month.First + 1)
		part.Included = (price.Included*part.Days + length - 1) / length
		if price.Currency != "" {
			part.Overage = max(0, part.Used-part.Included)
		}
		exact[i].Add(exact[i], amountOf(price, part, length))

		bill := &all[i]
		bill.Plan = strings.TrimPrefix(bill.Plan+"+"+key.plan, "+")
		bill.Used += part.Used
		bill.Included += part.Included
		bill.Overage += part.Overage
		bill.Parts = append(bill.Parts, *part)
	}

	for i := range all {
		if all[i].Currency == "" {
			all[i].Problem = "no price is configured for the plan " + all[i].Plan
			continue
		}
		all[i].Amount = new(roundHalfUp(exact[i]))
	}
	return all
}

// priceOf returns the price of a plan, without a currency if none is configured.
func (b *Bill) priceOf(plan string) keys.Price {
	if known := b.Plans[plan]; known != nil && known.Price != nil {
		return *known.Price
	}
	return keys.Price{}
}

// amountOf returns the exact price of a part: its share of the month, and its overage.
func amountOf(price keys.Price, part *Part, length int64) *big.Rat {
	share := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(price.Month), big.NewInt(part.Days)), big.NewInt(length))
	overage := new(big.Int).Mul(big.NewInt(part.Overage), big.NewInt(price.Overage))
	return share.Add(share, new(big.Rat).SetFrac(overage, big.NewInt(1000)))
}

// roundHalfUp rounds an amount that is not negative.
func roundHalfUp(exact *big.Rat) int64 {
	twice := new(big.Int).Mul(exact.Num(), big.NewInt(2))
	twice.Add(twice, exact.Denom())
	return twice.Div(twice, new(big.Int).Mul(exact.Denom(), big.NewInt(2))).Int64()
}
