package mcp

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

func searchCardsTool() *tool {
	fields := []field{
		textField("query", `Card name or part of it, e.g. "charizard ex".`, wire.QueryText),
		textField("set", `Set id, slug, code or name.`, wire.SetText),
		textField("number", `As printed, e.g. "199/165".`, wire.NumberText),
		textField("rarity", `E.g. "Double Rare".`, wire.RarityText),
		gameField(),
		integerField("min_price_cents", "Lowest price in US cents.", wire.PriceCents, noDefault),
		integerField("max_price_cents", "Highest price in US cents.", wire.PriceCents, noDefault),
		dateField("released_after", "Only of sets of this day or later, YYYY-MM-DD."),
		dateField("released_before", "Only of sets of this day or earlier."),
		choiceField("sort", "Order of results.", 0, index.SortNames[:index.ByName]...),
		limitField(10),
		cursorField(),
	}

	var games []string
	for _, game := range snapshot.Games {
		games = append(games, game.Name)
	}

	return &tool{
		name: "catalog_search_cards", title: "Search cards",
		description: "Find trading cards (" + strings.Join(games, ", ") + ") by name; spelling mistakes are " +
			"tolerated. Filters: set, number, rarity, game, price; without a query the most expensive cards come " +
			"first. Each price names its variant, the one that the query asks for if the card has it. " +
			"To price a list of cards use catalog_value_cards instead of many searches.",
		fields: fields, run: searchCards, text: foundLayout,
		output: answerSchema("cards", array(object(slices.Concat(identity, price, detailMembers)...)),
			"next_cursor?", schemaString),
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
	q.ReleasedAfter = snapshot.Day(a.number("released_after"))
	q.ReleasedBefore = snapshot.Day(a.number("released_before"))
	q.Sort = index.ParseSort(a.text("sort"))
	q.Ordered = a.has("sort") && index.MayHaveModifier(q.Words)
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

	out.variant = askedVariant(in, q, page, after == nil)
	unknownSet := remarkSet(in, out, q.Set)
	switch {
	case len(page.Cards) > 0, index.HasKind(page.Interpretation, index.NoCard):
		out.remarkInterpretation(page.Interpretation, len(page.Cards) == 0 || q.Sort == index.Relevance)
	case after != nil:
		out.remark("no_more", "", "")
	case !unknownSet:
		out.remarkInterpretation(page.Interpretation, true)
		remarkNothingFound(in, out, q)
	}

	out.date(page.Cards)
	out.jsonHead()
	out.json(`"cards":[`)
	for _, card := range page.Cards {
		out.comma()
		out.jsonIdentity(int(card))
		out.jsonPrice(int(card))
		out.json("}")
	}
	out.json("]")
	out.jsonNext(next)
	return ""
}

// askedVariant returns the finish and edition that the words of a query ask for, "" for none. A search
// reads its words for the first page in order of relevance only.
func askedVariant(in *request, q index.Query, page engine.SearchPage, first bool) string {
	if q.HasWords && (!first || q.Sort != index.Relevance) {
		q.Sort = index.Relevance
		page = in.View.CardsInterpreted(nil, q, nil, 1)
	}

	asked := ""
	for _, remark := range page.Interpretation {
		if _, isFinish := cardvocab.Finish(remark.From); isFinish && remark.Kind == index.Preferred {
			asked = strings.TrimSpace(asked + " " + remark.From)
		}
	}
	return asked
}

// remarkNothingFound adds the reason why a search found no card, and a search that would find one.
func remarkNothingFound(in *request, out *result, q index.Query) {
	if remarkUnknown(in, out, "no_rarity", index.RarityKind, q.Rarity) {
		return
	}

	// Without its query, an unrestricted search finds everything.
	if q.Filter == index.NoFilter {
		out.remark("no_match", readable(q.Words), snapshot.GamesInWords())
		return
	}

	found := func() bool { return len(in.View.Cards(nil, cardQuery(in.args), nil, 1).Cards) > 0 }
	remarkExcluding(in, out, found, "query", "set", "number", "rarity", "game", "min_price_cents", "max_price_cents",
		"released_after", "released_before")
	if q.Set != "" && q.Number != "" {
		remarkNumbers(in, out, q)
	}
}

// remarkNumbers adds the lowest and the highest number of a set, and the cards that the query finds there.
func remarkNumbers(in *request, out *result, q index.Query) {
	c := in.View.Catalog
	sets := in.View.Index.SetNames().Resolve(q.Set)
	var numbers []string
	for _, card := range in.View.Index.CardsOfSet(int(sets[0])) {
		if number := c.Cards.Number.At(int(card)); number != "" {
			numbers = append(numbers, number)
		}
	}
	if len(numbers) == 0 {
		return
	}

	slices.SortFunc(numbers, cardvocab.CompareNumbers)
	q.Number = ""
	var meant []string
	for _, card := range in.View.Cards(nil, q, nil, maxNearest).Cards {
		meant = append(meant, c.Cards.Name.At(int(card))+" #"+c.Cards.Number.At(int(card)))
	}
	out.remark("number_range", c.Sets.Name.At(int(sets[0])), numbers[0]+" to "+numbers[len(numbers)-1], meant...)
}
