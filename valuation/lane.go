package valuation

import (
	"fmt"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/snapshot"
)

// laneQuery is the part of a line that chooses its lane. A lane is the price of one variant of a card
// in one condition. A laneQuery is read once for all cards.
type laneQuery struct {
	variant   string
	traits    cardvocab.Traits // finish and edition; 0 if the variant names neither, or has another word
	condition string
	cond      snapshot.Condition
	hasCond   bool // cond is valid
	// isFoil and isNormal report a word of apps that know no other variants: the copy shines or not.
	isFoil, isNormal bool
}

func newLaneQuery(f *parsedLine) laneQuery {
	wanted := laneQuery{variant: f.variant, condition: f.condition}
	wanted.traits, _ = cardvocab.Finish(f.variant)
	wanted.cond, wanted.hasCond = ParseCondition(f.condition)
	wanted.isFoil = strings.EqualFold(f.variant, "foil")
	wanted.isNormal = strings.EqualFold(f.variant, "normal")
	return wanted
}

// ParseCondition reads a condition's text or code, or the words of people and shops for it.
func ParseCondition(s string) (snapshot.Condition, bool) {
	// Those before FactorySealed are all that cards have.
	for cond := range snapshot.FactorySealed {
		if cardvocab.SameVariant(cond.Code(), s) {
			return cond, true
		}
	}

	// The words of shops come second: our own codes must mean themselves.
	code, ok := cardvocab.Condition(s)
	if !ok {
		return 0, false
	}
	return snapshot.ParseCondition(code)
}

// pricer finds the prices of known cards: the lane that a line means, and its replacement if that
// lane has no price.
type pricer struct {
	view   *engine.View
	traits []cardvocab.Traits // finish and edition by variant number, filled on demand
}

// finishMask has the traits that are finishes, without the editions: a variant has at most one finish.
const finishMask = cardvocab.Holo | cardvocab.Reverse | cardvocab.NonHolo

// traitsOf returns the finish and edition of a variant, by its number.
func (p *pricer) traitsOf(variant uint16) cardvocab.Traits {
	for len(p.traits) <= int(variant) {
		traits, _ := cardvocab.Finish(p.view.Catalog.Variants.At(len(p.traits)))
		p.traits = append(p.traits, traits)
	}
	return p.traits[variant]
}

// variantMatches reports whether a line may mean a variant: it names that variant, or both have a known
// finish or edition and these do not contradict each other. A line without a variant matches none. It
// does not check Shadowless, which hasVariant reads from the card.
func (p *pricer) variantMatches(wanted *laneQuery, variant uint16) bool {
	if cardvocab.SameVariant(p.view.Catalog.Variants.At(int(variant)), wanted.variant) {
		return true
	}

	// Shadowless is checked on the card: see hasVariant.
	want := wanted.traits &^ cardvocab.Shadowless
	have := p.traitsOf(variant)
	switch {
	case wanted.traits == 0 || have == 0:
		return false
	case want&cardvocab.First != 0 && have&cardvocab.First == 0,
		want&cardvocab.Unlimited != 0 && have&cardvocab.First != 0:
		return false
	}

	// A variant without a finish is the plain one: "1st Edition" next to "1st Edition Holo".
	if have&finishMask == 0 {
		have |= cardvocab.NonHolo
	}
	return want&finishMask == 0 || want&finishMask == have&finishMask
}

// hasVariant reports whether a card has a lane of a variant that the line means by variantMatches, with a
// price or without. It is false for a line without a variant, which may mean any lane.
func (p *pricer) hasVariant(wanted *laneQuery, card uint32) bool {
	if wanted.traits&cardvocab.Shadowless != 0 && p.view.Index.Lookup().Traits(card)&cardvocab.Shadowless == 0 {
		return false
	}

	l := &p.view.Catalog.Lanes
	for lane, to := l.Of.Range(int(card)); lane < to; lane++ {
		if p.variantMatches(wanted, l.Variant[lane]) {
			return true
		}
	}
	return wanted.isFoil && p.soleVariant(wanted, int(card)) >= 0
}

