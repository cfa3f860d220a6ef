package index

import (
	"slices"
	"strings"
	"unsafe"

	"ninepocket/snapshot"
)

// maxShared is the maximum number of cards that a batch returns for one shared identifier.
const maxShared = 10

// buildIdentifiers makes the table of the identifiers that other catalogs give to cards.
func (ix *Index) buildIdentifiers(moved *moves, step func()) {
	if moved != nil {
		ix.identifiers = moved.earlier.identifiers.renumber(moved.to, step)
		ix.namespaces = moved.earlier.namespaces
		return
	}

	ids := &ix.c.Identifiers
	seen := map[string]bool{}

	// One buffer serves all keys: the table copies each new one.
	var key []byte
	ix.identifiers = newCardTerms(step, ix.orders.newest, func(card int, add func(string)) {
		for from, to := ids.Of.Range(card); from < to; from++ {
			namespace := snapshot.PublicNamespace(ids.Namespace.At(from))
			if !seen[namespace] {
				seen[namespace] = true
				ix.namespaces = append(ix.namespaces, strings.Clone(namespace)) // they outlive the catalog
			}

			key = append(key[:0], namespace...)
			key = append(key, ':')
			key = append(key, ids.Value.At(from)...)
			add(unsafe.String(unsafe.SliceData(key), len(key)))
		}
	})

	slices.Sort(ix.namespaces)
}

// ByIdentifier returns the cards that have an identifier, written NAMESPACE:VALUE, ascending
// (decision 2001). The values of our own namespace are card ids.
func (ix *Index) ByIdentifier(identifier string) []uint32 {
	if id, own := strings.CutPrefix(identifier, snapshot.OwnNamespace+":"); own {
		if card, ok := ix.cards.findID(id); ok {
			return []uint32{uint32(card)}
		}
	}
	return ix.identifiers.find(identifier)
}

// CanonicalIdentifier returns an identifier in the catalog's writing. People write namespaces in
// other case, and spaces around both parts, as in "TCGplayer: 42382". Any other text is returned
// unchanged.
func (ix *Index) CanonicalIdentifier(ref string) string {
	namespace, value, ok := strings.Cut(ref, ":")
	if !ok || len(ix.ByIdentifier(ref)) > 0 {
		return ref
	}

	namespace = strings.TrimSpace(namespace)
	value = strings.TrimSpace(value)
	for _, known := range ix.namespaces {
		if strings.EqualFold(known, namespace) {
			return known + ":" + value
		}
	}
	return ref
}

// ForBatch returns the cards that a batch lists for an identifier: all that have it, at most ten.
func (ix *Index) ForBatch(identifier string) []uint32 {
	cards := ix.ByIdentifier(identifier)
	return cards[:min(len(cards), maxShared)]
}

// Resolve finds the card of a reference: its id, slug or former slug, or an identifier that no
// other card has. Only identifiers have a colon.
func (ix *Index) Resolve(ref string) (card int, ok bool) {
	card, ok = ix.cards.find(ref)
	if ok || strings.IndexByte(ref, ':') < 0 {
		return card, ok
	}

	cards := ix.ByIdentifier(ref)
	if len(cards) != 1 {
		return 0, false
	}
	return int(cards[0]), true
}
