package mcp

import (
	"strings"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/wire"
)

var searchCards = tool{
	name:  "catalog_search_cards",
	title: "Search cards",
	about: "Find trading cards (Pokémon, One Piece) by name; spelling mistakes are tolerated. Filters: set, number, rarity, game, " +
		"price. Give a query or at least one of set, number, rarity. Returns ids for the other catalog tools. To price a list of " +
		"cards use catalog_value_cards instead of many searches.",
	fields: []field{
		{name: "query", about: `Card name or part of it, e.g. "charizard ex".`, kind: aText, lo: 1, hi: 200},
		refField("set", `Set id, slug, code or exact name, e.g. "Obsidian Flames".`),
		{name: "number", about: `Card number as printed, e.g. "199/165".`, kind: aText, lo: 1, hi: 32},
		{name: "rarity", about: `Rarity, e.g. "Double Rare".`, kind: aText, lo: 1, hi: 64},
		gameField,
		priceField("min_price_cents", "Lowest price in US cents.", none),
		priceField("max_price_cents", "Highest price in US cents.", none),
		{
			name: "sort", about: "Order of results.", kind: aChoice,
			choices: []string{"relevance", "price_desc", "price_asc", "newest"},
		},
		limitField(10),
		cursorField,
		formatField,
	},
	output: object(
		"cards", array(object(join(identity, []string{"currency", schemaUSD}, price, extras)...)),
		"next_cursor", nullString,
	),
	run: (*call).searchCards,
}

func (c *call) searchCards() refusal {
	a := &c.args
	q := index.Query{
		Filter: index.Filter{
			Set: a.text("set"), Number: a.text("number"), Rarity: a.text("rarity"), Game: a.text("game"),
			Min: a.number("min_price_cents"), Max: a.number("max_price_cents"),
		},
		Words: a.text("query"), HasWords: a.has("query"),
	}
	q.Sort, _ = index.ParseSort(a.text("sort"))
	if !q.HasWords && q.Set == "" && q.Number == "" && q.Rarity == "" {
		c.problems.add("give a query, or at least one of set, number, rarity.")
	}
	if q.HasWords && strings.TrimSpace(q.Words) == "" {
		c.problems.add("query must not be blank.")
	}
	if q.Max != none && q.Min > q.Max {
		c.problems.add("min_price_cents must not be more than max_price_cents.")
	}
	bound := cursor.Hash("cards", string(q.AppendKey(nil)))
	var after *index.Position
	if page, ok := c.openCursor(cursor.ToolCards, bound); ok {
		if position, err := index.ParsePosition(page.Position); err == nil {
			after = &position
		} else {
			c.badCursor(cursor.ErrMalformed)
		}
	}
	if r := c.problems.refusal(c.tool.name); r != "" {
		return r
	}
	page := c.View.Cards(c.cards, q, after, int(a.number("limit")))
	c.cards = page.Cards
	next := ""
	if page.More {
		c.position = page.Last.AppendBinary(c.position)
		next = c.nextCursor(cursor.ToolCards, bound)
	}
	if len(page.Cards) == 0 {
		c.sayNothingFound(&q, after != nil)
	} else {
		c.sayHead("card", len(page.Cards), next)
	}
	c.json = append(c.json, `{"cards":[`...)
	for k, card := range page.Cards {
		c.comma(k)
		c.result(k, int(card))
	}
	c.json = append(c.json, ']')
	c.jsonNext(next)
	c.json = append(c.json, '}')
	return ""
}

// result writes the k-th card found.
func (c *call) result(k, card int) {
	c.jsonCard(card)
	c.json = append(c.json, `,"currency":"USD"`...)
	c.jsonPrice(card)
	c.jsonExtras(card)
	c.json = append(c.json, '}')
	c.sayInt(k + 1)
	c.say(". ")
	c.sayCard(card)
	c.say(" | ")
	c.sayPrice(card)
	c.sayID(card)
}

// sayNothingFound says why there may be nothing, and what to try.
func (c *call) sayNothingFound(q *index.Query, continued bool) {
	switch {
	case continued:
		c.say("No more cards.\n")
	case q.Set != "" && len(c.View.Index.SetsNamed(q.Set)) == 0:
		c.say(`No card found: no set is called "`, readable(q.Set), `". Find sets with catalog_browse_sets, or leave set out.`, "\n")
	default:
		c.say("No card found. Leave out a filter, or try fewer or other words.\n")
	}
}

// sayHead is the first line of a list: how many, how to go on, what the prices are.
func (c *call) sayHead(what string, n int, next string) {
	c.sayCount(n, what)
	if next != "" {
		c.say(", more with cursor=", next)
	}
	c.say(" ")
	c.sayAsOf()
	c.say("\n")
}

// openCursor opens the cursor argument and turns the call to the View that the walk began in, when it is still kept.
func (c *call) openCursor(op cursor.Op, bound uint64) (cursor.Page, bool) {
	if !c.args.has("cursor") || c.problems.n > 0 {
		return cursor.Page{}, false
	}
	page, err := c.e.Cursors.Open(c.args.text("cursor"), op, bound, c.Now)
	if err != nil {
		c.badCursor(err)
		return cursor.Page{}, false
	}
	if c.e.Retained != nil {
		if kept := c.e.Retained(page.Snapshot); kept != nil {
			c.View, c.c = kept, kept.Catalog
		}
	}
	return page, true
}

// badCursor notes what is wrong with a cursor and what to do.
func (c *call) badCursor(err error) {
	c.problems.add(err.Error(), ": leave cursor out to start again from the first page, or repeat the other arguments of that page unchanged.")
}

// nextCursor signs the call's position.
func (c *call) nextCursor(op cursor.Op, bound uint64) string {
	var buf [512]byte
	return string(c.e.Cursors.Append(buf[:0], cursor.Page{Op: op, Snapshot: c.View.Hash, Position: c.position}, bound, c.Now))
}

func (c *call) jsonNext(next string) {
	c.json = append(c.json, `,"next_cursor":`...)
	c.json = wire.AppendNullable(c.json, next)
}
