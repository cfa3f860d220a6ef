package mcp

import (
	"slices"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// topCards is how many of a set's cards are shown with it, as in REST.
const topCards = 10

// listedCards is how many of its cards are shown with each set of a list.
var listedCards = wire.Range{Min: 1, Max: 5}

// How many entries a page has when it lists sets with cards (decision 2112). Sets and cards count
// alike.
const (
	listRoom    = 60 // the most: the detailed form stays within 60,000 bytes
	conciseRoom = 20 // where no limit is given: the concise form stays within 8,000 bytes
)

func browseSetsTool() *tool {
	fields := []field{
		aText("set", "Set id, slug, code or name; returns this set and its top cards, and the other filters do "+
			"not count.", wire.SetText),
		aText("query", `Only sets called so, e.g. "evolving skies" or "SV08".`, wire.QueryText),
		gameField(),
		aText("series", "Only this series.", wire.SeriesText),
		aDate("released_from", "Only sets of this day or later, YYYY-MM-DD."),
		aDate("released_to", "Only sets of this day or earlier."),
		anInteger("top", "So many of the dearest cards with each set; fewer sets a page.", listedCards, none),
		limitField(wire.DefaultPage),
		cursorField(),
	}

	listed := object(
		"id", schemaString, "name", schemaString, "number", nullString, "market_price_cents", nullInteger,
		"price_updated_at", schemaTime,
	)
	set := object(
		"id", schemaString, "name", schemaString, "series", nullString, "release_date", nullable(schemaDate),
		"card_count", nullInteger, "game", nullString, "game_name", nullString, "url", nullString,
		"top_cards?", arrayTo(listedCards.Max, listed),
	)
	card := object(slices.Concat(identityInSet, []string{"currency", schemaUSD}, price, extras)...)
	output := object("sets", array(set), "top_cards?", arrayTo(topCards, card), "next_cursor", nullString)

	return &tool{
		name: "catalog_browse_sets", title: "Browse sets",
		about: "Without set: list sets, newest first, optionally by name, game, series or release date, and with " +
			"their dearest cards (top). With set: that one set and its 10 highest-value cards.",
		fields: fields, output: output, run: browseSets,
	}
}

func browseSets(in *request, out *reply) refusal {
	if in.has("set") {
		return browseSet(in, out, in.text("set"))
	}

	// A cursor is good for the filters that it was issued for, and for no others.
	filter := index.SetFilter{
		Game: in.text("game"), Series: in.text("series"), Query: in.text("query"), Released: releasedIn(in),
	}
	bound := cursor.Hash("sets", string(filter.AppendKey(nil)))
	from := 0
	if after := openCursor(in, out, cursor.ToolSets, bound, index.ParseSetPosition); after != nil {
		from = in.View.Index.SetAfter(filter, *after)
	}
	if refused := in.refusal(); refused != "" {
		return refused
	}

	sets, more := in.View.Index.Sets(in.cards, filter, from, setsOfPage(in))
	in.cards = sets

	next := ""
	if more >= 0 {
		last := in.View.Index.SetPosition(int(sets[len(sets)-1]))
		next = in.nextCursor(cursor.ToolSets, bound, last.AppendBinary(nil))
	}

	top := int(in.number("top"))
	switch {
	case len(sets) == 0:
		out.say("No set found.", nearestSets(in, filter.Query), " Leave out a filter.\n")
	default:
		out.sayFound(len(sets), "set", next)
		if top > 0 {
			out.sayAsOf()
		}
		out.say("\n")
	}

	out.put(`{"sets":[`)
	var dearest []uint32
	out.each(sets, func(out *reply, set int) {
		writeSet(out, set)
		if top > 0 {
			dearest = in.View.Index.Top(dearest[:0], set, top)
			writeListed(out, dearest)
		}
	})
	out.put("]")
	out.putNext(next)
	return ""
}

// releasedIn are the release dates that were asked for. It notes a problem with them.
func releasedIn(in *request) index.Dates {
	released := index.Dates{
		Given: in.has("released_from") || in.has("released_to"),
		From:  snapshot.Day(in.number("released_from")), To: snapshot.Day(in.number("released_to")),
	}
	if released.To != snapshot.NoDay && released.From > released.To {
		in.problems.add("released_from must not be later than released_to.")
	}
	return released
}

// setsOfPage is how many sets a page has at most. A set with cards takes the room of its cards,
// too.
func setsOfPage(in *request) int {
	limit := int(in.number("limit"))
	if !in.has("top") {
		return limit
	}

	each := 1 + int(in.number("top"))
	if !in.has("limit") {
		return conciseRoom / each
	}
	return min(limit, listRoom/each)
}

// writeListed writes the dearest cards of a set that stands in a list. It writes only what says
// which card it is and what the card costs (decision 2112).
func writeListed(out *reply, cards []uint32) {
	out.json = out.json[:len(out.json)-1] // the closing brace of the set
	out.put(`,"top_cards":[`)
	for _, card := range cards {
		out.comma()
		out.json = wire.AppendName(out.json, out.c, int(card))
		out.putPrice(int(card))
		out.put("}")

		out.say("   - ")
		sayInSet(out, int(card))
		out.say(" | ", out.c.Cards.ID.At(int(card)), "\n")
	}

	out.put("]}")
}

// writeSet writes a set and a line of text about it.
func writeSet(out *reply, set int) {
	out.json = wire.AppendSetSummary(out.json, out.c, set)
	out.json = out.json[:len(out.json)-1] // the closing brace
	out.json = out.site.AppendSetURL(out.json, out.c, set)
	out.put("}")

	sets := &out.c.Sets
	out.say(sets.Name.At(set))
	if series := sets.Series.At(set); series != "" {
		out.say(" | ", series)
	}

	if sets.Release[set] == snapshot.NoDay {
		out.say(" | no date")
	} else {
		out.say(" | ", sets.Release[set])
	}

	out.say(" | ", count{int(sets.Cards[set]), "card"}, " | ", out.c.Games.Slug.At(int(sets.Game[set])))
	if out.detailed {
		out.sayPage("/sets/", sets.Slug.At(set))
	}

	out.say(" | ", sets.ID.At(set), "\n")
}

// browseSet answers with one set and its top cards.
func browseSet(in *request, out *reply, ref string) refusal {
	// Several sets may have one name. When they are of different games, the game decides.
	sets := in.View.Index.SetNames().Resolve(ref)
	if game := in.text("game"); game != "" && len(sets) > 1 {
		sets = slices.DeleteFunc(slices.Clone(sets), func(set uint32) bool {
			return out.c.Games.Slug.At(int(out.c.Sets.Game[set])) != game
		})
	}

	if len(sets) == 0 {
		return refusal(`No set has the id, slug, code or name "` + readable(ref) + `".` +
			nearestSets(in, ref) + ` Find sets with query, or list them without set.`)
	}
	if len(sets) > 1 {
		return chooseSet(out, sets, ref)
	}

	set := int(sets[0])
	out.put(`{"sets":[`)
	writeSet(out, set)

	out.put(`],"top_cards":[`)
	in.cards = in.View.Index.Top(in.cards, set, topCards)
	if len(in.cards) == 0 {
		out.say("None of its cards has a price.\n")
	} else {
		out.say("Top cards")
		out.sayAsOf()
		out.say(":\n")
	}

	out.each(in.cards, writeTopCard)
	out.put("]")
	out.putNext("")
	return ""
}

// chooseSet refuses a name that several sets have, and lists them.
func chooseSet(out *reply, sets []uint32, ref string) refusal {
	out.say(count{len(sets), "set"}, ` fit "`, readable(ref), `". Call again with one of these ids:`, "\n")
	for _, set := range sets[:min(len(sets), 10)] {
		out.say("- ")
		writeSet(out, int(set))
	}
	return refusal(out.prose)
}

// writeTopCard writes a card of a set that was named before: the card's own set is left out.
func writeTopCard(out *reply, card int) {
	c := out.c
	out.json = wire.AppendName(out.json, c, card)
	out.json = wire.AppendGame(out.json, c, c.Cards.Game[card])
	out.json = out.site.AppendCardURL(out.json, c, card)
	out.put(`,"currency":"USD"`)
	out.putPrice(card)
	out.putExtras(card)
	out.put("}")

	sayInSet(out, card)
	out.sayID(card)
}

// sayInSet appends a card whose set was named: name, number and price.
func sayInSet(out *reply, card int) {
	c := out.c
	out.say(c.Cards.Name.At(card))
	if number := c.Cards.Number.At(card); number != "" {
		out.say(" | #", number)
	}

	out.say(" | ")
	out.sayPrice(c.DisplayPrice(card))
}
