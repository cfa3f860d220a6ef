// Package synth writes a deterministic, real-looking catalog of both games as a native source
// directory.
//
// # Basics
//
// [Write] writes a whole directory: source.toml, sets.jsonl, cards.jsonl, sealed.jsonl,
// history/*.csv.zst (wide form) and the newest days as prices/YYYY-MM-DD.csv.zst. [WriteDay] writes
// the same catalog some days later with that day's prices alone, for a daily build. For tests,
// [Summarize] writes like Write and returns a [Summary] with counts and the places of special
// cases.
//
// Equal options give equal bytes. There is no shared random stream: each set, card, lane and day of
// a lane has its own stream from the seed. So a small catalog is the begin of a large one, and a
// day's price is the same number in the history and in a price file, of this day's directory or of
// a later one.
//
// The first set of each game is planted. The two sets have every special case of cards, lanes and
// sealed products for loaders and servers, at any size from 300 cards up. The cases of sets are in
// the first thirty sets, in any catalog from 2,000 cards up.
//
// # Days
//
// Day zero is the day of Options.SnapshotAt. Every later day removes, adds and renames some cards,
// renames some sets, and adds prices; earlier prices do not change. Planted cards are never edited.
//
// # Caveats
//
// Names of characters are real; sets, prices, numbers and dates are invented.
//
// A wide history row has no licence. Lanes without a licence have a row in every price file, so
// that a loader always finds the licence in the newest row.
package synth

import (
	"errors"
	"fmt"
	"time"
)

// The bounds of Options.
const (
	// minCards is the smallest catalog: the planted sets and a few more.
	minCards = 300
	// maxCards is the largest catalog.
	maxCards = 1_000_000
	// maxHistoryDays bounds Options.HistoryDays.
	maxHistoryDays = 3660
	// maxPriceDays bounds Options.PriceDays, because all price files are open at once.
	maxPriceDays = 31
	// maxDay bounds Options.Day.
	maxDay = 3660
)

// DefaultSnapshotAt is the instant that the newest price file of a default catalog describes.
var DefaultSnapshotAt = time.Date(2026, time.August, 22, 20, 0, 0, 0, time.UTC)

// Options select the catalog to write. The zero value is the default catalog.
type Options struct {
	// Cards is the number of cards on day zero, 20,000 by default.
	Cards int
	// Seed selects the catalog, 1 by default.
	Seed uint64
	// SnapshotAt is the instant that the newest price file of day zero describes, its newest
	// collected_at; DefaultSnapshotAt by default. It is truncated to whole seconds of UTC.
	SnapshotAt time.Time
	// HistoryDays is the number of days with prices, price files included, 365 by default.
	HistoryDays int
	// PriceDays is how many of those days, the newest ones, are price files instead of history, 1
	// by default.
	PriceDays int
	// Conditions is the largest number of conditions of a variant, the best ones; 0 for all. A
	// catalog with all conditions has 3.7 lanes per card, one with two about 2.1.
	Conditions int
	// Day is how many days after day zero the catalog is written.
	Day int
	// Plain writes CSV files without zstd.
	Plain bool
	// PlantQuarantine makes Summarize add rows that a loader must quarantine; Summary.Quarantine
	// has their number by reason. The snapshot must be built for Summary.SnapshotAt, because one of
	// the rows is collected later.
	PlantQuarantine bool
}

func (o *Options) setDefaults() {
	if o.Cards == 0 {
		o.Cards = 20_000
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.SnapshotAt.IsZero() {
		o.SnapshotAt = DefaultSnapshotAt
	}

	o.SnapshotAt = o.SnapshotAt.UTC().Truncate(time.Second)
	if o.HistoryDays == 0 {
		o.HistoryDays = 365
	}
	if o.PriceDays == 0 {
		o.PriceDays = 1
	}
}

// Validate returns an error for options that are out of bounds. Zero means the default.
func (o *Options) Validate() error {
	// The defaults are set in a copy, because a caller may print its options.
	whole := *o
	whole.setDefaults()
	return whole.validate()
}

func (o *Options) validate() error {
	within := func(name string, n, lo, hi int) error {
		if n < lo || n > hi {
			return fmt.Errorf("%s %d is not within %d..%d", name, n, lo, hi)
		}
		return nil
	}
	return errors.Join(
		within("cards", o.Cards, minCards, maxCards),
		within("history days", o.HistoryDays, 1, maxHistoryDays),
		within("price days", o.PriceDays, 1, min(maxPriceDays, max(o.HistoryDays, 1))),
		within("day", o.Day, 0, maxDay),
		within("conditions", o.Conditions, 0, len(conditions)),
	)
}

// Write writes the catalog into dir, which it creates. It returns an error if dir is not empty.
func Write(dir string, o Options) error { return writeCatalog(dir, o, nil) }

func writeCatalog(dir string, o Options, watcher observer) error {
	o.setDefaults()
	err := o.validate()
	if err == nil && o.PlantQuarantine && watcher == nil {
		err = errors.New("only Summarize plants what is to be quarantined")
	}
	if err != nil {
		return fmt.Errorf("cannot write catalog %q: %w", dir, err)
	}

	w, err := newWriter(dir, newCatalog(o))
	if err != nil {
		return fmt.Errorf("cannot write catalog %q: %w", dir, err)
	}

	w.observer = watcher
	if err := errors.Join(w.write(), w.close()); err != nil {
		return fmt.Errorf("cannot write catalog %q: %w", dir, err)
	}
	return nil
}

// observer is called with what is written, in that order. Only tests have one.
type observer interface {
	begin(w *writer)
	set(s *set)
	card(k *card)
	removed(ref string)
	sealed(sealed *sealed)
	lane(ref string, l *lane) // with its prices in the writer's series
	end() error
}

// WriteDay writes the catalog as Write does with Options.Day = day, but with the price file of that
// day alone and no history. With a snapshot of the previous day, it has the same content as Write's
// directory of that day.
func WriteDay(dir string, o Options, day int) error { return Write(dir, onlyDay(o, day)) }

// onlyDay returns the options of WriteDay.
func onlyDay(o Options, day int) Options {
	o.Day = day
	o.HistoryDays = 1
	o.PriceDays = 1
	return o
}

// catalog is a catalog to write: the options and all that they determine before any card is made.
type catalog struct {
	Options
	zero  time.Time // instant of day zero
	at    time.Time // instant of the day to write
	total int       // ordinals in use: day zero's cards and those added since
	edits edits
}

func newCatalog(o Options) *catalog {
	catalog := &catalog{Options: o, zero: o.SnapshotAt, at: o.SnapshotAt.AddDate(0, 0, o.Day)}
	catalog.total = catalog.Cards + catalog.Day*catalog.addedPerDay()
	catalog.edits = catalog.planEdits()
	return catalog
}
