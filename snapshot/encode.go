package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

const (
	codecZstd, codecNone = "zstd", "none"
	sectionSuffix        = ".msgpack.zst"
	quarantineName       = "quarantine"
	quarantineFile       = "quarantine.jsonl"

	// maxWindow is the window that sections are compressed with. A decoder of a section needs no
	// more memory than that.
	maxWindow = 8 << 20
	// usualRatio is the ratio that compression rarely exceeds. Unpacking makes room for it before
	// it has seen any byte.
	usualRatio = 16
)

// file is a section with its bytes.
type file struct {
	Section
	data []byte
}

// compressor packs all sections of all snapshots that a process writes. It needs a megabyte of
// tables for each section that it packs at the same time, which is more than most sections have, so
// it is made once. It packs each section in one goroutine, so that equal input is always cut into
// equal blocks (decision 34).
var compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(maxWindow),
		zstd.WithEncoderConcurrency(min(runtime.GOMAXPROCS(0), len(sections)+len(optionalSections))))
})

// encode writes a catalog and its quarantine report as the files of a snapshot and the manifest
// that describes them.
func encode(c *Catalog, options WriteOptions) (*Manifest, []file, error) {
	checked, err := c.validate(func() {})
	if err != nil {
		return nil, nil, fmt.Errorf("the catalog is not consistent: %w", err)
	}

	tables := slices.Clone(sections)
	for _, section := range optionalSections {
		if !section.isEmpty(c) {
			tables = append(tables, section)
		}
	}

	compress, err := compressor()
	if err != nil {
		return nil, nil, err
	}

	// Two sections are packed at the same time: the largest takes as long as all others together, and
	// each lies in memory once more until it is packed.
	files := make([]file, len(tables)+1)
	var group errgroup.Group
	group.SetLimit(2)
	for i, section := range tables {
		group.Go(func() error {
			if section.name == closedName {
				if stored, whole := c.History.Closed.file(); whole {
					files[i] = stored
					return nil
				}
			}

			raw, err := encodeSection(section.columns(c))
			if err != nil {
				return fmt.Errorf("cannot encode section %q: %w", section.name, err)
			}

			if len(raw) > MaxSection {
				const text = "cannot encode section %q: it has %d bytes, the format holds %d"
				return fmt.Errorf(text, section.name, len(raw), MaxSection)
			}

			// Growing would copy it again and again; most sections are packed to half their length.
			packed := compress.EncodeAll(raw, make([]byte, 0, len(raw)/2))
			files[i] = newFile(section.name, section.name+sectionSuffix, codecZstd, packed, len(raw))
			files[i].Optional = i >= len(sections)
			return nil
		})
	}

	if err := group.Wait(); err != nil {
		return nil, nil, err
	}

	files[len(tables)] = newFile(quarantineName, quarantineFile, codecNone, options.Quarantine, len(options.Quarantine))

	m := &Manifest{
		Format: Format, SnapshotAt: time.UnixMilli(c.SnapshotAt).UTC(), Base: options.Base,
		Counts:     c.count(checked.points),
		Quarantine: map[string]int{},
	}

	for reason, n := range options.QuarantineCounts {
		m.Quarantine[reason] = n
		m.Counts.Quarantined += n
	}

	for _, f := range files {
		m.Sections = append(m.Sections, f.Section)
	}

	// The id follows from the checksums, so it comes last.
	m.identify()
	return m, files, nil
}

func newFile(name, path, codec string, data []byte, raw int) file {
	sum := sha256.Sum256(data)
	return file{Section{
		Name: name, File: path, Codec: codec, Bytes: int64(len(data)), Raw: int64(raw),
		XXH64: fmt.Sprintf("%016x", xxhash.Sum64(data)), SHA256: hex.EncodeToString(sum[:]),
	}, data}
}

// count counts the records for the manifest, of a catalog with so many points.
func (c *Catalog) count(points int) Counts {
	n := Counts{
		Games: c.Games.Slug.Len(), Sets: c.Sets.ID.Len(), Cards: c.Cards.ID.Len(),
		Products: c.Sealed.Tail.Len(), Lanes: len(c.Lanes.Variant),
		HistoryPoints: points,
	}
	for _, verified := range c.Cards.Product {
		n.Products += int(verified)
	}

	return n
}

// decodeOptions is how the files of a snapshot are read.
type decodeOptions struct {
	file           func(Section) ([]byte, error) // the bytes of a section's file
	verifySHA256   bool                          // also compare the SHA-256 of every file
	withQuarantine bool                          // also read the quarantine report
	// step is called every ten microseconds or so, and may rest. The sections are then read one
	// after the other, on the caller's goroutine. When step is nil, they are read at the same time.
	step func()
	// companion reads the sections that are set apart, instead of leaving them out.
	companion bool
	// base leaves out the sections that a build computes again.
	base bool
}

