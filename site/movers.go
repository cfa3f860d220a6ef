package site

import (
	"slices"
	"strconv"
	"sync"
	"time"
	"weak"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Periods are the periods of movers in days.
var Periods = [...]int{1, 7, 30}

// defaultPeriod is the period of movers without a requested one, in days.
const defaultPeriod = 7

// mover is a card whose price changed, and its earlier price.
type mover struct {
	card uint32
	base int64
}

// period has the movers of one game since a day: the first of so many days, or the last day
// with earlier prices.
type period struct {
	days     int
	date     snapshot.Day // of the catalog
	first    snapshot.Day // with prices, NoDay without any
	since    snapshot.Day // NoDay if all prices are newer
	next     snapshot.Day // with prices after since
	up, down []mover      // the largest changes first
}

// missing returns a sentence about the days that lack prices, "" if the first day of the period has
// some.
func (p *period) missing() string {
	switch {
	case p.first == snapshot.NoDay || p.first == p.date:
		return "Prices of one day alone are known. Changes appear with those of another day."
	case p.since == snapshot.NoDay:
		return "Prices begin on " + date(p.first) + ": no change in " + plural(p.days, "day", "days") + " is known."
	}
	return missingDays(p.since, p.next, p.date, p.days)
}

// span returns the time in which the movers of a period moved.
func (p *period) span() string {
	if p.missing() != "" {
		return "since " + dayOf(p.since, p.date)
	}
	return "in " + plural(p.days, "day", "days")
}

// missingDays returns a sentence about the days without prices between two days with prices. It
// returns "" if a period that ends at last begins with the first of the two.
func missingDays(since, next, last snapshot.Day, days int) string {
	if since == last-snapshot.Day(days) {
		return ""
	}
	gap := "No prices from " + dayOf(since+1, last) + " to " + dayOf(next-1, last)
	if since+1 == next-1 {
		gap = "No price on " + dayOf(since+1, last)
	}
	return gap + "; change since " + dayOf(since, last) + "."
}

// dayOf returns a day as text, without its year if that is the year of last.
func dayOf(day, last snapshot.Day) string {
	if day.Time().Year() == last.Time().Year() {
		return day.Time().Format("2 Jan")
	}
	return date(day)
}

// perView has values that are computed from the served View at the first use.
type perView[T any] struct {
	mu    sync.Mutex
	view  weak.Pointer[engine.View] // which a page must not keep in memory
	value T
}

func (s *perView[T]) get(v *engine.View, create func(*engine.View) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.Value() != v {
		s.value = create(v)
		s.view = weak.Make(v)
	}
	return s.value
}

// gameMoves has the movers of a game in each period, and its most expensive cards.
type gameMoves struct {
	periods  [len(Periods)]period
	topCards []uint32
	seen     [snapshot.HistoryDays]bool // days with prices, back from the catalog's date
	cards    []uint32                   // from MoversMinCents
}

// movesOf finds the movers of all games. Each game has its own days without prices.
func movesOf(v *engine.View) []gameMoves {
	c := v.Catalog
	games := make([]gameMoves, c.Games.Slug.Len())
	var points []snapshot.Point
	for card, game := range c.Cards.Game {
		moves := &games[game]
		if c.DisplayCents(card) < wire.MoversMinCents {
			continue
		}

		moves.cards = append(moves.cards, uint32(card))
		lane := int(c.Cards.Display[card])
		points = c.History.AppendPoints(points[:0], lane, snapshot.WindowStart(c.Date(), len(moves.seen)), c.Date())
		for _, point := range points {
			moves.seen[c.Date()-point.Day] = true
		}
	}

	bases := make([]int64, len(c.Lanes.Cents))
	for game := range games {
		moves := &games[game]
		moves.topCards = topByPrice(v, c.Games.Slug.At(game), 2*perBinderPage)
		for i, days := range Periods {
			moves.periods[i] = periodOf(moves.seen[:], days, c.Date())
			moves.periods[i].find(c, moves.cards, bases)
		}
		moves.cards = nil
	}
	return games
}

// periodOf returns a period without movers. seen marks the days with prices, back from date.
func periodOf(seen []bool, days int, date snapshot.Day) period {
	found := period{days: days, date: date, first: snapshot.NoDay, since: snapshot.NoDay, next: date}
	for back, has := range seen {
		if !has {
			continue
		}

		found.first = date - snapshot.Day(back)
		if back >= days {
			found.since = max(found.since, found.first)
		} else if back > 0 {
			found.next = found.first
		}
	}
	return found
}

// find finds the movers among cards. Like every change, a mover's begins at the last price up to since, at
// most a week older (decision 20). The order is that of decision 21. bases is overwritten.
func (p *period) find(c *snapshot.Catalog, cards []uint32, bases []int64) {
	if p.since == snapshot.NoDay {
		return
	}

	var up, down []uint32
	var points []snapshot.Point
	for _, card := range cards {
		lane := int(c.Cards.Display[card])
		points = c.History.AppendPoints(points[:0], lane, p.since-maxGap, p.since)
		if len(points) == 0 || points[len(points)-1].Cents <= 0 {
			continue
		}

		bases[lane] = points[len(points)-1].Cents
		if cents := c.Lanes.Cents[lane]; cents > bases[lane] {
			up = append(up, card)
		} else if cents < bases[lane] {
			down = append(down, card)
		}
	}

	top := func(cards []uint32) (movers []mover) {
		slices.SortFunc(cards, func(a, b uint32) int { return c.ComparePriceChange(bases, int(a), int(b)) })
		for _, card := range cards[:min(len(cards), moversShown)] {
			movers = append(movers, mover{card, bases[c.Cards.Display[card]]})
		}
		return movers
	}
	p.up = top(up)
	p.down = top(down)
}

// MoversQuery selects movers.
type MoversQuery struct {
	Down bool
	Game string // slug, "" for any
	Days int    // one of Periods, else the default
}

type moversPage struct {
	pageLayout
	request MoversQuery
	games   []gamePeriod
}

// gamePeriod is the content of a page of movers for a game.
type gamePeriod struct {
	name string
	*period
	movers   []mover
	topCards []uint32 // shown if there are no movers
}

// Movers appends the page of the cards with the largest price changes, each game by itself.
func (p *Pages) Movers(dst []byte, v *engine.View, now time.Time, query MoversQuery) []byte {
	at := slices.Index(Periods[:], query.Days)
	if at < 0 {
		at = homePeriod
	}
	query.Days = Periods[at]

	about := "Cards from " + dollars(wire.MoversMinCents) + " whose market price changed most, by percent."
	page := moversPage{pageLayout: p.newLayout(v, now, query.heading(), about), request: query}
	page.skip = skipToResults

	c := v.Catalog
	for game, moves := range p.moves.get(v, movesOf) {
		if query.Game != "" && query.Game != c.Games.Slug.At(game) {
			continue
		}

		shown := gamePeriod{name: c.Games.Name.At(game), period: &moves.periods[at], movers: moves.periods[at].up}
		if query.Down {
			shown.movers = shown.down
		}
		if query.Game == "" {
			shown.movers = shown.movers[:min(len(shown.movers), moversPerGame)]
		}
		if len(shown.movers) == 0 {
			shown.topCards = moves.topCards
		}
		page.games = append(page.games, shown)
	}
	hasGap := func(game gamePeriod) bool { return game.missing() != "" }
	if len(page.games) > 0 && !slices.ContainsFunc(page.games, hasGap) {
		page.title += " in " + plural(query.Days, "day", "days")
	}
	page.canonical = canonical(v, query.path()) // without the root, which is part of the public URL
	return appendPage(dst, &page)
}

func (q MoversQuery) heading() string {
	if q.Down {
		return "Biggest losses"
	}
	return "Biggest gains"
}

// path returns the URL path of the movers below the root.
func (q MoversQuery) path() string {
	days := param{"days", valueIf(q.Days != 0 && q.Days != defaultPeriod, strconv.Itoa(q.Days))}
	return pageAddress("/movers", 1, param{"direction", valueIf(q.Down, "down")}, param{"game", q.Game}, days)
}
