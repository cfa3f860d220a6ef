package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// RowKind is what a row of a Delta is of.
type RowKind uint8

// The kinds of rows.
const (
	CardRow  RowKind = iota // a card without its prices
	PriceRow                // the price of a card in one variant and condition
	SetRow
	RowKinds // how many there are
)

// RowKey names a row in every catalog that has it. Variant and Condition are of prices.
type RowKey struct {
	Kind      RowKind
	ID        string // of the card or set
	Variant   string
	Condition Condition
}

// deltaFormat is the version of a Delta: of its form, and of what fingerprints are made of. A reader
// takes no other.
const deltaFormat = 1

// Delta names the rows in which one snapshot differs from another. Whoever published what, and when:
// an id stands for its content, so that a delta is true for ever.
type Delta struct {
	Format int    `json:"format"`
	Epoch  uint64 `json:"epoch"` // of the publication that it was made for
	From   string `json:"from"`
	To     string `json:"to"`
	Raw    int64  `json:"raw_bytes"`
	Packed []byte `json:"rows"` // a deltaTable, as a section has it
}

// deltaTable are the rows of a Delta.
type deltaTable struct {
	Kind      []uint8 `column:"kind"`
	ID        Strings `column:"id"`
	Variant   Strings `column:"variant"`
	Condition []uint8 `column:"condition"`
	// Was is the fingerprint of the row in the earlier snapshot, 0 where it has none.
	Was []uint64 `column:"was"`
}

func (t *deltaTable) add(key RowKey, was uint64) {
	t.Kind = append(t.Kind, uint8(key.Kind))
	t.ID.Append(key.ID)
	t.Variant.Append(key.Variant)
	t.Condition = append(t.Condition, uint8(key.Condition))
	t.Was = append(t.Was, was)
}

// NewDelta compares two catalogs.
func NewDelta(from, to *Catalog) (*Delta, error) {
	was := map[RowKey]uint64{}
	from.eachRow(func(key RowKey, fingerprint uint64) { was[key] = fingerprint })

	var table deltaTable
	to.eachRow(func(key RowKey, fingerprint uint64) {
		if was[key] != fingerprint {
			table.add(key, was[key])
		}
		delete(was, key)
	})

	// What is left went. The catalog has it in an order, and equal catalogs give equal bytes.
	from.eachRow(func(key RowKey, fingerprint uint64) {
		if _, gone := was[key]; gone {
			table.add(key, fingerprint)
		}
	})

	raw, err := encodeSection(columnsOf(&table))
	if err != nil {
		return nil, err
	}
	compress, err := compressor()
	if err != nil {
		return nil, err
	}
	packed := compress.EncodeAll(raw, nil)
	return &Delta{Format: deltaFormat, From: from.ID, To: to.ID, Raw: int64(len(raw)), Packed: packed}, nil
}

// eachRow calls each for all rows with their fingerprints. A lane without a price is no row, and a price that may
// not be distributed is in no catalog.
func (c *Catalog) eachRow(each func(RowKey, uint64)) {
	for set := range c.Sets.ID.Len() {
		each(RowKey{Kind: SetRow, ID: c.Sets.ID.At(set)}, c.Fingerprint(SetRow, set))
	}

	for card := range c.Cards.ID.Len() {
		key := RowKey{Kind: CardRow, ID: c.Cards.ID.At(card)}
		each(key, c.Fingerprint(CardRow, card))

		key.Kind = PriceRow
		from, to := c.Lanes.Of.Range(card)
		for lane := from; lane < to; lane++ {
			key.Variant = c.Variants.At(int(c.Lanes.Variant[lane]))
			key.Condition = Condition(c.Lanes.Condition[lane])
			if fingerprint := c.Fingerprint(PriceRow, lane); fingerprint != 0 {
				each(key, fingerprint)
			}
		}
	}
}

// Fingerprint is equal for two rows that clients are shown as equal, but for what moves every day (decision
// 4101). It is 0 for a lane without a price.
func (c *Catalog) Fingerprint(kind RowKind, row int) uint64 {
	game := func(game uint8) (slug, name string) { return c.Games.Slug.At(int(game)), c.Games.Name.At(int(game)) }
	switch kind {
	case PriceRow:
		return uint64(c.Lanes.Cents[row] - NoCents)

	case SetRow:
		slug, name := game(c.Sets.Game[row])
		return fingerprintOf(c.Sets.Name.At(row), c.Sets.Series.At(row), c.Sets.Release[row].String(),
			strconv.Itoa(int(c.Sets.Cards[row])), slug, name)
	}

	cards := &c.Cards
	slug, name := game(cards.Game[row])
	texts := []string{
		cards.Name.At(row), cards.Number.At(row), cards.Rarity.At(row), cards.Image.At(row), cards.Slug.At(row),
		strconv.Itoa(int(cards.Product[row])), slug, name, c.OfSet(&c.Sets.ID, row), c.OfSet(&c.Sets.Name, row),
	}
	from, to := c.Identifiers.Of.Range(row)
	for k := from; k < to; k++ {
		texts = append(texts, c.Identifiers.Namespace.At(k), c.Identifiers.Value.At(k))
	}
	return fingerprintOf(texts...)
}

// fingerprintOf hashes texts, none of which has a zero byte. It is never 0.
func fingerprintOf(texts ...string) uint64 {
	hash := xxhash.New()
	for _, text := range texts {
		_, _ = hash.WriteString(text) // a hash takes everything
		_, _ = hash.Write([]byte{0})
	}
	return hash.Sum64() | 1
}

// ParseDelta reads what Encode wrote.
func ParseDelta(b []byte) (*Delta, error) {
	d := &Delta{}
	err := decodeChecksummed(b, deltasDir, d)
	if err == nil && d.Format != deltaFormat {
		err = fmt.Errorf("format %d: %w", d.Format, ErrNewerFormat)
	}
	if err == nil && !(ValidID(d.From) && ValidID(d.To) && d.Raw <= MaxSection) {
		err = &DamageError{deltasDir, "does not name two snapshots"}
	}
	return d, err
}

// Encode returns the bytes of its file.
func (d *Delta) Encode() ([]byte, error) { return encodeChecksummed(d) }

// Rows calls each for every row, with its fingerprint in the earlier snapshot, 0 where it had none. It calls step
// often, and step may rest.
func (d *Delta) Rows(ctx context.Context, step func(), each func(key RowKey, was uint64)) error {
	section := Section{Name: deltasDir, Bytes: int64(len(d.Packed)), Raw: d.Raw}
	raw, err := section.unpack(d.Packed, stepper{ended: ctx.Err, step: step})
	if err != nil {
		return err
	}

	var table deltaTable
	if err := decodeSection(raw, Format, step, columnsOf(&table)); err != nil {
		return &DamageError{deltasDir, err.Error()}
	}
	k := &checker{step: step}
	k.table(deltasDir, table.ID.Len(), &table)
	below(k, deltasDir, "kind", table.Kind, int(RowKinds))
	below(k, deltasDir, "condition", table.Condition, int(conditions))
	if err := errors.Join(k.errs...); err != nil {
		return err
	}

	for i, kind := range table.Kind {
		k.every(i)
		key := RowKey{RowKind(kind), table.ID.At(i), table.Variant.At(i), Condition(table.Condition[i])}
		each(key, table.Was[i])
	}
	return nil
}
