package cardvocab

import (
	_ "embed"
	"slices"
	"strings"
)

// An Era is a time of a game, by collectors' names (docs/dev/SEARCH.md, Orders, prices, eras, sealed words).
type Era struct {
	Name, Game string // Game is a slug
	from, til  string // days of release, as in "2003-07-01"; "" for no bound
	names      []string
	others     []string // prefixes of names of sets that belong to no era of the game, or not to this era
	phrases    [3][]string
}

// An EraColumn is a bit set of the columns of phrases in eras.txt.
type EraColumn uint8

// The columns: phrases that mean the era, that may mean it, and that mean it before an era word.
const (
	EraAlways EraColumn = 1 << iota
	EraMaybe
	EraBefore
)

// eraWords are the words behind the name of an era.
var eraWords = map[string]bool{"era": true, "eras": true, "series": true, "block": true, "sets": true, "age": true}

// IsEraWord reports whether a folded word makes an era of the name before it.
func IsEraWord(folded []byte) bool { return eraWords[string(folded)] }

//go:embed eras.txt
var eraText string

// Eras are those of eras.txt.
var Eras = readEras()

func readEras() (eras []Era) {
	const cells = 8
	var mixed []string
	for line := range strings.Lines(eraText) {
		row := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(row) < 5 {
			continue
		}

		row = append(row, make([]string, cells)...)
		era := Era{Name: row[0], Game: row[1], from: row[2], til: row[3], others: mixed}
		for name := range strings.FieldsSeq(row[4]) {
			if other, ok := strings.CutPrefix(name, "-"); ok {
				era.others = append(slices.Clip(era.others), other)
			} else {
				era.names = append(era.names, name)
			}
		}

		if row[0] == "*" {
			mixed = era.others
			continue
		}
		for column := range era.phrases {
			era.phrases[column] = strings.Fields(row[5+column])
		}
		eras = append(eras, era)
	}
	return eras
}

// Has reports whether a set is of the era, by its name and the day of its release, "" if that is not
// known.
func (e *Era) Has(name, day string) bool {
	// Like the prefixes in eras.txt: words joined by underscores.
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !IsWordRune(r) })
	folded := strings.Join(words, "_") + "_"
	begins := func(beginning string) bool { return strings.HasPrefix(folded, beginning) }
	if slices.ContainsFunc(e.names, begins) {
		return true
	}
	return day >= e.from && (e.til == "" || day <= e.til) && !slices.ContainsFunc(e.others, begins)
}
