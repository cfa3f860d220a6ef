// Package operate does a day's work on a snapshot store: pull, build, fill gaps, compare, decide,
// publish.
package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/compat/pokemontcg"
	"ninepocket/feed"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// Errors of a build that callers distinguish.
var (
	// ErrDamagedBase reports a damaged base.
	ErrDamagedBase = errors.New("nothing can be built on it")
	// ErrNoBase reports a store without a valid snapshot to build on.
	ErrNoBase = errors.New("has no snapshot that verifies")
	// ErrBaseName reports a base that is neither an id nor one of the words.
	ErrBaseName = errors.New("want the id of a snapshot, current, previous, latest or none")
	// ErrInput reports an input that cannot be used; the store has no part in the error.
	ErrInput = errors.New("an input cannot be used")
)

// inputError is an ErrInput with the text of its cause alone.
type inputError struct{ error }

func (e inputError) Unwrap() error      { return e.error }
func (inputError) Is(target error) bool { return target == ErrInput }

// Build is the input of a snapshot, and the store that it is written to.
type Build struct {
	loader.Options // Base is Run's
	Store          string
	// On names the base, whose history and ids continue: an id, latest, current or previous; none
	// or "" for no base.
	On string
	// Again returns the command that builds the same.
	Again func() string
	// Companion makes a build write its cards for the Pokémon TCG API too, whatever the sources are.
	Companion bool
}

// Built is the result of a build.
type Built struct {
	ID             string          `json:"id"`
	Path           string          `json:"path"`
	Counts         snapshot.Counts `json:"counts"`
	Existing       bool            `json:"existing"` // the same input was built before
	Published      bool            `json:"published"`
	Base           string          `json:"base"`
	SnapshotAt     time.Time       `json:"snapshot_at"`
	Quarantine     map[string]int  `json:"quarantine"`
	QuarantineFile string          `json:"quarantine_file"`
	Seconds        float64         `json:"seconds"`
	Report         loader.Report   `json:"report"`
	// Warnings are for the operator, after a successful build.
	Warnings []string `json:"notes"`
}

// Run reads the base, builds and writes the snapshot. The same input is written once. Errors are
// those of the store, ErrInput, and those of a base.
func (b *Build) Run(ctx context.Context) (*Built, error) {
	var err error
	b.Base, err = b.readBase(ctx)
	if err != nil {
		return nil, err
	}

	after := ""
	terms := snapshot.WriteOptions{}
	if b.Base != nil {
		terms.Base = b.Base.ID
		after = b.Base.Date().String()
	}

	// A misspelt folder is a new store, which no server reads: the operator gets a warning.
	store := snapshot.OpenStore(b.Store)
	fresh := errors.Is(store.Exists(), snapshot.ErrNoStore)
	discarded := b.dropDiscarded(store)
	made, err := loader.Build(ctx, b.Options)
	if err != nil {
		return nil, inputError{err}
	}

	if err := b.addCompanion(ctx, made.Catalog); err != nil {
		return nil, inputError{err}
	}
	if b.Progress != nil {
		b.Progress("writing the snapshot", 0, 0)
	}
	b.Base = nil // writing takes as much memory again
	terms.Quarantine = made.Quarantine
	terms.QuarantineCounts = made.QuarantineCounts
	m, created, err := store.Write(made.Catalog, terms)
	if err != nil {
		return nil, err
	}

	// Days that a rollback discarded are missing on purpose.
	cur, _ := store.Current()
	made.Report.Days = slices.DeleteFunc(made.Report.Days, func(gap loader.DayGap) bool {
		from, _ := snapshot.ParseDay(gap.From)
		for day := from; day.String() <= gap.To; day++ {
			if !strings.Contains(cur.Discarded, day.String()) {
				return false
			}
		}
		return true
	})
	warnings := append(made.Report.Remarks(after, b.Again), discarded...)
	if fresh {
		warnings = append(warnings, fmt.Sprintf("store %q is new", b.Store))
	}
	return &Built{
		ID: m.ID, Path: store.Path(m.ID), Counts: m.Counts, Existing: !created, Base: m.Base,
		SnapshotAt: m.SnapshotAt, Quarantine: m.Quarantine, QuarantineFile: store.QuarantinePath(m.ID),
		Report: made.Report, Warnings: warnings,
	}, nil
}

