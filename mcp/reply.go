package mcp

import (
	"strings"
	"unsafe"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// reply is what a tool answers. The tool writes it twice in one pass: as JSON, which becomes the
// structuredContent, and as prose. Methods that begin with put write JSON, and methods that begin
// with say write prose.
type reply struct {
	prose
	json     []byte
	c        *snapshot.Catalog
	site     *wire.URLs
	detailed bool
}

func (out *reply) reset(v *engine.View) {
	*out = reply{json: out.json[:0], prose: out.prose[:0]}
	if v != nil {
		out.show(v)
	}
}

// show sets which View the reply is about.
func (out *reply) show(v *engine.View) {
	out.c = v.Catalog
	out.site = v.Site()
}

// appendTo appends the reply to the beginning of the response to a call.
func (out *reply) appendTo(dst []byte) []byte {
	dst = appendText(dst, unsafe.String(unsafe.SliceData(out.prose), len(out.prose)))
	dst = append(dst, `,"structuredContent":`...)
	dst = append(dst, out.json...)
	return append(dst, `,"isError":false}}`...)
}

// put appends JSON as it is.
func (out *reply) put(parts ...string) {
	for _, p := range parts {
		out.json = append(out.json, p...)
	}
}

// comma separates the next element of a JSON list from the one before, if there is one.
func (out *reply) comma() { out.json = wire.AppendComma(out.json) }

// each calls write for the elements of a list. It writes the comma of JSON and the number of the
// line of prose before each.
func (out *reply) each(all []uint32, write func(out *reply, one int)) {
	for k, one := range all {
		out.comma()
		out.say(k+1, ". ")
		write(out, int(one))
	}
}

// putCard appends a card's identity as the beginning of an object: everything but the closing
// brace.
func (out *reply) putCard(card int) {
	out.json = wire.AppendIdentity(out.json, out.c, card, out.site)
}

// putExtras appends the members that only a detailed card has.
func (out *reply) putExtras(card int) {
	if out.detailed {
		out.putRarity(card)
		out.putImage(card)
	}
}

func (out *reply) putRarity(card int) {
	out.json = wire.AppendNullable(out.json, `,"rarity":`, out.c.Cards.Rarity.At(card))
}

func (out *reply) putImage(card int) {
	out.json = out.site.AppendImage(out.json, out.c.Cards.Image.At(card))
}

// putPrice appends a card's display price.
func (out *reply) putPrice(card int) {
	cents, at := out.c.DisplayPrice(card)
	out.json = wire.AppendCents(out.json, `,"market_price_cents":`, cents)
	out.json = wire.AppendSeconds(out.json, `,"price_updated_at":`, at)
}

// putNext ends the object of a page with the cursor of the next one, "" for none.
func (out *reply) putNext(next string) {
	out.json = wire.AppendNullable(out.json, `,"next_cursor":`, next)
	out.put("}")
}

// sayFound begins the text of a page: how many entries it has, and how to go on.
func (out *reply) sayFound(n int, what, next string) {
	out.say(count{n, what})
	if next != "" {
		out.say(", more with cursor=", next)
	}
}

// sayAsOf appends what holds for all prices of the text: " (USD, prices of 2026-11-20)".
func (out *reply) sayAsOf() { out.say(" (USD, prices of ", out.c.Date(), ")") }

// sayCard appends the beginning of a card's line: name, set, number and game.
func (out *reply) sayCard(card int) {
	c := out.c
	out.say(c.Cards.Name.At(card), " |")
	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		out.say(" ", c.Sets.Name.At(int(set)))
		if out.detailed {
			out.say(" (", c.Sets.ID.At(int(set)), ")")
		}
	}

	if number := c.Cards.Number.At(card); number != "" {
		out.say(" #", number)
	}

	out.say(" | ", c.Games.Slug.At(int(c.Cards.Game[card])))
	if rarity := c.Cards.Rarity.At(card); out.detailed && rarity != "" {
		out.say(" | ", rarity)
	}
}

// sayPriced appends what sayCard does, and the card's display price.
func (out *reply) sayPriced(card int) {
	out.sayCard(card)
	out.say(" | ")
	out.sayPrice(out.c.DisplayPrice(card))
}

// sayPrice appends a price. When the price is over 36 hours older than the catalog, its own day
// follows, because the date at the head of the text is the catalog's (decision 2106).
func (out *reply) sayPrice(cents, at int64) {
	out.say(money(cents))
	if cents >= 0 && !snapshot.Fresh(at, out.c.SnapshotAt) {
		out.say(" of ", snapshot.DayOf(at))
	}
}

// sayID ends a card's line with its id. In the detailed form the time of its price and the address
// of its page come first.
func (out *reply) sayID(card int) {
	if out.detailed {
		if cents, at := out.c.DisplayPrice(card); cents >= 0 {
			out.say(" | updated ", instant(at))
		}
		if slug := out.c.Cards.Slug.At(card); slug != "" {
			out.sayPage("/cards/", slug)
		}
	}

	out.say(" | ", out.c.Cards.ID.At(card), "\n")
}

func (out *reply) sayPage(kind, slug string) { out.say(" | ", out.site.URL, kind, slug) }

// sayMeant appends the cards that a reference may mean.
func (out *reply) sayMeant(card int) {
	out.say("- ")
	out.sayCard(card)
	out.say(" | ", out.c.Cards.ID.At(card), "\n")
}

// maxNearest is how many cards are named at most when the one that was asked for is not there.
const maxNearest = 3

// noSuchCard refuses an id, slug or identifier that does not lead to one card. It names the cards
// that may be meant.
func noSuchCard(in *request, out *reply, ref string) refusal {
	if cards := in.View.Index.ForBatch(ref); len(cards) > 1 {
		out.say(`Several cards have the identifier "`, readable(ref), "\": give the id of one of these:\n")
		for _, card := range cards {
			out.sayMeant(int(card))
		}
		return refusal(out.prose)
	}

	out.say(`No card has the id, slug or identifier "`, readable(ref), `". `)

	// A wrong slug is still made of words, and search understands misspelt ones. An id has none.
	var meant []index.Match
	words := strings.ReplaceAll(ref, "-", " ")
	if strings.TrimSpace(words) != "" && !strings.HasPrefix(ref, "card_") {
		q := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		meant = in.View.Index.Matches(nil, q, maxNearest)
	}
	if len(meant) == 0 {
		out.say("Find ids with catalog_search_cards.")
		return refusal(out.prose)
	}

	out.say("Did you mean:\n")
	for _, match := range meant {
		out.sayMeant(int(match.Card))
	}

	out.say("Otherwise find ids with catalog_search_cards.")
	return refusal(out.prose)
}

// sayNoSet says that nothing was found because no set has the name that was asked for. It returns
// false, and says nothing, when a set has that name or none was asked for.
func sayNoSet(in *request, out *reply, found string) bool {
	set := in.text("set")
	if set == "" || len(in.View.Index.SetNames().Resolve(set)) > 0 {
		return false
	}

	out.say(found, `: no set is called "`, readable(set), `".`, nearestSets(in, set),
		" Find sets with catalog_browse_sets, or leave set out.\n")
	return true
}

// nearestSets asks whether one of the sets with a similar name is meant. It is "" when there is no
// such set.
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
