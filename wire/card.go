package wire

import (
	"bytes"
	"strings"

	"ninepocket/snapshot"
)

// URLs builds the URLs in responses.
type URLs struct {
	// URL is the prefix of card and set pages, without a slash at the end.
	URL string
	// Images is the prefix of image URLs with a slash at the end; "" when no image folder is
	// configured.
	Images string
	// HasImage reports whether an image file exists; nil means that all exist. image_url is null
	// for a missing file.
	HasImage func(file string) bool
	// ProductPrefix begins every public product id (decision 25), without the underscore: "prd".
	ProductPrefix string
}

// AppendCardURL appends the url member of a card.
func (s *URLs) AppendCardURL(dst []byte, c *snapshot.Catalog, card int) []byte {
	return s.appendURL(dst, "/cards/", c.Cards.Slug.At(card))
}

// AppendSetURL appends the url member of a set.
func (s *URLs) AppendSetURL(dst []byte, c *snapshot.Catalog, set int) []byte {
	return s.appendURL(dst, "/sets/", c.Sets.Slug.At(set))
}

// AppendSearchURL appends the url member of a search for words in a game.
func (s *URLs) AppendSearchURL(dst []byte, words, game string) []byte {
	dst = append(append(dst, `,"url":"`...), s.URL...)
	dst = AppendEscaped(append(dst, "/search?q="...), words) // percent-encoded text needs no JSON escapes
	return append(append(append(dst, "&game="...), game...), '"')
}

func (s *URLs) appendURL(dst []byte, kind, slug string) []byte {
	dst = append(dst, `,"url":`...)
	if slug == "" {
		return append(dst, "null"...)
	}

	dst = append(dst, '"')
	dst = append(dst, s.URL...)
	dst = append(dst, kind...)
	dst = append(dst, slug...) // slugs are [a-z0-9-] and need no escapes
	return append(dst, '"')
}

// ShowsImage reports whether an image file can be shown; file is "" for a card without one.
func (s *URLs) ShowsImage(file string) bool {
	return s.Images != "" && file != "" && (s.HasImage == nil || s.HasImage(file))
}

// AppendImage appends the image_url member of a card; file is its image file, "" for none.
func (s *URLs) AppendImage(dst []byte, file string) []byte {
	dst = append(dst, `,"image_url":`...)
	if !s.ShowsImage(file) {
		return append(dst, "null"...)
	}
	dst = AppendString(dst, s.Images)
	dst = AppendEscaped(dst[:len(dst)-1], file) // percent-encoded text needs no JSON escapes
	return append(dst, '"')
}

// AppendIdentity appends the start of an object with a card's id, name, number, game, set and url.
func AppendIdentity(dst []byte, c *snapshot.Catalog, card int, urls *URLs) []byte {
	dst = AppendName(dst, c, card)
	dst = AppendGame(dst, c, c.Cards.Game[card])
	dst = appendSetOf(dst, c, card)
	return urls.AppendCardURL(dst, c, card)
}

// AppendName appends the start of a card's object: id, name and number.
func AppendName(dst []byte, c *snapshot.Catalog, card int) []byte {
	dst = appendID(dst, `{"id":"`, c.Cards.ID.Bytes(card))
	dst = AppendText(dst, `,"name":`, c.Cards.Name.At(card))
	return AppendNullable(dst, `,"number":`, c.Cards.Number.At(card))
}

// appendID appends a member whose value is one of our ids; name ends with the opening quote. Our
// ids need no escapes. Ids are a fifth of the strings of a list, so that scanning them for escapes
// would be measurable.
func appendID(dst []byte, name string, id []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, id...)
	return append(dst, '"')
}

// AppendGame appends the game and game_name members.
func AppendGame(dst []byte, c *snapshot.Catalog, game uint8) []byte {
	dst = AppendText(dst, `,"game":`, c.Games.Slug.At(int(game)))
	return AppendText(dst, `,"game_name":`, c.Games.Name.At(int(game)))
}

func appendSetOf(dst []byte, c *snapshot.Catalog, card int) []byte {
	dst = append(dst, `,"set":`...)
	set := c.Cards.Set[card]
	if set == snapshot.NoSet {
		return append(dst, "null"...)
	}

	dst = appendID(dst, `{"id":"`, c.Sets.ID.Bytes(int(set)))
	return append(AppendText(dst, `,"name":`, c.Sets.Name.At(int(set))), '}')
}

// AppendMarketPrice appends the members of a price to an object that has others already.
func AppendMarketPrice(dst []byte, cents, updatedAt int64) []byte {
	dst = AppendCents(dst, `,"currency":"USD","market_price_cents":`, cents)
	return AppendSeconds(dst, `,"price_updated_at":`, updatedAt)
}

// AppendDifference appends the start of a change: its subject, and its kind.
func AppendDifference(dst []byte, key *snapshot.RowKey, change string) []byte {
	dst = append(append(dst, `{"id":"`...), key.ID...) // ids need no escapes
	if key.Kind == snapshot.PriceRow {
		dst = AppendText(dst, `","variant":`, key.Variant)
		dst = append(append(dst, `,"condition":"`...), key.Condition.Code()...)
	}
	return append(append(append(dst, `","change":"`...), change...), `",`...)
}

