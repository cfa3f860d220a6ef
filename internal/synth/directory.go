package synth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// writer writes one directory in a single pass over the catalog.
type writer struct {
	cat      *catalog
	dir      string
	observer observer // nil for none

	from   int // first day, relative to day zero
	length int // days
	past   int // of them in history

	open    []*file
	sets    *file
	cards   *file
	sealed  *file
	history map[string]*file // by file name
	prices  []*file          // one a day, oldest first

	walk   walk     // the random walk with its states in path
	path   []uint64 // its states
	series []int64  // prices of the current lane
	row    []byte
}

func newWriter(dir string, catalog *catalog) (*writer, error) {
	w := &writer{cat: catalog, dir: dir, history: map[string]*file{}}
	w.length = catalog.HistoryDays
	w.from = catalog.Day - w.length + 1
	w.past = w.length - catalog.PriceDays
	w.path = make([]uint64, w.length)
	w.series = make([]int64, w.length)
	if err := makeEmpty(dir); err != nil {
		return nil, err
	}

	// Files that are open already are closed with the error.
	if err := w.create(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// create opens all files and writes their headers.
func (w *writer) create() error {
	var errs []error
	add := func(name string, compress bool) *file {
		f, err := create(w.dir, name, compress)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		w.open = append(w.open, f)
		return f
	}

	w.sets = add("sets.jsonl", false)
	w.cards = add("cards.jsonl", false)
	w.sealed = add("sealed.jsonl", false)
	errs = append(errs, os.Mkdir(filepath.Join(w.dir, "prices"), 0o755)) //nolint:gosec // a catalog is no secret
	for day := w.from + w.past; day <= w.cat.Day; day++ {
		w.prices = append(w.prices, add(filepath.Join("prices", w.date(day)+".csv"), !w.cat.Plain))
	}

	if w.past > 0 {
		errs = append(errs, os.Mkdir(filepath.Join(w.dir, "history"), 0o755)) //nolint:gosec // a catalog is no secret
		for _, name := range []string{string(pokemon), string(onePiece), ungradedHistory, sealedHistory} {
			w.history[name] = add(filepath.Join("history", name+".csv"), !w.cat.Plain)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}

	// A wide file begins with its days, so headers are written once all files exist.
	w.headers()
	name := filepath.Join(w.dir, "source.toml")
	return os.WriteFile(name, []byte(sourceTOML), 0o644) //nolint:gosec // a catalog is no secret
}

const sourceTOML = `# A synthetic catalog: sets, prices and dates are invented.
namespace = "` + namespace + `"
attribution = "Synthetic market reference, not real prices"
partner_namespace = "` + partnerNamespace + `"
`

// Ungraded lanes have a history file without a condition column, sealed products one with empty
// variants and conditions.
const (
	ungradedHistory = "ungraded"
	sealedHistory   = "sealed"
)

func (w *writer) headers() {
	for _, f := range w.prices {
		f.text("ref,variant,condition,cents,source_as_of,collected_at,licensed\n")
	}

	for name, f := range w.history {
		f.text("ref,variant")
		if name != ungradedHistory {
			f.text(",condition")
		}
		for i := range w.past {
			f.text("," + w.date(w.from+i))
		}
		f.text("\n")
	}
}

func (w *writer) date(day int) string { return w.cat.zero.AddDate(0, 0, day).Format(time.DateOnly) }

func (w *writer) close() error {
	var errs []error
	for _, f := range w.open {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// write writes the sets with their cards, then the sealed products, so that price files end with
// the sealed rows.
func (w *writer) write() error {
	if w.observer != nil {
		w.observer.begin(w)
	}

	for s := range w.cat.sets {
		if s.first >= w.cat.total {
			break
		}
		if err := w.writeSet(s); err != nil {
			return err
		}
	}

	for s := range w.cat.sets {
		if s.first >= w.cat.total {
			break
		}
		for i := range s.packs() {
			if err := w.writeSealed(w.cat.sealed(s, i)); err != nil {
				return err
			}
		}
	}
	if w.observer != nil {
		return w.observer.end()
	}
	return nil
}

type setLine struct {
	Ref         string   `json:"ref"`
	Game        game     `json:"game"`
	Name        string   `json:"name"`
	Series      string   `json:"series,omitempty"`
	ReleaseDate string   `json:"release_date,omitempty"`
	Aliases     []string `json:"aliases,omitempty"`
}

func (w *writer) writeSet(s *set) error {
	if w.observer != nil {
		w.observer.set(s)
	}
	if err := w.sets.line(setLine{s.ref, s.game, s.name, s.series, s.releaseDate(w.cat.zero), s.aliases}); err != nil {
		return err
	}

	for place := range min(s.size, w.cat.total-s.first) {
		if err := w.writeCard(s, place); err != nil {
			return err
		}
	}
	return nil
}

type cardLine struct {
	Ref         string       `json:"ref"`
	Game        game         `json:"game"`
	Set         string       `json:"set,omitempty"`
	Name        string       `json:"name"`
	Number      string       `json:"number,omitempty"`
	Rarity      string       `json:"rarity,omitempty"`
	Printing    string       `json:"printing,omitempty"`
	Image       string       `json:"image,omitempty"`
	Identifiers []identifier `json:"identifiers,omitempty"`
	UpdatedAt   string       `json:"updated_at,omitempty"`
}

func (w *writer) writeCard(s *set, place int) error {
	ordinal := s.first + place
	// Its ordinal is not reused, so that no other card changes.
	if day, gone := w.cat.edits.removed[ordinal]; gone {
		if day == w.cat.Day && w.observer != nil {
			w.observer.removed(fmt.Sprintf("c%07d", ordinal))
		}
		return nil
	}

	k := w.cat.card(s, place)
	if w.observer != nil {
		w.observer.card(k)
	}
	line := cardLine{k.ref, s.game, s.ref, k.name, k.number, k.rarity, k.printing, k.image, k.ids, stamp(k.updatedAt)}
	if k.noSet {
		line.Set = ""
	}
	if err := w.cards.line(line); err != nil {
		return err
	}

	for i := range k.lanes {
		w.writeLane(k.ref, string(s.game), &k.lanes[i])
	}
	return nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

type sealedLine struct {
	Ref             string       `json:"ref"`
	Game            game         `json:"game"`
	Name            string       `json:"name"`
	PackageType     string       `json:"package_type"`
	UnitsPerPackage int          `json:"units_per_package"`
	UnitKind        string       `json:"unit_kind"`
	Edition         string       `json:"edition"`
	Identifiers     []identifier `json:"identifiers,omitempty"`
	UpdatedAt       string       `json:"updated_at,omitempty"`
}

func (w *writer) writeSealed(sealed *sealed) error {
	pack := sealed.pack
	if w.observer != nil {
		w.observer.sealed(sealed)
	}

	line := sealedLine{
		sealed.ref, sealed.set.game, sealed.name, pack.packageType, pack.units, pack.unitKind, pack.edition, sealed.ids,
		stamp(sealed.updatedAt),
	}
	if err := w.sealed.line(line); err != nil {
		return err
	}
	w.writeLane(sealed.ref, sealedHistory, &sealed.lane)
	return nil
}

// writeLane writes all rows of a lane: one in the history file, and one in each price file.
func (w *writer) writeLane(ref, history string, l *lane) {
	// The conditions of a variant share a random walk, whose states are computed once.
	if l.walk != w.walk {
		w.walk = l.walk
		w.walk.fill(w.path, w.from)
	}
	if !w.price(l) {
		return
	}
	if w.observer != nil {
		w.observer.lane(ref, l)
	}

	// Ungraded prices have a file without a column for the condition.
	if l.condition == "ungraded" {
		history = ungradedHistory
	}

	w.writeHistory(ref, history, l)
	for i, f := range w.prices {
		w.writePrice(f, ref, l, w.past+i)
	}
}

// Values of a lane's series that are no cents.
const (
	centsNoRow   = -2
	centsNoPrice = -1
)

// price computes the lane's series and reports whether it has any row.
func (w *writer) price(l *lane) (rows bool) {
	for i := range w.series {
		day := w.from + i
		cents := int64(centsNoRow)
		switch l.on(day) {
		case priced:
			cents = l.cents(w.path[i], day)
		case noPrice:
			cents = centsNoPrice
		case noRow:
		}

		w.series[i] = cents
		rows = rows || cents != centsNoRow
	}
	return rows
}

// writeHistory writes the wide row of the days before the price files, unless it is empty.
func (w *writer) writeHistory(ref, name string, l *lane) {
	b := append(append(append(w.row[:0], ref...), ','), l.variant...)
	if name != ungradedHistory {
		b = append(append(b, ','), l.condition...)
	}

	empty := true
	for _, cents := range w.series[:w.past] {
		b = append(b, ',')
		switch cents {
		case centsNoRow:
			continue
		case centsNoPrice:
			b = append(b, '-')
		default:
			b = strconv.AppendInt(b, cents, 10)
		}
		empty = false
	}

	b = append(b, '\n')
	w.row = b
	if !empty {
		w.history[name].row(w.row)
	}
}

// writePrice writes the row of the i-th day, if it has one.
func (w *writer) writePrice(f *file, ref string, l *lane, i int) {
	cents := w.series[i]
	if cents == centsNoRow {
		return
	}

	day := w.from + i
	at := w.cat.zero.AddDate(0, 0, day)
	b := append(append(append(w.row[:0], ref...), ','), l.variant...)
	b = append(append(append(b, ','), l.condition...), ',')
	if cents >= 0 {
		b = strconv.AppendInt(b, cents, 10)
	}

	b = append(b, ',')
	// A row without a price has no time of observation either.
	if asOf := l.asOf(at, day); !asOf.IsZero() && cents >= 0 {
		b = asOf.AppendFormat(b, time.RFC3339)
	}
	b = append(b, ',')
	b = l.collectedAt(at, day).AppendFormat(b, time.RFC3339)
	b = append(b, ',')
	b = appendLicence(b, l)
	b = append(b, '\n')
	w.row = b
	f.row(w.row)
}

// appendLicence writes the licence: most licensed lanes leave it empty, which means true.
func appendLicence(b []byte, l *lane) []byte {
	switch {
	case l.unlicensed:
		return append(b, "false"...)
	case l.seed&7 == 0:
		return append(b, "true"...)
	}
	return b
}
