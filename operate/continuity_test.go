package operate_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/operate"
	"ninepocket/snapshot"
)

// carryDays is for how many days a price stands that no feed gives any more.
const carryDays = 7

// TestContinuity runs through random weeks. Products, groups and days vanish, return, repeat, get
// faults and are corrected, a few at a time. After each day, and at the end from nothing, it
// compares the published prices with the delivered prices. make test lives ten days, make whole
// sixty, and make torture sixty from each of many seeds; NINEPOCKET_SEED runs one seed.
//
// TestPlanted takes a rule at a time out of the program. Where each one is:
//
//	a card stays that no source lists                     loader/unlisted.go, carryUnlisted
//	two unlisted cards are one by an alias                loader/unlisted.go, joinUnlisted
//	one card by an alias, and by two aliases              loader/unlisted.go, joinAliases; sameAs
//	an alias without a base, or with products missing     loader/unlisted.go, joinAliases: complete
//	a card that an operator removed is not there          loader/unlisted.go, dropRemoved
//	last prices stand for a week, and no longer           loader/missing.go, carriesPrice
//	those of an unlisted card in a missing group too      loader/missing.go, carriesPrice
//	a group that is not listed is missing for a week      loader/missing.go, findUnlistedGroups
//	it vanishes with its last card                        loader/missing.go, findUnlistedGroups
//	what returns gets the archived days that it lacks     loader/archive.go, findLacking; prices.go, claimLater
//	a file that is missing, HTML, empty, or text          loader/source/tcgcsv_prices.go, missing
//	equal rows are one                                    loader/source/tcgcsv_prices.go, prices
//	hundredfold prices of a group are left out            loader/archive.go, flush and judge
//	also when it was away for more than a week            loader/archive.go, priceBefore and judge
//	prices of a day that are known count as its own       loader/archive.go, judge: Published
//	an archived day may be refused as a whole             loader/archive.go, flush; guard/past.go
//	days that are absent or partial are read again        loader/archive.go, daysOfBase, openArchived
//	rows of the first tree that the second lacks go       loader/lanes_out.go, cents and writeLane
//	a group that is wrong in the second tree has its rows loader/archive.go, flush; feed.DayFiles
//	half a feed is refused                                guard: groups_missing, cards_unlisted, feed_partly_old
//	one group is not                                      guard: sets_emptied, duplicate_keys
func TestContinuity(t *testing.T) {
	days := 10
	if testsweep.Full() {
		days = 60
	}
	seeds := []uint64{1}
	if rounds, err := strconv.Atoi(os.Getenv("NINEPOCKET_TORTURE")); err == nil {
		days = 60
		seeds = nil
		for seed := range max(1, rounds/20) {
			seeds = append(seeds, uint64(seed+1))
		}
	}
	if given := os.Getenv("NINEPOCKET_SEED"); given != "" {
		seed, err := strconv.ParseUint(given, 10, 64)
		must(t, err)
		seeds = []uint64{seed}
	}

	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			began := time.Now()
			w := newWorld(t, seed)
			for day := range days {
				w.live(day, day == days-1)
				if t.Failed() {
					t.Fatalf("seed %d, day %d (%s)", seed, day, dayName(day))
				}
			}
			w.buildsFromNothing()

			total := 0
			for _, n := range w.faults {
				total += n
			}
			t.Logf("%d days and %d faults in %s: %v", days, total, time.Since(began).Round(time.Millisecond), w.faults)
		})
	}
}

// The kinds of days.
const (
	plainDay     = "plain"
	noPull       = "nothing pulled"
	badDay       = "more than 5 % bad"
	partlyOldDay = "half of a game is yesterday's"
	repeatedDay  = "all of it is yesterday's"
	twoTrees     = "two trees"
	twiceDay     = "the same tree twice"
)

