package api

import (
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/wire"
)

// listSets handles GET /v1/sets.
func listSets(r *Request, out *Reply) *wire.APIError {
	var filter index.SetFilter
	filter.Series, _ = r.textArg("series", wire.SeriesText)
	filter.Game, _ = r.textArg("game", wire.GameText)
	filter.Query, _ = r.wordsArg("q", wire.SetText)
	limit := int(r.intArg("limit", wire.PageLimit, wire.DefaultPageLimit))

	r.text = filter.AppendKey(r.text[:0])
	bound := cursor.Hash("sets", string(r.text))
	from := 0
	if after := openCursor(r, cursor.Sets, bound, index.ParseSetPosition); after != nil {
		from = r.View.Index.SetAfter(filter, *after)
	}
	if f := r.invalid(); f != nil {
		return f
	}

	sets, next := r.View.Index.Sets(r.cards[:0], filter, from, limit)
	r.cards = sets
	if from == 0 {
		out.interpretSets(r.View, filter.Query, r.View.Index.SetNames().Search)
	}
	if len(sets) == 0 {
		out.reportValue(r.View.Index, "game", index.GameKind, filter.Game)
		out.reportValue(r.View.Index, "series", index.SeriesKind, filter.Series)
	}
	out.Body = append(out.Body, `{"data":[`...)
	out.Body = r.View.AppendSets(out.Body, sets)
	out.Body = append(out.Body, ']')

	var last index.SetPosition
	if next >= 0 {
		last = r.View.Index.SetPosition(int(sets[len(sets)-1]))
	}
	r.appendNext(out, cursor.Sets, bound, next >= 0, last.AppendBinary)
	return nil
}

// getSet handles GET /v1/sets/{id}.
func getSet(r *Request, out *Reply) *wire.APIError {
	if f := r.invalid(); f != nil {
		return f
	}
	set, ok := r.Set()
	if !ok {
		return refuse(wire.NotFound, "no set has the id or slug %s: GET /v1/sets lists them", QuoteInput(r.shownID()))
	}

	out.Shared = r.View.SetDetail(set)
	return nil
}
