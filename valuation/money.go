package valuation

import (
	"regexp"
	"strings"
)

// An amount of money: behind its sign, before it, or at the end behind "for". No part of a number is
// one: "215/203 $".
var (
	signFirst = regexp.MustCompile(`(?i)(?:[$€£¥@]|\b(?:usd|eur|gbp))\s*[0-9][0-9.,]*k?` +
		`(?:\s*[$€£¥]|\s+(?:usd|eur|gbp)\b)?`)
	signLast = regexp.MustCompile(`(?i)(^|[\s|(,])[0-9][0-9.,]*k?` +
		`(?:\s*[$€£¥]|\s*(?:usd|eur|gbp|euros?|dollars?|bucks)\b)`)
	forLast = regexp.MustCompile(`(?i)\sfor\s+[0-9][0-9.,]*k?\s*(\||$)`)
)

// withoutPrices is a text without the prices that its writer put there: they tell no card.
func withoutPrices(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	for _, r := range []struct {
		of   *regexp.Regexp
		with string
	}{{signFirst, ""}, {signLast, "$1"}, {forLast, " $1"}} {
		if r.of.MatchString(text) {
			text = strings.TrimSpace(r.of.ReplaceAllString(text, r.with))
		}
	}
	return text
}
