package limiter

import (
	"errors"
	"strconv"
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// TestReleaseServer gives back what a server held: a unit of a day and one of credits. Its charges
// stay, and a server that is still alive loses nothing.
func TestReleaseServer(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	s := startServer(t, r.URL(), prefix, nil)
	live := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 4}, "one").principal(t, "one")
	preview := newTenants(t, keys.Preview, keys.Plan{PerMinute: 300, Credits: 4}, "one").principal(t, "one")
	options := Options{URL: r.URL(), Prefix: prefix, exchange: s.options.exchange}
	if err := CheckDead(t.Context(), options, s.options.ServerID); !errors.Is(err, ErrServerAlive) {
		t.Errorf("a server that lives: %v", err)
	}
	if err := CheckDead(t.Context(), options, "none"); err != nil {
		t.Errorf("one that never was: %v", err)
	}

	admitted := map[*keys.Principal]access.Decision{}
	kinds := map[*keys.Principal]access.Operation{live: access.CardsGet, preview: access.ProductsList}
	for p, op := range kinds {
		for range 2 {
			if !s.do(p, op) {
				t.Fatal("refused")
			}
		}
		admitted[p] = s.admit(p, op)
		if admitted[p].Result != access.Admitted {
			t.Fatalf("%+v", admitted[p])
		}
	}
	claimed := func(field string) (sum int64) {
		day := "d" + strconv.Itoa(int(calendar.DayOf(s.now().Wall)))
		period := "p" + number(preview.PeriodAt(s.now().Wall).Start)
		for _, of := range []string{day, period} {
			n, _ := strconv.ParseInt(r.Try("HGET", prefix+":{one}:q:"+of, field), 10, 64)
			sum += n
		}
		return sum
	}

	// Its charges are unknown: nothing is free.
	unknown := func(string, access.QuotaKind, int64) (int64, bool) { return 0, false }
	freed, err := ReleaseServer(t.Context(), options, s.options.ServerID, unknown, false)
	if err != nil || freed != (Released{}) || claimed("t") != 6 {
		t.Errorf("%+v are free, %d claimed (%v)", freed, claimed("t"), err)
	}
	two := func(tenant string, _ access.QuotaKind, from int64) (int64, bool) {
		return 2, tenant == "one" && from <= s.now().Wall
	}
	freed, err = ReleaseServer(t.Context(), options, s.options.ServerID, two, false)
	if err != nil || freed != (Released{Tenants: 1, Units: 2}) || claimed("t") != 4 {
		t.Errorf("%+v are free, %d claimed (%v)", freed, claimed("t"), err)
	}
	other := startServer(t, r.URL(), prefix, nil)
	for p, op := range kinds {
		if !other.do(p, op) {
			t.Error("a unit that is free is refused")
		}
	}

	// It lives: what it held is charged, and counted.
	for p, op := range kinds {
		if charge, err := s.Finish(admitted[p].Reservation, true); err != nil || charge.Charged != 1 {
			t.Errorf("%+v (%v)", charge, err)
		}
		if s.do(p, op) {
			t.Error("a call beyond the limit is admitted")
		}
	}
	eventually(t, "all that is charged is claimed", func() bool { return claimed("t") == 8 })
	if s.lost.Load()+other.lost.Load() != 0 {
		t.Error("a loss is seen")
	}
}
