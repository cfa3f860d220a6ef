package api

import (
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// getHistory answers GET /v1/cards/{id}/prices.
func getHistory(r *Request, out *Reply) *wire.Fault {
	days := int(r.intArg("days", wire.HistoryDays, wire.DefaultDays))
	variant, _ := r.textArg("variant", wire.VariantText)
	if f := r.invalid(); f != nil {
		return f
	}
	card, ok := r.Card()
	if !ok {
		return noCard()
	}

	out.Body = r.View.AppendHistory(out.Body, card, min(days, r.Plan.HistoryDays), variant)
	return nil
}

// statWindows are the values of window, in the order of snapshot.StatWindows.
var statWindows = []string{"7d", "30d", "90d"}

// getStats answers GET /v1/cards/{id}/price-stats.
func getStats(r *Request, out *Reply) *wire.Fault {
	name := r.oneOf("window", "30d", statWindows...)
	variant, _ := r.textArg("variant", wire.VariantText)
	if f := r.invalid(); f != nil {
		return f
	}

	// What the plan does not allow is told before whether the card exists.
	if !r.Plan.Stats() {
		return refuse(wire.PlanLimit, "Price statistics need a paid plan: starter, pro or business.")
	}

	// oneOf let nothing else pass, so that the name is found.
	window := 0
	for statWindows[window] != name {
		window++
	}
	if snapshot.StatWindows[window] > r.Plan.StatsWindow {
		return refuse(wire.PlanLimit, "The plan's statistics reach back %d days at most.", r.Plan.StatsWindow)
	}

	card, ok := r.Card()
	if !ok {
		return noCard()
	}
	out.Body = r.View.AppendStats(out.Body, engine.StatsQuery{
		Card: card, Variant: variant, Window: window, Name: name, MaxDays: r.Plan.HistoryDays,
	})
	return nil
}

// listMovers answers GET /v1/market/movers.
func listMovers(r *Request, out *Reply) *wire.Fault {
	direction := r.oneOf("direction", "", "up", "down")
	if r.Args.find("direction").given == 0 {
		r.problem("direction is required: up or down")
	}
	r.oneOf("period", "7", "1", "7", "30") // only the 7-day change is stored: every period returns it

	filter := index.NoFilter
	filter.Min = r.intArg("min_price_cents", wire.PriceCents, wire.MoversMinCents)
	filter.Set, _ = r.textArg("set", wire.SetText)
	filter.Game, _ = r.textArg("game", wire.GameText)
	limit := int(r.intArg("limit", wire.PageLimit, wire.DefaultPage))
	if f := r.invalid(); f != nil {
		return f
	}

	r.cards = r.View.Index.Movers(r.cards[:0], direction == "down", filter, limit)
	out.Body = append(out.Body, `{"data":[`...)
	out.Body = r.View.AppendMovers(out.Body, r.cards)
	out.Body = append(out.Body, `],"direction":"`...)
	out.Body = append(out.Body, direction...)
	out.Body = append(out.Body, `","period_days":7}`...)
	return nil
}
