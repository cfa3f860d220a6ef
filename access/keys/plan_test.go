package keys

import (
	"strings"
	"testing"
)

func TestDefaultPlans(t *testing.T) {
	t.Parallel()
	plans := DefaultPlans()
	if err := plans.Validate(); err != nil {
		t.Fatal(err)
	}

	f := func(name string, perMinute int, perDay int64, stats bool) {
		t.Helper()
		plan := plans[name]
		if plan == nil || plan.PerMinute != perMinute || plan.PerDay != perDay || plan.Stats() != stats {
			t.Fatalf("plan %s: %+v", name, plan)
		}
		if plan.MaxCards != 200 || plan.MaxPrices != 100 || plan.HistoryDays != 365 {
			t.Fatalf("plan %s: %+v", name, plan)
		}
	}

	f("free", 30, 2_000, false)
	f("starter", 120, 20_000, true)
	f("pro", 600, 100_000, true)
	f("business", 6_000, 1_000_000, true)
	f("unlimited", 1_000_000, 1_000_000_000, true)
	if plan := plans["preview"]; plan.PerMinute != 60 || plan.Credits != 10_000 {
		t.Fatalf("preview: %+v", plan)
	}
}

func TestPlansSet(t *testing.T) {
	t.Parallel()
	plans := DefaultPlans()
	plans.Set("free", Plan{PerMinute: 10})
	if plan := plans["free"]; plan.PerMinute != 10 || plan.PerDay != 2_000 || plan.Stats() {
		t.Fatalf("%+v", plan)
	}

	plans.Set("pro", Plan{StatsWindow: NoStats})
	plans.Set("gold", Plan{StatsWindow: 30, MaxCards: 50})
	gold := plans["gold"]
	if plans["pro"].Stats() || gold.StatsWindow != 30 || gold.MaxCards != 50 || gold.MaxPrices != 100 {
		t.Fatalf("%+v %+v", plans["pro"], plans["gold"])
	}
	if err := plans.Validate(); err != nil {
		t.Fatal(err)
	}

	plans.Set("bad", Plan{PerMinute: -1, PerDay: -1, MaxCards: 201, MaxPrices: 101, HistoryDays: 366, StatsWindow: 8})
	plans.Set("also bad", Plan{})
	err := plans.Validate()
	for _, want := range []string{
		"per_minute", "per_day", "max_cards", "max_prices", "history_days", "stats_window", "also bad",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("problems %v lack %s", err, want)
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	scope, err := ParseScopes([]string{"usage:read", "catalog:read"})
	if err != nil || scope != CatalogRead|UsageRead || strings.Join(scope.Names(), " ") != "catalog:read usage:read" {
		t.Fatal(scope, err)
	}
	if _, err := ParseScopes([]string{"prices:write"}); err == nil {
		t.Fatal("unknown scope parsed")
	}

	p := &Principal{Scopes: scope}
	if !p.Has(CatalogRead) || p.Has(PricesRead) || p.Has(CatalogRead|PricesRead) {
		t.Fatal("scopes")
	}
}
