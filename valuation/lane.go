package valuation

import (
	"strconv"
	"strings"

	"ninepocket/collector"
	"ninepocket/engine"
	"ninepocket/snapshot"
)

// wanted is which lane of a card a line is priced by, read once for all cards.
type wanted struct {
	variant   string
	finish    collector.Traits // 0 where the variant says no finish
	condition string
	state     snapshot.Condition
	hasState  bool // the condition is one
}

func wantedOf(f *facts) wanted {
	w := wanted{variant: f.variant, condition: f.condition}
	if f.variant != "" {
		w.finish, _ = collector.Finish(f.variant)
	}
	if f.condition != "" {
		w.state, w.hasState = ParseCondition(f.condition)
	}
	return w
}

// ParseCondition reads a condition's text or code, or what people and shops write for it.
func ParseCondition(s string) (snapshot.Condition, bool) {
	for cond := range snapshot.FactorySealed {
		if engine.SameVariant(cond.Code(), s) {
			return cond, true
		}
	}

	code, ok := collector.Condition(s)
	if !ok {
		return 0, false
	}
	return snapshot.ParseCondition(code)
}

// finishOf are the finish and edition of a variant, by its number.
func (a *Appraiser) finishOf(variant uint16) collector.Traits {
	for len(a.finishes) <= int(variant) {
		finish, _ := collector.Finish(a.View.Catalog.Variants.At(len(a.finishes)))
		a.finishes = append(a.finishes, finish)
	}
	return a.finishes[variant]
}

// suits reports whether a variant is one that a line may mean: nothing that the line says of finish
// and edition is otherwise. Shadowless cards are cards of their own.
func (a *Appraiser) suits(w *wanted, variant uint16) bool {
	if engine.SameVariant(a.View.Catalog.Variants.At(int(variant)), w.variant) {
		return true
	}

	want := w.finish &^ collector.Shadowless
	have := a.finishOf(variant)
	switch {
	case w.finish == 0 || have == 0:
		return false
	case want&collector.First != 0 && have&collector.First == 0,
		want&collector.Unlimited != 0 && have&collector.First != 0:
		return false
	}

	const finish = collector.Holo | collector.Reverse | collector.NonHolo
	if want&finish == 0 {
		return true
	}
	if have&finish == 0 {
		have |= collector.NonHolo
	}
	return want&finish == have&finish
}

// hasVariant reports whether a card has a lane that the line may mean, with a price or without.
func (a *Appraiser) hasVariant(w *wanted, card uint32) bool {
	if w.finish&collector.Shadowless != 0 && a.View.Index.Facts().Wished(card)&collector.Shadowless == 0 {
		return false
	}
	l := &a.View.Catalog.Lanes
	for lane, to := l.Of.Range(int(card)); lane < to; lane++ {
		if a.suits(w, l.Variant[lane]) {
			return true
		}
	}
	return false
}

// price finds the lane of a certain card. Without a variant it is that of the display price, without
// a condition the variant's display condition (decision 19). Where a variant has raw market prices
// alone, they stand for any condition, and the result says so.
func (a *Appraiser) price(r *Result, w *wanted) {
	c := a.View.Catalog
	r.Status = Unpriced
	if w.condition != "" && !w.hasState {
		r.Note = `"` + clip(w.condition) + `" is not a condition: use ` + conditionTexts()
		a.tellLanes(r)
		return
	}

	variant, assumed := a.chooseVariant(w, r.Card)
	lane, stands := a.laneOf(w, r.Card, variant)
	r.Lane = lane
	if stands {
		r.Assumed = append(r.Assumed, Assumption{"condition", w.condition, snapshot.Ungraded.Text()})
	}
	switch {
	case r.Lane < 0:
		a.tellMissing(r, w, variant < 0)
	case assumed:
		r.Assumed = append(r.Assumed, Assumption{"variant", w.variant, c.Variants.At(variant)})
	}
	a.multiply(r)
}

// laneOf is the lane of a card's variant that has the price of a line, -1 for none; stands says that it
// is the raw market price, which stands for the condition asked for.
func (a *Appraiser) laneOf(w *wanted, card, variant int) (lane int, stands bool) {
	l := &a.View.Catalog.Lanes
	raw := -1
	graded := false // there are prices by condition
	for lane, to := l.Of.Range(card); lane < to && variant >= 0; lane++ {
		state := snapshot.Condition(l.Condition[lane])
		switch {
		case int(l.Variant[lane]) != variant:
			continue
		case l.Cents[lane] < 0:
			graded = graded || state != snapshot.Ungraded
		case w.hasState && state == w.state, !w.hasState && l.Flags[lane]&snapshot.LaneDisplay != 0:
			return lane, false
		case state == snapshot.Ungraded:
			raw = lane
		default:
			graded = true
		}
	}

	if raw >= 0 && !graded && w.hasState {
		return raw, true
	}
	return -1, false
}

