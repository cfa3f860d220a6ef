package server

import (
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/wire"
)

// setsList answers GET /v1/sets.
func (x *exchange) setsList() *wire.Fault {
	var f index.SetFilter
	f.Series, _ = x.textArg("series", maxText)
	f.Game, _ = x.textArg("game", maxShort)
	limit := int(x.intArg("limit", 1, maxPage, defaultPage))
	bound := cursor.Hash("sets", f.Series, f.Game)
	from := 0
	if page, ok := x.openCursor(cursor.Sets, bound); ok {
		position, err := index.ParseSetPosition(page.Position)
		if err != nil {
			x.problem(cursorProblem(cursor.ErrMalformed))
		}
		from = x.view.Index.SetAfter(position)
	}
	if f := x.invalid(); f != nil {
		return f
	}
	sets, next := x.view.Index.Sets(x.cards[:0], f, from, limit)
	x.cards = sets
	x.body = append(x.body, `{"data":[`...)
	x.body = x.view.AppendSets(x.body, sets)
	x.body = append(x.body, ']')
	if next >= 0 {
		last := x.view.Index.SetPosition(int(sets[len(sets)-1]))
		x.appendNext(cursor.Sets, bound, last.AppendBinary(nil))
	} else {
		x.appendNoNext()
	}
	x.body = append(x.body, '}')
	x.tagQuery(next >= 0)
	return nil
}

// setsGet answers GET /v1/sets/{id}.
func (x *exchange) setsGet() *wire.Fault {
	if f := x.invalid(); f != nil {
		return f
	}
	if ref, ok := x.pathID(); ok {
		if set, ok := x.view.Index.Set(ref); ok {
			x.stored = x.view.SetPage(set)
			return nil
		}
	}
	return &wire.Fault{Code: wire.NotFound, Detail: "No set has this id or slug."}
}

// movers answers GET /v1/market/movers.
func (x *exchange) movers() *wire.Fault {
	direction := x.oneOf("direction", "", "up", "down")
	if x.args.find("direction").given == 0 {
		x.problem("direction is required: up or down")
	}
	x.oneOf("period", "7", "1", "7", "30") // only the 7-day change is stored: every period returns it
	f := index.NoFilter
	f.Min = x.intArg("min_price_cents", 0, maxPriceBound, moversMinPrice)
	f.Set, _ = x.textArg("set", maxText)
	f.Game, _ = x.textArg("game", maxShort)
	limit := int(x.intArg("limit", 1, maxPage, defaultPage))
	if f := x.invalid(); f != nil {
		return f
	}
	x.cards = x.view.Index.Movers(x.cards[:0], direction == "down", f, limit)
	x.body = append(x.body, `{"data":[`...)
	x.body = x.view.AppendMovers(x.body, x.cards)
	x.body = append(x.body, `],"direction":"`...)
	x.body = append(x.body, direction...)
	x.body = append(x.body, `","period_days":7}`...)
	return nil
}

// usage answers GET /v1/usage of the live surface: the UTC day as the period (decision 15).
func (x *exchange) usage() *wire.Fault {
	if f := x.invalid(); f != nil {
		return f
	}
	u, err := x.s.Gate.Usage(x.principal, x.now)
	if err != nil {
		return x.unmetered(err)
	}
	x.body = wire.AppendUsage(x.body, wire.Usage{
		Tenant: u.Tenant, From: u.Period.Start, To: u.Period.End,
		Limit: u.Limit, Used: u.Used, Remaining: u.Remaining, PerMinute: int64(u.PerMinute),
	}, wire.Meta{RequestID: string(x.id), SnapshotAt: x.view.Catalog.SnapshotAt})
	return nil
}
