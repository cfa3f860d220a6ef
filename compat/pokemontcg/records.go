package pokemontcg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// records are the cards and sets of a snapshot, and their indexes. Snapshots with equal records share them.
type records struct {
	key   string // snapshot.Manifest.CompanionKey
	from  snapshot.Companion
	cards collection
	sets  collection
	card  map[string]uint32 // by id
	set   map[string]uint32
	// values are the responses of the routes that list a field's values, by route.
	values map[string][]byte
}

// valueRoutes are the routes that list values, with their fields.
var valueRoutes = map[string]string{
	"types": "types", "subtypes": "subtypes", "supertypes": "supertype", "rarities": "rarity",
}

// newRecords indexes a snapshot's records, in a folder below dir that is gone when it returns.
func newRecords(ctx context.Context, key string, from *snapshot.Companion, dir string) (_ *records, err error) {
	recs := &records{key: key, from: *from, values: map[string][]byte{}}
	// Data that later code reads without a check is checked once.
	for _, texts := range []*snapshot.Strings{&from.Cards.JSON, &from.Sets.JSON} {
		for i := range texts.Len() {
			value, err := jsonwalk.Parse(texts.Bytes(i))
			if err != nil || value.Kind() != '{' {
				return nil, fmt.Errorf("record %d of the companion is no JSON object", i)
			}
		}
	}

	recs.cards = collection{
		fields: withSetFields(), n: from.Cards.JSON.Len(),
		each: func(doc int, yield func(path, text string)) {
			eachValue("", recs.cardJSON(doc), yield)
			eachValue("set", recs.setJSON(int(from.Cards.Set[doc])), yield)
		},
		value: func(doc int, path string, yield func(text string)) {
			if below, ofSet := strings.CutPrefix(path, "set."); ofSet {
				at(recs.setJSON(int(from.Cards.Set[doc])), below, yield)
				return
			}
			at(recs.cardJSON(doc), path, yield)
		},
	}
	// Sets are few, and searched as cards are.
	recs.sets = collection{
		fields: setFields, n: from.Sets.JSON.Len(),
		each:  func(doc int, yield func(path, text string)) { eachValue("", recs.setJSON(doc), yield) },
		value: func(doc int, path string, yield func(text string)) { at(recs.setJSON(doc), path, yield) },
	}

	recs.card = rows(from.Cards.Ref.All())
	recs.set = rows(from.Sets.Ref.All())
	recs.listValues()
	err = os.MkdirAll(dir, 0o700)
	if err == nil {
		dir, err = os.MkdirTemp(dir, "index-")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the folder of an index: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, c := range map[string]*collection{"sets": &recs.sets, "cards": &recs.cards} {
		if err := c.build(ctx, filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("cannot index %s with bleve: %w", name, err)
		}
	}
	return recs, nil
}

func rows(refs iter.Seq[string]) map[string]uint32 {
	all := map[string]uint32{}
	for ref := range refs {
		all[ref] = uint32(len(all))
	}
	return all
}

func (recs *records) cardJSON(doc int) jsonwalk.Value { return recs.from.Cards.JSON.Bytes(doc) }
func (recs *records) setJSON(doc int) jsonwalk.Value  { return recs.from.Sets.JSON.Bytes(doc) }

// listValues makes the responses of the routes that list values.
func (recs *records) listValues() {
	for route, field := range valueRoutes {
		seen := map[string]bool{}
		for doc := range recs.cards.n {
			recs.cards.value(doc, field, func(text string) { seen[text] = true })
		}
		dst := []byte(`{"data":[`)
		for _, text := range slices.Sorted(maps.Keys(seen)) {
			dst = wire.AppendString(comma(dst), text)
		}
		recs.values[route] = append(dst, "]}"...)
	}
}