// addCompanion adds what answers the Pokémon TCG API: of the sources, or of the base when no source has a
// catalog.
func (b *Build) addCompanion(ctx context.Context, made *snapshot.Catalog) error {
	var err error
	switch {
	case b.Companion || pokemontcg.Has(b.Sources):
		made.Companion, err = pokemontcg.Section(ctx, made, b.Sources, source.Options{Unpack: b.Unpack})

	// Prices alone carry the catalog over, and this with it.
	case len(b.Sources) == 0 && b.Base != nil:
		var old *snapshot.Companion
		old, err = snapshot.LoadCompanion(ctx, snapshot.OpenStore(b.Store), b.Base.ID, len(b.Base.Lanes.Cents), nil)
		if errors.Is(err, snapshot.ErrNoCompanion) {
			return nil
		}
		// The base's quotes are of a past day, and are left out.
		if err == nil {
			made.Companion = snapshot.Companion{Cards: old.Cards, Sets: old.Sets}
		}
	}
	return err
}

// dropDiscarded leaves out archived days that a rollback discarded, and says so: somebody put them back.
func (b *Build) dropDiscarded(store *snapshot.Store) (warnings []string) {
	cur, _ := store.Current()
	for text := range strings.FieldsSeq(cur.Discarded) {
		day, _ := snapshot.ParseDay(text)
		if in, archived := b.ArchivedDays[day]; archived {
			delete(b.ArchivedDays, day)
			warnings = append(warnings, fmt.Sprintf("the archived day %s is left out: a rollback discarded it; to "+
				"take it all the same, add: --prices %s", day, in[0]))
		}
	}
	return warnings
}

// readBase loads and verifies the base, nil for none.
func (b *Build) readBase(ctx context.Context) (*snapshot.Catalog, error) {
	store := snapshot.OpenStore(b.Store)
	switch b.On {
	case "none", "":
		return nil, nil
	case "latest":
		all, err := store.List()
		if err != nil {
			return nil, err
		}
		// The newest may have been interrupted while it was written.
		for _, m := range all {
			if catalog, err := store.LoadBase(ctx, m.ID); err == nil {
				return catalog, nil
			}
		}
		return nil, fmt.Errorf("cannot find a base: store %q %w", b.Store, ErrNoBase)
	}

	id, err := Resolve(b.Store, b.On)
	if err != nil {
		return nil, err
	}
	if !snapshot.ValidID(id) {
		return nil, fmt.Errorf("cannot use --base %q: %w", b.On, ErrBaseName)
	}

	catalog, err := store.LoadBase(ctx, id)
	if errors.Is(err, snapshot.ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamagedBase, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the base: %w", err)
	}
	return catalog, nil
}

// Resolve returns the id of the snapshot that given means in a store. given is an id, which is not
// checked, or one of the words current, previous and latest.
func Resolve(store, given string) (string, error) {
	dir := snapshot.OpenStore(store)
	switch given {
	case "current", "previous":
		cur, err := dir.Current()
		id := cur.ID
		if given == "previous" {
			id = cur.Previous
		}
		if err == nil && id == "" {
			err = snapshot.ErrNoPrevious
		}
		if err != nil {
			return "", fmt.Errorf("cannot find the %s snapshot: %w", given, err)
		}
		return id, nil

	case "latest":
		all, err := dir.List()
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("store %q is empty: %w", store, snapshot.ErrNotFound)
		}
		if err != nil {
			return "", err
		}
		return all[0].ID, nil
	}
	return given, nil
}

// NoDays is given instead of a folder of archived days to fill no gaps.
const NoDays = "none"

// ArchivedDays finds the files of archived days: in the given folder, else next to the trees of the
// sources.
func ArchivedDays(folder string, sources []loader.Input) (map[snapshot.Day][]loader.Input, error) {
	var folders []string
	switch folder {
	case NoDays:
		return nil, nil
	case "":
		for _, in := range sources {
			if in.Kind == source.KindTCGCSV {
				folders = append(folders, filepath.Join(filepath.Dir(filepath.Clean(in.Path)), "days"))
			}
		}
	default:
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("cannot use --days: %w", err)
		}
		folders = []string{folder}
	}

	archived := map[snapshot.Day][]loader.Input{}
	var wrong []error
	for _, folder := range folders {
		days, err := feed.Days(folder)
		wrong = append(wrong, err)
		for _, text := range days {
			day, _ := snapshot.ParseDay(text) // all of them are dates
			archived[day] = nil
			for _, file := range feed.DayFiles(folder, text) {
				archived[day] = append(archived[day], loader.Input{Kind: source.KindTCGCSV, Path: file})
			}
		}
	}
	return archived, errors.Join(wrong...)
}
