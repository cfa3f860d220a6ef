package loader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// unlistedDays is how long a card stays that no source lists any more, counted from the later of its
// last price and its last listed day (decision 3401).
const unlistedDays = 365

// sinceThisBuild stands for the catalog's own date, which only the prices determine.
const sinceThisBuild = snapshot.MaxDay

// carryUnlisted adds the cards and sealed products of the base that no source lists any more, with
// their sets (decision 3401). If a source should list a group's products but lacks them, they are not
// unlisted: their state is unknown.
func (b *builder) carryUnlisted(m *merged) {
	base := b.o.Base
	gone := b.goneItems(m)
	if len(gone) == 0 {
		return
	}
	refs := b.refsOfBase(gone)

	sets := m.setsByRef()
	setOf := func(row int32) int32 {
		all := refs[base.Sets.ID.At(int(row))]
		if i := slices.IndexFunc(all, func(ref string) bool { _, known := sets[ref]; return known }); i >= 0 {
			return sets[all[i]]
		}

		to := int32(len(m.sets))
		m.sets = append(m.sets, b.carrySet(int(row), refs))
		for _, ref := range all {
			sets[ref] = to
		}
		return to
	}

	lost := map[uint8]bool{} // games with a group whose products are missing
	for ref := range b.missingProducts {
		if set, known := sets[ref]; known {
			lost[m.sets[set].game] = true
		}
	}

	listed := len(m.cards)
	for i := range base.Cards.ID.Len() {
		row := base.Cards.Set[i]
		if !gone[i] || row >= 0 && b.mapping.removes(aliasSet, refs[base.Sets.ID.At(int(row))]) {
			continue
		}
		c := b.carryCard(i, refs)
		if row >= 0 {
			c.set = setOf(row)
			c.group = refIn(m.sets[c.set].refs, source.KindTCGCSV)
		}
		if b.carryItem(&c.item, i, b.missingProducts[c.group]) && !b.joinUnlisted(m.cards[listed:], &c) {
			m.cards = append(m.cards, c)
		}
	}

	for i := range base.Sealed.Tail.Len() {
		product := b.carrySealed(i, refs)
		// Of sealed products the base does not know the group.
		if gone[base.Cards.ID.Len()+i] && b.carryItem(&product.item, base.Cards.ID.Len()+i, lost[product.game]) {
			m.sealed = append(m.sealed, product)
		}
	}
}

// joinUnlisted makes one card of two that an operator declared equal and that no source lists any more,
// and reports whether it did. The card that was unlisted first decides the id.
func (b *builder) joinUnlisted(cards []card, c *card) bool {
	same := b.mapping.sameAs(aliasCard, c.refs[0])
	i := slices.IndexFunc(cards, func(other card) bool { return slices.Contains(same, other.refs[0]) })
	if i < 0 {
		return false
	}

	first, second := &cards[i], c // air: a pair
	if second.unlisted != 0 && (first.unlisted == 0 || second.unlisted < first.unlisted) {
		first, second = second, first // air: a swap
	}
	// If one of the two may be listed, both may be.
	unlisted := max(first.unlisted, second.unlisted)
	if first.unlisted == 0 || second.unlisted == 0 {
		unlisted = 0
	}
	first.refs = append(first.refs, second.refs...)
	first.unlisted = unlisted
	cards[i] = *first
	return true
}

// goneItems are the items of the base that no source lists and no operator removed, by their rows. A
// reference that is listed leads to its item there: the base's item lives on in it.
func (b *builder) goneItems(m *merged) map[int]bool {
	items := m.itemsByRef()
	registry := &b.o.Base.Registry
	stays := make([]bool, b.o.Base.NumItems())
	for i, row := range b.rowOfRef {
		ref := registry.Ref.At(i)
		_, listed := items[ref]
		if row >= 0 && (listed || b.droppedRefs[ref] || b.mapping.removed[aliasCard][ref]) {
			stays[row] = true
		}
	}

	gone := map[int]bool{}
	for row := range stays {
		if !stays[row] {
			gone[row] = true
		}
	}
	return gone
}

// carryItem completes an item of the base that no source lists, unless its time is over. A pending one
// may be listed: its group's products are missing.
func (b *builder) carryItem(it *item, row int, pending bool) bool {
	if pending {
		b.countCarried()
		return true
	}
	if it.unlisted == 0 {
		it.unlisted = sinceThisBuild
		b.report.Unlisted++
		b.report.UnlistedExamples = append(b.report.UnlistedExamples,
			fmt.Sprintf("%q (%s)", it.name, readable(it.refs[0])))
	}

	last := min(it.unlisted, b.today)
	lanes := &b.o.Base.Lanes
	for lane, to := lanes.Of.Range(row); lane < to; lane++ {
		last = max(last, lanes.LastSeen[lane])
	}
	return last+unlistedDays >= b.today
}

// countCarried counts an item of a group whose products are missing, in the report of its source.
func (b *builder) countCarried() {
	for i := range b.report.Sources {
		if read := &b.report.Sources[i]; read.Namespace == source.KindTCGCSV {
			read.Carried++
		}
	}
}