// soleVariant returns the only variant of a card that an app's word may mean if no variant has that name;
// -1 for none. For foil it is the only variant that shines, for normal the only variant of the card.
func (p *pricer) soleVariant(wanted *laneQuery, card int) int {
	l := &p.view.Catalog.Lanes
	const shining = cardvocab.Holo | cardvocab.Reverse
	sole := -1

	for lane, to := l.Of.Range(card); lane < to && (wanted.isFoil || wanted.isNormal); lane++ {
		variant := l.Variant[lane]
		have := p.traitsOf(variant)
		switch {
		case int(variant) == sole, wanted.isFoil && have != 0 && have&shining == 0:
		case sole >= 0, wanted.isFoil && have == 0:
			return -1
		default:
			sole = int(variant)
		}
	}
	return sole
}

// priceLine prices a line by a lane of its card. Without a variant it takes the lane of the display
// price; without a condition it takes the variant's display condition (decision 19). If a variant has
// only an Ungraded price, that replaces the price of any condition, and the result says this.
func (p *pricer) priceLine(r *Result, wanted *laneQuery) {
	// A default would present the price of one condition as the price of another.
	if wanted.condition != "" && !wanted.hasCond {
		r.Remark = `"` + clip(wanted.condition) + `" is not a condition: use ` + conditionTexts()
		p.listPrices(r)
		return
	}

	variant, assumed := p.chooseVariant(wanted, r.Card)
	lane, substituted := p.findLane(wanted, r.Card, variant)
	r.Lane = lane
	if substituted {
		r.Assumed = append(r.Assumed, Assumption{"condition", wanted.condition, snapshot.Ungraded.Text()})
	}

	switch {
	case r.Lane < 0:
		p.explainMissing(r, wanted, variant < 0)
	case assumed:
		r.Assumed = append(r.Assumed, Assumption{"variant", wanted.variant, p.view.Catalog.Variants.At(variant)})
	}

	p.applyLane(r)
}

// findLane returns the lane of a card's variant that has the price of a line, -1 for none. With
// substituted, the Ungraded price replaces the price of the given condition.
func (p *pricer) findLane(wanted *laneQuery, card, variant int) (lane int, substituted bool) {
	l := &p.view.Catalog.Lanes
	ungraded := -1       // the lane of the Ungraded price, which is of no certain condition
	byCondition := false // the variant has lanes of single conditions, with a price or without

	for lane, to := l.Of.Range(card); lane < to && variant >= 0; lane++ {
		cond := snapshot.Condition(l.Condition[lane])
		switch {
		case int(l.Variant[lane]) != variant:
			continue
		case l.Cents[lane] < 0:
			byCondition = byCondition || cond != snapshot.Ungraded
		case wanted.hasCond && cond == wanted.cond, !wanted.hasCond && l.Flags[lane]&snapshot.LaneDisplay != 0:
			return lane, false
		case cond == snapshot.Ungraded:
			ungraded = lane
		default:
			byCondition = true
		}
	}

	// If the variant is priced by condition, it does not replace a condition without a price.
	if ungraded >= 0 && !byCondition && wanted.hasCond {
		return ungraded, true
	}
	return -1, false
}

