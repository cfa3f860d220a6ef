package server

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ninepocket/cardvocab"
)

// The truth: the native files of an edition read again and judged by the decisions alone, with none
// of the code between the files and the answers. Only the ids, which no file holds, come from the
// catalog's registry.

// conditionOrder is the order of decision 19, with the live surface's text.
var conditionOrder = []struct{ code, text string }{
	{"near_mint", "Near Mint"},
	{"ungraded", "Ungraded"},
	{"lightly_played", "Lightly Played"},
	{"moderately_played", "Moderately Played"},
	{"heavily_played", "Heavily Played"},
	{"damaged", "Damaged"},
}

// variantOrder is the order of decision 19; others follow alphabetically.
var variantOrder = []string{
	"normal", "holofoil", "foil", "unlimited", "unlimited_holofoil", "reverse_holofoil", "1st_edition",
	"1st_edition_holofoil",
}

type trueSet struct {
	ref, id, game, name, series string
	released                    string // "" for none
	aliases                     []string
	cards                       []*trueCard
}

type trueCard struct {
	ref, id, game, name, number, rarity, printing string
	set                                           *trueSet
	partner                                       []string
	identifiers                                   []any       // as responses encode them
	lanes                                         []*trueLane // in display order
	rank                                          int         // in catalog order
}

type trueLane struct {
	variant, condition string
	licensed           bool
	now                int64 // -1 for no current price
	asOf, collected    string
	days               history
}

// history is what a lane has cost, by how many days before the snapshot's.
type history struct {
	known int
	cents []int64 // -1 where it is not known
}

func (h *history) set(back int, cents int64) {
	for len(h.cents) <= back {
		h.cents = append(h.cents, -1)
	}
	if h.cents[back] < 0 {
		h.known++
	}
	h.cents[back] = cents
}

func (h *history) at(back int) (cents int64, known bool) {
	if back >= len(h.cents) || h.cents[back] < 0 {
		return 0, false
	}
	return h.cents[back], true
}

type trueSealed struct {
	ref, id, game, name string
	partner             []string
	lane                *trueLane
}

// truth is a catalog as its files have it.
type truth struct {
	date   time.Time
	at     time.Time
	sets   []*trueSet  // in list order
	cards  []*trueCard // in catalog order
	sealed []*trueSealed
	byID   map[string]*trueCard
	byRef  map[string]*trueCard
}

var (
	todaysTruth    = sync.OnceValue(func() *truth { return readTruth(today()) })
	tomorrowsTruth = sync.OnceValue(func() *truth {
		tr := readTruth(tomorrow())
		tr.carry(todaysTruth())
		tr.order()
		return tr
	})
)

func readTruth(e *edition) *truth {
	tr := &truth{byID: map[string]*trueCard{}, byRef: map[string]*trueCard{}, at: e.summary.SnapshotAt}
	var err error
	tr.date, err = time.Parse(time.DateOnly, e.summary.Day)
	if err != nil {
		panic(err)
	}

	ids := map[string]string{}
	registry := &e.view.Catalog.Registry
	for i := range registry.Ref.Len() {
		_, ref, _ := strings.Cut(registry.Ref.At(i), "\x00")
		ids[ref] = registry.RefID.At(i)
	}

	sets := tr.readSets(e.dir, ids)
	tr.readCards(e.dir, ids, sets)
	tr.readSealed(e.dir, ids)
	tr.readPrices(e.dir)
	tr.order()
	return tr
}

// carry takes over the cards that no file lists any more: they stay with their history, and with their
// prices for a week (decision 3401).
func (tr *truth) carry(old *truth) {
	sets := map[string]*trueSet{}
	for _, s := range tr.sets {
		sets[s.ref] = s
	}

	days := int(tr.date.Sub(old.date) / (24 * time.Hour))
	for _, gone := range old.cards {
		if tr.byRef[gone.ref] != nil {
			continue
		}
		k := *gone
		if gone.set != nil {
			k.set = sets[gone.set.ref]
			k.set.cards = append(k.set.cards, &k)
		}

		k.lanes = nil
		for _, l := range gone.lanes {
			carried := *l
			carried.days.cents = append(slices.Repeat([]int64{-1}, days), l.days.cents...)
			k.lanes = append(k.lanes, &carried)
		}
		tr.cards = append(tr.cards, &k)
		tr.byID[k.id] = &k
		tr.byRef[k.ref] = &k
	}
}

func eachLine[L any](path string, each func(L)) {
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()

	for scan := bufio.NewScanner(f); scan.Scan(); {
		var l L
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			panic(err)
		}
		each(l)
	}
}

