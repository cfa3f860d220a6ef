package loader

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// The files of a mapping directory; each may be absent.
const (
	sealedFile  = "sealed.csv"
	aliasesFile = "aliases.csv"
	removedFile = "removed.csv"
	feedsFile   = "feeds.toml"
	searchFile  = "search_aliases.csv"
)

// byteOrderMark is the start of files by spreadsheets and some editors.
const byteOrderMark = "\uFEFF"

// Kinds of aliases.
const (
	aliasSet  = "set"
	aliasCard = "card"
)

// sealedHeader is the first line of sealed.csv.
var sealedHeader = []string{"namespace", "ref", "package_type", "units_per_package", "unit_kind", "edition"}

// aliasesHeader is the first line of aliases.csv.
var aliasesHeader = []string{"kind", "namespace", "ref", "target_namespace", "target_ref"}

// removedHeader is the first line of removed.csv.
var removedHeader = []string{"kind", "namespace", "ref", "reason"}

// mapping is operator knowledge that feeds do not have (--mapping DIR).
type mapping struct {
	sealed  map[string]sealedAttrs
	aliases map[string]map[string][]string // kind → full reference → the references of the same thing, both ways
	removed map[string]map[string]bool     // kind → full reference → whether an operator removed it
	feeds   map[string]source.Options      // feed kind or namespace → how to read it
	search  map[string]searchAlias         // folded phrase → its meaning
	// ownSearch are the phrases of the file that is being read.
	ownSearch map[string]bool

	// Rows that had an effect in the build; others are reported.
	usedSealed map[string]bool
	usedFeeds  map[string]bool
}

// loadMapping reads a mapping directory; "" is an empty one. An operator's mistake stops the build:
// a wrong alias would join two cards for good.
func loadMapping(dir string) (*mapping, error) {
	shipped, err := shippedSearch()
	if err != nil {
		return nil, fmt.Errorf("cannot read the shipped search aliases: %w", err)
	}
	mapping := &mapping{
		sealed:  map[string]sealedAttrs{},
		aliases: map[string]map[string][]string{aliasSet: {}, aliasCard: {}},
		removed: map[string]map[string]bool{aliasSet: {}, aliasCard: {}},
		feeds:   map[string]source.Options{}, search: maps.Clone(shipped), ownSearch: map[string]bool{},
		usedSealed: map[string]bool{}, usedFeeds: map[string]bool{},
	}
	if dir == "" {
		return mapping, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("cannot read mapping %q: %w", dir, err)
	}

	for _, file := range []struct {
		name string
		read func(io.Reader) error
	}{
		{sealedFile, tableReader(mapping.sealedRow, sealedHeader...)},
		{aliasesFile, tableReader(mapping.aliasRow, aliasesHeader...)},
		{removedFile, tableReader(mapping.removedRow, removedHeader...)},
		{feedsFile, mapping.readFeeds},
		{searchFile, tableReader(mapping.searchRow, searchHeader...)},
	} {
		if err := readMapping(filepath.Join(dir, file.name), file.read); err != nil {
			return nil, err
		}
	}

	return mapping, nil
}

// readMapping reads one file, which need not be there.
func readMapping(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	// A file that is there and cannot be read stops the build, like one that is wrong.
	if err == nil {
		defer f.Close() //nolint:errcheck // read only
		err = read(f)
	}
	if err != nil {
		return fmt.Errorf("cannot read mapping %q: %w", path, err)
	}

	return nil
}

// tableReader reads a CSV file that has exactly the given header, and calls row with every record.
func tableReader(row func([]string) error, header ...string) func(io.Reader) error {
	return func(in io.Reader) error {
		r := csv.NewReader(in)
		first, err := r.Read()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}

		if len(first) > 0 {
			first[0] = strings.TrimPrefix(first[0], byteOrderMark)
		}
		// Rows are read by position, so the header must be exact. Further columns of a
		// suggestion are for people.
		if !slices.Equal(first, header) && !slices.Equal(first, slices.Concat(header, reviewColumns)) {
			return fmt.Errorf("its first line must be %q", strings.Join(header, ","))
		}

		var wrong []error
		for len(wrong) < maxRemarks {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return errors.Join(append(wrong, err)...)
			}

			if err := row(record[:len(header)]); err != nil {
				line, _ := r.FieldPos(0)
				wrong = append(wrong, fmt.Errorf("line %d %w", line, err))
			}
		}
		return errors.Join(wrong...)
	}
}