// live does a day. The last one is plain.
func (w *world) live(day int, last bool) {
	if len(w.deck) == 0 {
		w.deck = []string{
			plainDay, plainDay, plainDay, noPull, badDay, partlyOldDay, repeatedDay, twoTrees, twoTrees, twiceDay,
		}
		w.random.Shuffle(len(w.deck), func(i, j int) {
			w.deck[i], w.deck[j] = w.deck[j], w.deck[i] // air: a swap
		})
	}
	kind := plainDay
	if day > 0 && !last {
		kind = w.deck[0]
		w.deck = w.deck[1:]
	}
	// A feed repeats what it had the day before.
	if !w.served && (kind == partlyOldDay || kind == repeatedDay) {
		kind = twoTrees
	}
	w.faults[kind]++

	w.begin(day)
	w.served = false
	for _, of := range w.late[day] {
		w.packDay(of)
		w.faults["an archived day came late"]++
	}
	t := w.today(day)
	switch kind {
	case noPull:
		w.addFaults(t)
		w.archive(t)
		if after := 1 + w.random.IntN(6); w.random.IntN(3) > 0 {
			w.late[day+after] = append(w.late[day+after], day)
			w.deliver(t)
		}
	case badDay:
		guard := "groups_missing"
		if w.dice(2, "a tenth of the products not listed") {
			guard = "cards_unlisted"
			w.unlist(t)
		}
		for guard == "groups_missing" && w.missing(t) < maxMissing+3 {
			w.spoil(t, pick(w, t.usableGroups()))
		}
		w.run(t, guard)
		if w.random.IntN(2) == 0 {
			w.run(w.corrected(t), "")
		}
	case partlyOldDay, repeatedDay:
		w.makeOld(t, kind == repeatedDay)
		w.rejected[day] = true
		w.run(t, "feed_partly_old")
		if w.random.IntN(2) == 0 {
			w.rejected[day] = false
			delete(w.right, day)
			w.run(w.today(day).later(t), "")
		}
	case twoTrees:
		w.addFaults(t)
		w.run(t, "")
		w.run(w.corrected(t), "")
	default:
		if day > 0 && !last {
			w.addFaults(t)
		}
		w.run(t, "")
		if kind == twiceDay {
			w.run(t, "")
		}
	}
}

// missing is how many groups of a tree have no usable prices: a group that is not listed counts for
// seven days.
func (w *world) missing(t *tree) (n int) {
	for i := range t.files {
		if w.isMissing(t, i) {
			n++
		}
	}
	return n
}

func (w *world) isMissing(t *tree, i int) bool {
	f := t.files[i]
	since := w.groups[i].since
	return f.listed && !f.usable || !f.listed && (since < 0 || t.day < since+carryDays)
}

// deliver records what a tree has right.
func (w *world) deliver(t *tree) {
	w.last = t
	w.right[t.day] = t.over(w.right[t.day])
}

// over is what is right of a day whose earlier trees had some rows: a group that has no usable prices
// leaves those that it had.
func (t *tree) over(before dayRows) dayRows {
	after := make(dayRows, len(t.files))
	copy(after, before)
	for i, f := range t.files {
		if f.listed && f.usable {
			after[i] = f.rows
		}
	}
	return after
}

// without leaves out the rows of cards that the catalog does not have: it reads them the day after it has.
func (w *world) without(of dayRows) dayRows {
	for i, g := range w.groups {
		of[i] = maps.Clone(of[i])
		for _, c := range g.cards {
			for _, variant := range c.variants {
				if c.since == unknown || c.out {
					delete(of[i], lane{c.ref, variant})
				}
			}
		}
	}
	return of
}

