package loader

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
)

// speciesNames are the names of all Pokémon, by PokéAPI (docs/dev/SEARCH.md, Other languages).
// speciesRomaji are the kana names in Latin letters. cardWords are words next to names on cards, such
// as those of regional cards; a row without English means nothing.
//
//go:embed species_names.tsv
var speciesNames string

//go:embed species_romaji.tsv
var speciesRomaji string

//go:embed card_words.tsv
var cardWords string

// A nameTable is a list of names in several languages, a row each.
type nameTable struct {
	languages []string // the codes of the columns behind the first two
	rows      [][]string
}

// otherNames are the tables of names of a build; own is the operator's, by numbers of cards.
type otherNames struct {
	species, romaji, words, own nameTable
	chosen                      []string // languages, none for all
}

var languageCode = regexp.MustCompile(`^[a-z]{2,3}(-[a-z0-9]{2,8})*$`)

// loadNames reads the tables of names (docs/dev/SEARCH.md, Other languages). The error names every problem.
func loadNames(path string, languages []string) (names otherNames, err error) {
	var wrong []error
	read := func(name, text, key string) (table nameTable) {
		table, err := readNames(text, key)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("cannot read names %q: %w", name, err))
		}
		return table
	}

	names.species = read("species_names.tsv", speciesNames, "species")
	names.romaji = read("species_romaji.tsv", speciesRomaji, "species")
	names.words = read("card_words.tsv", cardWords, "word")
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("cannot read names: %w", err))
		} else {
			names.own = read(path, string(text), "number")
		}
	}

	names.chosen = languages
	known := slices.Concat(names.species.languages, names.own.languages)
	for _, language := range languages {
		if !slices.ContainsFunc(known, func(code string) bool { return isLanguage(code, language) }) {
			wrong = append(wrong, fmt.Errorf("cannot use language %q: there are names in %s", language,
				strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", ")))
		}
	}
	return names, errors.Join(wrong...)
}

// CheckNames returns every problem of Options.Names and Options.Languages, joined.
func CheckNames(path string, languages []string) error {
	_, err := loadNames(path, languages)
	return err
}

// isLanguage reports whether a code is of a language: zh-hant is of zh.
func isLanguage(code, language string) bool {
	return code == language || strings.HasPrefix(code, language+"-")
}

// readNames reads a table whose first column is called key. A column en may be anywhere, or nowhere.
func readNames(text, key string) (table nameTable, err error) {
	lines := strings.Split(strings.TrimPrefix(strings.TrimRight(text, "\r\n"), byteOrderMark), "\n")
	header := strings.Split(strings.TrimSuffix(lines[0], "\r"), "\t")
	var wrong []error
	english := slices.Index(header, "en")
	for i, code := range header {
		switch {
		case i == 0 && code != key, i > 0 && !languageCode.MatchString(code):
			wrong = append(wrong, fmt.Errorf("line 1 has %q: want %s and then codes of languages", code, key))
		case slices.Contains(header[:i], code):
			wrong = append(wrong, fmt.Errorf("line 1 has %q twice", code))
		case i > 0 && i != english:
			table.languages = append(table.languages, code)
		}
	}

	seen := map[string]bool{}
	for i, line := range lines[1:] {
		row := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		switch {
		case len(row) != len(header):
			wrong = append(wrong, fmt.Errorf("line %d has %d columns, not %d", i+2, len(row), len(header)))
			continue
		case row[0] == "" || seen[row[0]]:
			wrong = append(wrong, fmt.Errorf("line %d has no %s, or one that was there: %q", i+2, key, row[0]))
		case slices.ContainsFunc(row, isNoName):
			wrong = append(wrong, fmt.Errorf("line %d has text that no card can have", i+2))
		}

		seen[row[0]] = true
		said := ""
		if english > 0 {
			said = strings.ReplaceAll(row[english], "’", "'")
			row = slices.Delete(row, english, english+1)
		}
		table.rows = append(table.rows, slices.Insert(row, 1, said))
	}
	return table, errors.Join(wrong[:min(len(wrong), maxRemarks)]...)
}

func isNoName(text string) bool {
	return !utf8.ValidString(text) || utf8.RuneCountInString(text) > snapshot.MaxName ||
		strings.ContainsFunc(text, unicode.IsControl)
}

// A translatedName is a row of snapshot.Names.
type translatedName struct {
	english, language, name string
	game                    uint8
}

// writeNames writes the names of this catalog's cards in the chosen languages, by their English names.
func (a *assembly) writeNames() {
	names := &a.b.names
	all := map[translatedName]bool{}
	add := func(table *nameTable, row []string, english string, game uint8) {
		for i, language := range table.languages {
			chosen := len(names.chosen) == 0 ||
				slices.ContainsFunc(names.chosen, func(of string) bool { return isLanguage(language, of) })
			name := row[i+2]
			if chosen && name != "" && !strings.EqualFold(name, english) {
				all[translatedName{english, language, name, game}] = true
			}
		}
	}

	pokemon, has := a.gameRow("pokemon")
	parts := map[string]bool{}
	byNumber := map[string]int{}
	for card := range a.c.Cards.ID.Len() {
		if has && a.c.Cards.Game[card] == pokemon {
			addParts(parts, a.c.Cards.Name.At(card))
		}
		if len(names.own.rows) > 0 {
			byNumber[cardvocab.NumberBase(a.c.Cards.Number.At(card))] = card
		}
	}

	for _, table := range []*nameTable{&names.species, &names.romaji} {
		for _, row := range table.rows {
			if parts[cardvocab.Fold(row[1])] {
				add(table, row, row[1], pokemon)
			}
		}
	}
	for _, row := range names.own.rows {
		if card, ok := byNumber[cardvocab.NumberBase(row[0])]; ok {
			// Qualifiers of the name are left out: "Nami (016) (Parallel)".
			name, _, _ := strings.Cut(a.c.Cards.Name.At(card), " (")
			name, _, _ = strings.Cut(name, " - ")
			add(&names.own, row, name, a.c.Cards.Game[card])
		}
	}
	if len(all) > 0 {
		for _, row := range names.words.rows {
			add(&names.words, row, row[1], snapshot.AnyGame)
		}
	}
	a.appendNames(all)
}

func (a *assembly) appendNames(all map[translatedName]bool) {
	out := &a.c.Names
	for _, row := range slices.SortedFunc(maps.Keys(all), func(x, y translatedName) int {
		return cmp.Or(cmp.Compare(x.english, y.english), cmp.Compare(x.game, y.game),
			cmp.Compare(x.language, y.language), cmp.Compare(x.name, y.name))
	}) {
		out.English.Append(row.english)
		out.Language.Append(row.language)
		out.Name.Append(row.name)
		out.Game = append(out.Game, row.game)
	}
}

// addParts adds up to two neighbouring words of a name, folded, wherever they stand: "Dark Ho-Oh" has hooh.
func addParts(parts map[string]bool, name string) {
	whole := " " + name
	if parts[whole] {
		return
	}

	parts[whole] = true
	last := ""
	for word := range strings.FieldsFuncSeq(strings.ReplaceAll(name, "'s ", " "), func(r rune) bool {
		return r == ' ' || r == '-' || r == '('
	}) {
		word = cardvocab.Fold(word)
		parts[word] = true
		parts[last+word] = true
		last = word
	}
}
