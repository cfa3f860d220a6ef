package mcp

import (
	"strings"
	"unsafe"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// result is the result of a tool call. The tool writes it twice in one pass: as JSON, which becomes
// the structuredContent, and as text. Methods whose names begin with json write JSON, and those
// whose names begin with text write text.
type result struct {
	textBuilder
	data     []byte
	c        *snapshot.Catalog
	urls     *wire.URLs
	detailed bool
}

func (out *result) reset() { *out = result{data: out.data[:0], textBuilder: out.textBuilder[:0]} }

// setView sets the View of the result.
func (out *result) setView(v *engine.View) {
	out.c = v.Catalog
	out.urls = v.Site()
}

// appendTo appends the result to a response that beginResult began.
func (out *result) appendTo(dst []byte) []byte {
	dst = appendText(dst, unsafe.String(unsafe.SliceData(out.textBuilder), len(out.textBuilder)))
	dst = append(dst, `,"structuredContent":`...)
	dst = append(dst, out.data...)
	return append(dst, `,"isError":false}}`...)
}

// json appends JSON unchanged.
func (out *result) json(parts ...string) {
	for _, p := range parts {
		out.data = append(out.data, p...)
	}
}

// comma separates the next element of a JSON list from the previous one, if there is one.
func (out *result) comma() { out.data = wire.AppendComma(out.data) }

// each calls write for each element of a list. Before an element it writes the comma of the JSON
// and the number of the text line.
func (out *result) each(all []uint32, write func(out *result, one int)) {
	for k, one := range all {
		out.comma()
		out.text(k+1, ". ")
		write(out, int(one))
	}
}

// jsonCard appends the start of an object with a card's identity, without the closing brace.
func (out *result) jsonCard(card int) {
	out.data = wire.AppendIdentity(out.data, out.c, card, out.urls)
}

// jsonExtras appends the members that only a detailed card has.
func (out *result) jsonExtras(card int) {
	if out.detailed {
		out.jsonRarity(card)
		out.jsonImage(card)
	}
}

func (out *result) jsonRarity(card int) {
	out.data = wire.AppendNullable(out.data, `,"rarity":`, out.c.Cards.Rarity.At(card))
}

func (out *result) jsonImage(card int) {
	out.data = out.urls.AppendImage(out.data, out.c.Cards.Image.At(card))
}

// jsonPrice appends a card's display price.
func (out *result) jsonPrice(card int) {
	cents, at := out.c.DisplayPrice(card)
	out.data = wire.AppendCents(out.data, `,"market_price_cents":`, cents)
	out.data = wire.AppendSeconds(out.data, `,"price_updated_at":`, at)
}

// jsonNext ends the object of a page with the cursor of the next page, "" for none.
func (out *result) jsonNext(next string) {
	out.data = wire.AppendNullable(out.data, `,"next_cursor":`, next)
	out.json("}")
}

// textPageHead begins the text of a page: the number of entries, and how to get the next page.
func (out *result) textPageHead(n int, what, next string) {
	out.text(count{n, what})
	if next != "" {
		out.text(", more with cursor=", next)
	}
}

// textAsOf appends the currency and date of all prices of the text: " (USD, prices of 2026-11-20)".
func (out *result) textAsOf() { out.text(" (USD, prices of ", out.c.Date(), ")") }

// textCard appends the beginning of a card's line: name, set, number and game.
func (out *result) textCard(card int) {
	c := out.c
	out.text(c.Cards.Name.At(card), " |")
	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		out.text(" ", c.Sets.Name.At(int(set)))
		if out.detailed {
			out.text(" (", c.Sets.ID.At(int(set)), ")")
		}
	}

	if number := c.Cards.Number.At(card); number != "" {
		out.text(" #", number)
	}

	out.text(" | ", c.Games.Slug.At(int(c.Cards.Game[card])))
	if rarity := c.Cards.Rarity.At(card); out.detailed && rarity != "" {
		out.text(" | ", rarity)
	}
}

