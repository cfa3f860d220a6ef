package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Companion has the records of another API's contract (docs/MOVE-FROM.md), which a server reads only
// if it serves that API.
type Companion struct {
	Cards  CompanionCards
	Sets   CompanionSets
	Quotes Quotes
}

// CompanionCards are cards in that API's order.
type CompanionCards struct {
	Ref  Strings  `column:"ref"` // the id there
	Set  []uint32 `column:"set"` // a row of CompanionSets
	JSON Strings  `column:"json"`
}

// CompanionSets are the sets of these cards, in the order of that API.
type CompanionSets struct {
	Ref  Strings `column:"ref"`
	JSON Strings `column:"json"`
}

// Quotes are prices of lanes other than market prices, in cents as delivered, or NoCents.
type Quotes struct {
	Lane   []uint32 `column:"lane"` // ascending
	Low    []int64  `column:"low"`
	Mid    []int64  `column:"mid"`
	High   []int64  `column:"high"`
	Direct []int64  `column:"direct"`
}

// Names of the sections. The first two change only when cards or sets do.
const companionCards, companionSets, companionQuotes = "companion_cards", "companion_sets", "companion_quotes"

// ErrNoCompanion reports a snapshot that was built without a source of the other API.
var ErrNoCompanion = errors.New("the snapshot has no cards of the other API")

// CompanionKey is equal for two snapshots if their cards and sets of the other API are equal; ""
// for none.
func (m *Manifest) CompanionKey() string {
	var key strings.Builder
	for i := range m.Sections {
		if s := &m.Sections[i]; s.Optional && (s.Name == companionCards || s.Name == companionSets) {
			key.WriteString(s.SHA256)
		}
	}
	return key.String()
}

// LoadCompanion reads the sections that Load omits. lanes is how many lanes the catalog has. Cards and sets are
// those of known when that is not nil: a Companion of this CompanionKey.
func LoadCompanion(ctx context.Context, store *Store, id string, lanes int, known *Companion) (*Companion, error) {
	m, err := store.Manifest(id)
	if err == nil && m.CompanionKey() == "" {
		err = fmt.Errorf("snapshot %q: %w", id, ErrNoCompanion)
	}
	if err != nil {
		return nil, err
	}

	// Only separate sections are decoded: the catalog is already in memory.
	c := &Catalog{}
	if known != nil {
		c.Companion = Companion{Cards: known.Cards, Sets: known.Sets}
	}
	reading := decodeOptions{file: sectionsOf(store, id), step: func() {}, companion: true}
	for i := range m.Sections {
		table := tableOf(m.Format, i, &m.Sections[i])
		if table == nil || !table.apart || known != nil && table.name != companionQuotes {
			continue
		}
		if err := reading.section(ctx, c, m.Format, i, &m.Sections[i]); err != nil {
			return nil, fmt.Errorf("snapshot %q: %w", id, err)
		}
	}

	k := &checker{step: func() {}}
	c.Companion.check(k, lanes)
	if err := errors.Join(k.errs...); err != nil {
		return nil, fmt.Errorf("snapshot %q: %w", id, err)
	}
	return &c.Companion, nil
}

// check looks at the tables by themselves, and at the lanes that they name.
func (c *Companion) check(k *checker, lanes int) {
	k.table(companionCards, c.Cards.JSON.Len(), &c.Cards)
	k.table(companionSets, c.Sets.JSON.Len(), &c.Sets)
	k.table(companionQuotes, len(c.Quotes.Lane), &c.Quotes)
	below(k, companionCards, "set", c.Cards.Set, c.Sets.JSON.Len())
	below(k, companionQuotes, "lane", c.Quotes.Lane, lanes)
	k.want(slices.IsSorted(c.Quotes.Lane), companionQuotes, "has lanes that do not ascend")
}
