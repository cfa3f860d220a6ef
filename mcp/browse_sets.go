package mcp

import (
	"bytes"
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
		textField("set", "Set id, slug, code or name: this set alone, with its value and top cards. No other filter "+
			"counts with it but game.", wire.SetText),
		textField("query", `Only sets called so, e.g. "evolving skies" or "SV08".`, wire.QueryText),
		gameField(),
		textField("series", "Only this series.", wire.SeriesText),
		dateField("released_from", "Only sets of this day or later, YYYY-MM-DD."),
		dateField("released_to", "Only sets of this day or earlier."),
		integerField("top", "So many of the most expensive cards per set; fewer sets a page.", cardsPerSet, noDefault),
		limitField(wire.DefaultPageLimit),
		cursorField(),
	}

	card := object(slices.Concat(identityInSet, price, detailMembers)...)
	set := object(
		"id", schemaString, "name", schemaString, "series?", schemaString, "release_date", nullable(schemaDate),
		"card_count", nullInteger, "game", nullString, "game_name", nullString, "url", nullString,
		"unreleased?", described(schemaBool, "Its date is after that of the prices."),
		"value_cents?", described(schemaInteger, "One of each card that has a price."), "priced_cards?", schemaInteger,
		"rarities?", array(object("rarity", nullString, "cards", schemaInteger, "value_cents", schemaInteger)),
		"top_cards?", arrayTo(cardsPerSet.Max, card),
	)

	return &tool{
		name: "catalog_browse_sets", title: "Browse sets",
		description: "Without set: list sets, newest first, by name, game, series or release date, and with their " +
			"most expensive cards (top). With set: that set, its value, cards by rarity and the 10 most expensive.",
		fields: fields, run: browseSets, text: setsLayout,
		output: answerSchema("sets", array(set), "top_cards?", arrayTo(topCards, card), "next_cursor?", schemaString),
	}
}

func browseSets(in *request, out *result) toolError {
	if in.has("set") {
		return browseSet(in, out, in.text("set"))
	}

	// A cursor is valid only with the filters that it was issued for.
	filter := setFilter(in)
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

	if len(sets) == 0 {
		remarkNoSets(in, out, filter)
	}

	top := max(int(in.number("top")), 0)
	var cards []uint32
	for _, set := range sets {
		cards = in.View.Index.TopOfSet(cards, int(set), top)
	}
	out.date(cards)
	out.jsonHead()
	out.json(`"sets":[`)
	for _, set := range sets {
		out.comma()
		out.jsonSet(int(set))
		if top > 0 {
			cards = in.View.Index.TopOfSet(cards[:0], int(set), top)
			out.jsonTopCards(cards)
		}
		out.json("}")
	}

	out.json("]")
	out.jsonNext(next)
	return ""
}

// remarkNoSets adds the reason why a list has no sets, and a request that would find some.
func remarkNoSets(in *request, out *result, filter index.SetFilter) {
	if asked, _ := in.View.Index.SetNames().Search(filter.Query); len(asked) == 0 && remarkSet(in, out, filter.Query) {
		return
	}
	if remarkUnknown(in, out, "no_series", index.SeriesKind, filter.Series) {
		return
	}

	found := func() bool {
		sets, _ := in.View.Index.Sets(nil, setFilter(in), 0, 1)
		return len(sets) > 0
	}
	remarkExcluding(in, out, found, "query", "game", "series", "released_from", "released_to")
}

// setFilter returns the filter of the arguments.
func setFilter(in *request) index.SetFilter {
	return index.SetFilter{
		Game: in.text("game"), Series: in.text("series"), Query: in.text("query"), Released: releaseDates(in),
	}
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

// setsPerPage returns the maximum number of sets on a page. The cards of a set count as entries, too.
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

// jsonSet appends a set without the closing brace. It omits an empty series: half of the sets have none.
func (out *result) jsonSet(set int) {
	const noSeries = `"series":null,`
	begin := len(out.data)
	out.data = wire.AppendSetSummary(out.data, out.c, set)
	if at := bytes.Index(out.data[begin:], []byte(noSeries)); at >= 0 {
		out.data = slices.Delete(out.data, begin+at, begin+at+len(noSeries))
	}
	out.data = out.data[:len(out.data)-1] // the closing brace
	out.data = out.view.Site().AppendSetURL(out.data, out.c, set)
	if out.c.Sets.Release[set] > out.c.Date() {
		out.json(`,"unreleased":true`)
	}
}

// jsonTopCards appends the most expensive cards of a set, which is around them.
func (out *result) jsonTopCards(cards []uint32) {
	out.json(`,"top_cards":[`)
	for _, card := range cards {
		out.comma()
		out.jsonCard(int(card), false)
	}
	out.json("]")
}

// jsonValueOfSet appends the price of one copy of each card of a set, in total and by rarity. Rarities
// have the order in which the most expensive cards have them.
func (out *result) jsonValueOfSet(cards []uint32) {
	type part struct {
		rarity       string
		cards, cents int64
	}
	var parts []part
	total := int64(0)
	priced := int64(0)
	for _, card := range cards {
		rarity := out.c.Cards.Rarity.At(int(card))
		k := slices.IndexFunc(parts, func(one part) bool { return one.rarity == rarity })
		if k < 0 {
			k = len(parts)
			parts = append(parts, part{rarity: rarity})
		}

		parts[k].cards++
		if cents := out.c.DisplayCents(int(card)); cents >= 0 {
			parts[k].cents += cents
			total += cents
			priced++
		}
	}

	out.data = wire.AppendInt(out.data, `,"value_cents":`, total)
	out.data = wire.AppendInt(out.data, `,"priced_cards":`, priced)
	out.json(`,"rarities":[`)
	for _, one := range parts {
		out.comma()
		out.data = wire.AppendNullable(out.data, `{"rarity":`, one.rarity)
		out.data = wire.AppendInt(out.data, `,"cards":`, one.cards)
		out.data = append(wire.AppendInt(out.data, `,"value_cents":`, one.cents), '}')
	}
	out.json("]")
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
			nearestInWords(in, ref) + ` Find sets with query, or list them without set.`)
	}
	if len(sets) > 1 {
		return ambiguousSet(out.c, sets, ref)
	}
	remarkSet(in, out, ref)

	set := int(sets[0])
	cards := in.View.Index.CardsOfSet(set)
	out.date(cards)
	out.jsonHead()
	out.json(`"sets":[`)
	out.jsonSet(set)
	out.jsonValueOfSet(cards)
	out.json("}]")
	in.cards = in.View.Index.TopOfSet(in.cards, set, topCards)
	out.jsonTopCards(in.cards)
	out.jsonNext("")
	return ""
}

// ambiguousSet returns the error for a name that several sets have, with a list of them.
func ambiguousSet(c *snapshot.Catalog, sets []uint32, ref string) toolError {
	var text textBuilder
	text.text(len(sets), ` sets fit "`, readable(ref), `". Call again with one of these ids:`, "\n")
	for _, set := range sets[:min(len(sets), 10)] {
		text.text("- ", c.Sets.Name.At(int(set)), " | ", c.Games.Slug.At(int(c.Sets.Game[set])), " | ",
			c.Sets.ID.At(int(set)), "\n")
	}
	return toolError(text)
}
