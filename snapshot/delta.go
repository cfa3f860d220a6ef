package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
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

// deltaLine is the line of a row: its key, and its fingerprint in the earlier snapshot, 0 where it was not.
const deltaLine = "%d\t%s\t%s\t%d\t%d\n"

// Delta names the rows in which one snapshot differs from another. Whoever published what, and when:
// an id stands for its content, so that a delta is true for ever.
type Delta struct {
	Format int    `json:"format"`
	Epoch  uint64 `json:"epoch"` // of the publication that it was made for
	From   string `json:"from"`
	To     string `json:"to"`
	Packed []byte `json:"rows"` // a line each, compressed
}

// NewDelta compares two catalogs.
func NewDelta(from, to *Catalog) (*Delta, error) {
	was := map[RowKey]uint64{}
	from.EachRow(func(key RowKey, _ int, fingerprint uint64) { was[key] = fingerprint })

	var lines []byte
	add := func(key RowKey, was uint64) {
		lines = fmt.Appendf(lines, deltaLine, key.Kind, key.ID, key.Variant, key.Condition, was)
	}
	to.EachRow(func(key RowKey, _ int, fingerprint uint64) {
		if was[key] != fingerprint {
			add(key, was[key])
		}
		delete(was, key)
	})

	// What is left went. The catalog has it in an order, and equal catalogs give equal bytes.
	from.EachRow(func(key RowKey, _ int, fingerprint uint64) {
		if _, gone := was[key]; gone {
			add(key, fingerprint)
		}
	})

	compress, err := compressor()
	if err != nil {
		return nil, err
	}
	return &Delta{Format: deltaFormat, From: from.ID, To: to.ID, Packed: compress.EncodeAll(lines, nil)}, nil
}

// EachRow calls each for all rows, with their numbers and what is equal for two rows that clients are shown as equal,
// but for what moves every day (decision 4101). A lane without a price is no row.
func (c *Catalog) EachRow(each func(key RowKey, row int, fingerprint uint64)) {
	for set := range c.Sets.ID.Len() {
		game := int(c.Sets.Game[set])
		each(RowKey{Kind: SetRow, ID: c.Sets.ID.At(set)}, set, fingerprintOf(
			c.Sets.Name.At(set), c.Sets.Series.At(set), c.Sets.Release[set].String(),
			strconv.Itoa(int(c.Sets.Cards[set])), c.Games.Slug.At(game), c.Games.Name.At(game)))
	}

	var texts []string
	for card := range c.Cards.ID.Len() {
		key := RowKey{Kind: CardRow, ID: c.Cards.ID.At(card)}
		texts = c.appendShown(texts[:0], card)
		each(key, card, fingerprintOf(texts...))

		key.Kind = PriceRow
		from, to := c.Lanes.Of.Range(card)
		for lane := from; lane < to; lane++ {
			key.Variant = c.Variants.At(int(c.Lanes.Variant[lane]))
			key.Condition = Condition(c.Lanes.Condition[lane])
			if cents := c.Lanes.Cents[lane]; cents != NoCents {
				each(key, lane, uint64(cents)+1)
			}
		}
	}
}

// appendShown appends what clients are shown of a card besides its prices.
func (c *Catalog) appendShown(texts []string, card int) []string {
	cards := &c.Cards
	game := int(cards.Game[card])
	texts = append(texts,
		cards.Name.At(card), cards.Number.At(card), cards.Rarity.At(card), cards.Image.At(card), cards.Slug.At(card),
		strconv.Itoa(int(cards.Product[card])), c.Games.Slug.At(game), c.Games.Name.At(game),
		c.OfSet(&c.Sets.ID, card), c.OfSet(&c.Sets.Name, card))
	from, to := c.Identifiers.Of.Range(card)
	for k := from; k < to; k++ {
		texts = append(texts, c.Identifiers.Namespace.At(k), c.Identifiers.Value.At(k))
	}
	return texts
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
	delta := &Delta{}
	err := decodeChecksummed(b, deltasDir, delta)
	if err == nil && delta.Format != deltaFormat {
		err = fmt.Errorf("format %d: %w", delta.Format, ErrNewerFormat)
	}
	return delta, err
}

// Encode returns the bytes of its file.
func (delta *Delta) Encode() ([]byte, error) { return encodeChecksummed(delta) }

// DeltaRow is a row of a Delta.
type DeltaRow struct {
	RowKey
	Was uint64 // its fingerprint in the earlier snapshot, 0 where it was not
}

// Rows returns the rows. It calls step often, and step may rest.
func (delta *Delta) Rows(step func()) (rows []DeltaRow, err error) {
	unpack, err := zstd.NewReader(bytes.NewReader(delta.Packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpack.Close()

	lines := bufio.NewScanner(unpack)
	for lines.Scan() {
		step()
		part := strings.Split(lines.Text(), "\t")
		if len(part) != strings.Count(deltaLine, "%") {
			return nil, &DamageError{deltasDir, "has a line that is no row"}
		}
		kind, kindErr := strconv.ParseUint(part[0], 10, 8)
		condition, conditionErr := strconv.ParseUint(part[3], 10, 8)
		was, wasErr := strconv.ParseUint(part[4], 10, 64)
		if errors.Join(kindErr, conditionErr, wasErr) != nil || RowKind(kind) >= RowKinds ||
			condition >= uint64(conditions) {
			return nil, &DamageError{deltasDir, "has a row of no kind"}
		}
		rows = append(rows, DeltaRow{RowKey{RowKind(kind), part[1], part[2], Condition(condition)}, was})
	}
	return rows, lines.Err()
}
