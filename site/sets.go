package site

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// SetQuery selects a page of a set.
type SetQuery struct {
	Set       int
	ByPrice   bool // else by number
	List      bool // a list, else pockets
	Checklist bool // a list to tick
	Page      int  // from 1
}

type setPage struct {
	pageLayout
	request SetQuery
	slug    string
	about   string
	cards   []uint32
	more    bool // there is a next page
	missed  int  // the requested page if there is none
	value   setValue
}

// setValue is the total value of a set: one of each card, at its display price.
type setValue struct {
	cents    int64
	priced   int
	topCards []uint32
	rarities []rarityShare // the most valuable first
}

// rarityShare is the total value of the cards of one rarity.
type rarityShare struct {
	name  string
	cents int64
	cards int
}

const (
	topCardsShown = 5
	raritiesShown = 5 // the last one is all others
)

// setValueOf returns the value of a set.
func setValueOf(v *engine.View, set int) (sum setValue) {
	c := v.Catalog
	priced := v.Index.TopOfSet(nil, set, int(c.Sets.Cards[set]))
	for _, n := range priced {
		card := int(n)
		cents := c.DisplayCents(card)
		sum.cents += cents

		rarity := cmp.Or(c.Cards.Rarity.At(card), "No rarity")
		at := slices.IndexFunc(sum.rarities, func(part rarityShare) bool { return part.name == rarity })
		if at < 0 {
			at = len(sum.rarities)
			sum.rarities = append(sum.rarities, rarityShare{name: rarity})
		}
		sum.rarities[at].cents += cents
		sum.rarities[at].cards++
	}

	sum.priced = len(priced)
	sum.topCards = priced[:min(len(priced), topCardsShown)]
	slices.SortStableFunc(sum.rarities, func(a, b rarityShare) int { return cmp.Compare(b.cents, a.cents) })
	if len(sum.rarities) > raritiesShown {
		rest := rarityShare{name: "All others"}
		for _, part := range sum.rarities[raritiesShown-1:] {
			rest.cents += part.cents
			rest.cards += part.cards
		}
		sum.rarities = append(sum.rarities[:raritiesShown-1], rest)
	}
	return sum
}

// barWidth is the width of the bar of rarities, in SVG units.
const barWidth = 1000

// barOffsets returns where each rarity begins in the bar, and where the last one ends.
func (w *setValue) barOffsets() []int {
	places := []int{0}
	sum := int64(0)
	for _, part := range w.rarities {
		sum += part.cents
		places = append(places, int(float64(sum)/float64(max(w.cents, 1))*barWidth))
	}
	return places
}

// percent returns a part in whole percent. A small part that is not zero is "under 1 %".
func percent(part, whole int64) string {
	if part > 0 && part < whole/200 {
		return "under 1\u00a0%"
	}
	return strconv.Itoa(int(float64(part)/float64(max(whole, 1))*100+0.5)) + "\u00a0%"
}

// Set appends a page of a set. A page number beyond the last page gives the last page.
func (p *Pages) Set(dst []byte, v *engine.View, now time.Time, setQuery SetQuery) []byte {
	c := v.Catalog
	size := setQuery.pageSize()
	shown, missed := clampPage(setQuery.Page, int(c.Sets.Cards[setQuery.Set]), size)
	setQuery.Page = shown

	query := index.Query{Filter: index.NoFilter, Sort: index.Newest} // within one set, this order is by number
	query.Set = c.Sets.ID.At(setQuery.Set)
	if setQuery.ByPrice {
		query.Sort = index.PriceDesc
	}

	found := v.Index.Cards(nil, query, nil, setQuery.Page*size)

	page := setPage{
		request: setQuery, slug: c.Sets.Slug.At(setQuery.Set),
		about: joined(c.Sets.Series.At(setQuery.Set), released(c, setQuery.Set, "Released "),
			countedCards(c, setQuery.Set)),
		cards: pageSlice(found.Cards, setQuery.Page, size), more: found.More, missed: missed,
		value: setValueOf(v, setQuery.Set),
	}

	name := c.Sets.Name.At(setQuery.Set)
	game := c.Games.Name.At(int(c.Sets.Game[setQuery.Set]))
	page.pageLayout = p.newLayout(v, now, name, "Cards and market prices of "+name+", "+game+": "+page.about+".")
	page.canonical = canonical(v, "/sets/"+page.slug)
	page.skip = skipToResults
	if setQuery.Checklist {
		page.script = "checklist.js"
	}
	return appendPage(dst, &page)
}