func (m *mapping) sealedRow(r []string) error {
	facts := sealedAttrs{packageType: r[2], unitKind: r[4], edition: r[5]}
	if r[3] != "" {
		n, err := strconv.Atoi(r[3])
		if err != nil || n < 1 || n > source.MaxUnits {
			return fmt.Errorf("has units_per_package %q: want a number from 1 to %d", r[3], source.MaxUnits)
		}
		facts.units = n
	}

	// The game is not known here, so any game's edition is accepted.
	if _, value := facts.invalid(nil); value != "" {
		return fmt.Errorf("has %q, which is none of the specification's values", value)
	}
	if r[0] == "" || r[1] == "" {
		return errors.New("has no namespace or ref")
	}

	key := fullRef(r[0], r[1])
	if _, dup := m.sealed[key]; dup {
		return fmt.Errorf("has %q a second time", readable(key))
	}

	m.sealed[key] = facts
	return nil
}

// sealedOf returns the mapping's row for any of a product's references, the owner's first.
func (m *mapping) sealedOf(refs []string) sealedAttrs {
	for _, ref := range refs {
		if facts, ok := m.sealed[ref]; ok {
			m.usedSealed[ref] = true
			return facts
		}
	}
	return sealedAttrs{}
}

// rowKind is the kind of a row, which must have a value in each field.
func rowKind(r []string) (kind string, err error) {
	kind = r[0]
	if kind == "sealed" || kind == "product" {
		// A reference may mean a card or a sealed product.
		kind = aliasCard
	}

	switch {
	case kind != aliasSet && kind != aliasCard:
		return "", fmt.Errorf("has kind %q: want set, card or sealed", r[0])
	case slices.Contains(r, ""):
		return "", errors.New("has an empty field")
	}
	return kind, nil
}

// removedRow reads an item, or a set with all its items, that an operator takes out of the catalog.
func (m *mapping) removedRow(r []string) error {
	kind, err := rowKind(r)
	if err == nil {
		m.removed[kind][fullRef(r[1], r[2])] = true
	}
	return err
}

// removes reports whether an operator removed the item with one of the references.
func (m *mapping) removes(kind string, refs []string) bool {
	return slices.ContainsFunc(refs, func(ref string) bool { return m.removed[kind][ref] })
}

func (m *mapping) aliasRow(r []string) error {
	kind, err := rowKind(r)
	if err != nil {
		return err
	}

	from := fullRef(r[1], r[2])
	to := fullRef(r[3], r[4])
	if from == to {
		return errors.New("is an alias of itself")
	}

	// An alias holds in both directions, because the operator chooses which source comes first.
	m.aliases[kind][from] = append(m.aliases[kind][from], to)
	m.aliases[kind][to] = append(m.aliases[kind][to], from)
	return nil
}

// sameAs returns the other references of an item or set. It follows aliases over several rows: if A = B
// and B = C, it returns B and C for A.
func (m *mapping) sameAs(kind, full string) []string {
	all := []string{full}
	for i := 0; i < len(all); i++ {
		for _, ref := range m.aliases[kind][all[i]] {
			if !slices.Contains(all, ref) {
				all = append(all, ref)
			}
		}
	}
	return all[1:]
}

// asCollected is the value of as_of for a feed whose prices were observed when it was collected.
const asCollected = "as collected"

