package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

// tcgGroup is an element of a groups file: a set.
type tcgGroup struct {
	GroupID      jsontext.Value `json:"groupId"`
	Name         string         `json:"name"`
	Abbreviation jsontext.Value `json:"abbreviation"`
	PublishedOn  jsontext.Value `json:"publishedOn"`

	category, id string
}

// ref is the identity of a group.
func (g *tcgGroup) ref() string { return g.category + "/" + g.id }

// tcgProduct is an element of a products file: a card, a sealed product or an accessory.
type tcgProduct struct {
	ProductID    jsontext.Value `json:"productId"`
	Name         string         `json:"name"`
	ModifiedOn   jsontext.Value `json:"modifiedOn"`
	ExtendedData []struct {
		Name  string         `json:"name"`
		Value jsontext.Value `json:"value"`
	} `json:"extendedData"`

	id string
}

// attribute is the value of one of the product's attributes, "" when it has none.
func (p *tcgProduct) attribute(name string) string {
	for _, e := range p.ExtendedData {
		if e.Name == name {
			return strings.TrimSpace(scalar(e.Value))
		}
	}
	return ""
}

// errFailedReply is the error of a file that reports its own failure.
var errFailedReply = errors.New("the reply says that it failed (success is not true)")

// readReply reads a file of TCGCSV's: an object whose results are the records. Members it does not
// know are passed over, because the feed adds some now and then.
func readReply[T any](data []byte, check func(*T) *recordError) ([]record[T], error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	var list []record[T]
	results := false
	failed := false
	err := readObject(dec, func(name string) (err error) {
		switch name {
		case "results":
			if dec.PeekKind() != '[' {
				return wantKind(dec, "results as an array")
			}
			results = true
			list, err = readElements(dec, check)
			return err

		case "success":
			tok, err := dec.ReadToken()
			failed = err == nil && tok.Kind() != 't'
			return err
		default:
			return dec.SkipValue()
		}
	})
	if err == nil {
		err = readEnd(dec)
	}

	switch {
	case failed:
		return nil, errFailedReply
	case err != nil:
		return nil, err
	case !results:
		return nil, errors.New("no results in it")
	}

	return list, nil
}

// quarantineFile sends a whole file to quarantine.
func quarantineFile(to Sink, name, reason, value string) {
	(&recordError{reason: reason, value: value}).quarantine(to, Location{File: name})
}

// quarantine sends a record to quarantine.
func (f *recordError) quarantine(to Sink, at Location) {
	to.Quarantine(Quarantine{At: at, Reason: f.reason, Ref: clip(f.ref), Value: clip(f.value)})
}

// quarantineOrFail sends a file that makes no sense to quarantine, and returns the error of one that
// cannot be read.
func quarantineOrFail(to Sink, name string, err error) error {
	if _, failed := errors.AsType[readError](err); failed {
		return fmt.Errorf("cannot read %q: %w", name, err)
	}
	reason := ReasonBrokenFile
	switch {
	case errors.Is(err, errFailedReply):
		reason = ReasonFailedReply
	case errors.Is(err, errTooBig):
		reason = ReasonTooLong
	}
	quarantineFile(to, name, reason, err.Error())
	return nil
}

func checkGroup(g *tcgGroup) (bad *recordError) {
	g.id, bad = checkTCGID(g.GroupID, g.Name)
	return bad
}

func checkProduct(p *tcgProduct) (bad *recordError) {
	p.id, bad = checkTCGID(p.ProductID, p.Name)
	return bad
}

// maxRawName bounds a name before its words are read, in bytes: expressions over megabytes take seconds.
const maxRawName = 64 * snapshot.MaxName

// checkTCGID checks for the fields that groups and products must have: an id and a name.
func checkTCGID(v jsontext.Value, name string) (id string, bad *recordError) {
	id, ok := wholeNumber(v)
	switch {
	case !ok:
		return "", &recordError{reason: ReasonBadRef, value: string(v)}
	case strings.TrimSpace(name) == "":
		return "", &recordError{reason: ReasonMissingValue, ref: id, value: "name"}
	case len(name) > maxRawName:
		return "", &recordError{reason: ReasonTooLong, ref: id, value: name}
	}

	return id, nil
}

// readGroups reads the groups files of a tree into s.groups, once. Without them there is no
// catalog, so a fault of one of these files as a whole is an error. to takes the bad elements;
// it is nil if they are not needed.
func (s *tcgCSV) readGroups(ctx context.Context, t *tcgTree, to Sink) error {
	if s.groups != nil {
		return nil
	}

	groups := map[string]*tcgGroup{}
	var listed []*tcgGroup
	wanted := map[string]tcgFile{}
	complete := map[string]bool{} // by category: its groups file is there
	for kind, leaves := range t.leaves {
		for _, l := range leaves {
			complete[l.category] = complete[l.category] || kind == "groups"
		}
	}
	for _, l := range t.leaves["groups"] {
		wanted[l.name] = l
	}

	// Groups of a category without a listing would be lost without a word.
	for _, c := range slices.Sorted(maps.Keys(complete)) {
		if !complete[c] {
			return fmt.Errorf("cannot read the sets of category %s: there is no groups file next to its groups in %q",
				c, t.at(t.prefix))
		}
	}

	err := t.in.each(ctx, keyOf(wanted), func(f file, r io.Reader) error {
		list, err := readReplyFile(r, checkGroup)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", t.at(f.name), err)
		}

		usable := emit(to, t.at(f.name), list, func(g *tcgGroup, at Location) *recordError {
			g.category = wanted[f.name].category
			listed = append(listed, g)
			to.Set(s.setOf(t, g, at))
			groups[g.ref()] = g
			return nil
		})
		if usable == 0 {
			return fmt.Errorf("cannot read %q: no usable group in it", t.at(f.name))
		}

		return nil
	})
	if err != nil {
		return err
	}

	s.groups = groups
	s.listed = listed
	return nil
}

