package loader

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ninepocket/collector"
	"ninepocket/snapshot"
)

// searchAlias is a phrase and what it stands for in a search (docs/SEARCH.md, Other names).
type searchAlias struct {
	phrase, game string // game is a slug, "" for all
	replacement  string // words, "" when it stands for a card
	ref          string // full reference of a card
}

// searchHeader is the first line of search_aliases.csv.
var searchHeader = []string{"phrase", "game", "replacement", "namespace", "ref"}

// shippedAliases are nicknames, buyers' short forms and names in other languages. An operator's file
// may replace them one by one.
//
//go:embed search_aliases.csv
var shippedAliases string

// maxPhrase bounds a phrase and its replacement in bytes: a query is no longer.
const maxPhrase = 200

// readShipped reads the list that comes with the program.
func (m *mapping) readShipped() error {
	if err := tableReader(m.searchRow, searchHeader...)(strings.NewReader(shippedAliases)); err != nil {
		return fmt.Errorf("cannot read the shipped search aliases: %w", err)
	}
	m.ownSearch = map[string]bool{}
	return nil
}

// searchRow reads a phrase. A row without a replacement and a reference takes the shipped one away.
func (m *mapping) searchRow(r []string) error {
	a := searchAlias{phrase: strings.TrimSpace(r[0]), game: r[1], replacement: strings.TrimSpace(r[2])}
	key := collector.Fold(a.phrase)
	switch {
	case key == "":
		return errors.New("has no phrase")
	case len(a.phrase) > maxPhrase || len(a.replacement) > maxPhrase:
		return fmt.Errorf("has more than %d bytes in a field", maxPhrase)
	case a.game != "" && !slices.ContainsFunc(snapshot.Games, func(g snapshot.Game) bool { return g.Slug == a.game }):
		return fmt.Errorf("has game %q, which is none", a.game)
	case (r[3] == "") != (r[4] == ""):
		return errors.New("has a namespace without a ref, or a ref without a namespace")
	case a.replacement != "" && r[3] != "":
		return errors.New("has a replacement and a ref: give one of them")
	case collector.Fold(a.replacement) == key:
		return errors.New("replaces a phrase by itself")
	case m.ownSearch[key]:
		return fmt.Errorf("tells of %q a second time", a.phrase)
	}

	if r[3] != "" {
		a.ref = fullRef(r[3], r[4])
	}

	if m.ownSearch == nil {
		m.ownSearch = map[string]bool{}
	}
	m.ownSearch[key] = true
	m.search[key] = a
	return nil
}

// writeAliases writes the phrases that mean something in this catalog, ascending.
func (a *assembly) writeAliases() {
	rows := map[string]int32{}
	for row, i := range a.cards {
		for _, ref := range a.b.merged.cards[i].refs {
			rows[ref] = int32(row)
		}
	}

	t := &a.c.Aliases
	for _, key := range sortedKeys(a.b.mapping.search) {
		from := a.b.mapping.search[key]
		card := int32(-1)
		if from.ref != "" {
			row, ok := rows[from.ref]
			if !ok {
				// The card is not in the catalog, or no more.
				continue
			}
			card = row
		}

		game, ok := a.gameRow(from.game)
		if !ok || card < 0 && from.replacement == "" {
			continue
		}

		t.Phrase.Append(from.phrase)
		t.Replacement.Append(from.replacement)
		t.Game = append(t.Game, game)
		t.Card = append(t.Card, card)
	}
}

// gameRow is the row of a game by its slug; false for one that the catalog does not have.
func (a *assembly) gameRow(slug string) (uint8, bool) {
	if slug == "" {
		return snapshot.AnyGame, true
	}
	for row := range a.c.Games.Slug.Len() {
		if a.c.Games.Slug.At(row) == slug {
			return uint8(row), true
		}
	}
	return 0, false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
