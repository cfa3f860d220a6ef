package keys

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Plan is the limits of a tenant (decision 14). A zero field of a configured plan means its default;
// see [Plans.Set].
type Plan struct {
	Name string `json:"name"`
	// PerMinute are admissions in any 60 seconds: per key on live, per tenant on preview; 1 to 10,000,000.
	PerMinute   int   `json:"per_minute"`
	PerDay      int64 `json:"per_day"`      // live successes per tenant and UTC day
	Credits     int64 `json:"credits"`      // preview successes per tenant and period, unless the tenant has its own
	MaxCards    int   `json:"max_cards"`    // ids in a live card batch; 1 to 200
	MaxPrices   int   `json:"max_prices"`   // ids in a live price batch; 1 to 100
	HistoryDays int   `json:"history_days"` // days of price history; 1 to 365
	StatsWindow int   `json:"stats_window"` // longest statistics window in days: 7, 30 or 90; 0 = not allowed
	// Bulk says whether the whole catalog may be downloaded; nil means the default of the plan's name.
	Bulk  *bool  `json:"bulk,omitempty"`
	Price *Price `json:"price,omitempty"`
}

// Stats reports whether the plan allows price statistics at all.
func (plan *Plan) Stats() bool { return plan.StatsWindow > 0 }

// bulkPlans are the built-in plans with the bulk. All other plans must be given it.
var bulkPlans = []string{"pro", "business", "unlimited"}

// HasBulk reports whether the plan allows the download of the whole catalog.
func (plan *Plan) HasBulk() bool {
	if plan.Bulk != nil {
		return *plan.Bulk
	}
	return slices.Contains(bulkPlans, plan.Name)
}

// NoStats is the StatsWindow of a configured plan without statistics; zero means the default.
const NoStats = -1

// Bounds that no plan exceeds (decision 14).
const (
	MaxPerMinute   = 10_000_000
	maxCards       = 200
	maxPrices      = 100
	maxHistoryDays = 365
	defaultCredits = 10_000
)

// Plans is the table of plans by name. It is not changed once a Ring has it.
type Plans map[string]*Plan

// DefaultPlans returns the plans of decision 14.
func DefaultPlans() Plans {
	plans := Plans{}
	add := func(name string, perMinute int, perDay int64, stats int) {
		plans[name] = &Plan{
			Name: name, PerMinute: perMinute, PerDay: perDay, Credits: defaultCredits,
			MaxCards: maxCards, MaxPrices: maxPrices, HistoryDays: maxHistoryDays, StatsWindow: stats,
		}
	}

	add("free", 30, 2_000, 0)
	add("starter", 120, 20_000, 90)
	add("pro", 600, 100_000, 90)
	add("business", 6_000, 1_000_000, 90)
	add("unlimited", 1_000_000, 1_000_000_000, 90)
	add("preview", 60, 20_000, 90)

	plans["unlimited"].Credits = 1_000_000_000
	return plans
}

// Set adds a plan or changes an existing one. Zero fields keep the existing plan's value, or take
// the default of a new plan (the limits of free, the caps of decision 14, 90 days of statistics).
// StatsWindow NoStats switches statistics off. Validate afterwards.
func (ps Plans) Set(name string, given Plan) {
	base, ok := ps[name]
	if !ok {
		base = DefaultPlans()["free"]
		base.StatsWindow = 90
	}

	plan := *base // a table in use has the old one
	plan.Name = name
	plan.PerMinute = cmp.Or(given.PerMinute, plan.PerMinute)
	plan.PerDay = cmp.Or(given.PerDay, plan.PerDay)
	plan.Credits = cmp.Or(given.Credits, plan.Credits)
	plan.MaxCards = cmp.Or(given.MaxCards, plan.MaxCards)
	plan.MaxPrices = cmp.Or(given.MaxPrices, plan.MaxPrices)
	plan.HistoryDays = cmp.Or(given.HistoryDays, plan.HistoryDays)
	plan.StatsWindow = cmp.Or(given.StatsWindow, plan.StatsWindow)
	plan.Bulk = cmp.Or(given.Bulk, plan.Bulk)
	plan.Price = cmp.Or(given.Price, plan.Price)

	if given.StatsWindow == NoStats {
		plan.StatsWindow = 0
	}
	ps[name] = &plan
}

