package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

// Lines of the catalog's files. A member that may be absent may also be null.
type nativeSet struct {
	nativeName

	Series      string   `json:"series"`
	ReleaseDate string   `json:"release_date"`
	Aliases     []string `json:"aliases"`

	PrintedTotal jsontext.Value `json:"printed_total"`
}

type nativeCard struct {
	nativeItem

	Set      string `json:"set"`
	Number   string `json:"number"`
	Rarity   string `json:"rarity"`
	Printing string `json:"printing"`
	Image    string `json:"image"`
}

type nativeSealedLine struct {
	nativeItem

	PackageType string         `json:"package_type"`
	Units       jsontext.Value `json:"units_per_package"`
	UnitKind    string         `json:"unit_kind"`
	Edition     string         `json:"edition"`
}

// nativeName is the start of every line.
type nativeName struct {
	Ref  string `json:"ref"`
	Game string `json:"game"`
	Name string `json:"name"`
}

// nativeItem has the common fields of cards and sealed products.
type nativeItem struct {
	nativeName

	Identifiers []Identifier `json:"identifiers"`
	UpdatedAt   string       `json:"updated_at"`
}

// Bounds of the native form beyond those of docs/API.md.
const (
	maxRarity  = 64 // the rarity filter's
	maxList    = 100
	maxImage   = 255
	maxRelease = "2999-12-31"
)

// Catalog implements Source: sets, cards, sealed products.
func (s *native) Catalog(ctx context.Context, to Sink) error {
	done := int64(0)
	for _, table := range []struct {
		name string
		line func(to Sink, at Location, line []byte) *recordError
	}{{nativeSets, readNativeSet}, {nativeCards, readNativeCard}, {nativeSealed, readNativeSealed}} {
		if !s.tables[table.name] {
			continue
		}

		name := path.Join(s.prefix, table.name)
		to.Progress("catalog", done, int64(len(s.tables)))
		err := s.in.each(ctx, func(n string) bool { return n == name }, func(_ file, r io.Reader) error {
			return readJSONLines(ctx, &limitReader{r: r, n: s.opts.limits.entry}, name, to, table.line)
		})
		if err != nil {
			return fmt.Errorf("cannot read the catalog: %w", err)
		}

		done++
	}

	to.Progress("catalog", done, done)
	return nil
}

// readJSONLines reads a file of one JSON object a line. A bad line is refused by itself; blank
// lines are passed over.
func readJSONLines(
	ctx context.Context, r io.Reader, name string, to Sink, read func(to Sink, at Location, line []byte) *recordError,
) error {
	in := newLines(r)
	defer in.done()
	err := in.each(ctx, name, to, func(at Location, line []byte) *recordError {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		return read(to, at, line)
	})
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}

	return nil
}

// readStrict reads a line as the object v points to: members of other names, twice, or in other
// letters are refused.
func readStrict(line []byte, v any) *recordError {
	if err := json.Unmarshal(line, v, json.RejectUnknownMembers(true)); err != nil {
		return recordErrorOf(err, line)
	}
	// null is no error to the decoder.
	if jsontext.Value(line).Kind() != '{' {
		return &recordError{reason: ReasonBadJSON, value: string(line)}
	}

	return nil
}

// validator collects the first thing that is wrong with a record.
type validator struct{ bad *recordError }

// must notes that a value is wrong unless it is ok.
func (c *validator) must(ok bool, reason, value string) {
	if !ok && c.bad == nil {
		c.bad = &recordError{reason: reason, value: value}
	}
}

// cell is must for a cell of a row, of which there are millions: only a wrong cell is copied.
func (c *validator) cell(ok bool, reason string, cell []byte) {
	if !ok {
		c.must(false, reason, string(cell))
	}
}

// text checks text of at most most code points; a due one must not be blank.
func (c *validator) text(member, value string, limit int, due bool) {
	switch {
	case due && strings.TrimSpace(value) == "":
		c.must(false, ReasonMissingValue, member)
	case !utf8.ValidString(value): // control characters are left out by the loader (decision 25)
		c.must(false, ReasonBadText, member+": "+value)
	case utf8.RuneCountInString(value) > limit:
		c.must(false, ReasonTooLong, member+": "+value)
	}
}

// name checks the start of every record.
func (c *validator) name(n *nativeName) {
	c.must(n.Ref != "", ReasonMissingValue, "ref")
	c.must(validRef(n.Ref), ReasonBadRef, n.Ref)
	c.must(n.Game != "", ReasonMissingValue, "game")
	_, known := snapshot.GameBySlug(n.Game)
	c.must(known, ReasonBadGame, n.Game)
	c.text("name", n.Name, snapshot.MaxName, true)
}

func (c *validator) identifiers(list []Identifier) {
	c.must(len(list) <= maxList, ReasonTooLong, "identifiers")
	for _, id := range list {
		if !aliasOK(id.Namespace, MaxNamespace) || !aliasOK(id.Value, MaxAlias) {
			c.must(false, ReasonBadIdentifier, id.Namespace+" "+id.Value)
		}
	}
}

func aliasOK(s string, limit int) bool {
	return s != "" && utf8.RuneCountInString(s) <= limit && plainText(s)
}

// time checks a time that may be absent.
func (c *validator) time(value string) int64 {
	at, ok := parseInstant(value)
	c.must(ok || value == "", ReasonBadTime, value)
	return at
}

