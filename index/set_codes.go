package index

import (
	_ "embed"
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

//go:embed set_codes.txt
var setCodes string

// readCodes resolves the sets of the apps' codes. The catalog's own codes take precedence.
func (sn *SetNames) readCodes() {
	sn.codes = map[string][]uint32{}
	for line := range strings.Lines(setCodes) {
		code, set, _ := strings.Cut(strings.TrimSpace(line), " ")
		if code == "" || code == "#" {
			continue
		}

		code = cardvocab.Fold(code)
		if sets := sn.byKey.find(code); len(sets) > 0 {
			sn.codes[code] = sets
		} else if sets, corrected := sn.ResolveFuzzy(set); len(sn.codes[code]) == 0 && len(sets) > 0 && !corrected {
			sn.codes[code] = sets
		}
	}
}

// eachAppCode calls each with the folded codes that a game's own apps give a set.
func (sn *SetNames) eachAppCode(set uint32, each func(code string)) {
	for code, sets := range sn.codes {
		if slices.Contains(sets, set) {
			each(code)
		}
	}
}

// ByAppCode returns the sets that a game's own apps give a folded code.
func (sn *SetNames) ByAppCode(code string) []uint32 { return sn.codes[code] }