// run pulls a tree and does the day's work, which a guard refuses or none.
func (w *world) run(t *tree, guard string) {
	w.t.Helper()
	w.write(t)
	w.archive(t)
	w.packDay(t.day)
	w.writeMapping()
	w.deliver(t)

	before, _ := snapshot.OpenStore(w.store).Current()
	sources := []loader.Input{{Kind: "tcgcsv", Path: w.tree}}
	day := operate.Day{
		Build: operate.Build{
			Store: w.store, Options: loader.Options{Sources: sources, Mapping: w.mapping},
			Again: func() string { return "" },
		},
		Terms:     operate.Terms{Store: w.store, RetainCount: 3, By: "test", Now: t.at},
		Tree:      w.tree,
		OnWarning: func(string) {},
	}
	_, err := day.Run(w.t.Context())
	if guard == "" {
		if err != nil {
			w.t.Fatalf("%s: %v", dayName(t.day), err)
		}
		w.published(t)
		return
	}

	refused, is := errors.AsType[*snapshot.RefusedError](err)
	if !is || !slices.ContainsFunc(refused.Verdicts, func(v snapshot.GuardResult) bool {
		return v.Name == guard && v.Status == snapshot.Refused
	}) {
		w.t.Errorf("%s: want a refusal by %s, got: %v", dayName(t.day), guard, err)
	}
	if after, _ := snapshot.OpenStore(w.store).Current(); after.ID != before.ID {
		w.t.Errorf("%s: a refused day is current", dayName(t.day))
	}
}

// published compares the published prices with all delivered prices.
func (w *world) published(t *tree) {
	w.t.Helper()
	w.observe(t)
	w.withdraw(t)
	w.shown[t.day] = w.without(t.over(w.shown[t.day]))
	w.newest = t.day
	w.served = true
	cur, err := snapshot.OpenStore(w.store).Current()
	must(w.t, err)
	catalog, err := snapshot.OpenStore(w.store).Load(w.t.Context(), cur.ID, nil)
	must(w.t, err)
	if catalog.Date() != dayOf(t.day) {
		w.t.Fatalf("%s: the catalog is of %s", dayName(t.day), catalog.Date())
	}

	at := readCatalog(catalog)
	for i, g := range w.groups {
		newest := w.newestOfGroup(g)
		for _, c := range g.cards {
			if !c.known(t.day) {
				continue
			}
			item, there := at.item(c)
			listed := t.files[i].in[c.ref] && t.files[i].hasProducts && !c.out
			if there == c.out || listed && at.ids[c.ref] == "" {
				w.t.Errorf("%s %s: in the catalog: %t, removed: %t", c.ref, c.name, there, c.removed)
			}
			if !there || c.out {
				c.current = nil
				continue
			}
			w.sameNames(at, c, item)
			w.sameHistory(at, c, item)
			w.rightPrices(at, t, c, item, w.isMissing(t, i), newest)
		}
	}
	for i, item := range catalog.Unlisted.Item {
		if since := catalog.Unlisted.Since[i]; since > catalog.Date() || int(item) >= catalog.NumItems() {
			w.t.Errorf("item %d is unlisted since %s", item, since)
		}
	}
}

// known reports whether a catalog of a day has had the chance to know a card.
func (c *card) known(day int) bool { return c.id != "" || c.listedFrom <= day && c.since != unknown }

// unknown is the day of a card that no published tree has listed.
const unknown = -2

// observe brings what is published of cards and groups up to a tree.
func (w *world) observe(t *tree) {
	for i, f := range t.files {
		g := w.groups[i]
		switch {
		case f.listed:
			g.since = -1
		case g.since < 0:
			g.since = t.day
		}

		for _, c := range g.cards {
			listed := f.in[c.ref] && f.hasProducts && f.listed
			switch {
			case c.removed:
				c.out = true
			case listed:
				c.since = -1
				c.out = false
				c.fresh = false
			case c.id == "":
				c.since = unknown
			case (f.hasProducts || !f.listed) && c.since < 0:
				c.since = t.day
			}
		}
	}
}