// textCardPrice appends what textCard does, and the card's display price.
func (out *result) textCardPrice(card int) {
	out.textCard(card)
	out.text(" | ")
	out.textPrice(out.c.DisplayPrice(card))
}

// textPrice appends a price. If the price is over 36 hours older than the catalog, its own day
// follows, because the date at the head of the text is the catalog's (decision 2106).
func (out *result) textPrice(cents, at int64) {
	out.text(money(cents))
	if cents >= 0 && !snapshot.Fresh(at, out.c.SnapshotAt) {
		out.text(" of ", snapshot.DayOf(at))
	}
}

// textID ends a card's line with its id. In the detailed form, the time of its price and the URL of
// its page precede the id.
func (out *result) textID(card int) {
	if out.detailed {
		if cents, at := out.c.DisplayPrice(card); cents >= 0 {
			out.text(" | updated ", instant(at))
		}
		if slug := out.c.Cards.Slug.At(card); slug != "" {
			out.textPage("/cards/", slug)
		}
	}

	out.text(" | ", out.c.Cards.ID.At(card), "\n")
}

func (out *result) textPage(kind, slug string) { out.text(" | ", out.urls.URL, kind, slug) }

// textSuggestion appends the cards that a reference may mean.
func (out *result) textSuggestion(card int) {
	out.text("- ")
	out.textCard(card)
	out.text(" | ", out.c.Cards.ID.At(card), "\n")
}

// maxNearest is how many similar cards are listed if the requested one does not exist.
const maxNearest = 3

// findCard returns the card of the argument id. The error for one that does not select exactly one
// card lists the cards that may be meant.
func findCard(in *request, out *result) (int, toolError) {
	ref := in.View.Index.CanonicalIdentifier(in.text("id"))
	if card, ok := in.View.Index.Resolve(ref); ok {
		return card, ""
	}

	if cards := in.View.Index.ForBatch(ref); len(cards) > 1 {
		out.text(`Several cards have the identifier "`, readable(ref), "\": give the id of one of these:\n")
		for _, card := range cards {
			out.textSuggestion(int(card))
		}
		return -1, toolError(out.textBuilder)
	}

	out.text(`No card has the id, slug or identifier "`, readable(ref), `". `)

	// A wrong slug consists of words, and search corrects misspelt ones. An id has no words.
	var meant []index.Match
	words := strings.ReplaceAll(ref, "-", " ")
	if strings.TrimSpace(words) != "" && !strings.HasPrefix(ref, "card_") {
		q := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		meant = in.View.Index.Matches(nil, q, maxNearest)
	}
	if len(meant) == 0 {
		out.text("Find ids with catalog_search_cards.")
		return -1, toolError(out.textBuilder)
	}

	out.text("Did you mean:\n")
	for _, match := range meant {
		out.textSuggestion(int(match.Card))
	}

	out.text("Otherwise find ids with catalog_search_cards.")
	return -1, toolError(out.textBuilder)
}

// textNoSet appends that nothing was found because no set has the requested name. It returns false
// and appends nothing if a set has that name or none was requested.
func textNoSet(in *request, out *result, found string) bool {
	set := in.text("set")
	if set == "" || len(in.View.Index.SetNames().Resolve(set)) > 0 {
		return false
	}

	out.text(found, `: no set is called "`, readable(set), `".`, nearestSets(in, set),
		" Find sets with catalog_browse_sets, or leave set out.\n")
	return true
}

// nearestSets returns a question whether a set with a similar name is meant, "" if there is no such
// set.
func nearestSets(in *request, ref string) string {
	var names []string
	for _, set := range in.View.Index.SetNames().Nearest(ref) {
		names = append(names, `"`+in.View.Catalog.Sets.Name.At(int(set))+`"`)
	}

	if len(names) == 0 {
		return ""
	}
	return " Did you mean " + strings.Join(names, ", ") + "?"
}
