package guard

import (
	"fmt"
	"math"
	"time"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// Records below these numbers are not judged by their share: the catalogs of a shelf, a test or a
// new game move in jumps.
const (
	fewCards  = 5  // cards gone, new or changed
	fewPrices = 5  // prices gone or moved
	fewNew    = 50 // cards that are new
	fewLines  = 20 // quarantined lines
	fewSame   = 20 // prices compared, before equal ones mean a repeated feed
	smallSet  = 5  // cards or prices of a set, before losing them empties it
)

// day is one snapshot beside the one it is to replace, with what the guards measure.
type day struct {
	current, next *snapshot.Stored // current may be nil
	duplicates    []string
	now           time.Time
	limit         float64 // of the guard that is asked

	diff  *diff.Diff // nil without a current one
	moves changes
}

// changes are what a Diff does not tell.
type changes struct {
	both    int // cards in both
	changed int // of those, with another name, number or set
	emptied []string
}

func newDay(current, next *snapshot.Stored, o Options) *day {
	d := &day{current: current, next: next, duplicates: o.Duplicates, now: o.Now}
	if current == nil {
		return d
	}

	d.diff = diff.Compare(current.Catalog, next.Catalog, diff.Options{})
	d.compareCards()
	d.compareSets()
	return d
}

// compareCards counts the cards that are in both and are not what they were.
func (d *day) compareCards() {
	a := d.current.Catalog
	b := d.next.Catalog
	rows := make(map[string]int, a.Cards.ID.Len())
	for i := range a.Cards.ID.Len() {
		rows[a.Cards.ID.At(i)] = i
	}

	for i := range b.Cards.ID.Len() {
		k, known := rows[b.Cards.ID.At(i)]
		if !known {
			continue
		}
		d.moves.both++
		if a.Cards.Name.At(k) != b.Cards.Name.At(i) || a.Cards.Number.At(k) != b.Cards.Number.At(i) ||
			setOf(a, k) != setOf(b, i) {
			d.moves.changed++
		}
	}
}

// setOf is the id of a card's set, "" without one.
func setOf(c *snapshot.Catalog, card int) string {
	if s := c.Cards.Set[card]; s != snapshot.NoSet {
		return c.Sets.ID.At(int(s))
	}
	return ""
}

// compareSets finds the sets that lost most of their cards or all of their prices.
func (d *day) compareSets() {
	a := d.current.Catalog
	before := holdings(a)
	after := holdings(d.next.Catalog)
	for s := range a.Sets.ID.Len() {
		id := a.Sets.ID.At(s)
		was := before[id]
		is := after[id]
		// A fifth of the cards left is as good as none: a feed lost most of a file.
		if was.cards >= smallSet && is.cards*5 < was.cards || was.priced >= smallSet && is.priced == 0 {
			d.moves.emptied = append(d.moves.emptied, fmt.Sprintf("%q (%d cards, %d priced; now %d, %d)",
				a.Sets.Name.At(s), was.cards, was.priced, is.cards, is.priced))
		}
	}
}

// holding is what a set has.
type holding struct{ cards, priced int }

func holdings(c *snapshot.Catalog) map[string]holding {
	m := make(map[string]holding, c.Sets.ID.Len())
	for i := range c.Cards.ID.Len() {
		id := setOf(c, i)
		h := m[id]
		h.cards++
		if c.Cards.Display[i] >= 0 {
			h.priced++
		}
		m[id] = h
	}

	return m
}

// share is a part of a whole, 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }

func (d *day) minimumCards() finding {
	n := d.next.Manifest.Counts.Cards
	return finding{
		figure: float64(n), judged: true,
		text: fmt.Sprintf("the snapshot has %d cards, at least %.0f are wanted", n, d.limit),
		todo: "look at the sources and the quarantine report of the build",
	}
}

func (d *day) minimumPrices() finding {
	n := 0
	for _, cents := range d.next.Catalog.Lanes.Cents {
		if cents != snapshot.NoCents {
			n++
		}
	}

	return finding{
		figure: float64(n), judged: true,
		text: fmt.Sprintf("the snapshot has %d current prices, at least %.0f are wanted", n, d.limit),
		todo: "look at the price feeds and the quarantine report of the build",
	}
}

func (d *day) older() finding {
	at := d.next.Manifest.SnapshotAt
	was := d.current.Manifest.SnapshotAt
	return finding{
		figure: max(0, was.Sub(at).Seconds()), judged: true,
		text: fmt.Sprintf("the snapshot describes %s, the current one %s", at.Format(time.RFC3339),
			was.Format(time.RFC3339)),
		todo: "pull today's feed and build again; to go back on purpose run: ninepocket snapshot rollback " +
			d.next.Manifest.ID,
	}
}

// future is how far ahead of the clock the snapshot is, further than the current one is: a mistyped
// date would make every right day after it look old.
func (d *day) future() finding {
	ahead := max(0, d.next.Manifest.SnapshotAt.Sub(d.now)) - max(0, d.current.Manifest.SnapshotAt.Sub(d.now))
	return finding{
		figure: max(0, ahead.Seconds()), judged: true,
		text: fmt.Sprintf("the snapshot describes %s, the clock says %s",
			d.next.Manifest.SnapshotAt.Format(time.RFC3339), d.now.UTC().Format(time.RFC3339)),
		todo: "look at the dates of the feed's files, or set the clock",
	}
}

func (d *day) repeatedFeed() finding {
	f := finding{
		judged: true, text: "prices or cards have changed since the current snapshot",
		todo: "pull today's feed and build again",
	}
	if d.repeated() {
		f.figure = 1
		f.text = "the snapshot claims a later time and not one card or price has changed: this is the feed of " +
			d.current.Manifest.SnapshotAt.Format(time.DateOnly) + " again"
	}

	return f
}

func (d *day) cardsRemoved() finding {
	c := d.diff.Cards
	s := share(c.Removed, c.Before)
	return finding{
		figure: s, judged: c.Removed == 0 || c.Removed >= fewCards,
		text: fmt.Sprintf("%d of %d cards are gone (%s, at most %s may)", c.Removed, c.Before, percent(s),
			percent(d.limit)),
		todo: "look for missing files in the catalog feed: " + d.compareHint(),
	}
}

func (d *day) cardsAdded() finding {
	if d.diff.Cards.Before == 0 {
		return finding{}
	}

	c := d.diff.Cards
	s := share(c.Added, c.Before)
	return finding{
		figure: s, judged: c.Added == 0 || c.Added >= fewNew,
		text: fmt.Sprintf("%d cards are new beside %d (%s, at most %s may be)", c.Added, c.Before, percent(s),
			percent(d.limit)),
		todo: "were identities lost, or a game added on purpose? Look at: " + d.compareHint(),
	}
}

func (d *day) cardsChanged() finding {
	n := d.moves.changed
	s := share(n, d.moves.both)
	return finding{
		figure: s, judged: n == 0 || n >= fewCards,
		text: fmt.Sprintf("%d of %d cards have another name, number or set (%s, at most %s may)", n, d.moves.both,
			percent(s), percent(d.limit)),
		todo: "look whether columns of the feed were swapped: " + d.compareHint(),
	}
}

func (d *day) setsEmptied() finding {
	n := len(d.moves.emptied)
	f := finding{
		figure: float64(n), judged: true, text: "no set lost most of its cards or all of its prices",
		todo: "pull the files of these sets again and build again",
	}
	if n > 0 {
		f.text = fmt.Sprintf("%d sets lost most of their cards or all of their prices: %s", n, join(d.moves.emptied))
	}

	return f
}

func (d *day) pricesLost() finding {
	p := d.diff.Prices
	before := p.Compared + p.Disappeared
	s := share(p.Disappeared, before)
	return finding{
		figure: s, judged: p.Disappeared == 0 || p.Disappeared >= fewPrices,
		text: fmt.Sprintf("%d of %d prices are gone (%s, at most %s may)", p.Disappeared, before, percent(s),
			percent(d.limit)),
		todo: "look for missing or empty price files and at the quarantine report of the build",
	}
}

func (d *day) pricesMoved() finding {
	p := d.diff.Prices
	s := share(p.Moved, p.Compared)
	// More moves within more time, up to a bound that a wrong unit exceeds.
	limit := d.limit * max(1, d.days()/7)
	if d.limit < mostMoved {
		limit = min(limit, mostMoved)
	}

	median := "0"
	if p.MedianPercent != nil {
		median = fmt.Sprintf("%+.1f", *p.MedianPercent)
	}

	return finding{
		figure: s, limit: limit, judged: p.Moved == 0 || p.Moved >= fewPrices,
		text: fmt.Sprintf("%d of %d prices moved by more than 60 %% (%s, at most %s may; the median change is %s %%)",
			p.Moved, p.Compared, percent(s), percent(limit), median),
		todo: "were cents read as dollars, or columns swapped? Look at: " + d.compareHint(),
	}
}

// mostMoved is how far the days between two snapshots can raise the limit of prices_moved: over
// months a third of all prices may move by so much, a wrong unit moves nearly all.
const mostMoved = 0.5

// days is how many days lie between the snapshots.
func (d *day) days() float64 {
	return math.Abs(d.next.Manifest.SnapshotAt.Sub(d.current.Manifest.SnapshotAt).Hours()) / 24
}

func (d *day) quarantined() finding {
	more := max(0, d.next.Manifest.Counts.Quarantined-d.current.Manifest.Counts.Quarantined)
	whole := d.current.Manifest.Counts.Cards + d.current.Manifest.Counts.Lanes
	s := share(more, whole)
	return finding{
		figure: s, judged: more == 0 || more >= fewLines,
		text: fmt.Sprintf("%d more lines were quarantined than for the current snapshot "+
			"(%s of its %d cards and lanes, at most %s may)", more, percent(s), whole, percent(d.limit)),
		todo: "look at the reasons: ninepocket snapshot inspect " + d.next.Manifest.ID,
	}
}

func (d *day) compareHint() string {
	return "ninepocket snapshot diff " + d.current.Manifest.ID + " " + d.next.Manifest.ID
}
