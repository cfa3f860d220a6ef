package guard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// Below these numbers, records are not judged by their fraction: the catalogs of a shelf, a test
// or a new game move in jumps.
const (
	minCards  = 5  // cards gone, new or changed
	minPrices = 5  // prices gone or moved
	minNew    = 50 // cards that are new
	minLines  = 20 // quarantined lines
	minSame   = 20 // prices compared, before equal ones mean a repeated feed
	smallSet  = 5  // cards or prices of a set, before losing them empties it
)

// comparison is a snapshot and its predecessor, with the guards' measurements.
type comparison struct {
	Options
	current, next *snapshot.StoredSnapshot // current may be nil
	limit         float64                  // of the guard that is asked, which may raise it

	diff *diff.Diff // nil without a current one

	// Counts that a Diff lacks: cards in both, those with another name, number or set, and those
	// that no source lists any more.
	both, changed, unlisted int

	// missing are the ids of the sets whose prices a feed lacks on the next catalog's date. They are so
	// many groups, which missingNames names.
	missing       map[string]bool
	missingGroups int
	missingNames  []string
}

func compare(current, next *snapshot.StoredSnapshot, o Options) *comparison {
	d := &comparison{Options: o, current: current, next: next}
	d.findMissing()
	if current != nil {
		d.diff = diff.Compare(current.Catalog, next.Catalog, diff.Options{MinPercent: diff.MovedPercent, Limit: 1})
		d.compareCards()
	}
	return d
}

// compareCards counts the changed cards among those in both. A card that is no longer listed is not
// counted if its group is missing as a whole: another guard judges that (decision 3401).
func (d *comparison) compareCards() {
	a := d.current.Catalog
	b := d.next.Catalog
	rows := diff.Rows(&a.Cards.ID)
	for i := range b.Cards.ID.Len() {
		k, known := rows[b.Cards.ID.At(i)]
		if !known {
			continue
		}

		// An id that stays while its card becomes another one is a column that moved.
		d.both++
		if a.Cards.Name.At(k) != b.Cards.Name.At(i) || a.Cards.Number.At(k) != b.Cards.Number.At(i) ||
			setOf(a, k) != setOf(b, i) {
			d.changed++
		}
		if !d.missing[setOf(b, i)] && a.UnlistedSince(k) == snapshot.NoDay && b.UnlistedSince(i) != snapshot.NoDay {
			d.unlisted++
		}
	}
}

// setOf is the id of a card's set, "" without one.
func setOf(c *snapshot.Catalog, card int) string { return c.OfSet(&c.Sets.ID, card) }

// setCounts is the number of a set's records that a source lists.
type setCounts struct{ cards, priced int }

func countSets(c *snapshot.Catalog) map[string]setCounts {
	m := make(map[string]setCounts, c.Sets.ID.Len())
	for i := range c.Cards.ID.Len() {
		id := setOf(c, i)
		h := m[id]
		// An unlisted card stays, and is as good as none; its price ends after a week.
		if c.UnlistedSince(i) == snapshot.NoDay {
			h.cards++
			if c.Cards.Display[i] >= 0 {
				h.priced++
			}
		}
		m[id] = h
	}

	return m
}

// raised is a limit that a factor raises for the time between two days. It stays below a bound that a
// wrong unit exceeds, unless the operator's own limit is above that.
func raised(limit, factor, ceiling float64) float64 {
	if limit < ceiling {
		return min(limit*factor, ceiling)
	}
	return limit * factor
}

// days is how many days lie between the snapshots.
func (d *comparison) days() float64 {
	return math.Abs(d.next.Manifest.SnapshotAt.Sub(d.current.Manifest.SnapshotAt).Hours()) / 24
}

// share is the finding that so many of a whole are affected. A few are not judged by their
// fraction. The format takes both numbers, the fraction and the limit.
func (d *comparison) share(part, whole, floor int, format string) finding {
	figure := 0.0
	if whole > 0 {
		figure = float64(part) / float64(whole)
	}

	percent := func(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }
	return finding{
		figure: figure, judged: part == 0 || part >= floor,
		text: fmt.Sprintf(format, part, whole, percent(figure), percent(d.limit)),
	}
}

