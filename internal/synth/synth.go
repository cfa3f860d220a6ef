// Package synth writes a deterministic, real-looking catalog of both games as a native source
// directory.
//
// # Basics
//
// [Write] writes a whole directory: source.toml, sets.jsonl, cards.jsonl, sealed.jsonl,
// history/*.csv.zst (wide form) and the newest days as prices/YYYY-MM-DD.csv.zst. [WriteDay] writes
// the same catalog some days later with nothing but that day's prices, as a daily build finds it.
// For tests, [Summarize] writes like Write and says in a [Summary] what it wrote and where the
// special cases are.
//
// Equal options give equal bytes. Nothing is drawn from a shared stream: a set, a card, a lane and
// a day of a lane each derive their own randomness from the seed, so that a small catalog is the
// beginning of a large one, and that a day's price is the same number whether it is written as
// history or as a price file, by this day's directory or by a later one's.
//
// The first set of both games is planted. The two hold every special case of cards, lanes and
// sealed products that a loader or a server has to get right, at any size from 300 cards up. The
// cases of sets are in the first thirty sets, in any catalog from 2,000 cards up.
//
// # Days
//
// Day zero is the day of Options.SnapshotAt. Every later day removes, adds and renames some cards
// and renames some sets, and moves the prices on; the prices before it stay what they were. Planted
// cards are never edited.
//
// # Caveats
//
// Names of characters are the games' own; sets, prices, numbers and dates are invented.
//
// A wide history row carries no licence. Lanes without a licence have a row in every price file, so
// that a loader that takes the licence from the newest row knows it in all cases.
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
	// maxPriceDays bounds Options.PriceDays, since all price files are open at once.
	maxPriceDays = 31
	// maxDay bounds Options.Day.
	maxDay = 3660
)

// DefaultSnapshotAt is the instant that the newest price file of a default catalog describes.
var DefaultSnapshotAt = time.Date(2026, time.August, 22, 20, 0, 0, 0, time.UTC)

// Options says which catalog to write. The zero value is the default catalog.
type Options struct {
	// Cards is the number of cards on day zero, 20,000 by default.
	Cards int
	// Seed selects the catalog, 1 by default.
	Seed uint64
	// SnapshotAt is the instant that the newest price file of day zero describes, its newest
	// collected_at; DefaultSnapshotAt by default. It is cut to whole seconds of UTC.
	SnapshotAt time.Time
	// HistoryDays is the number of days with prices, price files included, 365 by default.
	HistoryDays int
	// PriceDays is how many of those days, the newest, are price files and not history, 1 by
	// default.
	PriceDays int
	// Conditions is the most conditions that a variant is tracked in, the best ones; 0 for as many
	// as there are. A catalog with all of them has 3.7 lanes a card, one with two about 2.1.
	Conditions int
	// Day writes the catalog as it is that many days after day zero.
	Day int
	// Plain writes CSV files as they are, without zstd.
	Plain bool
	// PlantQuarantine has Summarize add rows that a loader must quarantine, and Summary.Quarantine
	// with how many of each reason. The snapshot has to be built for Summary.SnapshotAt: one of the
	// rows is collected later.
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

// Validate says which of the options are out of bounds. A zero stands for its default.
func (o *Options) Validate() error {
	// The defaults are set in a copy: a caller may print what it gave.
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

// Write writes the catalog into dir, which it creates; a directory that holds anything is refused.
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

// observer is told of what is written, in the order written. Only tests have one.
type observer interface {
	begin(w *writer)
	set(s *set)
	card(k *card)
	removed(ref string)
	sealed(sealed *sealed)
	lane(ref string, l *lane) // with its prices in the writer's series
	end() error
}

// WriteDay writes the catalog as Write does with Options.Day = day, but only the price file of that
// day and no history. With a snapshot of the day before it amounts to Write's directory of that
// day.
func WriteDay(dir string, o Options, day int) error { return Write(dir, onlyDay(o, day)) }

// onlyDay are the options of WriteDay.
func onlyDay(o Options, day int) Options {
	o.Day = day
	o.HistoryDays = 1
	o.PriceDays = 1
	return o
}

// catalog is what there is to write: the options and what follows from them before any card is
// made.
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
