package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
)

// SetFilter restricts a list of sets; empty strings exclude nothing.
type SetFilter struct {
	Game   string // slug
	Series string // compared on letters and digits, ignoring case
	Query  string // words of the name, a code, or a common name

	Released Dates
}

// Dates is a range of days, both inclusive; snapshot.NoDay leaves a side open. The zero value is no
// range.
type Dates struct {
	Given    bool
	From, To snapshot.Day
}

// Sets appends at most limit sets from a place on that match the filter. It returns the place at
// which the next page begins, -1 when there is none. The first place is 0. Sets with the common
// name of the query come first; both they and the others are in the order of decision 22.
func (ix *Index) Sets(dst []uint32, filter SetFilter, from, limit int) (sets []uint32, next int) {
	game, ok := ix.games.find(filter.Game)
	if !ok {
		return dst, -1
	}

	series := ix.series.find(cardvocab.Fold(filter.Series))
	var asked []uint32
	if filter.Query != "" {
		asked, _ = ix.setNames.Search(filter.Query)
	}

	// Sets are numbered from the newest on.
	n := ix.c.Sets.ID.Len()
	first := 0
	end := n
	if filter.Released.Given {
		newest, older := ix.released(filter.Released.From, filter.Released.To)
		first = int(newest)
		end = int(older)
	}

	// Places number all sets twice: first for those with the common name, then for the others.
	called := ix.setsFirst(filter)
	if len(called) == 0 {
		from = max(from, n)
	}

	for place := from; place < 2*n; place++ {
		set := place % n
		if set < first || set >= end || slices.Contains(called, uint32(set)) != (place < n) {
			continue
		}
		if game >= 0 && int(ix.c.Sets.Game[set]) != game {
			continue
		}

		// An unknown series has no sets.
		if filter.Series != "" && !Contains(series, uint32(set)) ||
			filter.Query != "" && !Contains(asked, uint32(set)) {
			continue
		}

		// The page is full, and this set begins the next one.
		if limit == 0 {
			return dst, place
		}

		dst = append(dst, uint32(set))
		limit--
	}

	return dst, -1
}

// setsFirst returns the sets that a list puts first: those with the common name of its query.
func (ix *Index) setsFirst(filter SetFilter) []uint32 {
	if filter.Query == "" || IsTooLong(filter.Query) {
		return nil
	}
	return ix.setNames.byCommonName(setWords(filter.Query))
}

// SetPosition is a place in a list of sets: the sort key of the last set shown.
type SetPosition struct {
	ID      string
	Release snapshot.Day
	Name    string // cut to maxSetName bytes
}

// maxSetName bounds a position, so that a cursor has at most 512 characters.
const maxSetName = 100

// compareSet compares a set's place in the order of decision 22 with a sort key. The order is
// newest first, without a date last (NoDay is the smallest), then name and id.
func compareSet(sets *snapshot.Sets, set int, release snapshot.Day, name, id string) int {
	return cmp.Or(cmp.Compare(release, sets.Release[set]), cmp.Compare(sets.Name.At(set), name),
		cmp.Compare(sets.ID.At(set), id))
}

// SetPosition returns the position of a set.
func (ix *Index) SetPosition(set int) SetPosition {
	return SetPosition{
		ID: ix.c.Sets.ID.At(set), Release: ix.c.Sets.Release[set], Name: cutTo(ix.c.Sets.Name.At(set), maxSetName),
	}
}

// SetAfter returns the first place after a position of a list. If its set is gone, that is where
// the set would be.
func (ix *Index) SetAfter(filter SetFilter, position SetPosition) int {
	n := ix.c.Sets.ID.Len()
	set, ok := ix.Set(position.ID)
	switch {
	case ok && slices.Contains(ix.setsFirst(filter), uint32(set)):
		return set + 1
	case ok:
		return n + set + 1
	}
	return n + sort.Search(n, func(i int) bool {
		return compareSet(&ix.c.Sets, i, position.Release, position.Name, position.ID) > 0
	})
}

// AppendBinary appends the position in the encoding that ParseSetPosition reads.
func (p *SetPosition) AppendBinary(dst []byte) []byte {
	dst = binary.AppendVarint(dst, int64(p.Release))
	return appendStrings(dst, p.ID, p.Name)
}

// ParseSetPosition decodes a position of AppendBinary.
func ParseSetPosition(b []byte) (SetPosition, error) {
	release, n := binary.Varint(b)
	if n <= 0 {
		return SetPosition{}, ErrPosition
	}
	position := SetPosition{Release: snapshot.Day(release)}
	err := parseStrings(b[n:], &position.ID, &position.Name)
	return position, err
}

// appendStrings appends strings, each behind a byte with its length.
func appendStrings(dst []byte, all ...string) []byte {
	for _, s := range all {
		dst = append(dst, byte(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

// parseStrings decodes the strings of appendStrings, which must end with the last byte.
func parseStrings(b []byte, out ...*string) error {
	for _, s := range out {
		if len(b) == 0 || len(b) <= int(b[0]) {
			return ErrPosition
		}
		*s = string(b[1 : 1+int(b[0])])
		b = b[1+int(b[0]):]
	}

	if len(b) != 0 {
		return ErrPosition
	}

	return nil
}
