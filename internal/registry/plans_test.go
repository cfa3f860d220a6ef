package registry

import (
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/fleet/control"
)

// TestPriceThatChangesInMidMonth bills 30 days of a plan whose price changes on the 11th: ten days at 30.00 and
// twenty at 60.00, and a change of limits alone splits nothing.
func TestPriceThatChangesInMidMonth(t *testing.T) {
	t.Parallel()
	day := func(n int) calendar.Day { return calendar.DayOf(noon(2026, 11, n).UnixMilli()) }
	file := keys.NewFile()
	file.Tenants["acme"] = &keys.Tenant{Plan: "pro"}
	file.Keys = []*keys.Key{{ID: "key_a", Tenant: "acme", Surface: "live", CreatedAt: noon(2026, 10, 1)}}
	plan := func(month int64, perMinute int) *keys.Plan {
		return &keys.Plan{Name: "pro", PerMinute: perMinute, Price: &keys.Price{
			Month: month, Included: 30, Overage: 1000, Currency: "USD",
		}}
	}
	b := Bill{Keys: file, Plans: keys.Plans{"pro": plan(1, 1)}, PlanChanges: []control.PlanChange{
		{At: noon(2026, 11, 2), Name: "pro", Plan: plan(3000, 60)},
		{At: noon(2026, 11, 5), Name: "pro", Plan: plan(3000, 90)},
		{At: noon(2026, 11, 11), Name: "pro", Plan: plan(4500, 90)},
		{At: noon(2026, 11, 11), Name: "pro", Plan: plan(6000, 90)},
	}}
	for n := 1; n <= 30; n++ {
		b.Rows = append(b.Rows, access.LedgerRow{
			Tenant: "acme", Key: "key_a", Day: day(n), Counts: access.Counts{Calls: 2, Charged: 2},
		})
	}

	month, err := ParseMonth("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	bills := b.Months(month, noon(2026, 12, 1))
	// 10 of 30 days at 3000 and 20 at 6000; 60 calls, 10 + 20 included, 30 over at 1000 a thousand.
	if len(bills) != 1 || *bills[0].Amount != 1000+4000+30 || bills[0].Plan != "pro" || bills[0].Included != 30 ||
		bills[0].Used != 60 || bills[0].Overage != 30 {
		t.Errorf("%+v", bills)
	}
}
