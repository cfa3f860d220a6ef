package operate_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/snapshot"
)

// card is a card of the world with its expected entry in the catalog.
type card struct {
	group        *group
	ref          string   // in the trees of today
	former       []string // references that an alias row joins with ref
	name, number string
	variants     []string

	listedFrom int  // its first day in products
	goneUntil  int  // no products file has it before
	rowsStay   bool // while it is gone, price rows go on
	removed    bool // by an operator, until removedUntil
	returns    int
	joins      *card // it is this card, listed again; a row of aliases.csv says so the day after

	// As of what is published.
	id, slug string
	since    int  // unlisted since that day, -1 for a listed one
	out      bool // it was removed, and no feed has listed it since
	fresh    bool // no catalog has had it by ref, which an alias names
	current  map[string]int64
}

// refs are all references of a card.
func (c *card) refs() []string { return append([]string{c.ref}, c.former...) }

// idle reports whether nothing else happens to a card.
func (c *card) idle(day int) bool {
	return c.listedFrom < day && c.goneUntil <= day && !c.removed && !c.fresh && c.joins == nil
}

// group is a group of the feed, and its cards.
type group struct {
	index, id      int
	category, name string
	cards          []*card
	absentFrom     int // the feed does not list it from here
	absentUntil    int
	lostUntil      int // its prices file is missing before
	since          int // as of what is published: unlisted since that day, -1 for a listed one
}

// listed reports whether the feed lists a group on a day.
func (g *group) listed(day int) bool { return day < g.absentFrom || day >= g.absentUntil }

// world is a feed with its events and its delivered rows.
type world struct {
	t       *testing.T
	random  *rand.Rand
	groups  []*group
	tree    string // folders
	store   string
	mapping string
	last    *tree // that was delivered
	deck    []string
	aliases [][2]string

	archived map[int]map[string]string   // by day: the files of its archived file
	earlier  map[int][]map[string]string // likewise of earlier trees that a later one changed
	there    map[int]bool                // days whose archived file is where a build finds it
	late     map[int][]int               // by day: the days whose archived file appears
	right    map[int]dayRows             // by day: what was delivered right
	rejected map[int]bool                // days of which nothing is right
	shown    map[int]dayRows             // by day: what was published right on the day
	// withdrawn are rows that a tree was published with and a later one of its day has not.
	withdrawn map[withdrawal]bool
	newest    int  // the day that is published
	served    bool // the day before was published
	faults    map[string]int
	nextID    int
	blind     *group // has a card that no catalog has had, and that an alias names
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 34)), tree: filepath.Join(dir, "feed", "current"),
		store: filepath.Join(dir, "store"), mapping: filepath.Join(dir, "mapping"), nextID: 900_000,
		archived: map[int]map[string]string{}, earlier: map[int][]map[string]string{}, there: map[int]bool{},
		late: map[int][]int{}, right: map[int]dayRows{}, shown: map[int]dayRows{}, withdrawn: map[withdrawal]bool{},
		rejected: map[int]bool{}, newest: -1, faults: map[string]int{},
	}

	for i := range 2 * groupsPerGame {
		g := &group{
			index: i, id: 101 + i, category: []string{"3", "68"}[i%2],
			name:  fmt.Sprintf("Set %c%c", 'A'+i/26, 'A'+i%26),
			since: -1,
		}
		n := cardsPerGroup
		// Too small for the guards that judge by group.
		if i%8 == 7 {
			n = 6
		}
		for k := range n {
			c := w.newCard(g, fmt.Sprint(1000*g.id+k), k+1)
			c.listedFrom = 0
		}
		w.groups = append(w.groups, g)
	}

	return w
}

func (w *world) newCard(g *group, product string, number int) *card {
	c := &card{
		group: g, ref: g.category + "/" + product, name: fmt.Sprintf("Card %d of %s", number, g.name),
		number: fmt.Sprintf("%d/%d", number, cardsPerGroup), variants: []string{"Normal"}, since: -1,
	}
	if number%3 == 0 {
		c.variants = append(c.variants, "Holofoil")
	}
	g.cards = append(g.cards, c)
	return c
}

func (w *world) cards() (all []*card) {
	for _, g := range w.groups {
		all = append(all, g.cards...)
	}
	return all
}

// dice counts a fault that comes up once in so many times.
func (w *world) dice(sides int, fault string) bool {
	if w.random.IntN(sides) > 0 {
		return false
	}
	w.faults[fault]++
	return true
}

// pick is one of some things, the zero one of none.
func pick[T any](w *world, of []T) (one T) {
	if len(of) > 0 {
		one = of[w.random.IntN(len(of))]
	}
	return one
}

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return h.Sum64()
}

// cents returns the price of a lane on a day. A fifth of the lanes repeat the price of the day
// before, and one in forty has no price.
func (c *card) cents(variant string, day int) int64 {
	who := c.group.name + c.name + variant
	if day > 0 && hash(who, day)%5 == 0 {
		return c.cents(variant, day-1)
	}
	if day > 0 && hash(who, day)%41 == 0 {
		return snapshot.NoCents
	}
	base := int64(200 + hash(who)%20_000)
	return base + base*int64(hash(day, who, "swing")%150)/1000 + int64(day%7)
}

// begin lets things happen to cards and groups from this day on.
func (w *world) begin(day int) {
	for _, c := range w.cards() {
		if c.removed && day >= c.returns {
			c.removed = false
			w.faults["removal undone"]++
		}
		// A row that nothing has an effect of is an error: the card is there when it is written.
		if c.joins != nil && (c.id != "" || c.group.listed(day)) {
			w.join(c, day)
		}
	}
	if day == 0 {
		return
	}

	for range 1 + w.random.IntN(3) {
		w.removeProducts(day)
	}
	absent := slices.ContainsFunc(w.groups, func(g *group) bool { return day < g.absentUntil })
	if !absent && w.dice(3, "group not listed") {
		// A card with an alias of today stays.
		g := pick(w, w.groups)
		for slices.ContainsFunc(g.cards, func(c *card) bool { return c.fresh || c.listedFrom == day }) {
			g = pick(w, w.groups)
		}
		g.absentFrom = day
		g.absentUntil = day + 1 + w.random.IntN(12)
	}
	lost := slices.ContainsFunc(w.groups, func(g *group) bool { return day < g.lostUntil })
	if !lost && w.dice(8, "prices missing for days") {
		pick(w, w.groups).lostUntil = day + 2 + w.random.IntN(10)
	}

	if c := w.anyIdle(day); w.dice(3, "listed again under another id") {
		before := slices.DeleteFunc(w.cards(), func(c *card) bool { return len(c.former) == 0 || !c.idle(day) })
		if len(before) > 0 && w.dice(2, "listed again once more") {
			c = pick(w, before)
		}
		w.nextID++
		again := w.newCard(c.group, fmt.Sprint(w.nextID), 0)
		again.name = c.name
		again.number = c.number
		again.variants = c.variants
		again.listedFrom = day
		again.joins = c
		c.goneUntil = 1 << 30
	}
	if c := w.anyIdle(day); w.dice(4, "removed by an operator") {
		c.removed = true
		c.returns = day + 1 + w.random.IntN(8)
	}
	if g := pick(w, w.groups); w.dice(4, "prices before the product") {
		w.nextID++
		w.newCard(g, fmt.Sprint(w.nextID), 100+w.nextID%1000).listedFrom = day + 1 + w.random.IntN(5)
	}
}

// removeProducts takes one or two cards out of a products file.
func (w *world) removeProducts(day int) {
	g := pick(w, w.groups)
	gone := 0

	for _, c := range g.cards {
		if day < c.goneUntil {
			gone++
		}
	}

	for range 1 + w.random.IntN(2) {
		c := pick(w, g.cards)
		if gone > 2 || !c.idle(day) {
			continue
		}
		gone++
		c.goneUntil = day + 1 + w.random.IntN(20)
		c.rowsStay = w.random.IntN(3) == 0
		w.faults["product not listed"]++
	}
}

