package mcp

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// result is the result of a tool call: the JSON that becomes its structuredContent. Its text is made
// from that JSON alone; see layout.
type result struct {
	data     []byte
	remarks  []remark
	view     *engine.View
	c        *snapshot.Catalog
	detailed bool
	now      time.Time
	variant  string // the finish or edition that was asked for, "" for none
	pricedAt int64  // of all prices without an instant of their own; snapshot.NoTime without prices
}

func (out *result) reset() {
	*out = result{data: out.data[:0], remarks: out.remarks[:0], pricedAt: snapshot.NoTime}
}

// setView sets the View of the result.
func (out *result) setView(v *engine.View) {
	out.view = v
	out.c = v.Catalog
}

// json appends JSON unchanged.
func (out *result) json(parts ...string) {
	for _, p := range parts {
		out.data = append(out.data, p...)
	}
}

// comma separates the next element of a JSON list from the previous one, if there is one.
func (out *result) comma() { out.data = wire.AppendComma(out.data) }

// jsonHead begins the object of a result with the facts common to all its prices, and the remarks. date
// must have seen the prices.
func (out *result) jsonHead() {
	out.json("{")
	if out.pricedAt != snapshot.NoTime {
		out.data = wire.AppendSeconds(out.data, `"currency":"USD","price_updated_at":`, out.pricedAt)
		if now := out.now.UnixMilli(); !snapshot.Fresh(out.pricedAt, now) {
			out.data = wire.AppendInt(out.data, `,"days_old":`, (now-out.pricedAt)/(24*time.Hour).Milliseconds())
		}
		out.json(",")
	}

	if len(out.remarks) > 0 {
		list, _ := json.Marshal(out.remarks) // valid strings do not fail
		out.json(`"notes":`, string(list), ",")
	}
}

// lane returns the lane of the shown price of a card, -1 without one. If the requested finish or
// edition has a price, that lane is shown, else the display price's.
func (out *result) lane(card int) int {
	if out.variant != "" {
		if lane := valuation.VariantLane(out.view, card, out.variant); lane >= 0 {
			return lane
		}
	}
	return int(out.c.Cards.Display[card])
}

// date dates all prices of a result by the newest price.
func (out *result) date(cards []uint32) {
	for _, card := range cards {
		out.dateLane(out.lane(int(card)))
	}
}

func (out *result) dateLane(lane int) {
	if lane >= 0 && out.c.Lanes.Cents[lane] >= 0 {
		out.pricedAt = max(out.pricedAt, out.c.UpdatedAt(lane))
	}
}

// jsonUpdated appends the instant of a lane's price, unless all prices of the result share it.
func (out *result) jsonUpdated(lane int) {
	if at := out.c.UpdatedAt(lane); at != out.pricedAt {
		out.data = wire.AppendSeconds(out.data, `,"price_updated_at":`, at)
	}
}

// jsonIdentity appends the start of an object with a card's identity, without the closing brace.
func (out *result) jsonIdentity(card int) {
	out.data = wire.AppendIdentity(out.data, out.c, card, out.view.Site())
}

// jsonCard appends a card with the name of its set, or without its set, and its price.
func (out *result) jsonCard(card int, withSet bool) {
	out.data = wire.AppendName(out.data, out.c, card)
	out.data = wire.AppendGame(out.data, out.c, out.c.Cards.Game[card])
	if withSet {
		out.data = wire.AppendNullable(out.data, `,"set":`, out.c.OfSet(&out.c.Sets.Name, card))
	}
	out.data = out.view.Site().AppendCardURL(out.data, out.c, card)
	out.jsonPrice(card)
	out.json("}")
}

// jsonPrice appends the price of a card, its variant, and the members that only a detailed card has.
func (out *result) jsonPrice(card int) {
	lane := out.lane(card)
	if lane >= 0 && out.c.Lanes.Cents[lane] >= 0 {
		out.data = wire.AppendText(out.data, `,"variant":`, out.c.Variants.At(int(out.c.Lanes.Variant[lane])))
		out.data = wire.AppendCents(out.data, `,"market_price_cents":`, out.c.Lanes.Cents[lane])
		out.jsonUpdated(lane)
	} else {
		out.json(`,"market_price_cents":null`)
	}
	out.jsonExtras(card)
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
	out.data = out.view.Site().AppendImage(out.data, out.c.Cards.Image.At(card))
}

// jsonNext ends the object of a page with the cursor of the next page, if there is one.
func (out *result) jsonNext(next string) {
	if next != "" {
		out.data = wire.AppendText(out.data, `,"next_cursor":`, next)
	}
	out.json("}")
}

// maxNearest is how many similar cards are listed if the requested one does not exist.
const maxNearest = 3

// findCard returns the card of the argument id. The error for one that does not select exactly one
// card lists the cards that may be meant.
func findCard(in *request) (int, toolError) {
	ref := in.View.Index.CanonicalIdentifier(in.text("id"))
	if card, ok := in.View.Index.Resolve(ref); ok {
		return card, ""
	}

	var text textBuilder
	if cards := in.View.Index.ForBatch(ref); len(cards) > 1 {
		text.text(`Several cards have the identifier "`, readable(ref), "\": give the id of one of these:\n")
		for _, card := range cards {
			text.textSuggestion(in.View.Catalog, int(card))
		}
		return -1, toolError(text)
	}

	text.text(`No card has the id, slug or identifier "`, readable(ref), `". `)

	// A wrong slug consists of words, and search corrects misspelt ones. An id has no words.
	var meant []index.Match
	words := strings.ReplaceAll(ref, "-", " ")
	if strings.TrimSpace(words) != "" && !strings.HasPrefix(ref, "card_") {
		q := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		meant = in.View.Index.Matches(nil, q, maxNearest)
	}
	if len(meant) == 0 {
		text.text("Find ids with catalog_search_cards.")
		return -1, toolError(text)
	}

	text.text("Did you mean:\n")
	for _, match := range meant {
		text.textSuggestion(in.View.Catalog, int(match.Card))
	}

	text.text("Otherwise find ids with catalog_search_cards.")
	return -1, toolError(text)
}

// textSuggestion appends a card that a reference may mean, to an error, which is text alone.
func (builder *textBuilder) textSuggestion(c *snapshot.Catalog, card int) {
	builder.text("- ", c.Cards.Name.At(card), " | ", c.OfSet(&c.Sets.Name, card))
	if number := c.Cards.Number.At(card); number != "" {
		builder.text(" #", number)
	}
	builder.text(" | ", c.Games.Slug.At(int(c.Cards.Game[card])), " | ", c.Cards.ID.At(card), "\n")
}
