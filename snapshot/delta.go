package snapshot

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// RowKind is the kind of a row of a Delta.
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

// deltaFormat is the version of a Delta: of its form, and of the input of fingerprints. A reader
// accepts only this version.
const deltaFormat = 1

// appendLine appends the line of a row: its key, and its fingerprint in the earlier snapshot, 0 if it was absent.
func (key *RowKey) appendLine(lines []byte, was uint64) []byte {
	return fmt.Appendf(lines, "%d%d%016x%s\t%s\n", key.Kind, key.Condition, was, key.ID, key.Variant)
}

// Delta names the rows in which one snapshot differs from another. It is valid for ever, because an
// id stands for its content, independent of the release.
type Delta struct {
	Format int    `json:"format"`
	Epoch  uint64 `json:"epoch"` // of the release that it was made for
	From   string `json:"from"`
	To     string `json:"to"`
	Packed []byte `json:"rows"` // a line each, compressed
}

// NewDelta compares two catalogs.
func NewDelta(from, to *Catalog, epoch uint64) (*Delta, error) {
	was := map[RowKey]uint64{}
	from.EachRow(func(key RowKey, row int) { was[key] = from.Fingerprint(key.Kind, row) })

	// Rows of both catalogs leave the map.
	var lines []byte
	to.EachRow(func(key RowKey, row int) {
		if was[key] != to.Fingerprint(key.Kind, row) {
			lines = key.appendLine(lines, was[key])
		}
		delete(was, key)
	})

	// The rest was removed. The catalog has an order for it, and equal catalogs give equal bytes.
	from.EachRow(func(key RowKey, _ int) {
		if before := was[key]; before != 0 {
			lines = key.appendLine(lines, before)
		}
	})

	// Ids are most of a delta, and compression hardly shortens them.
	compress, err := compressor()
	if err != nil {
		return nil, err
	}
	return &Delta{deltaFormat, epoch, from.ID, to.ID, compress.EncodeAll(lines, nil)}, nil
}

// EachRow calls each for all rows with their numbers. A lane without a price is no row.
func (c *Catalog) EachRow(each func(key RowKey, row int)) {
	for set := range c.Sets.ID.Len() {
		each(RowKey{Kind: SetRow, ID: c.Sets.ID.At(set)}, set)
	}

	for card := range c.Cards.ID.Len() {
		key := RowKey{Kind: CardRow, ID: c.Cards.ID.At(card)}
		each(key, card)

		key.Kind = PriceRow
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			key.Variant = c.Variants.At(int(c.Lanes.Variant[lane]))
			key.Condition = Condition(c.Lanes.Condition[lane])
			if c.Lanes.Cents[lane] != NoCents {
				each(key, lane)
			}
		}
	}
}

// Fingerprint is equal for two rows that clients see as equal, except for values that move every day
// (decision 4101). It is never 0.
func (c *Catalog) Fingerprint(kind RowKind, row int) uint64 {
	var shown []any
	switch kind {
	case PriceRow:
		return uint64(c.Lanes.Cents[row]) + 1

	case SetRow:
		sets := &c.Sets
		game := c.Games.Slug.At(int(sets.Game[row]))
		shown = []any{sets.Name.At(row), sets.Series.At(row), sets.Release[row], sets.Cards[row], game}

	default:
		cards := &c.Cards
		game := c.Games.Slug.At(int(cards.Game[row]))
		shown = []any{
			cards.Name.At(row), cards.Number.At(row), cards.Rarity.At(row), cards.Image.At(row), cards.Slug.At(row),
			cards.Product[row], game, c.OfSet(&c.Sets.ID, row), c.OfSet(&c.Sets.Name, row),
		}
		for k, to := c.Identifiers.Of.Range(row); k < to; k++ {
			shown = append(shown, c.Identifiers.Namespace.At(k), c.Identifiers.Value.At(k))
		}
	}

	// Quotes keep two texts apart that lie side by side.
	hash := xxhash.New()
	_, _ = fmt.Fprintf(hash, "%q", shown) // a hash takes everything
	return hash.Sum64() | 1
}

// ParseDelta reads the output of Encode.
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
	Was uint64 // its fingerprint in the earlier snapshot, 0 if it was absent
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
		// A file with a valid checksum line was written by this program, or by another program with the key.
		line := lines.Text()
		if len(line) < 2+16 {
			return nil, &DamageError{deltasDir, "has a line that is no row"}
		}
		was, err := strconv.ParseUint(line[2:18], 16, 64)
		id, variant, _ := strings.Cut(line[18:], "\t")
		row := DeltaRow{RowKey{RowKind(line[0] - '0'), id, variant, Condition(line[1] - '0')}, was}
		if err != nil || row.Kind >= RowKinds || row.Condition >= conditions {
			return nil, &DamageError{deltasDir, "has a row of no kind"}
		}
		rows = append(rows, row)
	}
	return rows, lines.Err()
}
