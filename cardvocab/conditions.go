package cardvocab

import "strings"

// Condition returns the code of a condition as people and shops write it; ok is false for none.
// "Near Mint", "NearMint", "nm-m" and "MT" are near_mint.
func Condition(written string) (code string, ok bool) {
	code, ok = conditions[Fold(written)]
	return code, ok
}

// ConditionPhrases returns the phrases for conditions that may follow a card name, their words
// separated by spaces. Ambiguous ones such as "ex" are excluded.
func ConditionPhrases() []string {
	var all []string
	for _, c := range conditionTable {
		for phrase := range strings.SplitSeq(c.phrases, ",") {
			all = append(all, strings.TrimSpace(phrase))
		}
	}
	return all
}

// conditionTable has, for each code, the phrases that are a condition anywhere, and those that are
// one only in a condition field. Cardmarket's EX, GD, PL and PO are the steps below near mint.
var conditionTable = []struct{ code, phrases, alone string }{
	{
		"near_mint",
		"nm, near mint, nearmint, nm m, nmm, m nm, mint near mint, near mint mint, nm mint, nm mt, nmmt, " +
			"mint condition",
		"mint, mt, m",
	},
	{"lightly_played", "lp, lightly played, light played, light play, lightlyplayed", "ex, excellent, slightly played"},
	{"moderately_played", "mp, moderately played, moderate play, moderatelyplayed", "gd, good, vg, very good"},
	{"heavily_played", "hp, heavily played, heavy play, heavilyplayed", "pl, played"},
	{"damaged", "dmg, damaged", "po, poor, d"},
	{"ungraded", "ungraded, raw", ""},
}

// conditions are codes by folded phrase.
var conditions = func() map[string]string {
	table := map[string]string{}
	for _, c := range conditionTable {
		table[Fold(c.code)] = c.code
		for phrase := range strings.SplitSeq(c.phrases+","+c.alone, ",") {
			if folded := Fold(phrase); folded != "" {
				table[folded] = c.code
			}
		}
	}
	return table
}()