// link returns the URL of the page of the set after a change of its query.
func (s *setPage) link(change func(query *SetQuery)) string {
	setQuery := s.request
	setQuery.Page = 1
	change(&setQuery)
	sort := param{"sort", valueIf(setQuery.ByPrice, "price")}
	return pageAddress(s.setLink(s.slug), setQuery.Page, sort, param{"view", setQuery.view()})
}

// viewName returns the view parameter: "list", or "" for pockets.
func viewName(list bool) string { return valueIf(list, "list") }

// valueIf returns a value if a condition is true, else "".
func valueIf(so bool, value string) string {
	if so {
		return value
	}
	return ""
}

// SetsQuery selects a page of the list of sets.
type SetsQuery struct {
	Game  string // slug, "" for any
	Words string // in their names, "" for all
	Page  int    // from 1
}

type setsPage struct {
	pageLayout
	request  SetsQuery
	years    []year
	upcoming []uint32 // sets without cards
	more     bool     // there is a next page
	missed   int      // the requested page if there is none
}

// year has the sets of one year, in their order.
type year struct {
	name string
	sets []uint32
}

// id returns the id of a year's section.
func (y year) id() string { return "y" + cardvocab.Fold(y.name) }

// Sets appends the list of sets by year, newest first.
func (p *Pages) Sets(dst []byte, v *engine.View, now time.Time, query SetsQuery) []byte {
	c := v.Catalog
	// A game that the catalog does not have is not in the heading.
	heading := "Sets"
	for g := range c.Games.Slug.Len() {
		if query.Game != "" && c.Games.Slug.At(g) == query.Game {
			heading = c.Games.Name.At(g) + " sets"
		}
	}

	filter := index.SetFilter{Game: query.Game, Query: query.Words}
	sets, _ := v.Index.Sets(nil, filter, 0, c.Sets.ID.Len())
	shown, missed := clampPage(query.Page, len(sets), perSets)
	query.Page = shown

	page := setsPage{
		pageLayout: p.newLayout(v, now, heading, "Sets of trading cards, newest first."),
		request:    query, more: len(sets) > shown*perSets, missed: missed,
	}
	sets = sets[:min(len(sets), shown*perSets)]
	page.years, page.upcoming = byYear(c, pageSlice(sets, shown, perSets))
	page.skip = skipToResults
	page.canonical = canonical(v, pageAddress("/sets", 1, param{"game", query.Game}))
	page.hidden = query.Words != ""
	return appendPage(dst, &page)
}

// byYear groups sets by the year of their release, except upcoming ones, which are in later.
func byYear(c *snapshot.Catalog, sets []uint32) (years []year, later []uint32) {
	for _, n := range sets {
		set := int(n)
		if upcoming(c, set) {
			later = append(later, n)
			continue
		}

		name := "Without a date"
		if day := c.Sets.Release[set]; day != snapshot.NoDay {
			name = strconv.Itoa(day.Time().Year())
		}
		if k := len(years) - 1; k < 0 || years[k].name != name {
			years = append(years, year{name: name})
		}
		last := &years[len(years)-1]
		last.sets = append(last.sets, n)
	}
	return years, later
}

// link returns the URL of the list of sets after a change of its query.
func (s *setsPage) link(change func(query *SetsQuery)) string {
	setsQuery := s.request
	setsQuery.Page = 1
	change(&setsQuery)
	return pageAddress(s.root+"/sets", setsQuery.Page, param{"q", setsQuery.Words}, param{"game", setsQuery.Game})
}