// withdraw records published rows that a later full download of the same day lacks. They belong to
// the day, and have no price.
func (w *world) withdraw(t *tree) {
	for i, f := range t.files {
		for l := range w.shown[t.day].of(i) {
			if _, there := f.rows[l]; f.listed && f.usable && !there {
				w.withdrawn[withdrawal{t.day, l}] = true
			}
		}
	}
}

// withdrawal is a row of a day that a later tree has not.
type withdrawal struct {
	day int
	lane
}

// dayRows are the right rows of a day by group.
type dayRows []rows

func (d dayRows) of(group int) rows {
	if d == nil {
		return nil
	}
	return d[group]
}

// delivered is what a build of the newest day has of a day. It reads no archived file of the newest
// day: rows that only a refused download had come the day after.
func (w *world) delivered(day int) dayRows {
	switch {
	case day == w.newest:
		return w.shown[day]
	case day < w.newest && !w.rejected[day] && w.there[day]:
		return w.right[day]
	}
	return nil
}

// history is what was delivered of a card's lane, by day.
func (w *world) history(c *card, variant string) map[int]int64 {
	all := map[int]int64{}
	for day := range w.newest + 1 {
		of := w.delivered(day).of(c.group.index)
		for _, ref := range c.refs() {
			l := lane{ref, variant}
			if cents, there := of[l]; there {
				all[day] = cents
			} else if _, other := all[day]; !other && w.withdrawn[withdrawal{day, l}] {
				all[day] = snapshot.NoCents
			}
		}
	}
	return all
}

// newestOfGroup is the newest day of which a group has a row, -1 for none.
func (w *world) newestOfGroup(g *group) int {
	newest := -1
	for day := range w.newest + 1 {
		if len(w.delivered(day).of(g.index)) > 0 {
			newest = day
		}
	}
	return newest
}

// sameNames wants a card to have the id, slug and product that it had first.
func (w *world) sameNames(at *published, c *card, item int) {
	w.t.Helper()
	id := at.Cards.ID.At(item)
	slug := at.Cards.Slug.At(item)
	if c.id == "" {
		c.id = id
		c.slug = slug
	}

	if c.id != id || c.slug != slug || at.Cards.Product[item] == 0 {
		w.t.Errorf("%s %s is %s %s, and was %s %s", c.ref, c.name, id, slug, c.id, c.slug)
	}

	since := -1
	if day := at.UnlistedSince(item); day != snapshot.NoDay {
		since = int(day - dayOf(0))
	}

	if since != c.since {
		w.t.Errorf("%s %s is unlisted since %d, want %d", c.ref, c.name, since, c.since)
	}
}

// sameHistory wants a card to have each price that was delivered, and no other.
func (w *world) sameHistory(at *published, c *card, item int) {
	w.t.Helper()
	got := at.points(item)

	for _, variant := range c.variants {
		want := map[int]int64{}
		for day, cents := range w.history(c, variant) {
			if cents != snapshot.NoCents {
				want[day] = cents
			}
		}
		if !maps.Equal(got[variant], want) {
			w.t.Errorf("%s %s %s (gone until %d, unlisted since %d): history differs on %s", c.ref, c.name, variant,
				c.goneUntil, c.since, differences(got[variant], want))
		}
		delete(got, variant)
	}

	if len(got) > 0 {
		w.t.Errorf("%s %s has lanes that nobody delivered: %v", c.ref, c.name, got)
	}
}

func differences(got, want map[int]int64) string {
	var all []string
	for day := range 400 {
		g, has := got[day]
		v, wanted := want[day]
		if has != wanted || g != v {
			all = append(all, fmt.Sprintf("day %d: got %d (%t), want %d (%t)", day, g, has, v, wanted))
		}
	}
	return strings.Join(all[:min(len(all), 12)], "; ")
}

