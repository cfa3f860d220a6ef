package valuation

import (
	"regexp"
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// Amounts of money: after a currency, before it or before a dash for cents, at the end after "for",
// or at the end with two decimals. Part of a collector number is no amount: "215/203 $".
var (
	signFirst = regexp.MustCompile(`(?i)(?:[$€£¥@]|\b(?:usd|eur|gbp|pln|chf))\s*[0-9][0-9.,]*k?` +
		`(?:\s*[$€£¥]|\s+(?:usd|eur|gbp|pln|chf)\b)?(?:\s+of\s+[0-9]{4}-[0-9]{2}-[0-9]{2}\b)?`)
	signLast = regexp.MustCompile(`(?i)(^|[\s|(,])[0-9][0-9.,]*k?` +
		`(?:\s*(?:[$€£¥]|zł)|\s*(?:usd|eur|gbp|pln|chf|euros?|dollars?|bucks)\b|,[-–—])`)
	forLast     = regexp.MustCompile(`(?i)\sfor\s+[0-9][0-9.,]*k?\s*(\||$)`)
	decimalLast = regexp.MustCompile(`\s[0-9][0-9.,]*[.,][0-9]{2}\s*(\||$)`)
	signAlone   = regexp.MustCompile(`\s[$€£¥]\s*(\||$)`)
)

// withoutPrices removes the prices that a user wrote into a text: they do not identify a card.
func withoutPrices(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	if hasCurrency(text) {
		text = signLast.ReplaceAllString(signFirst.ReplaceAllString(text, ""), "$1")
		text = signAlone.ReplaceAllString(text, " $1")
	}
	if strings.Contains(strings.ToLower(text), "for") {
		text = forLast.ReplaceAllString(text, " $1")
	}
	if strings.ContainsAny(text, ".,") {
		text = decimalLast.ReplaceAllString(text, " $1")
	}
	return strings.TrimSpace(text)
}

// hasCurrency reports whether a text has a currency. Most have none, and a search for the amounts
// themselves costs more.
func hasCurrency(text string) bool {
	for i := range len(text) {
		if beginCurrency[text[i]] && isCurrencyAt(text[i:]) {
			return true
		}
	}
	return false
}

// currencies include a dash in place of the cents: "25,-".
var currencies = []string{
	"$", "@", "€", "£", "¥", "zł", "usd", "eur", "gbp", "pln", "chf", "dollar", "bucks", ",-", ",–", ",—",
}

// beginCurrency are the first bytes of the currencies, in both cases.
var beginCurrency = func() (begin [256]bool) {
	for _, name := range currencies {
		begin[name[0]] = true
		begin[strings.ToUpper(name)[0]] = true
	}
	return begin
}()

func isCurrencyAt(text string) bool {
	return slices.ContainsFunc(currencies, func(name string) bool {
		return len(text) >= len(name) && strings.EqualFold(text[:len(name)], name)
	})
}

// moneyText is a price in whole currency units whose number may also end a set's name: "Base Set 2
// €".
type moneyText struct {
	after  string // the word before it
	number string
}

var wholeAmount = regexp.MustCompile(`(?i)([^\s|,(]+)[\s|,(]+([0-9]{1,3})` +
	`(?:\s*(?:[$€£¥]|zł)|\s*(?:usd|eur|gbp|pln|chf|euros?|dollars?|bucks)\b|,[-–—])`)

// amountIn returns the amount in a text that withoutPrices removes.
func amountIn(text string) moneyText {
	if !strings.ContainsAny(text, "0123456789") || !hasCurrency(text) {
		return moneyText{}
	}
	found := wholeAmount.FindStringSubmatch(text)
	if found == nil {
		return moneyText{}
	}
	return moneyText{found[1], found[2]}
}

// addNumberedSets handles the sets of words that end with last. It adds the sets whose names also
// contain the number of an amount after them. The client must choose.
func (cs catalogLookup) addNumberedSets(sets []uint32, key, last string, behind moneyText) []uint32 {
	if behind.number == "" || cardvocab.Fold(behind.after) != cardvocab.Fold(last) {
		return sets
	}
	more := cs.view.Index.SetNames().Exact(key + behind.number)
	if len(more) == 0 {
		return sets
	}

	all := slices.Concat(sets, more)
	slices.Sort(all)
	return slices.Compact(all)
}
