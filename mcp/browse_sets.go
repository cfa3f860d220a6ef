package mcp

import (
	"slices"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// topCards is how many cards are shown with one set, as in REST.
const topCards = 10

// cardsPerSet is how many cards can be shown with each set of a list.
var cardsPerSet = wire.Range{Min: 1, Max: 5}

// Sizes of a page that lists sets with cards (decision 2112). Sets and cards both count as entries.
const (
	maxListEntries     = 60 // at most: the detailed form stays within 60,000 bytes
	defaultListEntries = 20 // without a limit argument: the concise form stays within 8,000 bytes
)

func browseSetsTool() *tool {
	fields := []field{
		textField("set", "Set id, slug, code or name; returns this set and its top cards, and the other filters do "+
			"not count.", wire.SetText),
		textField("query", `Only sets called so, e.g. "evolving skies" or "SV08".`, wire.QueryText),
		gameField(),
		textField("series", "Only this series.", wire.SeriesText),
		dateField("released_from", "Only sets of this day or later, YYYY-MM-DD."),
		dateField("released_to", "Only sets of this day or earlier."),
		integerField("top", "So many of the dearest cards with each set; fewer sets a page.", cardsPerSet, noDefault),
		limitField(wire.DefaultPageLimit),
		cursorField(),
	}

	listed := object(
		"id", schemaString, "name", schemaString, "number", nullString, "market_price_cents", nullInteger,
		"price_updated_at", schemaTime,
	)
	set := object(
		"id", schemaString, "name", schemaString, "series", nullString, "release_date", nullable(schemaDate),
		"card_count", nullInteger, "game", nullString, "game_name", nullString, "url", nullString,
		"top_cards?", arrayTo(cardsPerSet.Max, listed),
	)
	card := object(slices.Concat(identityInSet, []string{"currency", schemaUSD}, price, detailMembers)...)
	output := object("sets", array(set), "top_cards?", arrayTo(topCards, card), "next_cursor", nullString)

	return &tool{
		name: "catalog_browse_sets", title: "Browse sets",
		description: "Without set: list sets, newest first, optionally by name, game, series or release date, and " +
			"with their dearest cards (top). With set: that one set and its 10 highest-value cards.",
		fields: fields, output: output, run: browseSets,
	}
}

func browseSets(in *request, out *result) toolError {
	if in.has("set") {
		return browseSet(in, out, in.text("set"))
	}

	// A cursor is valid only with the filters that it was issued for.
	filter := index.SetFilter{
		Game: in.text("game"), Series: in.text("series"), Query: in.text("query"), Released: releaseDates(in),
	}
	queryHash := cursor.Hash("sets", string(filter.AppendKey(nil)))
	from := 0
	if after := openCursor(in, out, cursor.ToolSets, queryHash, index.ParseSetPosition); after != nil {
		from = in.View.Index.SetAfter(filter, *after)
	}
	if toolErr := in.toolError(); toolErr != "" {
		return toolErr
	}

	sets, more := in.View.Index.Sets(in.cards, filter, from, setsPerPage(in))
	in.cards = sets

	next := ""
	if more >= 0 {
		last := in.View.Index.SetPosition(int(sets[len(sets)-1]))
		next = in.nextCursor(cursor.ToolSets, queryHash, last.AppendBinary(nil))
	}

	top := int(in.number("top"))
	switch {
	case len(sets) == 0:
		out.text("No set found.", nearestSets(in, filter.Query), " Leave out a filter.\n")
	default:
		out.textPageHead(len(sets), "set", next)
		if top > 0 {
			out.textAsOf()
		}
		out.text("\n")
	}

	out.json(`{"sets":[`)
	var cards []uint32
	out.each(sets, func(out *result, set int) {
		writeSet(out, set)
		if top > 0 {
			cards = in.View.Index.TopOfSet(cards[:0], set, top)
			writeCardsOfListed(out, cards)
		}
	})
	out.json("]")
	out.jsonNext(next)
	return ""
}

// releaseDates returns the requested release dates. It adds a problem if they contradict each
// other.
func releaseDates(in *request) index.Dates {
	dates := index.Dates{
		Given: in.has("released_from") || in.has("released_to"),
		From:  snapshot.Day(in.number("released_from")), To: snapshot.Day(in.number("released_to")),
	}
	if dates.To != snapshot.NoDay && dates.From > dates.To {
		in.problems.add("released_from must not be later than released_to.")
	}
	return dates
}

// setsPerPage returns how many sets a page has at most. The cards of a set count as entries, too.
func setsPerPage(in *request) int {
	limit := int(in.number("limit"))
	if !in.has("top") {
		return limit
	}

	each := 1 + int(in.number("top"))
	if !in.has("limit") {
		return defaultListEntries / each
	}
	return min(limit, maxListEntries/each)
}

// writeCardsOfListed writes the most expensive cards of a set in a list: their identity and price
// alone (decision 2112).
func writeCardsOfListed(out *result, cards []uint32) {
	out.data = out.data[:len(out.data)-1] // the closing brace of the set
	out.json(`,"top_cards":[`)
	for _, card := range cards {
		out.comma()
		out.data = wire.AppendName(out.data, out.c, int(card))
		out.jsonPrice(int(card))
		out.json("}")

		out.text("   - ")
		textCardInSet(out, int(card))
		out.text(" | ", out.c.Cards.ID.At(int(card)), "\n")
	}

	out.json("]}")
}

// writeSet writes a set and a line of text about it.
func writeSet(out *result, set int) {
	out.data = wire.AppendSetSummary(out.data, out.c, set)
	out.data = out.data[:len(out.data)-1] // the closing brace
	out.data = out.urls.AppendSetURL(out.data, out.c, set)
	out.json("}")

	sets := &out.c.Sets
	out.text(sets.Name.At(set))
	if series := sets.Series.At(set); series != "" {
		out.text(" | ", series)
	}

	if sets.Release[set] == snapshot.NoDay {
		out.text(" | no date")
	} else {
		out.text(" | ", sets.Release[set])
	}

	out.text(" | ", count{int(sets.Cards[set]), "card"}, " | ", out.c.Games.Slug.At(int(sets.Game[set])))
	if out.detailed {
		out.textPage("/sets/", sets.Slug.At(set))
	}

	out.text(" | ", sets.ID.At(set), "\n")
}

// browseSet writes one set and its top cards.
func browseSet(in *request, out *result, ref string) toolError {
	// Several sets may have one name. If they are of different games, the game decides.
	sets := in.View.Index.SetNames().Resolve(ref)
	if game := in.text("game"); game != "" && len(sets) > 1 {
		sets = slices.DeleteFunc(slices.Clone(sets), func(set uint32) bool {
			return out.c.Games.Slug.At(int(out.c.Sets.Game[set])) != game
		})
	}

	if len(sets) == 0 {
		return toolError(`No set has the id, slug, code or name "` + readable(ref) + `".` +
			nearestSets(in, ref) + ` Find sets with query, or list them without set.`)
	}
	if len(sets) > 1 {
		return ambiguousSet(out, sets, ref)
	}

	set := int(sets[0])
	out.json(`{"sets":[`)
	writeSet(out, set)

	out.json(`],"top_cards":[`)
	in.cards = in.View.Index.TopOfSet(in.cards, set, topCards)
	if len(in.cards) == 0 {
		out.text("None of its cards has a price.\n")
	} else {
		out.text("Top cards")
		out.textAsOf()
		out.text(":\n")
	}

	out.each(in.cards, writeTopCard)
	out.json("]")
	out.jsonNext("")
	return ""
}

// ambiguousSet returns the error for a name that several sets have, with a list of them.
func ambiguousSet(out *result, sets []uint32, ref string) toolError {
	out.text(count{len(sets), "set"}, ` fit "`, readable(ref), `". Call again with one of these ids:`, "\n")
	for _, set := range sets[:min(len(sets), 10)] {
		out.text("- ")
		writeSet(out, int(set))
	}
	return toolError(out.textBuilder)
}

// writeTopCard writes a card of a set that is named already, so without the card's set.
func writeTopCard(out *result, card int) {
	c := out.c
	out.data = wire.AppendName(out.data, c, card)
	out.data = wire.AppendGame(out.data, c, c.Cards.Game[card])
	out.data = out.urls.AppendCardURL(out.data, c, card)
	out.json(`,"currency":"USD"`)
	out.jsonPrice(card)
	out.jsonExtras(card)
	out.json("}")

	textCardInSet(out, card)
	out.textID(card)
}

// textCardInSet appends a card whose set is named already: name, number and price.
func textCardInSet(out *result, card int) {
	c := out.c
	out.text(c.Cards.Name.At(card))
	if number := c.Cards.Number.At(card); number != "" {
		out.text(" | #", number)
	}

	out.text(" | ")
	out.textPrice(c.DisplayPrice(card))
}
