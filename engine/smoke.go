package engine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// The number of records that Smoke reads. They are enough to find a column or an arena that is
// shifted, cut or mixed up, and few enough not to delay a release.
const (
	smokeCards, smokeSets, smokeProducts = 64, 32, 64
	// smokeNames is the number of cards that are searched by their names, and maxNotFound the number of
	// them that may not be found. A name with a typing error is no error of the program (decision 3408).
	smokeNames, maxNotFound = 1000, 9
	// smokePages is how many pages of a search Smoke reads: a set has few cards of one name.
	smokePages, smokePage = 20, 50
	// maxProblems is how many problems Smoke names: one broken column breaks every card.
	maxProblems = 10
)

// Smoke makes the most common requests to the View, for records that are spread over the catalog.
// It finds cards and sets by id and slug, and cards by their name. It reads JSON, prices, history,
// statistics, products and movers. Its error names the wrong responses. It runs before a release,
// because an error here would affect every client.
func (v *View) Smoke() (notFound []string, err error) {
	smoke := smoke{View: v}
	defer func() {
		// A panic is an error, too.
		if p := recover(); p != nil {
			err = fmt.Errorf("snapshot %q panics when it is asked: %v", v.ID, p)
		}
	}()

	smoke.json("list games", v.games, '{', "")
	sampleRows(v.Catalog.Cards.ID.Len(), smokeCards, smoke.card)
	sampleRows(v.Catalog.Cards.ID.Len(), smokeNames, smoke.search)
	sampleRows(v.Catalog.Sets.ID.Len(), smokeSets, smoke.set)
	sampleRows(len(v.Index.Products().Items()), smokeProducts, smoke.product)
	smoke.movers("up", false, v.Catalog.Movers.Up)
	smoke.movers("down", true, v.Catalog.Movers.Down)
	if len(smoke.notFound) > maxNotFound {
		for _, card := range smoke.notFound {
			smoke.problem("%s", card)
		}
	}
	if len(smoke.problems) == 0 {
		return smoke.notFound, nil
	}

	if n := len(smoke.problems); n > maxProblems {
		smoke.problems = append(smoke.problems[:maxProblems], fmt.Errorf("and %d more", n-maxProblems))
	}

	return nil, fmt.Errorf("snapshot %q does not answer as it must: %w", v.ID, errors.Join(smoke.problems...))
}

// sampleRows calls each with numbers below n, at equal distances, the first and the last included,
// at most limit of them.
func sampleRows(n, limit int, each func(row int)) {
	limit = min(n, limit)
	for i := range limit {
		each(i * (n - 1) / max(limit-1, 1))
	}
}

// smoke collects the problems of a View.
type smoke struct {
	*View
	problems []error
	notFound []string // cards that a search for their name does not find
}

func (s *smoke) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

// json checks that body is one complete JSON value of a kind, and contains id unless that is "".
func (s *smoke) json(what string, body []byte, kind jsontext.Kind, id string) {
	value := jsontext.Value(body)
	switch {
	case !value.IsValid() || value.Kind() != kind:
		s.problem("%s is not whole JSON", what)
	case id != "" && !bytes.Contains(body, wire.AppendString(nil, id)):
		s.problem("%s does not name %q", what, id)
	}
}

// checkLookup checks that find returns the row for its id and for its slug.
func (s *smoke) checkLookup(kind string, row int, find func(ref string) (int, bool), id, slug string) {
	for _, ref := range []string{id, slug} {
		if found, ok := find(ref); !ok || found != row {
			s.problem("%s %q is not found by %q", kind, id, ref)
		}
	}
}

func (s *smoke) card(card int) {
	id := s.Catalog.Cards.ID.At(card)
	s.checkLookup("card", card, s.Index.Card, id, s.Catalog.Cards.Slug.At(card))
	s.json("detail of card "+id, s.AppendDetail(nil, card), '{', id)
	s.json("price entry of card "+id, s.AppendPriceEntry(nil, card), '{', id)
	s.json("summary of card "+id, s.AppendSummaries(nil, []uint32{uint32(card)}), '{', id)
	s.json("price history of card "+id, s.AppendHistory(nil, card, snapshot.HistoryDays, ""), '{', id)

	for window, days := range snapshot.StatWindows {
		name := fmt.Sprintf("%dd", days)
		query := StatsQuery{Card: card, Window: window, Name: name, MaxDays: snapshot.HistoryDays}
		s.json(name+" statistics of card "+id, s.AppendStats(nil, query), '{', id)
	}
}

// search checks that a card is found by a search for its name within its set. It is the search that
// clients use, without the cache.
func (s *smoke) search(card int) {
	c := s.Catalog
	q := index.Query{Filter: index.NoFilter, Words: c.Cards.Name.At(card), HasWords: true}
	if !s.Index.HasTerms(q.Words) {
		// Some names have only words that a search drops, such as "And" (docs/dev/SEARCH.md, Words that are left
		// out). No search finds them.
		return
	}

	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		q.Set = c.Sets.ID.At(int(set))
	}

	// A set may have many cards of a name, on several pages.
	var after *index.Position
	for range smokePages {
		page := s.Index.Cards(nil, q, after, smokePage)
		if slices.Contains(page.Cards, uint32(card)) {
			return
		}
		if !page.More {
			break
		}
		after = &page.Last
	}

	s.notFound = append(s.notFound, fmt.Sprintf("card %q is not found by its name %q", c.Cards.ID.At(card), q.Words))
}

func (s *smoke) set(set int) {
	id := s.Catalog.Sets.ID.At(set)
	s.checkLookup("set", set, s.Index.Set, id, s.Catalog.Sets.Slug.At(set))
	s.json("page of set "+id, s.SetDetail(set), '{', id)
	s.json("summary of set "+id, s.AppendSets(nil, []uint32{uint32(set)}), '{', id)
}

func (s *smoke) product(row int) {
	c := s.Catalog
	item := int(s.Index.Products().Items()[row])
	id := s.site.ProductPrefix + "_" + index.ProductTail(c, item)
	body, ok := s.AppendProduct(nil, id)
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

	result := s.PriceResult(&choice)
	text := wire.AppendPriceResults(nil, []wire.Selection{choice}, []wire.PriceResult{result}, c.SnapshotAt)
	s.json("price of product "+id, text, '[', id)
}

// movers checks that the index returns the movers of one direction; all are those of the catalog.
func (s *smoke) movers(name string, down bool, all []uint32) {
	moved := s.Index.Movers(nil, down, index.NoFilter, smokePage)
	if len(moved) != min(len(all), smokePage) {
		s.problem("movers %s do not lead to cards", name)
		return
	}

	body := append(s.AppendMovers([]byte{'['}, moved), ']')
	s.json("movers "+name, body, '[', "")
	for _, card := range moved {
		if id := s.Catalog.Cards.ID.At(int(card)); !bytes.Contains(body, wire.AppendString(nil, id)) {
			s.problem("movers %s do not name %q", name, id)
		}
	}
}
