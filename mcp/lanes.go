package mcp

import (
	"strings"

	"ninepocket/collector"
	"ninepocket/engine"
	"ninepocket/snapshot"
)

// chooseLane picks the lane that a line is priced by: of the variant asked for or else of the
// display price, in the condition asked for or else the variant's display condition (decision 19).
// -1 says that there is no price, and why.
func chooseLane(c *snapshot.Catalog, card int, variant, condition string) (lane int, why string) {
	want, known := parseCondition(condition)
	if condition != "" && !known {
		return -1, `"` + readable(condition) + `" is not a condition: use ` + conditionTexts()
	}

	// Lanes stand in the order of variants and conditions: the first that fits is the one.
	l := &c.Lanes
	from, to := l.Of.Range(card)
	display := int(c.Cards.Display[card])
	for lane := from; lane < to; lane++ {
		switch {
		case variant != "" && !engine.SameVariant(variantOf(c, lane), variant),
			variant == "" && (display < 0 || l.Variant[lane] != l.Variant[display]),
			condition != "" && snapshot.Condition(l.Condition[lane]) != want,
			condition == "" && l.Flags[lane]&snapshot.LaneDisplay == 0,
			l.Cents[lane] < 0:
			continue
		}
		return lane, ""
	}
	return -1, pricedInstead(c, card, variant, condition)
}

// pricedInstead says what of a card does have a price.
func pricedInstead(c *snapshot.Catalog, card int, variant, condition string) string {
	// Eight are enough to choose from, and a text has to end.
	var have []string
	from, to := c.Lanes.Of.Range(card)
	for lane := from; lane < to && len(have) < 8; lane++ {
		if c.Lanes.Cents[lane] >= 0 {
			have = append(have, variantOf(c, lane)+" "+conditionOf(c, lane))
		}
	}
	if len(have) == 0 {
		return "the card has no current price"
	}

	var asked []string
	for _, s := range []string{variant, condition} {
		if s != "" {
			asked = append(asked, readable(s))
		}
	}
	return "no price for " + strings.Join(asked, ", ") + "; there is one for " + strings.Join(have, ", ")
}

func variantOf(c *snapshot.Catalog, lane int) string {
	return c.Variants.At(int(c.Lanes.Variant[lane]))
}

func conditionOf(c *snapshot.Catalog, lane int) string {
	return snapshot.Condition(c.Lanes.Condition[lane]).Text()
}

// parseCondition reads a condition's text or code, or what people and shops write for it.
func parseCondition(s string) (snapshot.Condition, bool) {
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

func conditionTexts() string {
	var all []string
	for cond := range snapshot.FactorySealed {
		all = append(all, cond.Text())
	}
	return strings.Join(all, ", ")
}
