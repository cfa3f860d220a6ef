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

func browseSetsTool() *tool {
	fields := []field{
		aText("set", "Set id, slug, code or exact name; returns this set and its top cards, and the other filters do "+
			"not count.", wire.SetText),
		gameField(),
		aText("series", "Only this series.", wire.SeriesText),
		limitField(wire.DefaultPage),
		cursorField(),
	}

	set := object(
		"id", schemaString, "name", schemaString, "series", nullString, "release_date", nullable(schemaDate),
		"card_count", nullInteger, "game", nullString, "game_name", nullString, "url", nullString,
	)
	card := object(slices.Concat(identityInSet, []string{"currency", schemaUSD}, price, extras)...)
	output := object("sets", array(set), "top_cards?", arrayTo(topCards, card), "next_cursor", nullString)

	return &tool{
		name: "catalog_browse_sets", title: "Browse sets",
		about: "Without set: list sets, newest first, optionally of one game or series. " +
			"With set: that one set and its 10 highest-value cards.",
		fields: fields, output: output, run: browseSets,
	}
}

func browseSets(in *request, out *reply) refusal {
	if in.has("set") {
		return browseSet(in, out, in.text("set"))
	}

	// A cursor goes on with the filters that it was issued for, and with no others.
	filter := index.SetFilter{Game: in.text("game"), Series: in.text("series")}
	bound := cursor.Hash("sets", string(filter.AppendKey(nil)))
	from := 0
	if after := openCursor(in, out, cursor.ToolSets, bound, index.ParseSetPosition); after != nil {
		from = in.View.Index.SetAfter(filter, *after)
	}
	if refused := in.refusal(); refused != "" {
		return refused
	}

	sets, more := in.View.Index.Sets(in.cards, filter, from, int(in.number("limit")))
	in.cards = sets
	next := ""
	if more >= 0 {
		last := in.View.Index.SetPosition(int(sets[len(sets)-1]))
		next = in.nextCursor(cursor.ToolSets, bound, last.AppendBinary(nil))
	}

	if len(sets) == 0 {
		out.say("No set found. Leave out series or game.\n")
	} else {
		out.sayFound(len(sets), "set", next)
		out.say("\n")
	}

	out.put(`{"sets":[`)
	out.each(sets, writeSet)
	out.put("]")
	out.putNext(next)
	return ""
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
	out.say(" | ")
	if sets.Release[set] == snapshot.NoDay {
		out.say("no date")
	} else {
		out.sayDay(sets.Release[set])
	}
	out.say(" | ")
	out.sayCount(int(sets.Cards[set]), "card")
	out.say(" | ", out.c.Games.Slug.At(int(sets.Game[set])))
	if out.detailed {
		out.sayPage("/sets/", sets.Slug.At(set))
	}
	out.say(" | ", sets.ID.At(set), "\n")
}

// browseSet answers with one set and its top cards.
func browseSet(in *request, out *reply, ref string) refusal {
	// A name may be of several sets, also of several games.
	sets := in.View.Index.SetsNamed(ref)
	if game := in.text("game"); game != "" && len(sets) > 1 {
		sets = setsOfGame(out.c, sets, game)
	}
	if len(sets) == 0 {
		return refusal(`No set has the id, slug, code or name "` + readable(ref) + `".` +
			nearestSets(in, ref) + ` Call catalog_browse_sets without set to list them.`)
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
	out.sayCount(len(sets), "set")
	out.say(` fit "`, readable(ref), `". Call again with one of these ids:`, "\n")
	for _, set := range sets[:min(len(sets), 10)] {
		out.say("- ")
		writeSet(out, int(set))
	}
	return refusal(out.prose)
}

// writeTopCard writes a card of a set that was named; it goes without the set.
func writeTopCard(out *reply, card int) {
	c := out.c
	out.json = wire.AppendName(out.json, c, card)
	out.json = wire.AppendGame(out.json, c, c.Cards.Game[card])
	out.json = out.site.AppendCardURL(out.json, c, card)
	out.put(`,"currency":"USD"`)
	out.putPrice(card)
	out.putExtras(card)
	out.put("}")

	out.say(c.Cards.Name.At(card))
	if number := c.Cards.Number.At(card); number != "" {
		out.say(" | #", number)
	}
	out.say(" | ")
	out.sayMoney(out.c.DisplayCents(card))
	out.sayID(card)
}

// setsOfGame are the sets of one game among others.
func setsOfGame(c *snapshot.Catalog, sets []uint32, game string) []uint32 {
	return slices.DeleteFunc(slices.Clone(sets), func(set uint32) bool {
		return c.Games.Slug.At(int(c.Sets.Game[set])) != game
	})
}
