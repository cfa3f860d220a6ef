package snapshot

import (
	"context"

	"ninepocket/internal/disk"
)

// DecodeAround reads every section of a manifest but the i-th. It returns a function that reads
// a file as that section, and the catalog with it, as for serving: fuzzing one section need not
// read the others each time.
func DecodeAround(
	m *Manifest, i int, file func(Section) ([]byte, error),
) (func(s Section, packed []byte) (*Catalog, error), error) {
	rest := Catalog{ID: m.ID, SnapshotAt: m.SnapshotAt.UnixMilli(), History: History{Closed: &Closed{}}}
	r := decodeOptions{file: file, step: func() {}}
	for j := range sections {
		if j == i {
			continue
		}
		if err := r.section(context.Background(), &rest, m.Format, j, &m.Sections[j]); err != nil {
			return nil, err
		}
	}

	return func(s Section, packed []byte) (*Catalog, error) {
		c := rest // the columns are shared, and only read
		closed := *rest.History.Closed
		c.History.Closed = &closed
		r := decodeOptions{file: func(Section) ([]byte, error) { return packed, nil }, step: func() {}}
		if err := r.section(context.Background(), &c, m.Format, i, &s); err != nil {
			return nil, err
		}
		return &c, c.Validate()
	}, nil
}

// CountPoints counts stored points.
func CountPoints(b []byte) int {
	n, _ := countPoints(b, firstDay, lastDay)
	return n
}

// PointsOK reports whether stored points decode and are in bounds.
func PointsOK(b []byte, last Day) bool {
	_, ok := countPoints(b, firstDay, last)
	return ok
}

// DaysUnchanged is daysUnchanged.
func (h *History) DaysUnchanged(lane int, last Day) int { return h.daysUnchanged(lane, last) }

// LastDay is lastDay.
func (h *History) LastDay(lane int) Day { return h.lastDay(lane) }

// SectionNames are the sections of the format in order.
func SectionNames() []string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// EncodeSections encodes a catalog's sections, not compressed.
func EncodeSections(c *Catalog) ([][]byte, error) {
	var all [][]byte
	for _, s := range sections {
		raw, err := encodeSection(s.columns(c))
		if err != nil {
			return nil, err
		}
		all = append(all, raw)
	}

	return all, nil
}

// DecodeSection reads section i into a catalog.
func DecodeSection(c *Catalog, i int, raw []byte) error {
	if c.History.Closed == nil {
		c.History.Closed = &Closed{}
	}
	return decodeSection(raw, Format, func() {}, sections[i].columns(c))
}

// Remember replaces the store's journal.
func (d *Store) Remember(past []Publication) error {
	return d.replace(journalName, publicationLog{past})
}

// WithDisk returns the store on another disk.
func (d *Store) WithDisk(on disk.FS) *Store { return &Store{root: d.root, disk: on} }