// With returns these plans and others, of which those of a known name replace ours.
func (ps Plans) With(others Plans) Plans {
	all := maps.Clone(ps)
	maps.Copy(all, others)
	return all
}

// Lower returns a plan with the lower one of each limit; the plan itself without another.
func (plan *Plan) Lower(other *Plan) *Plan {
	if other == nil {
		return plan
	}
	low := *plan
	low.PerMinute = min(plan.PerMinute, other.PerMinute)
	low.PerDay = min(plan.PerDay, other.PerDay)
	low.Credits = min(plan.Credits, other.Credits)
	low.MaxCards = min(plan.MaxCards, other.MaxCards)
	low.MaxPrices = min(plan.MaxPrices, other.MaxPrices)
	low.HistoryDays = min(plan.HistoryDays, other.HistoryDays)
	low.StatsWindow = min(plan.StatsWindow, other.StatsWindow)
	low.Bulk = new(plan.HasBulk() && other.HasBulk())
	return &low
}

// Names returns the names of the plans in order.
func (ps Plans) Names() []string { return slices.Sorted(maps.Keys(ps)) }

// Validate returns every problem of every plan, joined.
func (ps Plans) Validate() error {
	var problems []error
	for _, name := range ps.Names() {
		problems = append(problems, ps[name].problems(name)...)
	}
	return errors.Join(problems...)
}

func (plan *Plan) problems(name string) (wrong problems) {
	bound := func(field string, value, low, high int64) {
		wrong.refuseIf(value < low || value > high,
			"use plan %q: %s is %d, want %d to %d", name, field, value, low, high)
	}

	wrong.refuseIf(!validName(name) || plan.Name != name, "use plan %q: want a name of %s", name, nameRule)
	bound("per_minute", int64(plan.PerMinute), 1, MaxPerMinute)
	bound("per_day", plan.PerDay, 1, 1<<53)
	bound("credits", plan.Credits, 0, 1<<53)
	bound("max_cards", int64(plan.MaxCards), 1, maxCards)
	bound("max_prices", int64(plan.MaxPrices), 1, maxPrices)
	bound("history_days", int64(plan.HistoryDays), 1, maxHistoryDays)

	wrong.refuseIf(!slices.Contains([]int{0, 7, 30, 90}, plan.StatsWindow),
		"use plan %q: stats_window is %d days, want 0 (none), 7, 30 or 90", name, plan.StatsWindow)
	return wrong
}

// nameRule describes a valid name, for messages.
const nameRule = "1 to 64 letters, digits, '.', '_' or '-'"

// validName reports whether s is a valid name of a tenant or plan.
func validName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, base62+"._-") == ""
}

// Price is what a plan costs, in minor units of a currency, such as cents.
type Price struct {
	Month    int64  `json:"month"`
	Included int64  `json:"included"` // charged requests of a month that Month pays for
	Overage  int64  `json:"overage"`  // for 1,000 others
	Currency string `json:"currency"`
}

// The currencies that have not two digits after the point.
const (
	noDigits    = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
	threeDigits = "BHD IQD JOD KWD LYD OMR TND"
)

func digitsOf(currency string) int {
	switch {
	case strings.Contains(noDigits, currency):
		return 0
	case strings.Contains(threeDigits, currency):
		return 3
	}
	return 2
}

// maxDigits bounds a price, so that bills stay far within 63 bits.
const maxDigits = 9

// ParseAmount reads an amount such as 49.00 as minor units of a currency.
func ParseAmount(text, currency string) (int64, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := digitsOf(currency)
	switch {
	case whole == "" || point && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "":
		return 0, errors.New("want digits and at most a point, such as 49 or 49.00")
	case len(whole) > maxDigits:
		return 0, fmt.Errorf("want at most %d digits before the point", maxDigits)
	case len(fraction) > digits:
		return 0, fmt.Errorf("want at most %d digits after the point, as %s has", digits, currency)
	}
	return strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
}

// FormatAmount writes minor units of a currency with its point.
func FormatAmount(minor int64, currency string) string {
	digits := digitsOf(currency)
	text := fmt.Sprintf("%0*d", digits+1, minor)
	return strings.TrimSuffix(text[:len(text)-digits]+"."+text[len(text)-digits:], ".")
}
