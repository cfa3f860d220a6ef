package valuation

import "ninepocket/engine"

// VariantLane returns the lane with the price of a card in the variant that words such as "1st edition"
// mean, -1 without one.
func VariantLane(view *engine.View, card int, words string) int {
	p := pricer{view: view}
	wanted := newLaneQuery(&parsedLine{variant: words})
	variant, _ := p.chooseVariant(&wanted, card)
	lane, _ := p.findLane(&wanted, card, variant)
	return lane
}
