package api

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// getHistory handles GET /v1/cards/{id}/prices.
func getHistory(r *Request, out *Reply) *wire.APIError {
	days := int(r.intArg("days", wire.HistoryDays, wire.DefaultDays))
	variant, _ := r.textArg("variant", wire.VariantText)
	card, f := r.card()
	if f != nil {
		return f
	}

	days = min(days, r.Plan.HistoryDays)
	r.tagHistory(out, card, days, variant)
	if r.WantsCSV {
		out.CSV = true
		out.Body = r.View.AppendHistoryRows(append(out.Body, wire.HistoryHeader...), card, days, variant)
		return nil
	}
	out.Body = r.View.AppendHistory(out.Body, card, days, variant)
	return nil
}

// tagHistory makes the validator of a history of what its body follows from (decision 9): to hash the body
// would take a tenth of the request.
func (r *Request) tagHistory(out *Reply, card, days int, variant string) {
	text := append(append(r.text[:0], r.View.ID...), r.View.Site().URL...)
	text = binary.AppendUvarint(append(text, 0), uint64(card))
	text = append(binary.AppendUvarint(text, uint64(days)), variant...)
	if r.WantsCSV {
		text = append(text, 0)
	}

	r.text = text
	out.Tag = xxhash.Sum64(text)
	out.HasETag = true
}

// statWindows are the values of window, in the order of snapshot.StatWindows.
var statWindows = []string{"7d", "30d", "90d"}

// defaultWindow is the index of 30d in statWindows.
const defaultWindow = 1

// getStats handles GET /v1/cards/{id}/price-stats.
func getStats(r *Request, out *Reply) *wire.APIError {
	name := r.oneOf("window", "", statWindows...)
	variant, _ := r.textArg("variant", wire.VariantText)
	if f := r.invalid(); f != nil {
		return f
	}

	// The plan's limit is reported before a missing card.
	if !r.Plan.Stats() {
		return refuse(wire.PlanLimit,
			"the plan %q has no price statistics: use a key of a plan that has them, such as starter, pro or business",
			r.Plan.Name)
	}

	// The default is 30 days, or the plan's longest window if that is shorter (decision 2010).
	window := slices.Index(statWindows, name)
	if window < 0 {
		window = min(defaultWindow, maxWindow(r.Plan))
	}
	if snapshot.StatWindows[window] > r.Plan.StatsWindow {
		return refuse(wire.PlanLimit, "the plan %q has statistics of at most %d days (got window %s): send window=%s",
			r.Plan.Name, r.Plan.StatsWindow, name, statWindows[maxWindow(r.Plan)])
	}

	card, f := r.card()
	if f != nil {
		return f
	}
	out.Body = r.View.AppendStats(out.Body, engine.StatsQuery{
		Card: card, Variant: variant, Window: window, Name: statWindows[window], MaxDays: r.Plan.HistoryDays,
	})
	return nil
}

// maxWindow returns the index in statWindows of a plan's longest window, if it has statistics.
func maxWindow(plan *keys.Plan) int {
	last := len(snapshot.StatWindows) - 1
	for last > 0 && snapshot.StatWindows[last] > plan.StatsWindow {
		last--
	}
	return last
}

// listMovers handles GET /v1/market/movers.
func listMovers(r *Request, out *Reply) *wire.APIError {
	direction := r.oneOf("direction", "", "up", "down")
	r.require("direction", "send direction=up or direction=down")
	r.oneOf("period", "7", "1", "7", "30") // only the 7-day change is stored: every period returns it

	filter := index.NoFilter
	filter.Min = r.intArg("min_price_cents", wire.PriceCents, wire.MoversMinCents)
	filter.Set, _ = r.wordsArg("set", wire.SetText)
	filter.Game, _ = r.textArg("game", wire.GameText)
	limit := int(r.intArg("limit", wire.PageLimit, wire.DefaultPageLimit))
	if f := r.invalid(); f != nil {
		return f
	}

	r.cards = r.View.Index.Movers(r.cards[:0], direction == "down", filter, limit)
	if len(r.cards) == 0 {
		out.reportUnknownCards(r.View.Index, &filter)
	}
	out.interpretSets(r.View, filter.Set, r.View.Index.SetNames().ResolveFuzzy)
	out.Body = append(out.Body, `{"data":[`...)
	out.Body = r.View.AppendMovers(out.Body, r.cards)
	out.Body = append(out.Body, `],"direction":"`...)
	out.Body = append(out.Body, direction...)
	out.Body = append(out.Body, `","period_days":7}`...)
	return nil
}