// unmatched reports the rows that had no effect in the build. A row may be of a source that another build
// has, so that it is no error.
func (m *mapping) unmatched(items *merged, before *registry) (remarks []string) {
	add := func(file, what string, of []string) {
		if len(of) == 0 {
			return
		}
		slices.Sort(of)
		text := fmt.Sprintf("%s: %d %s: %s", file, len(of), what,
			strings.Join(of[:min(len(of), maxAliasRemarks)], ", "))
		if len(of) > maxAliasRemarks {
			text += ", and more"
		}
		remarks = append(remarks, text)
	}

	var sealed, feeds, aliases, strangers, apart []string
	for ref := range m.sealed {
		if !m.usedSealed[ref] {
			sealed = append(sealed, readable(ref))
		}
	}
	for feed := range m.feeds {
		if !m.usedFeeds[feed] {
			feeds = append(feeds, feed)
		}
	}

	if len(m.aliases[aliasCard])+len(m.aliases[aliasSet]) == 0 {
		// The search for their targets takes time.
		items = &merged{}
		before = &registry{}
	}
	known := map[string]string{} // full reference and kind → id
	spaces := map[string]bool{}
	items.eachID(func(refs []string, id, _ string) {
		for _, ref := range refs {
			known[aliasKindOf(id)+ref] = id
			namespace, _ := splitRef(ref)
			spaces[namespace] = true
		}
	})
	for _, earlier := range []map[string]string{before.items, before.sets} {
		for ref := range earlier {
			namespace, _ := splitRef(ref)
			spaces[namespace] = true
		}
	}

	for kind, of := range m.aliases {
		for ref, same := range of {
			for _, other := range same {
				// An alias is reported once, from the side that sorts first.
				if ref > other {
					continue
				}
				row := readable(ref) + " = " + readable(other)
				one := known[kind+ref]
				another := known[kind+other]
				switch {
				case one == "" && another == "":
					aliases = append(aliases, row)
				case one != "" && another != "" && one != another:
					apart = append(apart, row)
				// The other side may come with another build, when there is such a source.
				case isStranger(spaces, ref), isStranger(spaces, other):
					strangers = append(strangers, row)
				}
			}
		}
	}

	add(sealedFile, "rows name no sealed product of the sources", sealed)
	add(aliasesFile, "aliases name nothing that the sources have", aliases)
	add(aliasesFile, "aliases name a source that no build has read (is it misspelt?)", strangers)
	add(aliasesFile, "aliases have no effect, because sources list both sides apart", apart)
	add(feedsFile, "feeds are those of no input", feeds)
	return remarks
}

// aliasKindOf is the kind of alias that an id can have.
func aliasKindOf(id string) string {
	if strings.HasPrefix(id, setPrefix) {
		return aliasSet
	}
	return aliasCard
}

// isStranger reports whether a reference's namespace is unknown: the namespace was not read, and is no kind of
// source.
func isStranger(spaces map[string]bool, ref string) bool {
	namespace, _ := splitRef(ref)
	return !spaces[namespace] && !slices.Contains(source.KindNames(), namespace)
}

// feedTable is one feed's table in feeds.toml.
type feedTable struct {
	DefaultCondition string `toml:"default_condition"`
	AsOf             any    `toml:"as_of"`
	Attribution      string `toml:"attribution"`
	Partner          string `toml:"partner_namespace"`
	Redistribute     *bool  `toml:"redistribute"`
}

func (m *mapping) readFeeds(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}

	var tables map[string]feedTable
	in := bytes.NewReader(bytes.TrimPrefix(text, []byte(byteOrderMark)))
	if err := toml.NewDecoder(in).DisallowUnknownFields().Decode(&tables); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			return fmt.Errorf("it has keys that are not known:\n%s", strict.String())
		}
		return err
	}

	for feed, table := range tables {
		options := source.Options{
			DefaultCondition: table.DefaultCondition, Attribution: table.Attribution, Partner: table.Partner,
			Reserved: table.Redistribute != nil && !*table.Redistribute,
		}
		if _, ok := snapshot.ParseCondition(table.DefaultCondition); !ok && table.DefaultCondition != "" {
			return fmt.Errorf("feed %q has default_condition %q, which is none", feed, table.DefaultCondition)
		}

		var err error
		switch at := table.AsOf.(type) {
		case nil:
		// TOML has its own times in addition to text.
		case time.Time:
			options.AsOf = at.UTC()
		case string:
			if at == asCollected {
				options.AsCollected = true
				break
			}
			options.AsOf, err = time.Parse(time.RFC3339, at)
			if err != nil {
				return fmt.Errorf("feed %q has as_of %q: want a time such as 2026-08-22T20:00:00Z, or %q", feed, at,
					asCollected)
			}

		default:
			return fmt.Errorf("feed %q has an as_of that is no time", feed)
		}

		m.feeds[feed] = options
	}

	return nil
}
