package engine

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// How much of a catalog Smoke asks for: enough that a column or an arena that is shifted, cut or
// mixed up is found, and little enough that nobody waits for it.
const (
	smokeCards, smokeSets, smokeProducts = 64, 32, 64
	// smokePages is how many pages of a search Smoke turns: a set has few cards of one name.
	smokePages, smokePage = 20, 50
	// maxProblems is how many problems Smoke names: one broken column breaks every card.
	maxProblems = 10
)

// Smoke asks the View what clients ask most, of records spread over the catalog, and returns what
// it does not answer as it must: cards and sets by id, slug and a search of the name, their JSON,
// prices, history, statistics, products and movers. It is for before a publication: what is wrong
// here would be wrong for everybody.
func (v *View) Smoke() (err error) {
	s := smoke{v: v}
	defer func() {
		// An answer that panics is the worst of them.
		if p := recover(); p != nil {
			err = fmt.Errorf("snapshot %q panics when it is asked: %v", v.ID, p)
		}
	}()

	s.json("list games", v.games, '{', "")
	for card := range spread(v.Catalog.Cards.ID.Len(), smokeCards) {
		s.card(card)
	}

	for set := range spread(v.Catalog.Sets.ID.Len(), smokeSets) {
		s.set(set)
	}

	for row := range spread(len(v.Index.Products()), smokeProducts) {
		s.product(row)
	}

	s.movers()
	if len(s.problems) == 0 {
		return nil
	}

	if n := len(s.problems); n > maxProblems {
		s.problems = append(s.problems[:maxProblems], fmt.Errorf("and %d more", n-maxProblems))
	}

	return fmt.Errorf("snapshot %q does not answer as it must: %w", v.ID, errors.Join(s.problems...))
}

// spread yields at most most numbers below n, the first and the last among them.
func spread(n, most int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		most := min(n, most)
		for k := range most {
			if !yield(k * (n - 1) / max(most-1, 1)) {
				return
			}
		}
	}
}

// smoke collects what a View does not answer.
type smoke struct {
	v        *View
	body     []byte
	problems []error
}

func (s *smoke) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

// json wants a whole JSON value of a kind that names an id.
func (s *smoke) json(what string, body []byte, kind jsontext.Kind, id string) {
	value := jsontext.Value(body)
	switch {
	case !value.IsValid() || value.Kind() != kind:
		s.problem("%s is not whole JSON", what)
	case id != "" && !bytes.Contains(body, wire.AppendString(nil, id)):
		s.problem("%s does not name %q", what, id)
	}
}

func (s *smoke) card(card int) {
	v := s.v
	c := v.Catalog
	id := c.Cards.ID.At(card)
	for _, ref := range []string{id, c.Cards.Slug.At(card)} {
		if found, ok := v.Index.Card(ref); !ok || found != card {
			s.problem("card %q is not found by %q", id, ref)
		}
	}

	s.json("detail of card "+id, v.Detail(card), '{', id)
	s.json("price entry of card "+id, v.Entry(card), '{', id)
	s.body = v.AppendSummaries(s.body[:0], []uint32{uint32(card)})
	s.json("summary of card "+id, s.body, '{', id)
	s.search(card)
	s.body = v.AppendHistory(s.body[:0], card, snapshot.HistoryDays, "")
	s.json("price history of card "+id, s.body, '{', id)

	for window, days := range snapshot.StatWindows {
		name := fmt.Sprintf("%dd", days)
		s.body = v.AppendStats(s.body[:0],
			StatsQuery{Card: card, Window: window, Name: name, MaxDays: snapshot.HistoryDays})
		s.json(name+" statistics of card "+id, s.body, '{', id)
	}
}

// search wants a card among the cards of its set that a search of its name finds, by the one
// ranker.
func (s *smoke) search(card int) {
	v := s.v
	c := v.Catalog
	q := index.Query{Filter: index.NoFilter, Words: c.Cards.Name.At(card), HasWords: true}
	if !v.Index.Asks(q.Words) {
		// A search of "And" looks for nothing, and no card is to blame for that.
		return
	}

	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		q.Set = c.Sets.ID.At(int(set))
	}

	// A set may have many cards of a name, on several pages.
	var after *index.Position
	for range smokePages {
		page := v.Index.Cards(nil, q, after, smokePage)
		for _, found := range page.Cards {
			if int(found) == card {
				return
			}
		}

		if !page.More {
			break
		}

		after = &page.Last
	}

	s.problem("card %q is not found by its name %q", c.Cards.ID.At(card), q.Words)
}

func (s *smoke) set(set int) {
	v := s.v
	c := v.Catalog
	id := c.Sets.ID.At(set)
	for _, ref := range []string{id, c.Sets.Slug.At(set)} {
		if found, ok := v.Index.Set(ref); !ok || found != set {
			s.problem("set %q is not found by %q", id, ref)
		}
	}

	s.json("page of set "+id, v.SetPage(set), '{', id)
	s.body = v.AppendSets(s.body[:0], []uint32{uint32(set)})
	s.json("summary of set "+id, s.body, '{', id)
}

func (s *smoke) product(row int) {
	v := s.v
	c := v.Catalog
	item := int(v.Index.Products()[row])
	id := v.site.ProductPrefix + "_" + index.ProductTail(c, item)
	body, ok := v.Product(id)
	if !ok {
		s.problem("product %q is not found", id)
		return
	}

	s.json("product "+id, body, '{', id)
	// Any lane that the product has will do.
	choice := wire.Selection{Kind: "sealed", ProductID: id}
	if item < c.Cards.ID.Len() {
		choice.Kind = "card"
		if from, to := c.Lanes.Of.Range(item); from < to {
			choice.Variant = c.Variants.At(int(c.Lanes.Variant[from]))
			choice.Condition = snapshot.Condition(c.Lanes.Condition[from]).Code()
		}
	}

	s.body = v.AppendPrice(s.body[:0], &choice)
	s.json("price of product "+id, s.body, '{', id)
}

func (s *smoke) movers() {
	v := s.v
	c := v.Catalog
	for _, m := range []struct {
		name string
		down bool
		all  []uint32
	}{{"up", false, c.Movers.Up}, {"down", true, c.Movers.Down}} {
		moved := v.Index.Movers(nil, m.down, index.NoFilter, smokePage)
		if len(moved) != min(len(m.all), smokePage) {
			s.problem("movers %s do not lead to cards", m.name)
			continue
		}

		body := append(v.AppendMovers([]byte{'['}, moved), ']')
		s.json("movers "+m.name, body, '[', "")
		for _, card := range moved {
			if id := c.Cards.ID.At(int(card)); !bytes.Contains(body, wire.AppendString(nil, id)) {
				s.problem("movers %s do not name %q", m.name, id)
			}
		}
	}
}
