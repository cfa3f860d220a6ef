package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ninepocket/snapshot"
)

// native is the operator's own directory (docs/NATIVE.md): source.toml, a catalog in JSON lines,
// prices by day, wide history. All but source.toml may be absent, as in a day's increment.
type native struct {
	opts    Options
	in      folder
	prefix  string // the folder that holds source.toml
	about   nativeAbout
	tables  map[string]bool // the existing files of the catalog
	history []string
	prices  []nativeDay  // ascending
	refused []Quarantine // files in prices/ whose names are no days, or days that prices has already
}

// nativeDay is one price file.
type nativeDay struct {
	name               string
	day                snapshot.Day
	possibleDuplicates []uint64 // hashes of lanes that it may have twice, once it was looked through
}

// nativeAbout is source.toml.
type nativeAbout struct {
	Namespace        string `toml:"namespace"`
	Attribution      string `toml:"attribution"`
	PartnerNamespace string `toml:"partner_namespace"`
}

const (
	nativeToml   = "source.toml"
	nativeSets   = "sets.jsonl"
	nativeCards  = "cards.jsonl"
	nativeSealed = "sealed.jsonl"
)

// Bounds of an identifier in code points (docs/API.md, Identifier).
const (
	MaxNamespace = 100
	MaxAlias     = 200
)

func newNative(in folder, _ string, o Options) (Source, error) {
	// The directory may be inside other folders, as in its archive.
	prefix, found, err := findOnlyFolder(in, nativeToml)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("there is no %s in it", nativeToml)
	}

	native := &native{opts: o, in: in, prefix: prefix, tables: map[string]bool{}}
	if err := native.readAbout(); err != nil {
		return nil, err
	}

	native.sortFiles()
	return native, nil
}

// readAbout reads source.toml.
func (s *native) readAbout() error {
	data, err := readNamed(context.Background(), s.in, path.Join(s.prefix, nativeToml))
	if err != nil {
		return err
	}

	err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&s.about)
	if unknown, is := errors.AsType[*toml.StrictMissingError](err); is {
		return fmt.Errorf("unknown key in %s:\n%s", nativeToml, unknown.String())
	}
	if bad, is := errors.AsType[*toml.DecodeError](err); is {
		return fmt.Errorf("cannot read %s:\n%s", nativeToml, bad.String())
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", nativeToml, err)
	}

	// Both namespaces become parts of identities, which never change.
	a := &s.about
	switch {
	case !namespaceOK(a.Namespace):
		return fmt.Errorf("namespace %q in %s is not 1 to %d lower-case letters, digits, dots, hyphens and underscores",
			clip(a.Namespace), nativeToml, MaxNamespace)
	case a.PartnerNamespace != "" && !namespaceOK(a.PartnerNamespace):
		return fmt.Errorf("partner_namespace %q in %s is not a namespace", clip(a.PartnerNamespace), nativeToml)
	case len(a.Attribution) > 1000 || !plainText(a.Attribution):
		return fmt.Errorf("attribution in %s has control characters or more than 1000 bytes", nativeToml)
	}

	return nil
}

// namespaceOK reports whether text may be a namespace: it is part of identities and of mapping
// files.
func namespaceOK(s string) bool {
	return s != "" && len(s) <= MaxNamespace && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}

// sortFiles finds the files of the directory. Others, such as a README, are left alone.
func (s *native) sortFiles() {
	within := s.prefix
	if within != "" {
		within += "/"
	}

	for _, f := range s.in.files() {
		name, ok := strings.CutPrefix(f.name, within)
		if !ok {
			continue
		}

		dir, base := path.Split(name)
		switch {
		case name == nativeSets, name == nativeCards, name == nativeSealed:
			s.tables[name] = true
		case dir == "history/" && hasSuffix(base, wideSuffixes):
			s.history = append(s.history, f.name)
		case dir == "prices/" && hasSuffix(base, wideSuffixes):
			// The name gives the day; the rows do not.
			stem, _, _ := strings.Cut(base, ".")
			day, ok := parseDay(stem)
			if !ok {
				s.refused = append(s.refused, Quarantine{At: Location{File: f.name}, Reason: ReasonBadDate})
				continue
			}
			s.prices = append(s.prices, nativeDay{name: f.name, day: day})
		}
	}

	slices.Sort(s.history)
	slices.SortStableFunc(s.prices, func(a, b nativeDay) int { return int(a.day) - int(b.day) })
	// If a day is there twice, the first file by name counts.
	prices := s.prices[:0]
	for _, day := range s.prices {
		if n := len(prices); n > 0 && prices[n-1].day == day.day {
			s.refused = append(s.refused, Quarantine{At: Location{File: day.name}, Reason: ReasonDuplicateDay})
			continue
		}
		prices = append(prices, day)
	}

	s.prices = prices
}

// Feed implements Source.
func (s *native) Feed() Feed {
	return Feed{
		Namespace: s.about.Namespace, HasCatalog: len(s.tables) > 0,
		Attribution: cmp.Or(s.opts.Attribution, s.about.Attribution, s.about.Namespace),
		Partner:     cmp.Or(s.opts.Partner, s.about.PartnerNamespace),
	}
}

// eachInOrder visits files in the order of names, in as few passes as that takes.
func eachInOrder(ctx context.Context, in folder, names []string, visit func(f file, r io.Reader) error) error {
	rank := map[string]int{}
	for i, f := range in.files() {
		rank[f.name] = i
	}

	// An archive is read from front to back: as long as names follow each other, one pass will do.
	var runs []map[string]bool
	for i, name := range names {
		if i == 0 || rank[names[i-1]] >= rank[name] {
			runs = append(runs, map[string]bool{})
		}
		runs[len(runs)-1][name] = true
	}

	for _, run := range runs {
		if err := in.each(ctx, keyOf(run), visit); err != nil {
			return err
		}
	}

	return nil
}

// eachUnpacked visits files in the order of names, decompressed by the ends of their names and
// bounded. It reports the progress of the phase.
func (s *native) eachUnpacked(
	ctx context.Context, to Sink, phase string, names []string, visit func(name string, r io.Reader) error,
) error {
	done := int64(0)
	total := int64(len(names))
	to.Progress(phase, done, total)

	return eachInOrder(ctx, s.in, names, func(f file, r io.Reader) error {
		plain, err := unpacked(f.name, r)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", f.name, err)
		}
		defer plain.Close() //nolint:errcheck // only read
		err = visit(f.name, &limitReader{r: plain, n: s.opts.limits.entry})
		if err == nil {
			done++
			to.Progress(phase, done, total)
		}
		return err
	})
}

// Prices implements Source: history files by name, then the days.
func (s *native) Prices(ctx context.Context, to Sink) error {
	layout := wideLayout{
		key: "ref", variant: "variant", condition: snapshot.Ungraded.Code(), codes: true,
		refOK: validRef,
	}
	err := s.eachUnpacked(ctx, to, "history", s.history, func(name string, r io.Reader) error {
		return readWide(ctx, r, name, layout, to)
	})
	if err != nil {
		return err
	}

	for _, q := range s.refused {
		to.Quarantine(q)
	}

	return s.readDays(ctx, to)
}