// findRelisted finds the unlisted cards whose set, number and name one listed card has: the source may
// have given the card another reference. Only an operator's alias makes one of them (decision 3404).
func (b *builder) findRelisted(m *merged) {
	// Names are folded for the sets alone that lost a card.
	sets := map[int32]bool{}
	for i := range m.cards {
		if m.cards[i].unlisted != 0 {
			sets[m.cards[i].set] = true
		}
	}
	listed := map[string][]int{}
	for i := range m.cards {
		if c := &m.cards[i]; c.unlisted == 0 && sets[c.set] {
			listed[wholeKey(c)] = append(listed[wholeKey(c)], i)
		}
	}

	for i := range m.cards {
		c := &m.cards[i]
		// A build reports new ones, a suggestion all.
		if c.unlisted == 0 || c.unlisted != sinceThisBuild && b.onUnmatched == nil {
			continue
		}
		key := wholeKey(c)
		others := listed[key]
		if key == "" || len(others) != 1 {
			continue
		}

		old, fresh := c.refs[0], m.cards[others[0]].refs[0] // air: a pair
		namespace, ref := splitRef(fresh)
		oldNamespace, oldRef := splitRef(old)
		// Only a reference of the same source can replace another: a source names no card of
		// another source.
		if namespace == oldNamespace {
			b.report.Relisted = append(b.report.Relisted, Relisted{
				Old: readable(old), New: readable(fresh), Name: c.name,
				Row: strings.Join([]string{aliasCard, namespace, ref, oldNamespace, oldRef}, ","),
			})
		}
	}
}

// dropRemoved takes the items that an operator removed out of the catalog, and stores their
// references: their prices are no mistakes.
func (b *builder) dropRemoved(m *merged) {
	met := map[string]bool{}
	isRemoved := func(it *item, sets ...string) bool {
		is := b.mapping.removes(aliasCard, it.refs) || b.mapping.removes(aliasSet, sets) ||
			b.mapping.removed[aliasSet][it.group]
		if is {
			b.drop(it.refs)
			for _, ref := range slices.Concat(sets, it.refs, []string{it.group}) {
				met[ref] = true
			}
		}
		return is
	}

	m.cards = slices.DeleteFunc(m.cards, func(c card) bool {
		if c.set < 0 {
			return isRemoved(&c.item)
		}
		return isRemoved(&c.item, m.sets[c.set].refs...)
	})
	m.sealed = slices.DeleteFunc(m.sealed, func(product sealed) bool { return isRemoved(&product.item) })

	// A row that removes nothing is reported: its author may believe that the card or set is gone.
	before := map[string]map[string]string{aliasCard: b.registry.items, aliasSet: b.registry.sets}
	for _, kind := range []string{aliasCard, aliasSet} {
		for _, ref := range slices.Sorted(maps.Keys(b.mapping.removed[kind])) {
			if !met[ref] && before[kind][ref] == "" {
				b.report.MappingRemarks = append(b.report.MappingRemarks, fmt.Sprintf(
					"%s: no source lists the %s %q, and no earlier catalog had it", removedFile, kind, readable(ref)))
			}
		}
	}
}

// drop stores the references of items that leave the catalog although the sources list them.
func (b *builder) drop(refs []string) {
	for _, ref := range refs {
		b.excludedRefs[ref] = true
		b.droppedRefs[ref] = true
	}
}

// joinAliases makes one item of those that an operator declared equal if no merge joined them. One is
// an item that the sources list. The other the base knows by a reference that the sources list no
// more, or list again. The base's id stays. An alias without effect is an error (decision 3404).
func (b *builder) joinAliases(m *merged) error {
	if len(b.mapping.aliases[aliasCard]) == 0 {
		return nil
	}
	at := m.itemsByRef()
	spaces := map[string]bool{}
	for ref := range at {
		namespace, _ := splitRef(ref)
		spaces[namespace] = true
	}

	// A reference of a source that this build does not read may have its effect in another build, and a
	// reference in a group without products may have it on another day. Without a base a row joins the
	// archived prices of a card that no source lists any more.
	complete := b.o.Base.SnapshotAt != snapshot.NoTime && len(b.missingProducts) == 0
	unknown := func(ref string) bool {
		namespace, _ := splitRef(ref)
		_, listed := at[ref]
		return complete && spaces[namespace] && !listed && b.registry.items[ref] == "" && !b.excludedRefs[ref]
	}
	dropped := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(b.mapping.aliases[aliasCard])) {
		for _, to := range b.mapping.aliases[aliasCard][from] {
			if unknown(to) {
				return fmt.Errorf("%s: the alias of card %s and %s has no effect: no source lists %s, and no "+
					"earlier catalog had it; correct the row or delete it",
					aliasesFile, readable(from), readable(to), readable(to))
			}

			i, listed := at[from]
			j, other := at[to]
			switch {
			case listed && !other && b.registry.items[to] != "":
				// The reference that had an id first decides the id.
				it := m.item(int(i))
				it.refs = append([]string{to}, it.refs...)
				at[to] = i
			case listed && other && i != j && int(max(i, j)) < len(m.cards):
				one, same := &m.cards[i], &m.cards[j] // air: a pair
				if one.game != same.game {
					return fmt.Errorf("%s: %s is a card of %s and %s one of %s; correct the row or delete it",
						aliasesFile, readable(from), snapshot.Games[one.game].Name, readable(to),
						snapshot.Games[same.game].Name)
				}
				if foldName(one.name) != foldName(same.name) {
					b.report.MappingRemarks = append(b.report.MappingRemarks, fmt.Sprintf(
						"%s: %s (%q) and %s (%q) have become one card, which their names do not bear out",
						aliasesFile, readable(from), one.name, readable(to), same.name))
				}
				dropped[same.refs[0]] = true
				extra := same.refs[1:]
				one.enrich(same)
				one.refs = append(one.refs, extra...)
				for _, ref := range one.refs {
					at[ref] = i
				}
			}
		}
	}

	m.cards = slices.DeleteFunc(m.cards, func(c card) bool { return dropped[c.refs[0]] })
	return nil
}
