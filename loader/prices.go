package loader

import (
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// Where a reference leads that is not an item.
const (
	notKnown = -1 // no catalog has it
	excluded = -2 // a catalog has it, and it is not part of this one
)

// archiveHour is when a day of a history file was collected: day D is D 20:00Z (decision 18).
const archiveHour = 20 * 3_600_000

// indexRefs finds items by the references of one namespace: their own, those that an operator
// declared equal, and identifiers in that namespace. If the product id of a TCGCSV reference
// "3/85" is unambiguous, it alone is enough, because history files do not know the category.
func (b *builder) indexRefs(namespace string, m *merged) map[string]int32 {
	index := make(map[string]int32, m.numItems())
	prefix := fullRef(namespace, "")
	// An ambiguous key leads nowhere.
	weak := func(key string, to int32) {
		if old, ok := index[key]; !ok {
			index[key] = to
		} else if old != to {
			index[key] = notKnown
		}
	}

	for i := range m.numItems() {
		for _, full := range m.item(i).refs {
			for _, same := range b.mapping.sameAs(aliasCard, full) {
				if ref, ok := strings.CutPrefix(same, prefix); ok {
					weak(ref, int32(i))
				}
			}

			if ref, ok := strings.CutPrefix(full, prefix); ok {
				if product, is := productOf(namespace, ref); is {
					weak(product, int32(i))
				}
			}
		}

		for _, id := range m.item(i).identifiers {
			if id.Namespace == namespace {
				weak(id.Value, int32(i))
			}
		}
	}

	// Rows of excluded items are counted separately, and are no mistakes.
	for full := range b.excludedRefs {
		if ref, ok := strings.CutPrefix(full, prefix); ok {
			index[ref] = excluded
			if product, is := productOf(namespace, ref); is {
				if _, known := index[product]; !known {
					index[product] = excluded
				}
			}
		}
	}

	// A source's own reference takes precedence over any other way to an item.
	for i := range m.numItems() {
		for _, full := range m.item(i).refs {
			if ref, ok := strings.CutPrefix(full, prefix); ok {
				index[ref] = int32(i)
			}
		}
	}

	return index
}

// productOf is the product id of a TCGCSV reference "category/id". In references of other namespaces
// a slash means nothing.
func productOf(namespace, ref string) (id string, ok bool) {
	if namespace != source.KindTCGCSV {
		return "", false
	}
	_, id, ok = strings.Cut(ref, "/")
	return id, ok
}

// priceSink is the sink of one input's prices.
type priceSink struct {
	sink
	index  map[string]int32
	feed   uint8
	report *PriceReport
	strict bool // a price of an unknown item is quarantined: the input has its own catalog

	first, last snapshot.Day // that rows of items span
	dayCounts   dayCounts    // the prices of items

	lastRef  string // the item of the previous row, which most rows repeat
	lastItem int32
	group    gapKey // of the row before

	judged   bool           // rows wait for the end of their day, and are taken when the guards agree
	archived bool           // the input is an archived day
	only     map[int32]bool // the items whose rows are taken, nil for all
	rows     []source.Price // of the day, that wait
}

// Price takes a row of a daily file.
func (p *priceSink) Price(price source.Price) {
	switch {
	case !p.timely(&price):
	case !p.judged:
		p.take(price, p.find(price.Ref))
	default:
		if len(p.rows) > 0 && p.rows[0].Day != price.Day {
			p.flush()
		}
		p.rows = append(p.rows, price)
	}
}

// take enters a row of an item.
func (p *priceSink) take(price source.Price, item int32) {
	b := p.b

	// A row without an item also shows when its feed was collected.
	b.collected = max(b.collected, price.CollectedAt)
	if item < 0 {
		p.countUnknown(item, price.At, price.Ref)
		p.claimLater(&price)
		return
	}
	if p.only != nil && !p.only[item] {
		return
	}

	if price.Cents != snapshot.NoCents && (price.Cents < 0 || price.Cents > snapshot.MaxCents) {
		b.quarantine.Refuse(price.At, source.ReasonBadPrice, price.Ref, "")
		price.Cents = snapshot.NoCents
	}

	if price.SourceAsOf != snapshot.NoTime && price.SourceAsOf > price.CollectedAt {
		b.quarantine.Refuse(price.At, source.ReasonAsOfAfterFetch, price.Ref, timeText(price.SourceAsOf))
		// The price is absent, the lane was seen (decision 26).
		price.Cents = snapshot.NoCents
	}

	lane, ok := p.lane(item, price.At, price.Ref, price.Variant, price.Condition)
	if !ok {
		return
	}

	if p.only == nil {
		p.observeGroup(item, price.Day)
	}
	// From here on the row counts, although it may have no price.
	p.report.Rows++
	p.extendSpan(price.Day)
	if price.Cents != snapshot.NoCents {
		p.dayCounts.observe([]snapshot.Point{{Day: price.Day}}, &price.At, price.Ref)
	}

	cents := price.Cents
	if !price.Licensed {
		cents = snapshot.NoCents
	}

	b.lanes.observe(lane, row{
		day: price.Day, cents: cents, asOf: price.SourceAsOf, collected: price.CollectedAt, licensed: price.Licensed,
		layer: layerDaily,
	})
	b.history.AddDaily(lane, price.Day, cents, len(b.lanes.all))
}

// timely refuses rows that were collected after the snapshot's instant or are of a later day. A row
// may be of a later day than its collection: the file's name gives the day, and a feed may repeat
// an old observation.
func (p *priceSink) timely(price *source.Price) bool {
	switch {
	case price.CollectedAt == snapshot.NoTime:
		p.b.quarantine.Refuse(price.At, source.ReasonBadTime, price.Ref, "collected_at")
	case p.b.until != snapshot.NoTime && price.CollectedAt > p.b.until:
		p.b.quarantine.Refuse(price.At, source.ReasonFetchAfterSnapshot, price.Ref, timeText(price.CollectedAt))
	case price.Day < 0 || p.b.until != snapshot.NoTime && price.Day > snapshot.DayOf(p.b.until):
		p.b.quarantine.Refuse(price.At, source.ReasonBadDate, price.Ref, price.Day.String())
	default:
		p.b.latest = max(p.b.latest, price.Day)
		return true
	}

	return false
}

// Series takes a row of a history file. Its days were collected at 20:00Z.
func (p *priceSink) Series(series source.Series) {
	b := p.b
	p.cutLate(&series)
	newest := newestOf(&series)
	if newest.day == snapshot.NoDay {
		return
	}

	b.collected = max(b.collected, newest.collected)
	item := p.find(series.Ref)
	if item < 0 {
		p.countUnknown(item, series.At, "")
		return
	}

	lane, ok := p.lane(item, series.At, series.Ref, series.Variant, series.Condition)
	if !ok {
		return
	}

	p.report.Series++
	p.extendSpan(newest.day)
	p.dayCounts.observe(series.Points, &series.At, series.Ref)

	if series.Last != snapshot.NoDay {
		b.newest.observe(p.feed, b.merged.item(int(item)).game, series.Last)
	}

	// A history file fills gaps and no more: daily files and the base stand over it. A day without a price only
	// says that the lane was seen.
	if newest.cents != snapshot.NoCents || newest.day != b.lanes.all[lane].day {
		b.lanes.observe(lane, newest)
	}
	b.history.AddWide(lane, series.Points)
}

// cutLate leaves out the days of a series that were collected after the snapshot's instant.
func (p *priceSink) cutLate(series *source.Series) {
	if p.b.until == snapshot.NoTime {
		return
	}

	// The newest day that was collected in time.
	end := snapshot.DayOf(p.b.until - archiveHour)
	if n := len(series.Points); n > 0 && series.Points[n-1].Day > end {
		p.b.quarantine.Refuse(series.At, source.ReasonFetchAfterSnapshot, series.Ref, series.Points[n-1].Day.String())
	}

	for len(series.Points) > 0 && series.Points[len(series.Points)-1].Day > end {
		series.Points = series.Points[:len(series.Points)-1]
	}

	for len(series.Blank) > 0 && series.Blank[len(series.Blank)-1] > end {
		series.Blank = series.Blank[:len(series.Blank)-1]
	}

	if series.Last > end {
		// The earlier days of the file are not known.
		series.Last = snapshot.NoDay
	}
}

// newestOf is the newest row of a series' lane: a price, or a day that says there is none.
func newestOf(series *source.Series) row {
	newest := row{day: snapshot.NoDay, cents: snapshot.NoCents, asOf: snapshot.NoTime, licensed: true, layer: layerWide}
	if n := len(series.Points); n > 0 {
		newest.day = series.Points[n-1].Day
		newest.cents = series.Points[n-1].Cents
	}

	if n := len(series.Blank); n > 0 && series.Blank[n-1] > newest.day {
		newest.day = series.Blank[n-1]
		newest.cents = snapshot.NoCents
	}

	// As archives are (decision 18).
	newest.collected = newest.day.Start() + archiveHour
	return newest
}

// lane finds or makes the lane of a row.
func (p *priceSink) lane(item int32, at source.Location, ref, variant, condition string) (int32, bool) {
	cond := snapshot.Ungraded
	if int(item) >= len(p.b.merged.cards) {
		// A feed that does not know sealed products calls their variant normal.
		if variant != "" && variant != "normal" {
			p.report.Variants++
			return 0, false
		}
		variant = ""
		cond = snapshot.FactorySealed
	} else {
		if !source.IsCode(variant) {
			p.b.quarantine.Refuse(at, source.ReasonBadVariant, ref, variant)
			return 0, false
		}

		if condition != "" {
			var ok bool
			cond, ok = snapshot.ParseCondition(condition)
			if !ok {
				p.b.quarantine.Refuse(at, source.ReasonBadCondition, ref, condition)
				return 0, false
			}
		}
	}

	v, ok := p.b.variants.number(variant)
	if !ok {
		p.b.quarantine.Refuse(at, source.ReasonBadVariant, ref, variant)
		return 0, false
	}

	return p.b.lanes.getOrAdd(laneKey{item, v, uint8(cond), p.feed}), true
}

// find returns the item of a reference, notKnown or excluded.
func (p *priceSink) find(ref string) int32 {
	if ref == p.lastRef && ref != "" {
		return p.lastItem
	}

	item, known := p.index[ref]
	if !known {
		item = notKnown
	}
	p.lastRef = ref
	p.lastItem = item
	return item
}

// countUnknown counts a row of no item.
func (p *priceSink) countUnknown(item int32, at source.Location, ref string) {
	if item == excluded {
		p.report.LeftOut++
		return
	}

	p.report.Unknown++
	if p.strict && ref != "" {
		p.b.quarantine.Refuse(at, source.ReasonUnknownItem, ref, "")
	}
}

func (p *priceSink) extendSpan(day snapshot.Day) {
	p.first = min(p.first, day)
	p.last = max(p.last, day)
}

// Missing notes a group whose prices a source lacks.
func (p *priceSink) Missing(missing source.MissingFile) {
	// Rows after the snapshot's instant would be refused, so that nobody misses them.
	game, known := gameNumber(missing.Game)
	if !missing.Prices || !known || p.b.until != snapshot.NoTime && missing.Day > snapshot.DayOf(p.b.until) {
		return
	}
	key := gapKey{p.feed, game, missing.Day, fullRef(p.b.feeds[p.feed].namespace, missing.SetRef)}
	p.b.missing[key] = gap{
		name: missing.Name, empty: missing.Empty, collected: missing.CollectedAt, reason: missing.Reason,
	}
}

// findNewest finds the newest day of every feed and game: only prices of that day are current. It is known
// after the last row alone, because a later input may have the day again. If a feed lists a later day,
// without prices in any group, that day is missing as a whole: the catalog is of that day although no row
// was collected then.
func (b *builder) findNewest() {
	for i := range b.lanes.all {
		l := &b.lanes.all[i]
		b.newest.observe(l.feed, b.merged.item(int(l.item)).game, l.day)
	}

	lost := map[gapKey]gap{}
	for key, of := range b.missing {
		if key.day > slices.Max(b.newest[key.feed]) {
			lost[gapKey{key.feed, key.game, key.day, ""}] = gap{}
			b.collected = max(b.collected, of.collected)
		}
	}
	maps.Copy(b.missing, lost)
}

// observeGroup notes that the group of an item has a row of a day. The rows of a group stand together.
func (p *priceSink) observeGroup(i int32, day snapshot.Day) {
	if key := p.groupOf(i, day); key != p.group && key.group != "" {
		p.group = key
		p.b.priced[key] = true
	}
}

// claimLater records a reference without an item: once a catalog has one, its history lacks the day.
func (p *priceSink) claimLater(price *source.Price) {
	if namespace := p.b.feeds[p.feed].namespace; namespace == source.KindTCGCSV {
		ref := fullRef(namespace, price.Ref)
		if first, known := p.b.unclaimed[ref]; !known || price.Day < first {
			p.b.unclaimed[ref] = price.Day
		}
	}
}

// dayCounts counts the prices of one input by day, and has where the first one of the oldest day is. The
// count of prices older than the history is known only at the end, when the snapshot's date is.
type dayCounts struct {
	oldest snapshot.Day
	// more says how many more prices a day has than the day before, from the oldest day on.
	more []int
	at   source.Location
	ref  string
}

// maxCountedDay bounds the days that are counted: a later day is not old.
const maxCountedDay = 1 << 16

// observe counts the prices of a row, which ascend by day.
func (d *dayCounts) observe(points []snapshot.Point, at *source.Location, ref string) {
	for len(points) > 0 && points[0].Day < maxCountedDay {
		// Days without a gap are counted together.
		n := 1
		for n < len(points) && points[n].Day == points[n-1].Day+1 {
			n++
		}

		first := points[0].Day
		end := min(points[n-1].Day+1, maxCountedDay)
		d.makeRoom(first, end, at, ref)
		d.more[first-d.oldest]++
		d.more[end-d.oldest]--
		points = points[n:]
	}
}

// makeRoom extends the counted days to those from first up to end.
func (d *dayCounts) makeRoom(first, end snapshot.Day, at *source.Location, ref string) {
	if len(d.more) == 0 || first < d.oldest {
		if len(d.more) > 0 {
			d.more = slices.Insert(d.more, 0, make([]int, d.oldest-first)...)
		}
		d.oldest = first
		d.at = *at
		d.ref = strings.Clone(ref)
	}
	if lacks := int(end-d.oldest) + 1 - len(d.more); lacks > 0 {
		d.more = append(d.more, make([]int, lacks)...)
	}
}

// before is how many prices are of days before one, nil for none, with the oldest as an example.
func (d *dayCounts) before(day snapshot.Day) *TooOld {
	if len(d.more) == 0 || d.oldest >= day {
		return nil
	}

	old := &TooOld{Before: day.String(), Day: d.oldest.String(), Ref: d.ref, File: d.at.File, Line: d.at.Line}
	n := 0
	for _, more := range d.more[:min(int(day-d.oldest), len(d.more))] {
		n += more
		old.Prices += n
	}
	return old
}