// chooseVariant is the variant that a line means of a card, -1 for none; assumed says that others
// would suit as well.
func (a *Appraiser) chooseVariant(w *wanted, card int) (variant int, assumed bool) {
	l := &a.View.Catalog.Lanes
	if w.variant == "" {
		if display := a.View.Catalog.Cards.Display[card]; display >= 0 {
			return int(l.Variant[display]), false
		}
		return -1, false
	}

	if w.finish&collector.Shadowless != 0 && !a.hasVariant(w, uint32(card)) {
		return -1, false
	}

	variant = -1
	for lane, to := l.Of.Range(card); lane < to; lane++ {
		v := l.Variant[lane]
		switch {
		case int(v) == variant || !a.suits(w, v):
		case engine.SameVariant(a.View.Catalog.Variants.At(int(v)), w.variant):
			return int(v), false
		case variant < 0:
			variant = int(v)
		default:
			assumed = true
		}
	}
	return variant, assumed
}

// tellMissing says why a card has no price for a line, and what has one.
func (a *Appraiser) tellMissing(r *Result, w *wanted, noVariant bool) {
	var asked []string
	for _, s := range []string{w.variant, w.condition} {
		if s != "" {
			asked = append(asked, clip(s))
		}
	}
	if len(asked) > 0 {
		r.Note = "no price for " + strings.Join(asked, ", ")
	}
	if noVariant && w.variant != "" {
		r.Ask = AskVariant
	}
	a.tellLanes(r)
}

// mostLanes is how many prices are told in place of one: enough to choose from.
const mostLanes = 8

// tellLanes says what of a card has a price, and how much.
func (a *Appraiser) tellLanes(r *Result) {
	l := &a.View.Catalog.Lanes
	var have []string
	for lane, to := l.Of.Range(r.Card); lane < to; lane++ {
		r.widen(l.Cents[lane])
		if l.Cents[lane] >= 0 && len(have) < mostLanes {
			have = append(have, a.View.Catalog.Variants.At(int(l.Variant[lane]))+" "+
				snapshot.Condition(l.Condition[lane]).Text()+" "+Dollars(l.Cents[lane]))
		}
	}

	if len(have) == 0 {
		r.Note = "the card has no current price"
		r.Ask = 0
		return
	}
	if r.Note != "" {
		r.Note += "; "
	}
	r.Note += "there is " + strings.Join(have, ", ")
}

// multiply prices a line by its lane. A total that would leave the bounds of money is no price.
func (a *Appraiser) multiply(r *Result) {
	if r.Lane < 0 {
		return
	}

	// A price can be as large as money may be, and a quantity makes more of it.
	cents := a.View.Catalog.Lanes.Cents[r.Lane]
	if cents > snapshot.MaxCents/r.Quantity {
		r.Lane = -1
		r.Assumed = nil
		r.Note = "the line's total is more than can be told exactly"
		return
	}
	r.Status = Priced
	r.Cents = cents
	r.Total = cents * r.Quantity
}

// likely is the price that a line would have if it meant a card, NoCents without one.
func (a *Appraiser) likely(w *wanted, card uint32) int64 {
	if w.variant == "" && w.condition == "" {
		return a.View.Catalog.DisplayCents(int(card))
	}
	variant, _ := a.chooseVariant(w, int(card))
	if lane, _ := a.laneOf(w, int(card), variant); lane >= 0 {
		return a.View.Catalog.Lanes.Cents[lane]
	}
	return snapshot.NoCents
}

func conditionTexts() string {
	var all []string
	for cond := range snapshot.FactorySealed {
		all = append(all, cond.Text())
	}
	return strings.Join(all, ", ")
}

// Dollars are cents as a sentence says them: "$4.05".
func Dollars(cents int64) string {
	rest := strconv.FormatInt(cents%100, 10)
	if len(rest) < 2 {
		rest = "0" + rest
	}
	return "$" + strconv.FormatInt(cents/100, 10) + "." + rest
}