// rightPrices wants today's price. If a group has no usable prices, or no feed lists a card, it
// wants the last price for seven days.
func (w *world) rightPrices(at *published, t *tree, c *card, item int, missing bool, newest int) {
	w.t.Helper()
	got := at.current(item)
	now := map[string]int64{}

	for _, variant := range c.variants {
		history := w.history(c, variant)
		want := snapshot.NoCents
		if len(history) > 0 {
			seen := slices.Max(slices.Collect(maps.Keys(history)))
			_, had := c.current[variant]
			switch {
			case seen == t.day, seen+carryDays >= t.day && (missing && seen == newest || c.since >= 0 && had):
				want = history[seen]
			}
		}
		if want != snapshot.NoCents {
			now[variant] = want
		}
	}

	if !maps.Equal(got, now) {
		w.t.Errorf("%s %s (gone until %d, unlisted since %d, group missing: %t, newest %d): current %v, want %v; "+
			"had %v", c.ref, c.name, c.goneUntil, c.since, missing, newest, got, now, c.current)
	}
	c.current = now
}

// buildsFromNothing builds from all archived days without a base, and wants the same history of all that
// the newest tree lists.
func (w *world) buildsFromNothing() {
	w.t.Helper()
	sources := []loader.Input{{Kind: "tcgcsv", Path: w.tree}}
	archived, err := operate.ArchivedDays("", sources)
	must(w.t, err)
	o := loader.Options{Sources: sources, Mapping: w.mapping, ArchivedDays: archived}
	made, err := loader.Build(w.t.Context(), o)
	if err != nil {
		w.t.Fatalf("from nothing: %v", err)
	}

	at := readCatalog(made.Catalog)
	for i, f := range w.last.files {
		for _, c := range w.groups[i].cards {
			if !f.in[c.ref] || c.out {
				continue
			}
			item, there := at.item(c)
			if !there {
				w.t.Errorf("from nothing: %s %s is not there", c.ref, c.name)
				continue
			}
			w.sameHistory(at, c, item)
		}
	}
}

// published is a catalog with its cards by reference.
type published struct {
	*snapshot.Catalog
	ids  map[string]string
	rows map[string]int
}

func readCatalog(c *snapshot.Catalog) *published {
	at := &published{c, map[string]string{}, map[string]int{}}
	for i := range c.Registry.Ref.Len() {
		if id := c.Registry.RefID.At(i); strings.HasPrefix(id, "card_") {
			_, ref, _ := strings.Cut(c.Registry.Ref.At(i), "\x00")
			at.ids[ref] = id
		}
	}
	for i := range c.Cards.ID.Len() {
		at.rows[c.Cards.ID.At(i)] = i
	}
	return at
}

// item is the row of a card, to which each of its references leads that a catalog has had.
func (at *published) item(c *card) (row int, there bool) {
	id := ""
	for _, ref := range c.refs() {
		known := at.ids[ref]
		if id != "" && known != "" && known != id {
			return 0, false
		}
		id = cmp.Or(id, known)
	}
	row, there = at.rows[id]
	return row, there
}

// points are the prices of a card by variant and day.
func (at *published) points(item int) map[string]map[int]int64 {
	all := map[string]map[int]int64{}
	from, to := at.Lanes.Of.Range(item)
	for row := from; row < to; row++ {
		of := map[int]int64{}
		for _, point := range at.History.AppendPoints(nil, row, 0, at.Date()) {
			of[int(point.Day-dayOf(0))] = point.Cents
		}
		all[at.variant(row)] = of
	}
	return all
}

// current are the current prices of a card by variant.
func (at *published) current(item int) map[string]int64 {
	all := map[string]int64{}
	from, to := at.Lanes.Of.Range(item)
	for row := from; row < to; row++ {
		if cents := at.Lanes.Cents[row]; cents != snapshot.NoCents {
			all[at.variant(row)] = cents
		}
	}
	return all
}

func (at *published) variant(row int) string {
	return map[string]string{"normal": "Normal", "holofoil": "Holofoil"}[at.Variants.At(int(at.Lanes.Variant[row]))]
}
