package registry

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// oracle has a tenant's plan of every day apart from the key log, and bills by hand with fractions.
type oracle struct {
	random *rand.Rand
	file   *keys.File
	log    []Change
	rows   []access.LedgerRow
	plans  keys.Plans

	surfaces map[string]string                            // of keys, by id
	planAt   map[[2]string]map[calendar.Day]string        // by tenant and surface, of days with one
	used     map[string]map[string]map[calendar.Day]int64 // by tenant, surface and day
}

// TestMonthsAgainstOracle bills random lives of tenants over months. Plans change on any day,
// several times a day too, on two surfaces. Tenants begin and are deleted, and a log may begin
// late. Each amount is that of an oracle which adds up days.
func TestMonthsAgainstOracle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		o := newOracle(rand.New(rand.NewPCG(seed, 39)))
		for _, text := range []string{"2026-01", "2026-02", "2026-03", "2028-02"} {
			month, err := ParseMonth(text)
			if err != nil {
				t.Fatal(err)
			}

			rows := slices.DeleteFunc(slices.Clone(o.rows), func(row access.LedgerRow) bool {
				return row.Day < month.First || row.Day > month.Last
			})
			b := Bill{Keys: o.file, Plans: o.plans, Rows: rows, Changes: o.log}
			got := map[string]string{}
			for _, bill := range b.Months(month, noon(2026, 3, 10)) {
				amount := "none"
				if bill.Amount != nil {
					amount = fmt.Sprint(*bill.Amount)
				}
				got[bill.Tenant+" "+bill.Currency] = fmt.Sprintf("used %d, overage %d, amount %s, complete %t",
					bill.Used, bill.Overage, amount, bill.Complete)
			}
			if diff := cmp.Diff(o.bill(month, text < "2026-03"), got); diff != "" {
				t.Fatalf("seed %d, %s (- want, + got): %s", seed, text, diff)
			}
		}
	}
}

func noon(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 12, 0, 0, 0, time.UTC)
}

func newOracle(random *rand.Rand) *oracle {
	price := func(month, included, overage int64, currency string) keys.Plan {
		return keys.Plan{Price: &keys.Price{Month: month, Included: included, Overage: overage, Currency: currency}}
	}
	o := &oracle{
		random: random, file: keys.NewFile(), plans: keys.DefaultPlans(), surfaces: map[string]string{},
		planAt: map[[2]string]map[calendar.Day]string{}, used: map[string]map[string]map[calendar.Day]int64{},
	}
	o.plans.Set("starter", price(random.Int64N(10_000), random.Int64N(900), random.Int64N(400), "USD"))
	o.plans.Set("pro", price(4900, 1000, 150, "USD"))
	o.plans.Set("business", price(0, 0, 33, "EUR"))

	for i := range 3 {
		o.live(fmt.Sprint("tenant", i))
	}
	slices.SortStableFunc(o.log, func(a, b Change) int { return a.At.Compare(b.At) })
	return o
}