func (d *comparison) minimumCards() finding {
	n := d.next.Manifest.Counts.Cards
	return judged(float64(n), "the snapshot has %d cards, at least %.0f are wanted", n, d.limit)
}

func (d *comparison) minimumPrices() finding {
	n := 0
	for _, cents := range d.next.Catalog.Lanes.Cents {
		if cents != snapshot.NoCents {
			n++
		}
	}
	return judged(float64(n), "the snapshot has %d current prices, at least %.0f are wanted", n, d.limit)
}

func (d *comparison) older() finding {
	at := d.next.Manifest.SnapshotAt
	was := d.current.Manifest.SnapshotAt
	return judged(max(0, was.Sub(at).Seconds()), "the snapshot describes %s, the current one %s",
		at.Format(time.RFC3339), was.Format(time.RFC3339))
}

// future is how far ahead of the clock the snapshot is, beyond the current one: a mistyped date
// would make every correct day after it look old.
func (d *comparison) future() finding {
	at := d.next.Manifest.SnapshotAt
	ahead := max(0, at.Sub(d.Now)) - max(0, d.current.Manifest.SnapshotAt.Sub(d.Now))
	return judged(max(0, ahead.Seconds()), "the snapshot describes %s, the clock says %s",
		at.Format(time.RFC3339), d.Now.UTC().Format(time.RFC3339))
}

func (d *comparison) repeatedFeed() finding {
	if !d.repeated() {
		return judged(0, "prices or cards have changed since the current snapshot")
	}
	return judged(1, "the snapshot claims a later time and not one card or price has changed: "+
		"this is the feed of %s again", d.current.Manifest.SnapshotAt.Format(time.DateOnly))
}

func (d *comparison) cardsRemoved() finding {
	changes := d.diff.Cards
	return d.share(changes.Removed, changes.Before, minCards, "%d of %d cards are gone (%s, at most %s may)")
}

// cardsUnlisted is the fraction of the listed cards that no source lists any more.
func (d *comparison) cardsUnlisted() finding {
	a := d.current.Catalog
	return d.share(d.unlisted, a.Cards.ID.Len()-len(a.Unlisted.Item), minCards,
		"%d of %d listed cards are no longer listed by any source (%s, at most %s may)")
}

func (d *comparison) cardsAdded() finding {
	changes := d.diff.Cards
	// If there were none before, all are new.
	if changes.Before == 0 {
		return finding{}
	}
	return d.share(changes.Added, changes.Before, minNew, "%d cards are new next to %d (%s, at most %s may be)")
}

func (d *comparison) cardsChanged() finding {
	return d.share(d.changed, d.both, minCards, "%d of %d cards have another name, number or set (%s, at most %s may)")
}

// setsEmptied finds the sets that lost most of their cards or all of their prices.
func (d *comparison) setsEmptied() finding {
	a := d.current.Catalog
	before := countSets(a)
	after := countSets(d.next.Catalog)
	var emptied []string
	for s := range a.Sets.ID.Len() {
		id := a.Sets.ID.At(s)
		if d.missing[id] {
			// Its feed lost it for longer than prices are carried, which another guard judges.
			continue
		}
		was := before[id]
		is := after[id]
		// A fifth of the cards left is as good as none: a feed lost most of a file.
		if was.cards >= smallSet && is.cards*5 < was.cards || was.priced >= smallSet && is.priced == 0 {
			emptied = append(emptied, fmt.Sprintf("%q (%d cards, %d priced; now %d, %d)",
				a.Sets.Name.At(s), was.cards, was.priced, is.cards, is.priced))
		}
	}

	if n := len(emptied); n > 0 {
		return judged(float64(n), "%d sets lost most of their cards or all of their prices: %s", n, join(emptied))
	}
	return judged(0, "no set lost most of its cards or all of its prices")
}

func (d *comparison) pricesLost() finding {
	prices := d.diff.Prices
	return d.share(prices.Disappeared, prices.Compared+prices.Disappeared, minPrices,
		"%d of %d prices are gone (%s, at most %s may)")
}