func (tr *truth) readSets(dir string, ids map[string]string) map[string]*trueSet {
	sets := map[string]*trueSet{}
	eachLine(filepath.Join(dir, "sets.jsonl"), func(l struct {
		Ref, Game, Name, Series string
		ReleaseDate             string `json:"release_date"`
		Aliases                 []string
	},
	) {
		s := &trueSet{
			ref: l.Ref, id: ids[l.Ref], game: l.Game, name: clean(l.Name), series: clean(l.Series),
			released: l.ReleaseDate, aliases: l.Aliases,
		}
		sets[l.Ref] = s
		tr.sets = append(tr.sets, s)
	})
	return sets
}

type identifierLine struct{ Namespace, Value string }

func (tr *truth) readCards(dir string, ids map[string]string, sets map[string]*trueSet) {
	eachLine(filepath.Join(dir, "cards.jsonl"), func(l struct {
		Ref, Game, Set, Name, Number, Rarity, Printing string
		Identifiers                                    []identifierLine
	},
	) {
		k := &trueCard{
			ref: l.Ref, id: ids[l.Ref], game: l.Game, name: clean(l.Name), number: clean(l.Number),
			rarity:   clean(l.Rarity),
			printing: l.Printing, set: sets[l.Set], partner: values(l.Identifiers),
			identifiers: encodeIDs(l.Identifiers),
		}
		if k.set != nil {
			k.set.cards = append(k.set.cards, k)
		}

		tr.cards = append(tr.cards, k)
		tr.byID[k.id] = k
		tr.byRef[k.ref] = k
	})
}

func (tr *truth) readSealed(dir string, ids map[string]string) {
	eachLine(filepath.Join(dir, "sealed.jsonl"), func(l struct {
		Ref, Game, Name string
		Identifiers     []identifierLine
	},
	) {
		tr.sealed = append(tr.sealed, &trueSealed{
			ref: l.Ref, id: ids[l.Ref], game: l.Game, name: clean(l.Name),
			partner: values(l.Identifiers),
		})
	})
}

// partnerNamespace is what the demo's source.toml says.
const partnerNamespace = "partner"

func values(ids []identifierLine) (out []string) {
	for _, id := range ids {
		if id.Namespace == partnerNamespace {
			out = append(out, id.Value)
		}
	}
	return out
}

// encodeIDs are identifiers as answers list them: by namespace, then by value, each once.
func encodeIDs(ids []identifierLine) []any {
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, func(a, b identifierLine) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Value, b.Value))
	})

	out := []any{}
	for _, id := range slices.Compact(sorted) {
		out = append(out, object{"namespace": id.Namespace, "value": id.Value})
	}
	return out
}

func clean(s string) string { return strings.TrimSpace(html.UnescapeString(s)) }

// eachRow reads a CSV file in which nothing is quoted.
func eachRow(path string, head func([]string), each func(row []string)) {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	if bytes.ContainsRune(text, '"') {
		panic(path + " has quotes")
	}

	first := true
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if first {
			head(row)
		} else {
			each(row)
		}
		first = false
	}
}

// back is how many days before the snapshot's a date is.
func (tr *truth) back(date string) int {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return int(tr.date.Sub(day) / (24 * time.Hour))
}

// readPrices reads histories and price files: the newest file has the current prices and the
// licences.
func (tr *truth) readPrices(dir string) {
	sealed := map[string]*trueSealed{}
	for _, s := range tr.sealed {
		sealed[s.ref] = s
		s.lane = &trueLane{now: -1, licensed: true}
	}

	lane := func(ref, variant, condition string) *trueLane {
		if s := sealed[ref]; s != nil {
			return s.lane
		}

		k := tr.byRef[ref]
		for _, l := range k.lanes {
			if l.variant == variant && l.condition == condition {
				return l
			}
		}

		l := &trueLane{variant: variant, condition: condition, now: -1, licensed: true}
		k.lanes = append(k.lanes, l)
		return l
	}

	cents := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	for _, path := range glob(dir, "history/*.csv") {
		conditioned := false
		var backs []int // of the columns that are days
		eachRow(path, func(head []string) {
			conditioned = head[2] == "condition"
			dates := head[2:]
			if conditioned {
				dates = head[3:]
			}

			for _, date := range dates {
				backs = append(backs, tr.back(date))
			}
		}, func(row []string) {
			condition := "ungraded"
			if conditioned {
				condition = row[2]
			}
			l := lane(row[0], row[1], condition)
			for i, cell := range row[len(row)-len(backs):] {
				if cell != "" && cell != "-" {
					l.days.set(backs[i], cents(cell))
				}
			}
		})
	}

	files := glob(dir, "prices/*.csv")
	for _, path := range files {
		back := tr.back(strings.TrimSuffix(filepath.Base(path), ".csv"))
		eachRow(path, func([]string) {}, func(row []string) {
			l := lane(row[0], row[1], row[2])
			l.licensed = row[6] != "false"
			if row[3] == "" || !l.licensed {
				return
			}
			l.days.set(back, cents(row[3]))
			if path == files[len(files)-1] {
				l.now = cents(row[3])
				l.asOf = row[4]
				l.collected = row[5]
			}
		})
	}
}

