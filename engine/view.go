package engine

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// topCards is how many cards a set's detail shows (docs/API.md, Set detail).
const topCards = 10

// View is one catalog, ready to be served. It is safe for concurrent use. Only its list of changes since
// earlier snapshots may change. It owns the slices that it returns: callers copy them into a response and
// never change them.
type View struct {
	// Catalog and Index are the parts that the View was made from.
	Catalog *snapshot.Catalog
	Index   *index.Index
	// ID is the snapshot's id, Hash its cursor.Hash.
	ID   string
	Hash uint64

	searches     *searchCache // nil without a cache
	noPrice      []byte       // wire.AppendMarketPrice for a card without one
	site         wire.URLs
	historyDates historyDates
	games        []byte
	facets       []byte
	texts        fragments // Card detail without its prices: head and tail
	prices       fragments // the prices of a Card detail
	parts        []cardParts
	laneRows     fragments // rows of a card in CSV
	sets         fragments // Set summary
	setDetails   fragments // Set detail

	changes *atomic.Pointer[changes]

	detailTags etags

	after uint64 // Hash of the View that texts were taken over from, 0 for none
	// ProductsHash is a hash over the JSON of all products.
	ProductsHash uint64
}

// cardParts are places in a Card detail: the length of its head in texts, and where the card's price is in
// prices, nowhere for a card without one. A summary and an entry of a batch are made of these parts.
type cardParts struct{ head, from, to uint32 }

// NewView makes the View of a catalog.
func NewView(c *snapshot.Catalog, site wire.URLs) (*View, error) {
	return newView(context.Background(), nil, c, site, func() {}, &Phases{})
}

// newView is NewView for a server that handles requests at the same time. It shares with an earlier View,
// nil for none, the texts that both have, and is equal to the result of NewView (decision 4301). It calls
// step often, and step may pause. It stops when the context ends. It writes the time of each part into
// took.
func newView(
	ctx context.Context, earlier *View, c *snapshot.Catalog, site wire.URLs, step func(), took *Phases,
) (*View, error) {
	start := time.Now()
	var before *index.Index
	var after uint64
	if earlier != nil {
		before = earlier.Index
		after = earlier.Hash
		c = c.ShareTexts(earlier.Catalog, step)
	}
	ix, err := index.Build(ctx, before, c, step)
	if err != nil {
		return nil, fmt.Errorf("cannot index snapshot %q: %w", c.ID, err)
	}

	took.Index = time.Since(start)
	defer func() { took.Fragments = time.Since(start) - took.Index }()

	v := &View{Catalog: c, Index: ix, ID: c.ID, Hash: cursor.Hash(c.ID), after: after, site: site}
	v.changes = &atomic.Pointer[changes]{}
	v.changes.Store(&changes{paths: map[string]uint32{v.ID: 0}}) // until a store says more
	v.games = wire.AppendGames(nil, c)
	for i := range v.historyDates {
		wire.AppendDay(v.historyDates[i][:0], snapshot.WindowStart(c.Date(), len(v.historyDates)-i))
	}

	if err := v.encode(ctx, earlier, step); err != nil {
		return nil, err
	}
	v.detailTags = make(etags, c.Cards.ID.Len())
	v.hashProducts(step)
	v.countFacets(step)
	return v, ctx.Err()
}

// encode encodes the JSON of the records, so that most responses only copy it.
func (v *View) encode(ctx context.Context, earlier *View, step func()) error {
	c := v.Catalog
	cards := c.Cards.ID.Len()
	sets := c.Sets.ID.Len()
	v.parts = make([]cardParts, cards)
	v.noPrice = wire.AppendMarketPrice(nil, snapshot.NoCents, c.SnapshotAt)

	encodeTexts(v, earlier, step)
	var top []uint32
	for _, kind := range []struct {
		of     *fragments
		n      int
		encode func(dst []byte, i int) []byte
	}{
		{&v.prices, cards, priceEncoder(v)},
		{&v.laneRows, cards, func(dst []byte, i int) []byte {
			return wire.AppendLaneRows(dst, c, i, c.Cards.ID.At(i))
		}},
		{&v.sets, sets, func(dst []byte, i int) []byte { return wire.AppendSetSummary(dst, c, i) }},
		{&v.setDetails, sets, func(dst []byte, i int) []byte {
			top = v.Index.TopOfSet(top[:0], i, topCards)
			return wire.AppendSetDetail(dst, c, i, top, &v.site)
		}},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		*kind.of = newFragments(nil, nil, step, kind.n, kind.encode)
	}
	return ctx.Err()
}

