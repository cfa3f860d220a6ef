package mcp

import (
	"slices"
	"strings"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

func searchCardsTool() *tool {
	fields := []field{
		textField("query", `Card name or part of it, e.g. "charizard ex".`, wire.QueryText),
		textField("set", `Set id, slug, code or name, e.g. "Obsidian Flames".`, wire.SetText),
		textField("number", `Card number as printed, e.g. "199/165".`, wire.NumberText),
		textField("rarity", `Rarity, e.g. "Double Rare".`, wire.RarityText),
		gameField(),
		integerField("min_price_cents", "Lowest price in US cents.", wire.PriceCents, noDefault),
		integerField("max_price_cents", "Highest price in US cents.", wire.PriceCents, noDefault),
		choiceField("sort", "Order of results.", 0, index.SortNames[:index.ByName]...),
		limitField(10),
		cursorField(),
	}

	found := object(slices.Concat(identity, []string{"currency", schemaUSD}, price, detailMembers)...)
	var games []string
	for _, game := range snapshot.Games {
		games = append(games, game.Name)
	}

	return &tool{
		name: "catalog_search_cards", title: "Search cards",
		description: "Find trading cards (" + strings.Join(games, ", ") + ") by name; spelling mistakes are " +
			"tolerated. Filters: set, number, rarity, game, price; without a query the dearest cards come first. " +
			"Returns ids for the other catalog tools. " +
			"To price a list of cards use catalog_value_cards instead of many searches.",
		fields: fields, output: object("cards", array(found), "next_cursor", nullString), run: searchCards,
	}
}

// cardQuery returns the query of the arguments of a search.
func cardQuery(a args) index.Query {
	q := index.Query{Filter: index.NoFilter, Words: a.text("query"), HasWords: a.has("query")}
	q.Set = a.text("set")
	q.Number = a.text("number")
	q.Rarity = a.text("rarity")
	q.Game = a.text("game")
	q.Min = a.number("min_price_cents")
	q.Max = a.number("max_price_cents")
	q.Sort, _ = index.ParseSort(a.text("sort"))
	return q
}

func searchCards(in *request, out *result) toolError {
	// At least one argument must restrict or sort the cards (decision 2107).
	q := cardQuery(in.args)
	if !q.HasWords && q.Filter == index.NoFilter && !in.has("sort") {
		in.problems.add("give a query, a filter (set, number, rarity, game, a price) or a sort.")
	}
	if q.HasWords && strings.TrimSpace(q.Words) == "" {
		in.problems.add("query must not be blank.")
	}
	if wrong := q.PriceProblem(); wrong != "" {
		in.problems.add(wrong + ".")
	}

	// A cursor is valid only with the query that it was issued for.
	queryHash := cursor.Hash("cards", string(q.AppendKey(nil)))
	after := openCursor(in, out, cursor.ToolCards, queryHash, index.ParsePosition)
	if toolErr := in.toolError(); toolErr != "" {
		return toolErr
	}

	page := in.View.CardsInterpreted(in.cards, q, after, int(in.number("limit")))
	in.cards = page.Cards

	next := ""
	if page.More {
		next = in.nextCursor(cursor.ToolCards, queryHash, page.Last.AppendBinary(nil))
	}

	// With an empty page, the text says what to try next.
	switch {
	case len(page.Cards) > 0:
		out.textPageHead(len(page.Cards), "card", next)
		out.textAsOf()
		out.text("\n")
		if q.Sort == index.Relevance {
			textInterpretation(out, page.Interpretation)
		}
	case after != nil:
		out.text("No more cards.\n")
	case !textNoSet(in, out, "No card found"):
		out.text("No card found. Leave out a filter, or try fewer or other words.\n")
	}

	out.json(`{"cards":[`)
	out.each(page.Cards, writeFound)
	out.json("]")
	out.jsonNext(next)
	return ""
}

// textInterpretation appends which words of a query were left out, not found, replaced or preferred
// (docs/SEARCH.md, What the answer tells). It appends nothing if the words were used unchanged.
func textInterpretation(out *result, interpretation []index.Note) {
	var parts []string
	for _, remark := range interpretation {
		from := `"` + readable(remark.From) + `"`
		switch remark.Kind {
		case index.Dropped:
			parts = append(parts, from+" left out")
		case index.Missing:
			parts = append(parts, from+" not found")
		case index.Replaced:
			parts = append(parts, from+" is "+readable(remark.To))
		case index.Corrected:
			parts = append(parts, from+` read as "`+readable(remark.To)+`"`)
		case index.Preferred:
			if remark.To != "" {
				from += " or " + readable(remark.To)
			}
			parts = append(parts, from+" preferred")
		case index.MatchedSet, index.MatchedNumber, index.InGame:
			// The first card shows these.
		}
	}

	if len(parts) > 0 {
		out.text("Query: ", strings.Join(parts, "; "), ".\n")
	}
}

// writeFound writes a card of the search results.
func writeFound(out *result, card int) {
	out.jsonCard(card)
	out.json(`,"currency":"USD"`)
	out.jsonPrice(card)
	out.jsonExtras(card)
	out.json("}")

	out.textCardPrice(card)
	out.textID(card)
}