// decode reads a catalog from the files of its manifest. Checksums come before decoding, and the
// tables are validated at the end.
func decode(ctx context.Context, m *Manifest, reading decodeOptions) (*Catalog, error) {
	// Work that may rest stays on one goroutine: while it rests, no other part may run.
	together := reading.step == nil
	if together {
		reading.step = func() {}
	}

	c := &Catalog{ID: m.ID, SnapshotAt: m.SnapshotAt.UnixMilli(), History: History{Closed: &Closed{}}}
	var group errgroup.Group
	for i, s := range m.Sections {
		if i == len(m.Sections)-1 && !reading.withQuarantine {
			// Serving does not need the quarantine report, which is the last section.
			continue
		}

		if together {
			group.Go(func() error { return reading.section(ctx, c, m.Format, i, &s) })
		} else if err := reading.section(ctx, c, m.Format, i, &s); err != nil {
			return nil, err
		}
	}

	if err := group.Wait(); err != nil {
		return nil, err
	}

	// Format 1 did not know the printed totals of sets.
	if m.Format < 2 {
		c.Sets.Total = make([]uint16, c.Sets.ID.Len())
	}

	// After this, readers use the references in the tables as indexes without a check.
	checked, err := c.validate(reading.step)
	if err != nil {
		return nil, err
	}

	closed := slices.IndexFunc(m.Sections, func(s Section) bool { return s.Name == closedName })
	if closed >= 0 && c.History.Closed.stored == nil {
		c.History.Closed.remember(storedClosed{m.Sections[closed], reading.file, checked.closed, reading.verifySHA256})
	}
	return c, nil
}

// section reads section i of a manifest of a format into its table.
func (r *decodeOptions) section(ctx context.Context, c *Catalog, format, i int, s *Section) error {
	packed, err := r.file(*s)
	if err != nil {
		return err
	}

	// A section that is no table of the catalog is not decoded: only its file is checked.
	table := tableOf(format, i, s)
	if err := s.check(packed, r.verifySHA256); err != nil || table == nil || table.apart != r.companion ||
		r.base && table.computed {
		return err
	}
	if known := s.knownClosed(r.verifySHA256); known != nil {
		c.History.Closed = known
		return nil
	}

	// Decoders get only bytes with a correct checksum.
	raw, err := s.unpack(packed, stepper{ended: ctx.Err, step: r.step})
	if err != nil {
		return err
	}

	if err := decodeSection(raw, format, r.step, table.columns(c)); err != nil {
		return &DamageError{s.Name, err.Error()}
	}

	return nil
}

// tableOf is the table that section i of a manifest holds. It is nil for the quarantine report and
// for an optional section that this program does not know.
func tableOf(format, i int, s *Section) *section {
	if tables := tables(format); i < len(tables) {
		return &tables[i]
	}

	for k := range optionalSections {
		if s.Optional && optionalSections[k].name == s.Name {
			return &optionalSections[k]
		}
	}

	return nil
}

// check compares a file with its length and checksums.
func (s *Section) check(packed []byte, strong bool) error {
	if int64(len(packed)) != s.Bytes {
		return &DamageError{s.Name, fmt.Sprintf("has %d bytes instead of %d", len(packed), s.Bytes)}
	}

	// The quick sum finds accidents at every load. The strong one is for verifying and publishing.
	ok := fmt.Sprintf("%016x", xxhash.Sum64(packed)) == s.XXH64
	if strong && ok {
		sum := sha256.Sum256(packed)
		ok = hex.EncodeToString(sum[:]) == s.SHA256
	}

	if !ok {
		return &DamageError{s.Name, "does not have the checksum it was written with"}
	}

	return nil
}

// stepper reads in steps of at most 64 KiB, until it is stopped.
type stepper struct {
	io.Reader
	ended func() error // of the context
	step  func()
}

func (r stepper) Read(b []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	r.step()

	return r.Reader.Read(b[:min(len(b), 64<<10)])
}

// unpack decompresses a file. It reads a stream, so that memory grows with the bytes that are
// really there. It trusts neither the length in the manifest nor the length in the frame
// (docs/dev/SNAPSHOT.md).
func (s *Section) unpack(packed []byte, from stepper) ([]byte, error) {
	dec, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer dec.Close()

	// The length in the manifest may be wrong: it gets no more room than a usual section needs.
	raw := bytes.NewBuffer(make([]byte, 0, min(s.Raw, usualRatio*s.Bytes)+bytes.MinRead))

	// One byte more than the manifest says is enough to see that there is too much.
	from.Reader = io.LimitReader(dec, s.Raw+1)
	n, err := raw.ReadFrom(from)

	// A read that the context ended is not damage.
	if stopped := from.ended(); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, &DamageError{s.Name, "does not unpack: " + err.Error()}
	}
	if n != s.Raw {
		return nil, &DamageError{s.Name, fmt.Sprintf("does not unpack to %d bytes", s.Raw)}
	}

	return raw.Bytes(), nil
}
