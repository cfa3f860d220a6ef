package mcp

import (
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// topCards is how many of a set's cards are shown with it, as in REST.
const topCards = 10

var browseSets = tool{
	name:  "catalog_browse_sets",
	title: "Browse sets",
	about: "Without set: list sets, newest first, optionally of one game or series. With set: that one set and its 10 highest-value " +
		"cards.",
	fields: []field{
		refField("set", "Set id, slug, code or exact name; returns this set and its top cards, and the other filters do not count."),
		gameField,
		refField("series", "Only this series."),
		limitField(20),
		cursorField,
		formatField,
	},
	output: object(
		"sets", array(object(
			"id", schemaString, "name", schemaString, "series", nullString, "release_date", nullable(schemaDate),
			"card_count", nullInteger, "game", nullString, "game_name", nullString, "url", nullString,
		)),
		"top_cards?", arrayTo(topCards, object(join(
			identity[:10], []string{"url", nullString, "currency", schemaUSD}, price, extras,
		)...)),
		"next_cursor", nullString,
	),
	run: (*call).browseSets,
}

func (c *call) browseSets() refusal {
	if c.args.has("set") {
		return c.browseSet(c.args.text("set"))
	}
	f := index.SetFilter{Game: c.args.text("game"), Series: c.args.text("series")}
	bound := cursor.Hash("sets", string(f.AppendKey(nil)))
	from := 0
	if page, ok := c.openCursor(cursor.ToolSets, bound); ok {
		if position, err := index.ParseSetPosition(page.Position); err == nil {
			from = c.View.Index.SetAfter(position)
		} else {
			c.badCursor(cursor.ErrMalformed)
		}
	}
	if r := c.problems.refusal(c.tool.name); r != "" {
		return r
	}
	sets, more := c.View.Index.Sets(c.cards, f, from, int(c.args.number("limit")))
	c.cards = sets
	next := ""
	if more >= 0 {
		last := c.View.Index.SetPosition(int(sets[len(sets)-1]))
		c.position = last.AppendBinary(c.position)
		next = c.nextCursor(cursor.ToolSets, bound)
	}
	if len(sets) == 0 {
		c.say("No set found. Leave out series or game.\n")
	} else {
		c.sayCount(len(sets), "set")
		if next != "" {
			c.say(", more with cursor=", next)
		}
		c.say("\n")
	}
	c.json = append(c.json, `{"sets":[`...)
	for k, set := range sets {
		c.comma(k)
		c.sayInt(k + 1)
		c.say(". ")
		c.set(int(set))
	}
	c.json = append(c.json, ']')
	c.jsonNext(next)
	c.json = append(c.json, '}')
	return ""
}

// set writes a set and a line of text about it.
func (c *call) set(set int) {
	s := &c.c.Sets
	c.json = wire.AppendSetSummary(c.json, c.c, set)
	c.json = c.json[:len(c.json)-1]
	c.json = c.View.Site().AppendSetURL(c.json, c.c, set)
	c.json = append(c.json, '}')
	c.say(s.Name.At(set))
	if series := s.Series.At(set); series != "" {
		c.say(" | ", series)
	}
	if s.Release[set] == snapshot.NoDay {
		c.say(" | no date | ")
	} else {
		c.say(" | ")
		c.sayDay(s.Release[set])
		c.say(" | ")
	}
	c.sayCount(int(s.Cards[set]), "card")
	c.say(" | ", c.c.Games.Slug.At(int(s.Game[set])))
	if c.detailed {
		c.say(" | ", c.View.Site().URL, "/sets/", s.Slug.At(set))
	}
	c.say(" | ", s.ID.At(set), "\n")
}

// browseSet answers with one set and its top cards.
func (c *call) browseSet(ref string) refusal {
	sets := c.View.Index.SetsNamed(ref)
	if game := c.args.text("game"); game != "" && len(sets) > 1 {
		sets = c.ofGame(sets, game)
	}
	switch len(sets) {
	case 0:
		return refusal(`No set has the id, slug, code or name "` + readable(ref) + `". Call catalog_browse_sets without set to list them.`)
	case 1:
	default:
		c.sayCount(len(sets), "set")
		c.say(` fit "`, readable(ref), `". Call again with one of these ids:`, "\n")
		for _, set := range sets[:min(len(sets), 10)] {
			c.say("- ")
			c.set(int(set))
		}
		return refusal(c.text)
	}
	set := int(sets[0])
	c.json = append(c.json, `{"sets":[`...)
	c.set(set)
	c.json = append(c.json, `],"top_cards":[`...)
	c.cards = c.View.Index.Top(c.cards, set, topCards)
	if len(c.cards) == 0 {
		c.say("None of its cards has a price.\n")
	} else {
		c.say("Top cards ")
		c.sayAsOf()
		c.say(":\n")
	}
	for k, card := range c.cards {
		c.comma(k)
		c.topCard(k, int(card))
	}
	c.json = append(c.json, `],"next_cursor":null}`...)
	return ""
}

// topCard writes the k-th card of a set; it goes without the set.
func (c *call) topCard(k, card int) {
	c.json = wire.AppendName(c.json, c.c, card)
	c.json = wire.AppendGame(c.json, c.c, c.c.Cards.Game[card])
	c.json = c.View.Site().AppendCardURL(c.json, c.c, card)
	c.json = append(c.json, `,"currency":"USD"`...)
	c.jsonPrice(card)
	c.jsonExtras(card)
	c.json = append(c.json, '}')
	c.sayInt(k + 1)
	c.say(". ", c.c.Cards.Name.At(card))
	if number := c.c.Cards.Number.At(card); number != "" {
		c.say(" | #", number)
	}
	c.say(" | ")
	c.sayPrice(card)
	c.sayID(card)
}

func (c *call) ofGame(sets []uint32, game string) []uint32 {
	var of []uint32
	for _, set := range sets {
		if c.c.Games.Slug.At(int(c.c.Sets.Game[set])) == game {
			of = append(of, set)
		}
	}
	return of
}
