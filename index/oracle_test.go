package index_test

import (
	gocmp "cmp"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/index/text"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// oracle computes the results of queries about a world by looking at every card.
type oracle struct {
	*fixture.World
	c     *snapshot.Catalog
	x     *index.Index
	words *text.Index
	rows  map[string]*fixture.Card
	sets  map[string]*fixture.Set
}

func newOracle(t testing.TB, w *fixture.World) *oracle {
	t.Helper()
	o := &oracle{World: w, c: w.Catalog(), rows: map[string]*fixture.Card{}, sets: map[string]*fixture.Set{}}
	for i := range w.Cards {
		o.rows[w.Cards[i].ID] = &w.Cards[i]
	}

	for i := range w.Sets {
		o.sets[w.Sets[i].ID] = &w.Sets[i]
	}

	for card := range o.c.Cards.ID.Len() {
		o.c.Prior = append(o.c.Prior, priorOf(o.c.Cards.ID.At(card)))
	}

	var err error
	o.x, err = index.Build(context.Background(), nil, o.c, nil)
	if err != nil {
		t.Fatal(err)
	}

	ofSet := func(of func(*fixture.Set) string) func(int) string {
		return func(i int) string {
			if s := o.sets[o.row(uint32(i)).Set]; s != nil {
				return of(s)
			}
			return ""
		}
	}

	order := make([]uint32, len(w.Cards))
	for i := range order {
		order[i] = uint32(i)
	}
	o.words, err = text.Build(context.Background(), text.Corpus{
		Len:      len(w.Cards),
		Order:    order,
		Name:     func(i int) string { return o.row(uint32(i)).Name },
		Number:   func(i int) string { return o.row(uint32(i)).Number },
		Printing: func(i int) string { return o.row(uint32(i)).Printing },
		SetName:  ofSet(func(s *fixture.Set) string { return s.Name }),
		SetCode:  ofSet(func(s *fixture.Set) string { return s.Code }),
		Game:     func(i int) uint8 { return uint8(o.row(uint32(i)).Game) },
		Set:      func(i int) int32 { return o.c.Cards.Set[i] },
		Rarity:   func(i int) string { return o.row(uint32(i)).Rarity },
		Series:   ofSet(func(s *fixture.Set) string { return s.Series }),
		Games:    []string{"Pokémon", "One Piece"},
		Year: func(i int) int {
			if s := o.sets[o.row(uint32(i)).Set]; s != nil && s.Release != snapshot.NoDay {
				return s.Release.Time().Year()
			}
			return 0
		},
		Finishes: func(i int, each func(string)) {
			for _, lane := range o.row(uint32(i)).Lanes {
				each(lane.Variant)
			}
		},
		SetAliases: func(i int, each func(string)) {
			if s := o.sets[o.row(uint32(i)).Set]; s != nil {
				for _, alias := range s.Aliases {
					each(alias)
				}
				for _, code := range appCodes(t) {
					if slices.Contains(o.x.SetNames().ByAppCode(code), uint32(o.c.Cards.Set[i])) {
						each(code)
					}
				}
			}
		},
		Total: func(i int) int {
			if s := o.sets[o.row(uint32(i)).Set]; s != nil {
				return int(s.Total)
			}
			return 0
		},
	}, func() {})
	if err != nil {
		t.Fatal(err)
	}

	return o
}

// appCodes are the folded codes of set_codes.txt.
func appCodes(t testing.TB) (codes []string) {
	t.Helper()
	list, err := os.ReadFile("set_codes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		code, _, _ := strings.Cut(line, " ")
		codes = append(codes, cardvocab.Fold(code))
	}
	return codes
}

// priorOf is how likely a card is to be meant: one of three, the same in every catalog.
func priorOf(id string) uint32 { return uint32(id[len(id)-1] % 3) }

// row is the card that a number means, looked up by its id.
func (o *oracle) row(card uint32) *fixture.Card { return o.rows[o.c.Cards.ID.At(int(card))] }

func (o *oracle) idOf(card uint32) string { return o.c.Cards.ID.At(int(card)) }

// setsNamed are the ids of the sets that a filter means (decision 23).
func (o *oracle) setsNamed(ref string) []string {
	for _, is := range []func(s *fixture.Set) bool{
		func(s *fixture.Set) bool { return s.ID == ref },
		func(s *fixture.Set) bool { return s.Slug == ref },
		func(s *fixture.Set) bool { return slices.Contains(o.Former, fixture.Former{Slug: ref, ID: s.ID}) },
		func(s *fixture.Set) bool {
			names := append([]string{s.Code, s.Name}, s.Aliases...)
			return slices.ContainsFunc(names,
				func(n string) bool { return cardvocab.Fold(n) != "" && cardvocab.Fold(n) == cardvocab.Fold(ref) })
		},
	} {
		var found []string
		for i := range o.Sets {
			if is(&o.Sets[i]) {
				found = append(found, o.Sets[i].ID)
			}
		}
		if found != nil {
			return found
		}
	}

	// People's names for sets have separate tests.
	var called []string
	for _, set := range o.x.SetNames().Resolve(ref) {
		called = append(called, o.c.Sets.ID.At(int(set)))
	}
	return called
}

// passes reports whether a card passes a filter (decisions 22 and 23).
func (o *oracle) passes(c *fixture.Card, f index.Filter) bool {
	price := c.Price()
	switch {
	case f.Game != "" && cardvocab.Fold(o.Games[c.Game].Slug) != cardvocab.Fold(f.Game):
	case f.Set != "" && !slices.Contains(o.setsNamed(f.Set), c.Set):
	case f.Rarity != "" && (cardvocab.Fold(f.Rarity) == "" || cardvocab.Fold(c.Rarity) != cardvocab.Fold(f.Rarity)):
	case f.Number != "" && !numberMatches(f.Number, c.Number):
	case (f.Min != snapshot.NoCents || f.Max != snapshot.NoCents) && price == snapshot.NoCents:
	case f.Min != snapshot.NoCents && price < f.Min:
	case f.Max != snapshot.NoCents && price > f.Max:
	case f.Identifier != "" && !named(c, f.Identifier):
	case f.Variant != "" && !pricedIn(c, f.Variant):
	case !o.releasedIn(c, f.ReleasedAfter, f.ReleasedBefore):
	case f.UpdatedSince != snapshot.NoTime && updated(c, o.At) < f.UpdatedSince:
	default:
		return true
	}

	return false
}

// named reports whether a card has an identifier, or has the id after our own namespace.
func named(c *fixture.Card, identifier string) bool {
	return identifier == "ninepocket:"+c.ID || slices.ContainsFunc(c.Identifiers, func(id fixture.Identifier) bool {
		return id.Namespace+":"+id.Value == identifier
	})
}

// pricedIn reports whether a card has a price in a variant.
func pricedIn(c *fixture.Card, variant string) bool {
	return slices.ContainsFunc(c.Lanes, func(l fixture.Lane) bool {
		return l.Cents != snapshot.NoCents && cardvocab.SameVariant(l.Variant, variant)
	})
}

// releasedIn reports whether the set of a card was released between two dates.
func (o *oracle) releasedIn(c *fixture.Card, after, before snapshot.Day) bool {
	if after == snapshot.NoDay && before == snapshot.NoDay {
		return true
	}

	s := o.sets[c.Set]
	return s != nil && s.Release != snapshot.NoDay && s.Release >= after &&
		(before == snapshot.NoDay || s.Release <= before)
}

// updated is the time of the last change of a card's entry or of one of its prices.
func updated(c *fixture.Card, now int64) int64 {
	at := c.UpdatedAt
	for i := range c.Lanes {
		at = max(at, valueChanged(&c.Lanes[i], now))
	}
	return at
}

// valueChanged is when the value of a lane may have changed last: the first of its last days with one price.
func valueChanged(l *fixture.Lane, now int64) int64 {
	if len(l.Points) == 0 && l.Cents == snapshot.NoCents {
		return snapshot.NoTime
	}
	if l.Cents == snapshot.NoCents {
		day := l.Points[len(l.Points)-1].Day + 1
		if day > l.Seen {
			day += snapshot.CarryDays
		}
		return min((day+1).Start()-1, now)
	}

	day := l.Seen
	for i := len(l.Points) - 1; i > 0; i-- {
		if l.Points[i-1] != (snapshot.Point{Day: day - 1, Cents: l.Points[i].Cents}) {
			break
		}
		day--
	}
	if day == l.Seen {
		return l.CollectedAt
	}
	return min((day+1).Start()-1, l.CollectedAt)
}

// place is all that a card is ordered by.
type place struct {
	score uint64
	price int64
	card  *fixture.Card
	set   *fixture.Set
}

// compare orders places (decision 22).
func compare(order index.Sort, words bool) func(a, b place) int {
	return func(a, b place) int {
		catalog := fixture.CompareCatalog(a.card, a.set, b.card, b.set)
		switch {
		case order == index.Newest:
			return catalog
		case order == index.ByName:
			return gocmp.Or(absentLast(cardvocab.Fold(a.card.Name), cardvocab.Fold(b.card.Name)),
				gocmp.Compare(a.card.ID, b.card.ID))
		case order == index.ByNumber:
			if inSet := a.card.Set == b.card.Set; inSet {
				return gocmp.Or(cardvocab.CompareNumbers(a.card.Number, b.card.Number),
					gocmp.Compare(a.card.ID, b.card.ID))
			}
			return catalog // of their sets
		case order == index.Relevance && words:
			if a.score != b.score {
				if a.score < b.score {
					return -1
				}
				return 1
			}
			return gocmp.Or(gocmp.Compare(priorOf(b.card.ID), priorOf(a.card.ID)), catalog)

		case a.price == b.price:
			return catalog
		case a.price == snapshot.NoCents:
			return 1
		case b.price == snapshot.NoCents:
			return -1
		case (a.price < b.price) == (order == index.PriceAsc):
			return -1
		}

		return 1
	}
}

// absentLast compares texts; an empty text comes last.
func absentLast(a, b string) int {
	if (a == "") != (b == "") {
		return gocmp.Compare(b, a)
	}
	return gocmp.Compare(a, b)
}

// places are the cards of a query's result, in order.
func (o *oracle) places(q index.Query) []place {
	scores := map[uint32]uint64{}
	if q.HasWords {
		for _, hit := range o.words.Search(nil, q.Words,
			func(card uint32) bool { return o.passes(o.row(card), q.Filter) }) {
			scores[hit.Card] = hit.Score
		}
	}

	var all []place
	for card := range uint32(len(o.Cards)) {
		c := o.row(card)
		score, hit := scores[card]
		if q.HasWords && !hit || !o.passes(c, q.Filter) {
			continue
		}
		all = append(all, place{score, c.Price(), c, o.sets[c.Set]})
	}

	slices.SortFunc(all, compare(q.Sort, q.HasWords))
	return all
}

func ids(places []place) []string {
	var all []string
	for _, p := range places {
		all = append(all, p.card.ID)
	}
	return all
}

// walk collects the pages of a query from a position on, and encodes and decodes each position.
// A page that promises more must be full, and the next page must not be empty.
func (o *oracle) walk(t fataler, q index.Query, after *index.Position, limits func() int) []string {
	t.Helper()
	var all []string
	for {
		limit := limits()
		page := o.x.Cards([]uint32{1 << 31}, q, after, limit)
		cards := page.Cards[1:]
		if page.Cards[0] != 1<<31 || len(cards) > limit || page.More && len(cards) != limit || after != nil &&
			len(all) > 0 && len(cards) == 0 {
			t.Fatalf("a page of %d has %d cards, more %t", limit, len(cards), page.More)
		}

		for _, card := range cards {
			all = append(all, o.idOf(card))
		}

		if !page.More {
			return all
		}

		last, err := index.ParsePosition(page.Last.AppendBinary(nil))
		if err != nil || last != page.Last {
			t.Fatalf("position %+v is read as %+v, %v", page.Last, last, err)
		}

		after = &last
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// numberMatches reports whether a requested number is the number printed on a card (decision 23).
// The keys are equal, or the requested key is the base of the printed parallel. Totals must agree
// only if both numbers have one.
func numberMatches(wanted, printed string) bool {
	key := cardvocab.NumberKey(wanted)
	if key == "" || key != cardvocab.NumberKey(printed) && key != cardvocab.NumberBase(printed) {
		return false
	}

	a := cardvocab.NumberTotal(wanted)
	b := cardvocab.NumberTotal(printed)

	return a == "" || b == "" || a == b
}
