package access

import (
	"sync"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// paidSuggestions are the suggestions that tenants have paid for on this server and not had yet. They
// end with the UTC day, and with the process.
type paidSuggestions struct {
	mu   sync.Mutex
	day  calendar.Day
	left map[string]int // by tenant
}

// add adds n to what a tenant has left on a day, unless that would be less than nothing or the day has
// ended.
func (paid *paidSuggestions) add(tenant string, day calendar.Day, n int) bool {
	paid.mu.Lock()
	defer paid.mu.Unlock()
	if day < paid.day {
		return false
	}
	if day > paid.day || paid.left == nil {
		paid.day = day
		paid.left = map[string]int{}
	}

	left := paid.left[tenant] + n
	if left < 0 {
		return false
	}
	paid.left[tenant] = left
	return true
}

// admitSuggestion admits suggestions. They cost nothing while the tenant has paid ones left.
func (g *Gate) admitSuggestion(p *keys.Principal, now Instant) Decision {
	spec := SpecFor(p, SuggestList)
	day := calendar.DayOf(now.Wall)
	isPaid := g.suggestions.add(p.Tenant, day, -1)
	if isPaid {
		spec.Cost = 0
	}

	decision := g.store.Admit(p, spec, now)
	if isPaid && decision.Result != Admitted {
		g.suggestions.add(p.Tenant, day, 1)
	}
	return decision
}

// finishSuggestion adds the others that a charge has paid, or gives back one that was not answered.
func (g *Gate) finishSuggestion(res *Reservation, success bool) {
	day := calendar.DayOf(res.Now.Wall)
	switch {
	case success && res.Spec.Cost > 0:
		g.suggestions.add(res.Principal.Tenant, day, suggestionsPerRequest-1)
	case !success && res.Spec.Cost == 0:
		g.suggestions.add(res.Principal.Tenant, day, 1)
	}
}
