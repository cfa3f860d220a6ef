package control

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/internal/postgrestest"
)

// plansOf returns the default plans and one with a limit.
func plansOf(perMinute int) keys.Plans {
	plans := keys.DefaultPlans()
	plans.Set("tiny", keys.Plan{PerMinute: perMinute, Price: &keys.Price{Month: 1, Currency: "USD"}})
	return plans
}

// TestLowerLimitsWhilePlansDiffer lets three servers poll in any order while their files and the
// database change. No server grants more than by itself. As soon as all servers know each other,
// all grant the lowest limit.
func TestLowerLimitsWhilePlansDiffer(t *testing.T) {
	db, url := open(t)
	server := postgrestest.Start(t)
	_, text := create(t, db, "acme")
	server.SQL(t, url, `update ninepocket.tenants set record = '{"plan": "tiny"}'`)
	var rings []*keys.Ring
	var own []int // what each would give alone, as far as it knows
	for i := range 3 {
		source := db.ServerKeys(t.TempDir(), time.Now)
		ring, err := keys.RingFrom(source, plansOf(60))
		do(t, err)
		source.Begin(string(rune('a' + i)))
		do(t, ring.Reload())
		rings = append(rings, ring)
		own = append(own, 60)
	}
	given := func(i int) int {
		p, err := rings[i].FindCached([]byte(text), noon().UnixMilli(), nil)
		do(t, err)
		return p.Plan.PerMinute
	}

	random := rand.New(rand.NewPCG(40, 5))
	limits := []int{10, 60, 600}
	stored := 0
	for step := range 80 {
		i := random.IntN(3)
		switch {
		case step%40 == 39 && step > 60:
			stored = limits[random.IntN(3)]
			do(t, db.ChangePlans(t.Context(), keys.Plans{"tiny": plansOf(stored)["tiny"]}))
		case step%7 == 6 && stored == 0:
			own[i] = limits[random.IntN(3)]
			do(t, rings[i].SetPlans(plansOf(own[i])))
		default:
			do(t, rings[i].Reload())
			if stored != 0 {
				own[i] = stored
			}
		}
		// A server that has just read a lower limit is the only server that knows it.
		if got := given(i); got > own[i] {
			t.Fatalf("step %d: server %d gives %d, by itself %d", step, i, got, own[i])
		}
		if step%20 != 19 {
			continue
		}
		for range 3 {
			for i := range rings {
				do(t, rings[i].Reload())
				if stored != 0 {
					own[i] = stored
				}
			}
		}
		for i := range rings {
			if got := given(i); got != slices.Min(own) {
				t.Fatalf("step %d: server %d gives %d of %v", step, i, got, own)
			}
		}
	}
	if stored == 0 {
		t.Error("no plan was stored")
	}
}

// TestUpgradedDatabase opens a database that a server of the first schema made and still uses.
// Missing columns are added, rows stay, and the old server is named until it reports its plans.
func TestUpgradedDatabase(t *testing.T) {
	db, url := open(t)
	server := postgrestest.Start(t)
	create(t, db, "acme")
	server.SQL(t, url, `drop table ninepocket.plans cascade; drop table ninepocket.server_plans cascade;
		drop function ninepocket.report_plans, ninepocket.shared_plans, ninepocket.plan_problems`)
	oldServer := `insert into ninepocket.servers (incarnation, session, host, version) values ('old', 's', 'attic', '1')
		on conflict (incarnation) do update set session = excluded.session, seen_at = now()`
	server.SQL(t, url, oldServer)

	upgraded := connect(t, url)
	file, err := upgraded.ReadKeys(t.Context())
	do(t, err)
	if len(file.Keys) != 1 {
		t.Errorf("%d keys", len(file.Keys))
	}
	server.SQL(t, url, oldServer) // it goes on
	problems := func() string {
		all, err := upgraded.checkPlans(t.Context())
		do(t, err)
		var text strings.Builder
		for _, found := range all {
			text.WriteString(found.Text + "\n")
		}
		return text.String()
	}
	for _, want := range []string{
		"server old at attic of version 1 does not report its plans", "not in the database, so ",
	} {
		if !strings.Contains(problems(), want) {
			t.Errorf("%s lacks %s", problems(), want)
		}
	}
	server.SQL(t, url, "select ninepocket.report_plans('old', '{}'::jsonb || '{\"free\": {}}')")
	do(t, upgraded.ChangePlans(t.Context(), keys.DefaultPlans()))
	if got := problems(); !strings.HasPrefix(got, "plans stand in the database") {
		t.Error(got)
	}
	server.SQL(t, url, "update ninepocket.servers set started_at = now()") // the earlier version is back
	if got := problems(); !strings.Contains(got, "does not report its plans") {
		t.Error(got)
	}

	// A removed plan is in the history alone.
	do(t, upgraded.ChangePlans(t.Context(), keys.Plans{"pro": nil}))
	changes, err := upgraded.PlanChanges(t.Context())
	do(t, err)
	if plans := PlansAfter(changes); plans["pro"] != nil || plans["free"] == nil || len(changes) != len(plans)+2 {
		t.Errorf("%d changes, plans %v", len(changes), plans.Names())
	}
}