// live makes the life of one tenant: from its first key to the end of 2026, or to its deletion.
func (o *oracle) live(tenant string) {
	names := []string{"free", "starter", "pro", "business"}
	surfaces := []string{"live", "preview"}[:1+o.random.IntN(2)]
	first := calendar.DayOf(noon(2026, 1, 1).UnixMilli()) + calendar.Day(o.random.IntN(50)-10)
	last := calendar.DayOf(noon(2028, 12, 31).UnixMilli())
	isDeleted := o.random.IntN(4) == 0
	if isDeleted {
		last = first + calendar.Day(o.random.IntN(80))
	}
	hasLog := o.random.IntN(4) > 0

	o.used[tenant] = map[string]map[calendar.Day]int64{}
	record := &keys.Tenant{Plan: names[0], Plans: map[string]string{}}
	o.file.Tenants[tenant] = record
	for _, surface := range surfaces {
		plan := names[o.random.IntN(len(names))]
		id := "key_" + tenant + surface
		o.surfaces[id] = surface
		at := time.UnixMilli(first.Start()).UTC().Add(time.Duration(o.random.IntN(86_400)) * time.Second)
		o.file.Keys = append(o.file.Keys, &keys.Key{ID: id, Tenant: tenant, Surface: surface, CreatedAt: at})
		record.Plans[surface] = plan
		if hasLog {
			o.log = append(o.log, Change{
				At: at, Command: "create", Tenant: tenant, Surface: surface, Plan: plan, Key: id,
			})
		}

		days := map[calendar.Day]string{}
		o.planAt[[2]string{tenant, surface}] = days
		o.used[tenant][surface] = map[calendar.Day]int64{}
		now := at
		for day := first; day <= min(last, first+140); day++ {
			for o.random.IntN(20) == 0 {
				before := plan
				plan = names[o.random.IntN(len(names))]
				// A clock has seconds, and a day has some changes.
				now = maxTime(now, time.UnixMilli(day.Start()).UTC()).Add(time.Minute)
				o.log = append(o.log, Change{
					At: now, Command: "set-plan", Tenant: tenant, Surface: surface, Plan: plan, PlanBefore: before,
				})
				record.Plans[surface] = plan
			}
			days[day] = plan
			if o.random.IntN(2) == 0 {
				used := o.random.Int64N(300)
				o.used[tenant][surface][day] += used
				o.rows = append(o.rows, access.LedgerRow{
					Tenant: tenant, Key: id, Day: day, Operation: access.CardsGet,
					Counts: access.Counts{Calls: used + 1, Charged: used},
				})
			}
		}
		for day := first + 141; day <= last; day++ {
			days[day] = plan
		}
	}
	if isDeleted {
		at := time.UnixMilli(last.Start()).UTC().Add(20 * time.Hour)
		o.log = append(o.log, Change{At: at, Command: "delete", Tenant: tenant})
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// bill bills a month by adding up days.
func (o *oracle) bill(month Month, complete bool) map[string]string {
	out := map[string]string{}
	length := int64(month.Last - month.First + 1)
	for _, tenant := range slices.Sorted(maps.Keys(o.file.Tenants)) {
		days := map[string]int64{}
		used := map[string]int64{}
		for day := month.First; day <= month.Last; day++ {
			today := map[string]bool{}
			for surface, spent := range o.used[tenant] {
				if plan := o.planAt[[2]string{tenant, surface}][day]; plan != "" {
					today[plan] = true
					used[plan] += spent[day]
				}
			}
			for plan := range today {
				days[plan]++
			}
		}

		sums := map[string]*big.Rat{}
		usedOf := map[string]int64{}
		overageOf := map[string]int64{}
		for plan := range days {
			price := o.plans[plan].Price
			if price == nil {
				price = &keys.Price{}
			}
			if sums[price.Currency] == nil {
				sums[price.Currency] = new(big.Rat)
			}
			usedOf[price.Currency] += used[plan]
			if price.Currency == "" {
				continue
			}
			share, _ := new(big.Rat).SetString(fmt.Sprintf("%d/%d", days[plan], length))
			sums[price.Currency].Add(sums[price.Currency], new(big.Rat).Mul(share, big.NewRat(price.Month, 1)))

			// The smallest whole number that is not less than the share.
			exact := new(big.Rat).Mul(share, big.NewRat(price.Included, 1))
			included := int64(0)
			for big.NewRat(included, 1).Cmp(exact) < 0 {
				included++
			}
			if over := used[plan] - included; over > 0 {
				overageOf[price.Currency] += over
				sums[price.Currency].Add(sums[price.Currency], big.NewRat(over*price.Overage, 1000))
			}
		}
		for currency, sum := range sums {
			amount := "none"
			if currency != "" {
				amount = sum.FloatString(0) // rounds half away from zero
			}
			out[tenant+" "+currency] = fmt.Sprintf("used %d, overage %d, amount %s, complete %t",
				usedOf[currency], overageOf[currency], amount, complete)
		}
	}
	return out
}