// done returns the error with the record's ref, nil for none.
func (c *validator) done(ref string) *recordError {
	if c.bad != nil && c.bad.ref == "" {
		c.bad.ref = ref
	}
	return c.bad
}

// parseInstant reads RFC 3339 with Z, from 1970 on.
func parseInstant(text string) (int64, bool) {
	if !strings.HasSuffix(text, "Z") {
		return snapshot.NoTime, false
	}
	return instantOf(time.RFC3339, text)
}

// instantOf reads a time from 1970 on; the stored form has no earlier ones.
func instantOf(layout, text string) (int64, bool) {
	at, err := time.Parse(layout, text)
	if err != nil || at.UnixMilli() < 0 {
		return snapshot.NoTime, false
	}
	return at.UnixMilli(), true
}

func readNativeSet(to Sink, at Location, line []byte) *recordError {
	var in nativeSet
	if bad := readStrict(line, &in); bad != nil {
		return bad
	}

	var c validator
	c.name(&in.nativeName)
	c.text("series", in.Series, snapshot.MaxName, false)
	// An absent date, a null and an empty text all say that it is not known.
	release, ok := parseDay(in.ReleaseDate)
	c.must(in.ReleaseDate == "" || ok && in.ReleaseDate <= maxRelease, ReasonBadDate, in.ReleaseDate)
	c.must(len(in.Aliases) <= maxList, ReasonTooLong, "aliases")
	for _, alias := range in.Aliases {
		c.text("aliases", alias, MaxAlias, true)
	}

	total, ok := totalOf(in.PrintedTotal)
	c.must(ok, ReasonBadTotal, "printed_total: "+string(in.PrintedTotal))
	if bad := c.done(in.Ref); bad != nil {
		return bad
	}

	to.Set(Set{
		At: at, Ref: in.Ref, Game: in.Game, Name: in.Name, Series: in.Series, Release: release, Total: total,
		Aliases: in.Aliases,
	})
	return nil
}

// maxTotal bounds a set's printed total: no set has a tenth as many cards.
const maxTotal = 9999

// totalOf reads a printed total, 0 when there is none; false when it is no whole number in bounds.
func totalOf(v jsontext.Value) (int, bool) {
	if len(v) == 0 || v.Kind() == 'n' {
		return 0, true
	}

	return numberOf(v, maxTotal)
}

// numberOf reads a whole number from 1 to most, 0 and false for anything else.
func numberOf(v jsontext.Value, limit int) (int, bool) {
	text, ok := wholeNumber(v)
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n > limit {
		return 0, false
	}
	return n, true
}

func readNativeCard(to Sink, at Location, line []byte) *recordError {
	var in nativeCard
	if bad := readStrict(line, &in); bad != nil {
		return bad
	}

	// A set that no catalog has is the loader's business.
	var c validator
	c.name(&in.nativeName)
	c.must(in.Set == "" || validRef(in.Set), ReasonBadRef, "set: "+in.Set)
	c.text("number", in.Number, snapshot.MaxNumber, false)
	c.text("rarity", in.Rarity, maxRarity, false)
	c.text("printing", in.Printing, snapshot.MaxPrinting, false)
	c.identifiers(in.Identifiers)
	updated := c.time(in.UpdatedAt)
	if bad := c.done(in.Ref); bad != nil {
		return bad
	}

	// Not worth the card and its prices.
	if in.Image != "" && !imageOK(in.Image) {
		(&recordError{reason: ReasonBadImage, ref: in.Ref, value: in.Image}).quarantine(to, at)
		in.Image = ""
	}

	to.Card(Card{
		At: at, Ref: in.Ref, Game: in.Game, SetRef: in.Set, Name: in.Name, Number: in.Number, Rarity: in.Rarity,
		Printing: in.Printing, Image: in.Image, Identifiers: in.Identifiers, UpdatedAt: updated,
	})
	return nil
}

// imageOK reports whether text is a plain file name: one that cannot leave the folder it is looked
// up in.
func imageOK(s string) bool {
	return len(s) <= maxImage && s[0] != '.' && plainText(s) && !strings.ContainsAny(s, `/\:`)
}

func readNativeSealed(to Sink, at Location, line []byte) *recordError {
	var in nativeSealedLine
	if bad := readStrict(line, &in); bad != nil {
		return bad
	}

	var c validator
	c.name(&in.nativeName)
	c.must(slices.Contains(PackageTypes, in.PackageType), ReasonBadPackage, "package_type: "+in.PackageType)
	c.must(slices.Contains(UnitKinds, in.UnitKind), ReasonBadPackage, "unit_kind: "+in.UnitKind)
	units, ok := numberOf(in.Units, MaxUnits)
	c.must(ok, ReasonBadUnits, "units_per_package: "+string(in.Units))
	c.must(snapshot.IsEdition(in.Edition), ReasonBadEdition, in.Edition)
	game, known := snapshot.GameBySlug(in.Game)
	c.must(!known || game.HasEdition(in.Edition), ReasonEditionOfGame, in.Game)
	c.identifiers(in.Identifiers)
	updated := c.time(in.UpdatedAt)
	if bad := c.done(in.Ref); bad != nil {
		return bad
	}

	to.Sealed(Sealed{
		At: at, Ref: in.Ref, Game: in.Game, Name: in.Name, PackageType: in.PackageType, Units: units,
		UnitKind: in.UnitKind, Edition: in.Edition, Identifiers: in.Identifiers, UpdatedAt: updated,
	})
	return nil
}