// encodeTexts encodes the cards without their prices. Most of them are equal in an earlier View.
func encodeTexts(v, earlier *View, step func()) {
	c := v.Catalog
	encode := func(dst []byte, i int) []byte {
		dst = wire.AppendCardHead(dst, c, i, &v.site)
		v.parts[i].head = uint32(len(dst))
		return wire.AppendCardTail(dst, c, i, &v.site)
	}

	var texts *fragments
	if earlier != nil {
		texts = &earlier.texts
	}
	before := func(i int) (int, bool) { return earlier.Index.Card(c.Cards.ID.At(i)) }
	v.texts = newFragments(texts, before, step, c.Cards.ID.Len(), encode)
}

// priceEncoder returns the encoder of the prices of a card. It also records where the card's price is
// among them. If two lanes have the price, either will do.
func priceEncoder(v *View) func(dst []byte, i int) []byte {
	var price []byte
	return func(dst []byte, i int) []byte {
		dst = wire.AppendPrices(dst, v.Catalog, i)
		cents, at := v.Catalog.DisplayPrice(i)
		price = wire.AppendMarketPrice(price[:0], cents, at)
		if from := bytes.Index(dst, price); from >= 0 {
			v.parts[i].from = uint32(from)
			v.parts[i].to = uint32(from + len(price))
		}
		return dst
	}
}

// Size returns about how many bytes the View and its catalog take. The index is not counted.
func (v *View) Size() int64 {
	size := int64(len(v.games) + len(v.facets) + 8*len(v.detailTags) + 12*len(v.parts))
	for _, f := range []*fragments{&v.texts, &v.prices, &v.laneRows, &v.sets, &v.setDetails} {
		size += f.size()
	}
	return size + int64(12*v.changes.Load().count) + v.Catalog.Size()
}

// Shared returns how many bytes of JSON the View has from the one before it.
func (v *View) Shared() int64 { return sizeOf(v.texts.chunks[:v.texts.shared]) }

// Site returns the URLs of the View.
func (v *View) Site() *wire.URLs { return &v.site }

// Games returns the body of list games.
func (v *View) Games() []byte { return v.games }

// AppendDetail appends a card's Card detail.
func (v *View) AppendDetail(dst []byte, card int) []byte {
	parts := v.detailParts(card)
	return append(append(append(dst, parts[0]...), parts[1]...), parts[2]...)
}

// detailParts returns the head, the prices and the tail of a Card detail.
func (v *View) detailParts(card int) [3][]byte {
	text := v.texts.at(card)
	head := v.parts[card].head
	return [...][]byte{text[:head], v.prices.at(card), text[head:]}
}

// AppendLaneRows appends a card's rows of wire.LanesHeader. ref is the identifier that found the card, ""
// for its own id.
func (v *View) AppendLaneRows(dst []byte, card int, ref string) []byte {
	if ref == "" {
		return append(dst, v.laneRows.at(card)...)
	}
	return wire.AppendLaneRows(dst, v.Catalog, card, ref)
}

// AppendPriceEntry appends a card's Live batch price entry.
func (v *View) AppendPriceEntry(dst []byte, card int) []byte {
	return wire.AppendPriceEntry(dst, v.texts.at(card), v.price(card))
}

// price returns the price of a card in its summary and in its entry.
func (v *View) price(card int) []byte {
	if parts := v.parts[card]; parts.from < parts.to {
		return v.prices.at(card)[parts.from:parts.to]
	}
	return v.noPrice
}

// SetDetail returns a set's Set detail.
func (v *View) SetDetail(set int) []byte { return v.setDetails.at(set) }

// AppendSummaries appends the Card summaries of cards, joined by commas.
func (v *View) AppendSummaries(dst []byte, cards []uint32) []byte {
	return appendJoined(dst, cards, func(dst []byte, card int) []byte {
		head := v.texts.at(card)[:v.parts[card].head]
		return wire.AppendCardSummary(dst, head, v.price(card))
	})
}

// AppendSets appends the Set summaries of sets, joined by commas.
func (v *View) AppendSets(dst []byte, sets []uint32) []byte {
	return appendJoined(dst, sets, func(dst []byte, set int) []byte { return append(dst, v.sets.at(set)...) })
}

// AppendMovers appends the Market movers of cards, joined by commas.
func (v *View) AppendMovers(dst []byte, cards []uint32) []byte {
	return appendJoined(dst, cards, func(dst []byte, card int) []byte {
		return wire.AppendMover(dst, v.Catalog, card, &v.site, v.Catalog.Lanes.Price7DaysAgo)
	})
}

// appendJoined appends records as one encodes them, joined by commas.
func appendJoined(dst []byte, records []uint32, one func(dst []byte, record int) []byte) []byte {
	for i, record := range records {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, int(record))
	}
	return dst
}
