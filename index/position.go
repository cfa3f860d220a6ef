package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"sort"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
)

// Position is a place in a list of cards: the sort key of the last card shown. It means one
// place in any catalog, so a client can continue after the first catalog is gone (decision 29).
type Position struct {
	Score   uint64 // of the words, for relevance
	Prior   uint32 // the card's relevance prior, for relevance
	Cents   int64  // display price, NoCents without one
	ID      string // the card's id
	SetID   string // "" without a set
	Name    string // of the set, cut to maxName bytes; for ByName the card's own, as it is ordered
	Release snapshot.Day
	Number  string // cut to maxNumber bytes
}

// Clone copies the position's strings, so that it does not keep the catalog in memory.
func (p *Position) Clone() Position {
	own := *p
	for _, text := range []*string{&own.ID, &own.SetID, &own.Name, &own.Number} {
		*text = strings.Clone(*text)
	}
	return own
}

// maxNumber and maxName bound a position, so that a cursor has at most 512 characters.
const maxNumber, maxName = 40, 60

// position returns the position of r.
func (ix *Index) position(r ranked, q Query) Position {
	c := ix.c
	if q.Sort == ByName {
		// With a name there is no room for other keys.
		return Position{
			Cents: snapshot.NoCents, ID: c.Cards.ID.At(int(r.card)), Release: snapshot.NoDay,
			Name: ix.orders.nameKey(r.card),
		}
	}

	// It has the sort keys of all other orders, so that pagination can continue in another catalog.
	p := Position{
		Cents: ix.orders.price(r.card), ID: c.Cards.ID.At(int(r.card)), Release: snapshot.NoDay,
		Number: cutTo(c.Cards.Number.At(int(r.card)), maxNumber),
	}
	if q.HasWords && q.Sort == Relevance {
		p.Score = r.major
		p.Prior = ix.orders.prior(r.card)
	}

	if set := c.Cards.Set[r.card]; set != snapshot.NoSet {
		p.SetID = c.Sets.ID.At(int(set))
		p.Release = c.Sets.Release[set]
		p.Name = cutTo(c.Sets.Name.At(int(set)), maxName)
	}

	return p
}

// cutTo returns the longest prefix of s of at most n bytes that does not end inside a character.
func cutTo(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// seek returns the rank of the first card after a position: the smallest that a next page may show.
func (ix *Index) seek(q Query, p *Position) ranked {
	// The catalog order breaks the ties of every order.
	if q.HasWords && q.Sort == Relevance {
		return ranked{major: p.Score, minor: ix.priorAfter(p)}
	}

	if q.Sort == ByName {
		return ranked{major: uint64(ix.orders.nameAfter(p.Name, p.ID))}
	}

	order := ix.orderAfter(p)
	n := ix.c.Cards.ID.Len()
	// Both price orders put equal prices in catalog order and cards without a price last.
	after := func(card uint32, sign int) bool {
		price := ix.orders.price(card)
		if (price < 0) != (p.Cents < 0) {
			return price < 0
		}
		if price != p.Cents {
			return cmp.Compare(price, p.Cents) == sign
		}

		return ix.c.Cards.Order[card] >= order
	}

	switch q.Sort {
	case Newest, ByNumber:
		return ranked{major: uint64(order)}
	case PriceAsc:
		return ranked{major: uint64(sort.Search(n, func(i int) bool { return after(ix.orders.byPriceAsc[i], 1) }))}
	case Relevance, PriceDesc, ByName:
	}

	return ranked{major: uint64(sort.Search(n, func(i int) bool { return after(uint32(i), -1) }))}
}

// orderAfter returns the rank in catalog order of the first card after a position. If its card is
// gone, the position's sort key says where it would be.
func (ix *Index) orderAfter(p *Position) uint32 {
	if card, ok := ix.Card(p.ID); ok {
		return ix.c.Cards.Order[card] + 1
	}

	// The card left the catalog, perhaps together with its set.
	set, known := ix.Set(p.SetID)
	return uint32(sort.Search(len(ix.orders.newest), func(i int) bool {
		return ix.compareToMissing(ix.orders.newest[i], p, set, known) > 0
	}))
}

// priorAfter returns the rank by prior of the first card after a position, in the way of
// orderAfter.
func (ix *Index) priorAfter(p *Position) uint32 {
	if card, ok := ix.Card(p.ID); ok && ix.orders.prior(uint32(card)) == p.Prior {
		return ix.orders.priorRank[card] + 1
	}

	// The card is gone, or its prior changed: the sort key says where it was.
	set, known := ix.Set(p.SetID)
	return uint32(sort.Search(len(ix.orders.byPrior), func(i int) bool {
		card := ix.orders.byPrior[i]
		if prior := ix.orders.prior(card); prior != p.Prior {
			return prior < p.Prior
		}
		return ix.compareToMissing(card, p, set, known) > 0
	}))
}

func (ix *Index) compareToMissing(card uint32, p *Position, set int, known bool) int {
	c := ix.c
	have := c.Cards.Set[card]
	switch {
	case have == snapshot.NoSet && p.SetID != "":
		return 1
	case have != snapshot.NoSet && p.SetID == "":
		return -1
	case have != snapshot.NoSet && known && int(have) != set:
		return cmp.Compare(int(have), set)
	case have != snapshot.NoSet && !known:
		return compareSet(&c.Sets, int(have), p.Release, p.Name, p.SetID)
	}

	return cmp.Or(cardvocab.CompareNumbers(c.Cards.Number.At(int(card)), p.Number),
		cmp.Compare(c.Cards.ID.At(int(card)), p.ID))
}

// AppendBinary appends the position in the encoding that ParsePosition reads.
func (p *Position) AppendBinary(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, p.Score)
	dst = binary.AppendUvarint(dst, uint64(p.Prior))
	dst = binary.AppendVarint(dst, p.Cents)
	dst = binary.AppendVarint(dst, int64(p.Release))
	return appendStrings(dst, p.ID, p.SetID, p.Name, p.Number)
}

// ErrPosition reports that bytes are not a position.
var ErrPosition = errors.New("not a position")

// ParsePosition decodes a position of AppendBinary.
func ParsePosition(b []byte) (Position, error) {
	// A truncated number takes no bytes, which is checked below.
	score, n := binary.Uvarint(b)
	b = b[max(n, 0):]
	prior, l := binary.Uvarint(b)
	b = b[max(l, 0):]
	cents, m := binary.Varint(b)
	b = b[max(m, 0):]
	release, k := binary.Varint(b)
	if min(n, l, m, k) <= 0 || prior > math.MaxUint32 {
		return Position{}, ErrPosition
	}

	p := Position{Score: score, Prior: uint32(prior), Cents: cents, Release: snapshot.Day(release)}
	err := parseStrings(b[k:], &p.ID, &p.SetID, &p.Name, &p.Number)
	return p, err
}