// chooseVariant returns the variant of a card that a line means, -1 for none. assumed reports that
// other variants match as well, or that the line has another word for the variant.
func (p *pricer) chooseVariant(wanted *laneQuery, card int) (variant int, assumed bool) {
	l := &p.view.Catalog.Lanes
	display := p.view.Catalog.Cards.Display[card]
	switch {
	case wanted.variant == "" && display < 0:
		return -1, false
	// A Shadowless card is a card of its set, so another card's price never replaces its price.
	case wanted.traits&cardvocab.Shadowless != 0 && !p.hasVariant(wanted, uint32(card)):
		return -1, false
	case wanted.variant == "", wanted.traits == cardvocab.Shadowless && display >= 0:
		return int(l.Variant[display]), false
	}

	variant = -1
	for lane, to := l.Of.Range(card); lane < to; lane++ {
		v := l.Variant[lane]
		switch {
		case int(v) == variant || !p.variantMatches(wanted, v):
		case cardvocab.SameVariant(p.view.Catalog.Variants.At(int(v)), wanted.variant):
			return int(v), wanted.isFoil && p.soleVariant(wanted, card) < 0
		case variant < 0:
			variant = int(v)
		default:
			// The first is taken, and the response says that it was assumed (decision 2204).
			assumed = true
		}
	}

	if variant < 0 {
		variant = p.soleVariant(wanted, card)
		assumed = true
	}
	return variant, assumed
}

// explainMissing explains that a card has no price for a line, and lists the prices that it has.
func (p *pricer) explainMissing(r *Result, wanted *laneQuery, noVariant bool) {
	var asked []string
	for _, s := range []string{wanted.variant, wanted.condition} {
		if s != "" {
			asked = append(asked, clip(s))
		}
	}

	if len(asked) > 0 {
		r.Remark = "no price for " + strings.Join(asked, ", ")
	}

	// Only a variant can be corrected: a condition without a price stays without a price.
	if noVariant && wanted.variant != "" {
		r.Needed = VariantField
	}

	p.listPrices(r)
}

// maxListedLanes is the number of prices listed in place of one price: enough to choose from.
const maxListedLanes = 8

// listPrices adds the prices of a card to the remark and the range. Without any price it replaces the
// remark and clears Needed.
func (p *pricer) listPrices(r *Result) {
	l := &p.view.Catalog.Lanes
	var have []string
	for lane, to := l.Of.Range(r.Card); lane < to; lane++ {
		r.extendRange(l.Cents[lane])
		if l.Cents[lane] >= 0 && len(have) < maxListedLanes {
			have = append(have, p.view.Catalog.Variants.At(int(l.Variant[lane]))+" "+
				snapshot.Condition(l.Condition[lane]).Text()+" "+Dollars(l.Cents[lane]))
		}
	}

	if len(have) == 0 {
		r.Remark = "the card has no current price"
		r.Needed = 0
		return
	}

	r.Remark = joinSentences(r.Remark, "there is "+strings.Join(have, ", "))
}

// applyLane prices a line by its lane. A total beyond the bounds of money is no price.
func (p *pricer) applyLane(r *Result) {
	if r.Lane < 0 {
		return
	}

	// A price can be as large as the bound of money, and a quantity multiplies it.
	cents := p.view.Catalog.Lanes.Cents[r.Lane]
	if cents > snapshot.MaxCents/r.Quantity {
		r.Lane = -1
		r.Assumed = nil
		r.Remark = "the line's total is too large for an exact amount"
		return
	}

	r.Status = Priced
	r.Cents = cents
	r.Total = cents * r.Quantity
}

// likelyPrice returns the price that a line would have if it meant a card, NoCents without one: for the
// price range of an ambiguous line. A condition that cannot be read has no price.
func (p *pricer) likelyPrice(wanted *laneQuery, card uint32) int64 {
	if wanted.variant == "" && wanted.condition == "" {
		return p.view.Catalog.DisplayCents(int(card))
	}
	if wanted.condition != "" && !wanted.hasCond {
		return snapshot.NoCents
	}

	variant, _ := p.chooseVariant(wanted, int(card))
	if lane, _ := p.findLane(wanted, int(card), variant); lane >= 0 {
		return p.view.Catalog.Lanes.Cents[lane]
	}
	return snapshot.NoCents
}

// conditionTexts lists the conditions that cards have, which come before FactorySealed.
func conditionTexts() string {
	var all []string
	for cond := range snapshot.FactorySealed {
		all = append(all, cond.Text())
	}
	return strings.Join(all, ", ")
}

// Dollars formats cents for a sentence: "$4.05".
func Dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }
