package site

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// sealedShown is how many sealed products a search lists.
const sealedShown = 6

// packageWords are words for the types of packages that are not in every name.
var packageWords = map[string]string{
	"elite_trainer_box": "elite trainer box etb",
	"booster_box":       "booster box bb display",
	"booster_bundle":    "booster bundle",
	"booster_case":      "booster box case",
	"pokemon_center":    "pokemon center pc pcetb", // an edition
}

// packages are words of packages alone: no card has them in its name.
var packages = strings.Fields("etb pcetb bb booster bundle display")

// sealedWords are words that mean sealed products in a query, or nothing about them.
const sealedWords = " sealed new english pokemon tcg one piece onepiece card cards game the of price "

// sealedName is a sealed product as a search sees it.
type sealedName struct {
	name  int      // number of the words that its name has
	words []string // all that find it
	set   int      // -1 if its name does not say it
}

// sealedNames are those of all sealed products, by row.
type sealedNames struct {
	all   []sealedName
	known map[string]bool // every word in these names: a search for cards has others
}

// sealedNamesOf reads the names of all sealed products. A catalog has no sets of them: the words
// before the package are the name of one, or not.
func sealedNamesOf(v *engine.View) sealedNames {
	c := v.Catalog
	sets := map[string]int{}
	for set := range c.Sets.ID.Len() {
		game := strconv.Itoa(int(c.Sets.Game[set]))
		sets[game+cardvocab.Fold(c.Sets.Name.At(set))] = set
		for alias, to := c.Sets.Aliases.Range(set); alias < to; alias++ {
			sets[game+cardvocab.Fold(c.Sets.Alias.At(alias))] = set
		}
	}

	names := sealedNames{make([]sealedName, c.Sealed.Tail.Len()), map[string]bool{}}
	for row := range names.all {
		one := sealedName{words: foldedWords(c.Sealed.Name.At(row)), set: -1}
		one.name = len(one.words)
		before := slices.IndexFunc(one.words, func(word string) bool {
			return word == "booster" || word == "elite" || word == "pokemon"
		})
		key := strconv.Itoa(int(c.Sealed.Game[row])) + strings.Join(one.words[:max(before, 0)], "")
		if set, known := sets[key]; known {
			one.set = set
			one.words = append(one.words, cardvocab.Fold(c.Sets.Code.At(set)))
		}

		more := packageWords[c.Sealed.PackageType.At(row)] + " " + packageWords[c.Sealed.Edition.At(row)]
		one.words = append(one.words, strings.Fields(more)...)
		names.all[row] = one
		for _, word := range one.words {
			names.known[word] = true
		}
	}
	return names
}

// foldedWords returns the words of a text as a search compares them. They are copies.
func foldedWords(s string) (words []string) {
	for word := range strings.FieldsSeq(s) {
		if folded := cardvocab.Fold(word); folded != "" {
			words = append(words, strings.Clone(folded))
		}
	}
	return words
}

// singular returns the word that names have, of a word in singular or plural, "" for none.
func (n *sealedNames) singular(word string) string {
	for _, end := range []string{"", "s", "es"} {
		if one, cut := strings.CutSuffix(word, end); cut && n.known[one] {
			return one
		}
	}
	return ""
}