// anyIdle returns a card that the previous day's download listed, without another event.
func (w *world) anyIdle(day int) *card {
	for {
		if c := pick(w, w.cards()); c.idle(day) && c.id != "" {
			return c
		}
	}
}

// join writes the row that gives a card, listed again, its former id.
func (w *world) join(again *card, day int) {
	c := again.joins
	pair := [2]string{again.ref, c.ref}
	if w.random.IntN(2) == 0 {
		pair = [2]string{c.ref, again.ref}
	}
	w.aliases = append(w.aliases, pair)

	c.former = append(c.former, c.ref)
	c.ref = again.ref
	if again.id != "" {
		c.since = again.since
		maps.Copy(c.current, again.current)
	}

	c.goneUntil = 0
	c.listedFrom = day
	g := again.group
	if again.id == "" {
		w.blind = g
		c.fresh = true
	} else if w.dice(3, "gone as soon as it was the same card") {
		c.goneUntil = day + 1 + w.random.IntN(5)
		c.rowsStay = false
	}
	g.cards = slices.DeleteFunc(g.cards, func(other *card) bool { return other == again })
}

// today is the download of a day without a fault.
func (w *world) today(day int) *tree {
	t := &tree{day: day}
	for _, g := range w.groups {
		f := &groupFile{listed: g.listed(day), rows: rows{}, in: map[string]bool{}}
		t.files = append(t.files, f)
		if !f.listed {
			continue
		}

		for _, c := range g.cards {
			gone := day < c.goneUntil
			if !gone && c.listedFrom <= day {
				f.in[c.ref] = true
			}
			for _, variant := range c.variants {
				if !gone || c.rowsStay && c.goneUntil < 1<<30 {
					f.rows[lane{c.ref, variant}] = c.cents(variant, day)
				}
			}
		}
		w.fill(g, f)
		if day < g.lostUntil {
			f.prices = ""
			f.usable = false
		}
	}
	return t
}

// fill writes the bodies of a group's files.
func (w *world) fill(g *group, f *groupFile) {
	var products []string
	for _, c := range g.cards {
		if _, product, _ := strings.Cut(c.ref, "/"); f.in[c.ref] {
			products = append(products, fmt.Sprintf(`{"productId":%s,"name":%q,"extendedData":[`+
				`{"name":"Number","value":%q},{"name":"Rarity","value":"Common"}]}`, product, c.name, c.number))
		}
	}
	f.products = reply(products)
	f.hasProducts = true
	f.prices = pricesFile(f.rows, 1, 1, never)
	f.usable = true
}

func never(lane) bool { return false }

// usableGroups are the groups of a tree whose prices are those of the day.
func (t *tree) usableGroups() (all []int) {
	for i, f := range t.files {
		if f.listed && f.usable {
			all = append(all, i)
		}
	}
	return all
}

const hundredfold = "prices a hundredfold"

// large reports whether a group has prices enough for the guards that judge by group.
func (w *world) large(i int) bool { return len(w.groups[i].cards) >= cardsPerGroup }

// spoil makes a group's prices unusable in one of the ways that a feed has.
func (w *world) spoil(t *tree, i int) {
	ways := []string{"prices missing", "prices are HTML", "prices empty", "prices as text"}
	if w.large(i) {
		ways = append(ways, hundredfold, hundredfold)
	}
	w.spoilBy(t, i, pick(w, ways))
}

func (w *world) spoilBy(t *tree, i int, way string) {
	f := t.files[i]
	w.faults[way]++
	f.usable = false
	switch way {
	case "prices missing":
		f.prices = ""
	case "prices are HTML":
		f.prices = "<html><body>We will be back soon</body></html>"
	case "prices empty":
		f.prices = reply(nil)
	case "prices as text":
		f.prices = pricesFile(f.rows, 1, 1, func(lane) bool { return true })
	default:
		f.prices = pricesFile(f.rows, 1, 100, never)
	}
}