func glob(dir, pattern string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		panic(err)
	}
	return paths
}

// order sorts sets, cards and lanes by decisions 19 and 22.
func (tr *truth) order() {
	slices.SortFunc(tr.sets, compareSets)
	place := map[*trueSet]int{nil: len(tr.sets)}
	for i, s := range tr.sets {
		place[s] = i
	}

	slices.SortFunc(tr.cards, func(a, b *trueCard) int {
		c := cmp.Compare(place[a.set], place[b.set])
		if c == 0 && (a.number == "") != (b.number == "") {
			c = cmp.Compare(b.number, a.number) // the one without comes last
		}
		if c == 0 && a.number != b.number {
			c = cardvocab.CompareNumbers(a.number, b.number)
		}
		return cmp.Or(c, cmp.Compare(a.id, b.id))
	})

	for i, k := range tr.cards {
		k.rank = i
		slices.SortFunc(k.lanes, func(a, b *trueLane) int {
			return cmp.Or(compareVariants(a.variant, b.variant), cmp.Compare(conditionRank(a.condition),
				conditionRank(b.condition)))
		})
	}
}

func compareSets(a, b *trueSet) int {
	if (a.released == "") != (b.released == "") {
		return cmp.Compare(b.released, a.released)
	}
	return cmp.Or(cmp.Compare(b.released, a.released), cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
}

func compareVariants(a, b string) int {
	rank := func(v string) int {
		if i := slices.Index(variantOrder, v); i >= 0 {
			return i
		}
		return len(variantOrder)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

func conditionRank(code string) int {
	for i, c := range conditionOrder {
		if c.code == code {
			return i
		}
	}
	return len(conditionOrder)
}

// shown are a card's variants with the lane that stands for each: the first with a current price,
// else the first with any history whose newest row may be distributed (decision 19). Wide rows
// carry no licence and count as licensed.
func (k *trueCard) shown() (lanes []*trueLane) {
	for i := 0; i < len(k.lanes); {
		j := i
		var pick *trueLane
		for ; j < len(k.lanes) && k.lanes[j].variant == k.lanes[i].variant; j++ {
			l := k.lanes[j]
			if l.now >= 0 && (pick == nil || pick.now < 0) || pick == nil && l.licensed && l.days.known > 0 {
				pick = l
			}
		}

		if pick != nil {
			lanes = append(lanes, pick)
		}
		i = j
	}
	return lanes
}

// display is the lane of a card's display price, nil without one.
func (k *trueCard) display() *trueLane {
	for _, l := range k.shown() {
		if l.now >= 0 {
			return l
		}
	}
	return nil
}

// price is a card's display price in cents, -1 without one.
func (k *trueCard) price() int64 {
	if l := k.display(); l != nil {
		return l.now
	}
	return -1
}

// day is the date n days before the snapshot's.
func (tr *truth) day(n int) string { return tr.date.AddDate(0, 0, -n).Format(time.DateOnly) }

// base is the price that a change over n days compares with, -1 without one (decision 20).
func (tr *truth) base(l *trueLane, n int) int64 {
	for back := n; back <= n+7; back++ {
		if cents, ok := l.days.at(back); ok {
			return cents
		}
	}
	return -1
}

// percent is a change as decision 8 encodes it, nil if there is none.
func percent(from, to int64) any {
	if from <= 0 || to < 0 {
		return nil
	}

	// Exact: hundredths of a percent, half away from zero.
	part := (to - from) * 10_000
	sign := int64(1)
	if part < 0 {
		part = -part
		sign = -1
	}
	return float64(sign*((2*part+from)/(2*from))) / 100
}

func change(from, to int64) any {
	if from < 0 || to < 0 {
		return nil
	}
	return float64(to - from)
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (l *trueLane) updatedAt() string {
	if l.asOf != "" {
		return l.asOf
	}
	return l.collected
}
