package source

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// RawRecord is a record of the pokemon-tcg-data files, whole.
type RawRecord struct {
	ID, Set string // Set is that of a card's file, "" for a set
	JSON    jsontext.Value

	name string
}

// UnmarshalJSON stores the bytes next to the members that every record must have.
func (r *RawRecord) UnmarshalJSON(raw []byte) error {
	var named struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	r.ID = named.ID
	r.name = named.Name
	r.JSON = bytes.Clone(raw)
	return nil
}

func checkRaw(r *RawRecord) *recordError { return checkNamed(r.ID, r.name) }

// ReadRaw reads the sets and cards of a pokemon-tcg-data source in the form of its files. A faulty
// record was reported by Catalog, and is skipped.
func ReadRaw(ctx context.Context, src Source, use func(RawRecord)) error {
	files, ok := src.(*pokemonTCG)
	if !ok {
		return errors.New("cannot read whole records of another source than " + KindPokemonTCG)
	}
	useSet := func(set *RawRecord, _ Location) string {
		use(*set)
		return set.ID
	}
	useCard := func(card *RawRecord, _ Location, set string) *recordError {
		card.Set = set
		use(*card)
		return nil
	}
	return readPTCG(ctx, files, Discard{}, checkRaw, checkRaw, useSet, useCard)
}