// keyOf accepts the names that are keys of m.
func keyOf[V any](m map[string]V) func(string) bool {
	return func(name string) bool {
		_, ok := m[name]
		return ok
	}
}

// Catalog implements Source: the sets, then the products of each set.
func (s *tcgCSV) Catalog(ctx context.Context, to Sink) error {
	t := s.catalog
	if t == nil {
		return nil
	}
	if err := s.readGroups(ctx, t, to); err != nil {
		return err
	}

	files := perSetFiles[tcgProduct]{
		in: t.in, label: t.label, there: map[string]bool{},
		none: fmt.Sprintf("none of its %d groups has a usable products file", len(s.listed)),
		read: func(r io.Reader) ([]record[tcgProduct], error) { return readReplyFile(r, checkProduct) },
		use: func(p *tcgProduct, at Location, set string) *recordError {
			s.product(to, s.groups[set], p, at)
			return nil
		},
		missing: func(set string) { s.missing(to, t, set, MissingFile{}) },
	}
	for _, l := range t.leaves["products"] {
		files.there[l.name] = true
	}

	// The listing names the expected files, the tree has the actual files.
	var listed []perSetFile
	for _, g := range s.listed {
		listed = append(listed, perSetFile{name: t.pathOf(g, "products"), set: g.ref(), title: g.Name})
	}

	return files.records(ctx, to, listed)
}

// pathOf is where a group's file is, or should be.
func (t *tcgTree) pathOf(g *tcgGroup, kind string) string {
	return path.Join(t.prefix, g.ref(), kind)
}

// readReplyFile reads a file with one of TCGCSV's responses.
func readReplyFile[T any](r io.Reader, check func(*T) *recordError) ([]record[T], error) {
	data, err := readWhole(r)
	if err != nil {
		return nil, err
	}
	return readReply(data, check)
}

// setOf turns a group into a set.
func (s *tcgCSV) setOf(t *tcgTree, g *tcgGroup, at Location) Set {
	set := Set{
		At: at, Ref: g.ref(), Game: gameOfCategory(g.category), Name: g.Name,
		Code: strings.TrimSpace(scalar(g.Abbreviation)), Release: releaseOf(scalar(g.PublishedOn), t.collected),
	}
	if alias := setAlias(g.Name); alias != "" {
		set.Aliases = []string{alias}
	}

	return set
}

// releaseOf reads publishedOn. Groups without a date in TCGplayer have the time of the fetch
// instead, with seven fractional digits. A date within a day of the fetch is taken for a fetch time
// (decision 25).
func releaseOf(text string, collected int64) snapshot.Day {
	if len(text) < len("2006-01-02") {
		return snapshot.NoDay
	}
	// Dates that people entered have no fractions of a second.
	if _, fraction, ok := strings.Cut(strings.TrimRight(text, "Z"), "."); ok && len(fraction) == 7 {
		return snapshot.NoDay
	}

	day, ok := parseDay(text[:len("2006-01-02")])
	if !ok {
		return snapshot.NoDay
	}
	if apart := day - snapshot.DayOf(collected); apart >= -1 && apart <= 1 {
		return snapshot.NoDay
	}

	return day
}

// product emits one product as a card or a sealed product (decision 27).
func (s *tcgCSV) product(to Sink, g *tcgGroup, p *tcgProduct, at Location) {
	ref := g.category + "/" + p.id
	number := p.attribute("Number")
	rarity := p.attribute("Rarity")
	ids := []Identifier{{Namespace: tcgPlayer, Value: p.id}}
	// It has no zone and is UTC.
	updated, _ := instantOf("2006-01-02T15:04:05", strings.TrimSuffix(scalar(p.ModifiedOn), "Z"))
	game := gameOfCategory(g.category)
	switch {
	case number == "" && rarity == "":
		// Only cards have a number or a rarity.
		kind, unit := packageOf(p.Name)
		to.Sealed(Sealed{
			At: at, Ref: ref, Game: game, SetRef: g.ref(), Name: p.Name, PackageType: kind, UnitKind: unit,
			Edition: editionOf(p.Name), Identifiers: ids, UpdatedAt: updated,
		})

	case number == "" && strings.HasPrefix(p.Name, "Code Card - "):
		if !s.skip[ref] {
			s.skip[ref] = true
			s.skippedRefs = append(s.skippedRefs, ref)
		}

	default:
		// The name is the card's, without the number that shops put behind it.
		name, number := cutNumber(p.Name, number)
		to.Card(Card{
			At: at, Ref: ref, Game: game, SetRef: g.ref(), Name: name, Number: number, Rarity: rarity,
			Identifiers: ids, UpdatedAt: updated,
		})
	}
}