// unlist takes two cards of each group out of a tree, more than 5 % of all.
func (w *world) unlist(t *tree) {
	for i, f := range t.files {
		g := w.groups[i]
		for _, c := range g.cards[:2] {
			if c.listedFrom < t.day && !c.fresh {
				delete(f.in, c.ref)
			}
		}
		if f.listed {
			w.fill(g, f)
			f.usable = t.day >= g.lostUntil
		}
		if !f.usable {
			f.prices = ""
		}
	}
}

// addFaults spoils a tree where no whole day is the worse for it.
func (w *world) addFaults(t *tree) {
	// A card that returns after a while has no price of yesterday for comparison.
	back := slices.IndexFunc(w.groups, func(g *group) bool {
		return t.day > 0 && (t.day == g.absentUntil || t.day == g.lostUntil) && t.files[g.index].usable
	})

	switch {
	case w.missing(t) >= maxMissing:
	case back >= 0 && w.large(back) && w.dice(1+w.random.IntN(2), "a group that returns is bad"):
		w.spoilBy(t, back, hundredfold)
	case w.dice(2, "a bad group"):
		w.spoil(t, pick(w, t.usableGroups()))
	}

	for range w.random.IntN(3) {
		f := t.files[pick(w, t.usableGroups())]
		f.prices = pricesFile(f.rows, 2, 1, never)
		w.faults["each row twice"]++
	}

	if i := pick(w, t.usableGroups()); w.dice(2, "rows as text or missing") {
		f := t.files[i]
		text := map[lane]bool{}
		for k, l := range sortedLanes(f.rows) {
			switch w.random.IntN(12) + k%2 {
			case 0:
				text[l] = true
			case 1:
				delete(f.rows, l)
			}
		}
		f.prices = pricesFile(f.rows, 1, 1, func(l lane) bool { return text[l] })
		maps.DeleteFunc(f.rows, func(l lane, _ int64) bool { return text[l] })
	}
	f := t.files[w.random.IntN(len(t.files))]
	if w.blind != nil && w.random.IntN(2) == 0 {
		f = t.files[w.blind.index]
	}
	w.blind = nil
	if f.listed && w.dice(3, "products missing, HTML or empty") {
		f.products = pick(w, []string{"", "<html>", reply(nil)})
		f.hasProducts = false
	}
}

// later is a tree an hour after another one.
func (t *tree) later(of *tree) *tree {
	t.hour = of.hour + 1
	return t
}

// corrected is a later tree of the same day: rows are other ones or gone, and a group may be bad.
func (w *world) corrected(of *tree) *tree {
	t := w.today(of.day).later(of)
	for range 6 {
		f := t.files[pick(w, t.usableGroups())]
		for _, l := range sortedLanes(f.rows) {
			switch w.random.IntN(8) {
			case 0:
				w.faults["row corrected"]++
				if f.rows[l] != snapshot.NoCents {
					f.rows[l] += 3
				}
			case 1:
				w.faults["row withdrawn"]++
				delete(f.rows, l)
			}
		}
		f.prices = pricesFile(f.rows, 1, 1, never)
	}

	if w.missing(t) < maxMissing && w.dice(2, "a group is bad in the second tree") {
		w.spoil(t, pick(w, t.usableGroups()))
	}

	return t
}

// makeOld gives groups the prices of the tree before: every group, or half of a game's.
func (w *world) makeOld(t *tree, all bool) {
	for i, f := range t.files {
		before := w.last.files[i]
		if !f.listed || !f.usable || !before.listed || !before.usable || !all && i%4 > 0 {
			continue
		}
		f.rows = before.rows
		f.prices = pricesFile(f.rows, 1, 1, never)
	}
}
