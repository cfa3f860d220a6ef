package loader

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ninepocket/cardvocab"
	"ninepocket/loader/clean"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// searchAlias is a phrase and its meaning in a search (docs/dev/SEARCH.md, Other names).
type searchAlias struct {
	phrase, game string // game is a slug, "" for all
	replacement  string // words, "" when it stands for a card
	ref          externalRef
	shipped      *searchAlias // the shipped list's meaning of the phrase, which stays if no card has ref
}

// externalRef is a card's name in a source or shop: the namespace as clients know it.
type externalRef struct{ namespace, key string }

// text is the reference as a client writes it.
func (e externalRef) text() string { return e.namespace + ":" + e.key }

// noRef is the reference of a row without one.
var noRef externalRef

// searchHeader is the first line of search_aliases.csv.
var searchHeader = []string{"phrase", "game", "replacement", "namespace", "ref"}

// shippedAliases are nicknames, buyers' short forms and names in other languages. An operator's file
// may replace them one by one.
//
//go:embed search_aliases.csv
var shippedAliases string

// maxPhrase bounds a phrase and its replacement in bytes: a query is no longer.
const maxPhrase = 200

// shippedSearch is the list that comes with the program, by its folded phrases. It is read once: a
// process may build many catalogs.
var shippedSearch = sync.OnceValues(func() (map[string]searchAlias, error) {
	shipped := &mapping{search: map[string]searchAlias{}, ownSearch: map[string]bool{}}
	err := tableReader(shipped.searchRow, searchHeader...)(strings.NewReader(shippedAliases))
	return shipped.search, err
})

// searchRow reads a phrase. A row without a replacement and without a reference removes the shipped
// phrase.
func (m *mapping) searchRow(r []string) error {
	a := searchAlias{phrase: strings.TrimSpace(r[0]), game: r[1], replacement: strings.TrimSpace(r[2])}
	key := cardvocab.Fold(a.phrase)
	_, known := gameNumber(a.game)
	switch {
	case key == "":
		return errors.New("has no phrase")
	case len(a.phrase) > maxPhrase || len(a.replacement) > maxPhrase:
		return fmt.Errorf("has more than %d bytes in a field", maxPhrase)
	case a.game != "" && !known:
		return fmt.Errorf("has game %q, which is none", a.game)
	case (r[3] == "") != (r[4] == ""):
		return errors.New("has a namespace without a ref, or a ref without a namespace")
	case a.replacement != "" && r[3] != "":
		return errors.New("has a replacement and a ref: give one of them")
	case cardvocab.Fold(a.replacement) == key:
		return errors.New("replaces a phrase by itself")
	case m.ownSearch[key]:
		return fmt.Errorf("has %q a second time", a.phrase)
	}

	if r[3] != "" {
		a.ref = externalRef{snapshot.PublicNamespace(r[3]), r[4]}
		if old, ok := m.search[key]; ok {
			a.shipped = &old
		}
	}

	m.ownSearch[key] = true
	m.search[key] = a
	return nil
}

// writeAliases writes the phrases that mean something in this catalog, ascending. If a row's
// reference matches no card, or several, the shipped meaning stays, and the row is reported.
func (a *assembly) writeAliases() {
	rows, namespaces := a.cardsByRef()
	aliases := &a.c.Aliases
	for _, key := range slices.Sorted(maps.Keys(a.b.mapping.search)) {
		from := a.b.mapping.search[key]
		card, refers := rows[from.ref]
		if !refers {
			card = -1
		}

		if card < -1 {
			a.b.report.reportAlias(&from, card, namespaces[from.ref.namespace])
			if from.shipped == nil {
				continue
			}
			from = *from.shipped
			card = -1
		}

		// A phrase of a game that this catalog lacks is no mistake.
		game, ok := a.gameRow(from.game)
		if !ok || card < 0 && from.replacement == "" {
			continue
		}

		aliases.Phrase.Append(from.phrase)
		aliases.Replacement.Append(from.replacement)
		aliases.Game = append(aliases.Game, game)
		aliases.Card = append(aliases.Card, card)
	}
}

// Targets of a reference other than a card's row.
const (
	noCard       int32 = -2
	severalCards int32 = -3
)

// cardsByRef are the cards that the phrases refer to, by their references and identifiers, and
// the namespaces that any card has. A reference of several parts is found by its last one too:
// "3/534919" is the shop's product 534919.
func (a *assembly) cardsByRef() (wanted map[externalRef]int32, namespaces map[string]bool) {
	wanted = map[externalRef]int32{}
	for _, from := range a.b.mapping.search {
		if from.ref != noRef {
			wanted[from.ref] = noCard
		}
	}

	namespaces = map[string]bool{}
	if len(wanted) == 0 {
		return wanted, namespaces
	}

	// References of the phrases alone are stored: a million cards have several times as many.
	find := func(row int, namespace, key string) {
		namespace = snapshot.PublicNamespace(namespace)
		namespaces[namespace] = true
		ref := externalRef{namespace, key}
		switch found, asked := wanted[ref]; {
		case !asked:
		case found == noCard, found == int32(row):
			wanted[ref] = int32(row)
		default:
			wanted[ref] = severalCards
		}
	}

	for row, i := range a.cards {
		card := &a.b.merged.cards[i]
		for _, ref := range card.refs {
			namespace, key := splitRef(ref)
			find(row, namespace, key)
			if at := strings.LastIndexByte(key, '/'); at >= 0 {
				find(row, namespace, key[at+1:])
			}
		}
		for _, id := range card.identifiers {
			find(row, id.Namespace, id.Value)
		}
	}

	return wanted, namespaces
}

// maxAliasRemarks bounds the phrases that a report names; all are counted.
const maxAliasRemarks = 10

// reportAlias notes a phrase that stands for no card of the catalog.
func (r *Report) reportAlias(a *searchAlias, found int32, known bool) {
	r.AliasesUnmatched++
	if len(r.AliasRemarks) == maxAliasRemarks {
		return
	}

	why := "no card has it"
	switch {
	case found == severalCards:
		why = "several cards have it"
	case !known:
		why = "no card has an id in this namespace"
	}
	r.AliasRemarks = append(r.AliasRemarks,
		fmt.Sprintf("the search alias %q stands for %s, but %s: the row is passed over",
			source.Clip(a.phrase, clean.MaxValue), source.Clip(a.ref.text(), clean.MaxValue), why))
}

// gameRow is the row of a game by its slug; false for one that the catalog does not have.
func (a *assembly) gameRow(slug string) (uint8, bool) {
	if slug == "" {
		return snapshot.AnyGame, true
	}
	number, known := gameNumber(slug)
	return a.game[number], known && a.has[number]
}