// sealedOf returns the rows of the sealed products that a query finds: the best match first, then those
// with a price, and the newest set. The order and the bounds that the words ask for are in meant.
func (p *Pages) sealedOf(v *engine.View, query *SearchQuery, meant *index.Query) (rows []int) {
	c := v.Catalog
	if c.Sealed.Tail.Len() == 0 || query.Page > 1 || query.filtered() {
		return nil
	}
	names := p.sealed.get(v, sealedNamesOf)
	var words, unknown []string
	isPackage := false
	for _, word := range foldedWords(meant.Words) {
		if strings.Contains(sealedWords, " "+word+" ") {
			continue
		}
		one := names.singular(word)
		if one == "" {
			unknown = append(unknown, word)
			continue
		}
		words = append(words, one)
		isPackage = isPackage || slices.Contains(packages, one)
	}

	// If the query has the word of a package, another word may be misspelt. Without such a word the query means a card.
	for _, word := range unknown {
		one := ""
		if isPackage && len(word) >= minSuggestLen && !slices.Contains(packages, word) {
			one = cardvocab.Nearest(word, slices.Values(slices.Sorted(maps.Keys(names.known))))
		}
		if one == "" {
			return nil
		}
		words = append(words, one)
	}

	for row, one := range names.all {
		game := c.Games.Slug.At(int(c.Sealed.Game[row]))
		lacks := func(word string) bool { return !slices.Contains(one.words, word) }
		fits := len(words) > 0 && (query.Game == "" || query.Game == game) && !slices.ContainsFunc(words, lacks)
		if cents := sealedCents(c, row); fits && cents >= meant.Min && (meant.Max < 0 || cents <= meant.Max) {
			rows = append(rows, row)
		}
	}

	slices.SortFunc(rows, func(a, b int) int {
		// A set's number is larger the older it is, and that of no set is -1.
		x := &names.all[a]
		y := &names.all[b]
		cents := cmp.Compare(sealedCents(c, a), sealedCents(c, b))
		byPrice := map[index.Sort]int{index.PriceAsc: cents, index.PriceDesc: -cents}[meant.Sort]
		unpriced := cmp.Compare(min(sealedCents(c, b), 0), min(sealedCents(c, a), 0))
		return cmp.Or(byPrice, cmp.Compare(x.name, y.name), unpriced, cmp.Compare(uint(x.set), uint(y.set)),
			strings.Compare(c.Sealed.Name.At(a), c.Sealed.Name.At(b)))
	})
	return rows
}

// sealedLane returns the lane of a sealed product, -1 without one or without a licence to show it
// (decision 27).
func sealedLane(c *snapshot.Catalog, row int) int {
	lane, to := c.Lanes.Of.Range(c.Cards.ID.Len() + row)
	if lane == to || c.Lanes.Flags[lane]&snapshot.LaneLicensed == 0 {
		return -1
	}
	return lane
}

// sealedCents returns the price of a sealed product, NoCents without one.
func sealedCents(c *snapshot.Catalog, row int) int64 {
	if lane := sealedLane(c, row); lane >= 0 {
		return c.Lanes.Cents[lane]
	}
	return snapshot.NoCents
}

// sealedID returns the public id of a sealed product.
func sealedID(v *engine.View, row int) string {
	return v.Site().ProductPrefix + "_" + v.Catalog.Sealed.Tail.At(row)
}

// packageText returns the package of a sealed product with its content.
func packageText(c *snapshot.Catalog, row int) string {
	unit := strings.ToLower(displayName(c.Sealed.UnitKind.At(row)))
	many := unit + "s"
	if strings.HasSuffix(unit, "x") {
		many = unit + "es"
	}
	return joined(displayName(c.Sealed.PackageType.At(row)), plural(int(c.Sealed.Units[row]), unit, many))
}

// SealedQuery selects the page of a sealed product.
type SealedQuery struct {
	ID   string // its public id
	Days int    // one of Ranges; for anything else the page chooses
}

type sealedPage struct {
	pageLayout
	history
	priceBox
	row int
	id  string
	set int // -1 if it is not known
}

// Sealed appends the page of a sealed product; it returns false if there is none.
func (p *Pages) Sealed(dst []byte, v *engine.View, now time.Time, query SealedQuery) ([]byte, bool) {
	c := v.Catalog
	tail, _ := strings.CutPrefix(query.ID, v.Site().ProductPrefix+"_")
	item, known := v.Index.Products().Find(tail)
	row := item - c.Cards.ID.Len()
	if !known || row < 0 || sealedID(v, row) != query.ID {
		return dst, false
	}

	page := sealedPage{row: row, id: query.ID, set: p.sealed.get(v, sealedNamesOf).all[row].set}
	display := -1
	if lane := sealedLane(c, row); lane >= 0 {
		if c.Lanes.Cents[lane] >= 0 {
			display = lane
		}
		page.history = historyOf(v, CardQuery{Card: item, Days: query.Days}, int32(display))
	}
	page.priceBox = priceBoxOf(c, display, page.variants)

	about := c.Sealed.Name.At(row) + ", " + packageText(c, row) + ": market price and its history."
	page.pageLayout = p.newLayout(v, now, c.Sealed.Name.At(row), about)
	page.canonical = canonical(v, "/sealed/"+query.ID)
	page.script = "chart.js"
	return appendPage(dst, &page), true
}

func (p *Pages) sealedLink(id string) string { return p.root + "/sealed/" + id }
