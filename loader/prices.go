package loader

import (
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// Where a reference leads that is not an item.
const (
	notKnown = -1 // no catalog has it
	notKept  = -2 // a catalog has it, and it is not part of this one
)

// archiveHour is when a day of a history file was collected: day D is D 20:00Z (decision 18).
const archiveHour = 20 * 3_600_000

// refIndex finds the item that a feed's reference means.
type refIndex map[string]int32

// indexRefs finds items by the references of one namespace: their own, those that an operator
// declared to be the same, and identifiers in that namespace. Of a TCGCSV reference "3/85" the
// product id alone is enough where it is clear, because history files do not know the category.
func (b *builder) indexRefs(namespace string, m *merged) refIndex {
	index := refIndex{}
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
			for _, same := range b.mapping.same(aliasCard, full) {
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

	// Rows of what was left out are counted apart, and are no mistakes.
	for full := range b.leftOut {
		if ref, ok := strings.CutPrefix(full, prefix); ok {
			index[ref] = notKept
			if product, is := productOf(namespace, ref); is {
				if _, known := index[product]; !known {
					index[product] = notKept
				}
			}
		}
	}

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

// find returns the item of a reference, notKnown or notKept.
func (ix refIndex) find(ref string) int32 {
	if i, ok := ix[ref]; ok {
		return i
	}
	return notKnown
}

// pricer is the sink of one input's prices.
type pricer struct {
	sink
	index   refIndex
	feed    uint8
	report  *PriceReport
	refused map[string]bool // files that are not to be believed
	strict  bool            // a price of an unknown item is quarantined: the input has its own catalog

	first, last snapshot.Day // that rows of items span
	dated       dated        // the prices of items

	lastRef  string // the item of the row before, which most rows share
	lastItem int32
	group    gapKey // of the row before
}

// Price takes a row of a daily file.
func (p *pricer) Price(r source.Price) {
	b := p.b
	if !p.timely(&r) {
		return
	}
	if p.refused[r.At.File] {
		p.leaveOut(&r)
		return
	}

	// Also a row of no item says when its feed was collected.
	b.collected = max(b.collected, r.CollectedAt)
	item := p.find(r.Ref)
	if item < 0 {
		p.miss(item, r.At, r.Ref)
		return
	}

	if r.Cents != snapshot.NoCents && (r.Cents < 0 || r.Cents > snapshot.MaxCents) {
		b.quarantine.refuse(r.At, source.ReasonBadPrice, r.Ref, "")
		r.Cents = snapshot.NoCents
	}

	if r.SourceAsOf != snapshot.NoTime && r.SourceAsOf > r.CollectedAt {
		b.quarantine.refuse(r.At, source.ReasonAsOfAfterFetch, r.Ref, timeText(r.SourceAsOf))
		// The price is absent, the lane was seen (decision 26).
		r.Cents = snapshot.NoCents
	}

	lane, ok := p.lane(item, r.At, r.Ref, r.Variant, r.Condition)
	if !ok {
		return
	}

	p.seeGroup(item, r.Day)
	// From here on the row counts, although it may have no price.
	p.report.Rows++
	p.span(r.Day)
	if r.Cents != snapshot.NoCents {
		p.dated.see(r.Day, r.At, r.Ref)
	}

	cents := r.Cents
	if !r.Licensed {
		cents = snapshot.NoCents
	}

	b.lanes.note(lane, row{
		day: r.Day, cents: cents, asOf: r.SourceAsOf, collected: r.CollectedAt, licensed: r.Licensed, layer: layerDaily,
	})
	b.history.addDaily(lane, r.Day, cents, b.lanes.len())
}

// timely refuses rows that were collected after the snapshot's instant or are of a later day. A row
// may be of a later day than the one on which it was collected: the file's name gives the day, and
// a feed may repeat an old observation.
func (p *pricer) timely(r *source.Price) bool {
	switch {
	case r.CollectedAt == snapshot.NoTime:
		p.b.quarantine.refuse(r.At, source.ReasonBadTime, r.Ref, "collected_at")
	case p.b.until != snapshot.NoTime && r.CollectedAt > p.b.until:
		p.b.quarantine.refuse(r.At, source.ReasonFetchAfterSnapshot, r.Ref, timeText(r.CollectedAt))
	case r.Day < 0 || p.b.until != snapshot.NoTime && r.Day > snapshot.DayOf(p.b.until):
		p.b.quarantine.refuse(r.At, source.ReasonBadDate, r.Ref, r.Day.String())
	default:
		p.b.latest = max(p.b.latest, r.Day)
		return true
	}

	return false
}

// Series takes a row of a history file. Its days were collected at 20:00Z.
func (p *pricer) Series(s source.Series) {
	b := p.b
	p.cutLate(&s)
	newest := newestOf(&s)
	if newest.day == snapshot.NoDay {
		return
	}

	b.collected = max(b.collected, newest.collected)
	item := p.find(s.Ref)
	if item < 0 {
		p.miss(item, s.At, "")
		return
	}

	lane, ok := p.lane(item, s.At, s.Ref, s.Variant, s.Condition)
	if !ok {
		return
	}

	p.report.Series++
	p.span(newest.day)
	for _, point := range s.Points {
		p.dated.see(point.Day, s.At, s.Ref)
	}

	if s.Last != snapshot.NoDay {
		b.newest.see(p.feed, b.merged.item(int(item)).game, s.Last)
	}

	// A history file fills gaps and no more: daily files and the base stand over it.
	p.noteSeries(lane, newest)
	b.history.addWide(lane, s.Points)
}

// cutLate leaves out the days of a series that were collected after the snapshot's instant.
func (p *pricer) cutLate(s *source.Series) {
	if p.b.until == snapshot.NoTime {
		return
	}

	// The newest day that was collected in time.
	end := snapshot.DayOf(p.b.until - archiveHour)
	if n := len(s.Points); n > 0 && s.Points[n-1].Day > end {
		p.b.quarantine.refuse(s.At, source.ReasonFetchAfterSnapshot, s.Ref, s.Points[n-1].Day.String())
	}

	for len(s.Points) > 0 && s.Points[len(s.Points)-1].Day > end {
		s.Points = s.Points[:len(s.Points)-1]
	}

	for len(s.Blank) > 0 && s.Blank[len(s.Blank)-1] > end {
		s.Blank = s.Blank[:len(s.Blank)-1]
	}

	if s.Last > end {
		// Which days the file has before it is not known.
		s.Last = snapshot.NoDay
	}
}

// newestOf is the newest row of a series' lane: a price, or a day that says there is none.
func newestOf(s *source.Series) row {
	newest := row{day: snapshot.NoDay, cents: snapshot.NoCents, asOf: snapshot.NoTime, licensed: true, layer: layerWide}
	if n := len(s.Points); n > 0 {
		newest.day = s.Points[n-1].Day
		newest.cents = s.Points[n-1].Cents
	}

	if n := len(s.Blank); n > 0 && s.Blank[n-1] > newest.day {
		newest.day = s.Blank[n-1]
		newest.cents = snapshot.NoCents
	}

	// As archives are (decision 18).
	newest.collected = newest.day.Start() + archiveHour
	return newest
}

// noteSeries notes a series' newest row; a day without a price only says that the lane was seen.
func (p *pricer) noteSeries(lane int32, newest row) {
	t := p.b.lanes
	if newest.cents == snapshot.NoCents && newest.day == t.all[lane].day {
		return
	}
	t.note(lane, newest)
}

// lane finds or makes the lane of a row.
func (p *pricer) lane(item int32, at source.At, ref, variant, condition string) (int32, bool) {
	c := snapshot.Ungraded
	if int(item) >= len(p.b.merged.cards) {
		// A feed that does not know what is sealed calls it normal.
		if variant != "" && variant != "normal" {
			p.report.Variants++
			return 0, false
		}
		variant = ""
		c = snapshot.FactorySealed
	} else {
		if !source.IsCode(variant) {
			p.b.quarantine.refuse(at, source.ReasonBadVariant, ref, variant)
			return 0, false
		}

		if condition != "" {
			var ok bool
			c, ok = snapshot.ParseCondition(condition)
			if !ok {
				p.b.quarantine.refuse(at, source.ReasonBadCondition, ref, condition)
				return 0, false
			}
		}
	}

	v, ok := p.b.variants.of(variant)
	if !ok {
		p.b.quarantine.refuse(at, source.ReasonBadVariant, ref, variant)
		return 0, false
	}

	return p.b.lanes.of(lanePlace{item, v, uint8(c), p.feed}), true
}

func (p *pricer) find(ref string) int32 {
	if ref != p.lastRef || ref == "" {
		p.lastRef = ref
		p.lastItem = p.index.find(ref)
	}
	return p.lastItem
}

// miss counts a row of no item.
func (p *pricer) miss(item int32, at source.At, ref string) {
	if item == notKept {
		p.report.LeftOut++
		return
	}

	p.report.Unknown++
	if p.strict && ref != "" {
		p.b.quarantine.refuse(at, source.ReasonUnknownItem, ref, "")
	}
}

func (p *pricer) span(day snapshot.Day) {
	p.first = min(p.first, day)
	p.last = max(p.last, day)
}