// AppendCardSummary appends a Card summary, which is made of the head of the card's detail and of the
// card's display price.
func AppendCardSummary(dst, head, price []byte) []byte {
	dst = append(append(dst, head...), `,"price":{`...)
	return append(append(dst, price[1:]...), "}}"...) // without its comma
}

// AppendCardHead appends the part of a Card detail that the card's summary begins with: all up to its
// prices.
func AppendCardHead(dst []byte, c *snapshot.Catalog, card int, urls *URLs) []byte {
	dst = AppendName(dst, c, card)
	dst = AppendGame(dst, c, c.Cards.Game[card])
	dst = AppendNullable(dst, `,"rarity":`, c.Cards.Rarity.At(card))
	dst = appendSetOf(dst, c, card)
	dst = urls.AppendImage(dst, c.Cards.Image.At(card))
	return urls.AppendCardURL(dst, c, card)
}

// AppendCardTail appends the end of a Card detail, behind its prices.
func AppendCardTail(dst []byte, c *snapshot.Catalog, card int, urls *URLs) []byte {
	dst = append(dst, `,"identifiers":[`...)
	dst = appendIdentifiers(dst, c, card)

	// A card that is a product has the same id tail (decision 25).
	if c.Cards.Product[card] == 0 {
		return append(dst, `],"product_id":null}`...)
	}
	dst = append(dst, `],"product_id":"`...)
	dst = append(dst, urls.ProductPrefix...)
	dst = append(dst, strings.TrimPrefix(c.Cards.ID.At(card), "card")...)
	return append(dst, '"', '}')
}

// AppendPrices appends the prices member of a card. It has one entry for each lane with a current price,
// in variant order and then condition order (decision 22). A snapshot has no price that may not be
// distributed.
func AppendPrices(dst []byte, c *snapshot.Catalog, card int) []byte {
	dst = append(dst, `,"prices":[`...)
	for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
		// A lane without a current price has a history at most.
		if c.Lanes.Cents[lane] >= 0 {
			dst = AppendLanePrice(AppendComma(dst), c, lane)
		}
	}
	return append(dst, ']')
}

// appendIdentifiers appends an item's identifiers in other namespaces, as elements of a list.
func appendIdentifiers(dst []byte, c *snapshot.Catalog, item int) []byte {
	ids := &c.Identifiers
	for k, to := ids.Of.Range(item); k < to; k++ {
		dst = appendIdentifier(dst, snapshot.PublicNamespace(ids.Namespace.At(k)), ids.Value.At(k))
	}
	return dst
}

func appendIdentifier(dst []byte, namespace, value string) []byte {
	dst = AppendText(AppendComma(dst), `{"namespace":`, namespace)
	return append(AppendText(dst, `,"value":`, value), '}')
}

// AppendLanePrice appends one entry of a card detail's prices. The lane must have a price.
func AppendLanePrice(dst []byte, c *snapshot.Catalog, lane int) []byte {
	l := &c.Lanes
	dst = AppendLane(dst, c, lane)
	dst = AppendChange(dst, `,"change_7d_cents":`, `,"change_7d_percent":`, l.Price7DaysAgo[lane], l.Cents[lane])
	dst = AppendChange(dst, `,"change_30d_cents":`, `,"change_30d_percent":`, l.Price30DaysAgo[lane], l.Cents[lane])
	return append(dst, '}')
}

// AppendLane appends the start of an object with a lane and its price.
func AppendLane(dst []byte, c *snapshot.Catalog, lane int) []byte {
	l := &c.Lanes
	dst = AppendText(dst, `{"variant":`, c.Variants.At(int(l.Variant[lane])))
	dst = AppendText(dst, `,"condition":`, snapshot.Condition(l.Condition[lane]).Text())
	return AppendMarketPrice(dst, l.Cents[lane], c.UpdatedAt(lane))
}

// AppendPriceEntry appends a Live batch price entry. It is made of the id in the head of a Card detail and
// of the card's display price.
func AppendPriceEntry(dst, head, price []byte) []byte {
	id, _, _ := bytes.Cut(head, comma)
	return append(append(append(dst, id...), price...), '}')
}

var comma = []byte{','}

// AppendMover appends a Market mover. before has the earlier price of every lane:
// Lanes.Price7DaysAgo or Lanes.Price30DaysAgo.
func AppendMover(dst []byte, c *snapshot.Catalog, card int, urls *URLs, before []int64) []byte {
	cents, at := c.DisplayPrice(card)
	dst = AppendIdentity(dst, c, card, urls)
	dst = AppendCents(dst, `,"currency":"USD","market_price_cents":`, cents)

	// Movers have an earlier price; for any other card the change is null.
	base := snapshot.NoCents
	if lane := c.Cards.Display[card]; lane >= 0 {
		base = before[lane]
	}
	dst = AppendChange(dst, `,"price_change_cents":`, `,"price_change_percent":`, base, cents)

	return append(AppendSeconds(dst, `,"price_updated_at":`, at), '}')
}