// maxMoved is how far the days between two snapshots can raise the limit of prices_moved. Over
// months a third of all prices may move by so much, but a wrong currency unit moves nearly all.
const maxMoved = 0.5

// movedLimit is the limit of prices_moved over some days: more moves within more time.
func movedLimit(limit, days float64) float64 { return raised(limit, max(1, days/7), maxMoved) }

func (d *comparison) pricesMoved() finding {
	prices := d.diff.Prices
	median := "0"
	if prices.MedianPercent != nil {
		median = fmt.Sprintf("%+.1f", *prices.MedianPercent)
	}

	d.limit = movedLimit(d.limit, d.days())
	return d.share(prices.Moved, prices.Compared, minPrices,
		"%d of %d prices moved by more than 60 %% (%s, at most %s may; the median change is "+median+" %%)")
}

// findMissing finds the sets whose prices a feed lacks on the catalog's date.
func (d *comparison) findMissing() {
	c := d.next.Catalog
	d.missing = map[string]bool{}
	for i, day := range c.Gaps.Day {
		if day != c.Date() {
			continue
		}

		if set := c.Gaps.Set[i]; set != snapshot.NoSet {
			d.missing[c.Sets.ID.At(int(set))] = true
			d.missingGroups++
			name := strconv.Quote(c.Sets.Name.At(int(set)))
			if reason := c.GapReason(i); reason != "" {
				name += " (" + reason + ")"
			}
			d.missingNames = append(d.missingNames, name)
		} else if c.Gaps.Group.At(i) == "" {
			// The day is missing as a whole, and no group has a row.
			for set, game := range c.Sets.Game {
				if game == c.Gaps.Game[i] {
					d.missing[c.Sets.ID.At(set)] = true
					d.missingGroups++
				}
			}
			d.missingNames = append(d.missingNames, "all of "+c.Games.Name.At(int(c.Gaps.Game[i])))
		}
	}
}

// groupsMissing is the fraction of the sets whose prices a feed lacks on the snapshot's date. One
// group may always be lost: its prices stand for a while.
func (d *comparison) groupsMissing() finding {
	const floor = 2
	return d.share(d.missingGroups, d.next.Catalog.Sets.ID.Len(), floor,
		"the feed has no prices of %d of %d sets (%s, at most %s may): "+
			strings.ReplaceAll(join(d.missingNames), "%", "%%"))
}

// valueMissing is the fraction of the value of all prices that missing groups have. One group may
// always be lost.
func (d *comparison) valueMissing() finding {
	c := d.next.Catalog
	carried := int64(0)
	all := int64(0)

	for card := range c.Cards.ID.Len() {
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			cents := max(0, c.Lanes.Cents[lane])
			all += cents
			if d.missing[setOf(c, card)] {
				carried += cents
			}
		}
	}

	if len(d.missing) < 2 || all == 0 {
		return finding{}
	}
	share := float64(carried) / float64(all)
	return judged(share, "%d groups without usable prices have %.1f %% of the value of all prices, at most %.1f %% may",
		len(d.missing), share*100, d.limit*100)
}

// unpriced judges a first snapshot, which has none to be compared with.
func (d *comparison) unpriced() finding {
	c := d.next.Catalog
	// A catalog without any price feed is intended.
	if len(c.Lanes.Cents) == 0 && d.next.Manifest.Counts.Quarantined < minLines {
		return finding{}
	}
	all := len(c.Cards.Display)
	return d.share(all-diff.Priced(c), all, minPrices, "%d of %d cards have no price (%s, at most %s may)")
}

func (d *comparison) quarantined() finding {
	now := d.next.Manifest.Counts
	if d.current == nil {
		// Without a measure, refused lines are a fraction of all lines read.
		return d.share(now.Quarantined, now.Cards+now.Lanes+now.Quarantined, minLines,
			"%d of %d cards, prices and refused lines were quarantined (%s, at most %s may)")
	}

	was := d.current.Manifest.Counts
	return d.share(max(0, now.Quarantined-was.Quarantined), was.Cards+was.Lanes, minLines,
		"%[1]d more lines were quarantined than for the current snapshot "+
			"(%[3]s of its %[2]d cards and lanes, at most %[4]s may)")
}
