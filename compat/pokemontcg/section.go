package pokemontcg

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/cardvocab"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

const (
	game = "pokemon"
	// storedNamespace is how catalogs call the ids of these cards.
	storedNamespace = "pokemontcg"
)

// cardMembers are the members of a card in its file, in the order of the response. Images come last,
// where a response cuts them off.
var cardMembers = []string{
	"id", "name", "supertype", "subtypes", "level", "hp", "types", "evolvesFrom", "evolvesTo", "rules",
	"ancientTrait", "abilities", "attacks", "weaknesses", "resistances", "retreatCost", "convertedRetreatCost",
	"number", "artist", "rarity", "flavorText", "nationalPokedexNumbers", "legalities", "regulationMark", "images",
}

var setMembers = []string{
	"id", "name", "series", "printedTotal", "total", "legalities", "ptcgoCode", "releaseDate", "updatedAt", "images",
}

// otherNames are the members that the second dialect of the files calls otherwise.
var otherNames = map[string]string{"evolvesFrom": "baseEvolution", "evolvesTo": "evolvesInto"}

// costs are the energies that the second dialect writes as letters.
var costs = map[rune]string{
	'G': "Grass", 'R': "Fire", 'W': "Water", 'L': "Lightning", 'P': "Psychic", 'F': "Fighting", 'D': "Darkness",
	'M': "Metal", 'N': "Dragon", 'Y': "Fairy", 'C': "Colorless",
}

// Files are the records of pokemon-tcg-data, as the API gives them.
type files struct {
	sets, cards []entry
	setSeen     map[string]bool
	cardSeen    map[string]bool
}

// entry is a set or a card on its way into the section.
type entry struct {
	ref, set string
	json     []byte
	name     string // of a set
	number   string
	release  string // of a set, such as 2022/09/09
}

// Has reports whether a build with these sources writes the section.
func Has(sources []loader.Input) bool {
	return slices.ContainsFunc(sources, func(in loader.Input) bool { return in.Kind == source.KindPokemonTCG })
}

// Section makes the companion of a built catalog: all cards of the files, and the catalog's cards that the
// files lack. It includes the data of a TCGCSV feed's newest day other than market prices.
func Section(
	ctx context.Context, catalog *snapshot.Catalog, sources []loader.Input, options source.Options,
) (snapshot.Companion, error) {
	read := &files{setSeen: map[string]bool{}, cardSeen: map[string]bool{}}
	quoted := &newestQuotes{rows: map[quoteKey]source.Price{}, day: snapshot.NoDay}
	for _, in := range sources {
		if in.Kind != source.KindPokemonTCG && in.Kind != source.KindTCGCSV {
			continue
		}

		src, err := source.Open(in.Kind, in.Path, options)
		switch {
		case err != nil:
		case in.Kind == source.KindPokemonTCG:
			err = source.ReadRaw(ctx, src, read.add)
		default:
			err = src.Prices(ctx, quoted)
		}
		if err != nil {
			return snapshot.Companion{}, fmt.Errorf("cannot read %q for the companion: %w", in, err)
		}
	}

	read.addCatalog(catalog)
	read.sortSets()
	return snapshot.Companion{Cards: read.cardTable(), Sets: read.setTable(), Quotes: quoted.table(catalog)}, nil
}

// add takes a set or a card of the files. The first of an id stands.
func (f *files) add(raw source.RawRecord) {
	var members map[string]jsontext.Value
	if json.Unmarshal(raw.JSON, &members) != nil {
		return
	}

	if raw.Set == "" {
		if f.setSeen[raw.ID] {
			return
		}
		f.setSeen[raw.ID] = true
		f.sets = append(f.sets, entry{
			ref: raw.ID, json: object(members, setMembers), name: text(members["name"]),
			release: text(members["releaseDate"]),
		})
		return
	}

	// A file of a set has no second card of an id, but another folder may.
	if f.cardSeen[raw.ID] {
		return
	}
	f.cardSeen[raw.ID] = true
	tidy(members)
	f.cards = append(f.cards, entry{
		ref: raw.ID, set: raw.Set, json: object(members, cardMembers), number: text(members["number"]),
	})
}

// tidy gives a card of the second dialect the form of the first.
func tidy(members map[string]jsontext.Value) {
	for name, other := range otherNames {
		if members[name] == nil && members[other] != nil {
			members[name] = members[other]
		}
	}

	for _, name := range []string{"types", "subtypes", "weaknesses", "resistances"} {
		if members[name] != nil {
			members[name] = []byte(noType.ReplaceAllString(otherWords.Replace(string(members[name])), "[]"))
		}
	}

	// Numbers are texts there.
	if members["hp"].Kind() == '0' {
		members["hp"] = quoted(string(members["hp"]))
	}
	if rarity := text(members["rarity"]); rarity != "" && !strings.Contains(rarity, " ") {
		members["rarity"] = quoted(wordsTogether.ReplaceAllString(rarity, "$1 $2"))
	}
	if attacks := members["attacks"]; letters.Match(attacks) {
		members["attacks"] = letters.ReplaceAllFunc(attacks, func(cost []byte) []byte {
			return listCost(text(cost[strings.IndexByte(string(cost), ':')+1:]))
		})
	}
}

var (
	// otherWords are the second dialect's words for words of the first dialect, which does not have them.
	otherWords = strings.NewReplacer(`"Dark"`, `"Darkness"`, `"Basic Stage"`, `"Basic"`, `"Tool"`,
		`"Pokémon Tool"`, `"Special Energy"`, `"Special"`)
	// noType is its word for a card without weaknesses.
	noType        = regexp.MustCompile(`^\s*\[\s*\{\s*"type"\s*:\s*""[^}]*\}\s*\]\s*$`)
	wordsTogether = regexp.MustCompile(`([a-z])([A-Z])`)
	// letters is the cost of an attack that is text and not a list. Quotes in other texts are escaped.
	letters = regexp.MustCompile(`"cost"\s*:\s*"[^"]*"`)
)

// listCost writes the letters of a cost as the list of energies.
func listCost(cost string) []byte {
	dst := []byte(`"cost":[`)
	for _, letter := range cost {
		if name, known := costs[letter]; known {
			dst = wire.AppendString(comma(dst), name)
		}
	}
	return append(dst, ']')
}

// text is the text of a JSON string, "" for anything else.
func text(v jsontext.Value) (s string) {
	v = jsontext.Value(strings.TrimSpace(string(v)))
	if v.Kind() == '"' {
		_ = json.Unmarshal(v, &s)
	}
	return s
}

// object writes the named members that are there. Empty lists and texts are not.
func object(members map[string]jsontext.Value, names []string) []byte {
	dst := []byte{'{'}
	for _, name := range names {
		v := members[name]
		if v == nil || v.Compact() != nil || v.Kind() == 'n' || string(v) == "[]" || string(v) == `""` {
			continue
		}
		dst = append(wire.AppendString(comma(dst), name), ':')
		dst = append(dst, v...)
	}
	return append(dst, '}')
}

// addCatalog adds the cards of the catalog that the files lack, with their sets.
func (f *files) addCatalog(catalog *snapshot.Catalog) {
	setOf := map[string]string{} // our set → that of the files
	for i := range catalog.Registry.Ref.Len() {
		ref, ours := strings.CutPrefix(catalog.Registry.Ref.At(i), source.KindPokemonTCG+"\x00")
		if ours && f.setSeen[ref] && strings.HasPrefix(catalog.Registry.RefID.At(i), "set_") {
			setOf[catalog.Registry.RefID.At(i)] = ref
		}
	}

	for card := range catalog.Cards.ID.Len() {
		set := catalog.Cards.Set[card]
		other := catalog.Games.Slug.At(int(catalog.Cards.Game[card])) != game
		if other || set == snapshot.NoSet || f.joined(catalog, card) {
			continue
		}

		// A set in the files is used unchanged: its missing cards are added to it.
		id := catalog.Sets.ID.At(int(set))
		ref := cmp.Or(setOf[id], id)
		if !f.setSeen[ref] {
			f.setSeen[ref] = true
			f.sets = append(f.sets, catalogSet(catalog, int(set)))
		}
		f.cards = append(f.cards, catalogCard(catalog, card, ref))
	}
}

// joined reports whether a card of the catalog is one of the files.
func (f *files) joined(catalog *snapshot.Catalog, card int) bool {
	for k, to := catalog.Identifiers.Of.Range(card); k < to; k++ {
		if catalog.Identifiers.Namespace.At(k) == storedNamespace && f.cardSeen[catalog.Identifiers.Value.At(k)] {
			return true
		}
	}
	return false
}

func quoted(s string) jsontext.Value { return wire.AppendString(nil, s) }

func catalogCard(catalog *snapshot.Catalog, card int, set string) entry {
	out := entry{ref: catalog.Cards.ID.At(card), set: set, number: catalog.Cards.Number.At(card)}
	out.json = object(map[string]jsontext.Value{
		"id": quoted(out.ref), "name": quoted(catalog.Cards.Name.At(card)), "number": quoted(out.number),
		"rarity": quoted(catalog.Cards.Rarity.At(card)),
	}, cardMembers)
	return out
}

func catalogSet(catalog *snapshot.Catalog, set int) entry {
	out := entry{ref: catalog.Sets.ID.At(set), name: catalog.Sets.Name.At(set)}
	members := map[string]jsontext.Value{
		"id": quoted(out.ref), "name": quoted(out.name), "series": quoted(catalog.Sets.Series.At(set)),
	}

	// Absent members are left out, as in the files.
	if total := catalog.Sets.Total[set]; total > 0 {
		members["total"] = wire.AppendInt(nil, "", int64(total))
	}
	if day := catalog.Sets.Release[set]; day != snapshot.NoDay {
		out.release = slashes(day)
		members["releaseDate"] = quoted(out.release)
	}
	out.json = object(members, setMembers)
	return out
}

// slashes writes a day as this API does.
func slashes(day snapshot.Day) string { return strings.ReplaceAll(day.String(), "-", "/") }

// byRelease orders dates of sets: unknown ones come last.
func byRelease(a, b string) int {
	return cmp.Or(cmp.Compare(min(len(b), 1), min(len(a), 1)), cmp.Compare(a, b))
}

// sortSets orders the sets by release, then name and id.
func (f *files) sortSets() {
	slices.SortFunc(f.sets, func(a, b entry) int {
		return cmp.Or(byRelease(a.release, b.release), cmp.Compare(a.name, b.name), cmp.Compare(a.ref, b.ref))
	})
}

func (f *files) setTable() (out snapshot.CompanionSets) {
	for _, set := range f.sets {
		out.Ref.Append(set.ref)
		out.JSON.Append(string(set.json))
	}
	return out
}

// cardTable is the cards by the release of their set, then number, set and id.
func (f *files) cardTable() (out snapshot.CompanionCards) {
	// Cards name rows of sets.
	row := map[string]uint32{}
	release := map[string]string{}
	for i, set := range f.sets {
		row[set.ref] = uint32(i)
		release[set.ref] = set.release
	}

	slices.SortFunc(f.cards, func(a, b entry) int {
		return cmp.Or(byRelease(release[a.set], release[b.set]), cardvocab.CompareNumbers(a.number, b.number),
			cmp.Compare(row[a.set], row[b.set]), cmp.Compare(a.ref, b.ref))
	})
	for _, card := range f.cards {
		out.Ref.Append(card.ref)
		out.Set = append(out.Set, row[card.set])
		out.JSON.Append(string(card.json))
	}
	return out
}

// quoteKey is a lane as a feed names it.
type quoteKey struct{ ref, variant string }

// newestQuotes gathers the rows of a feed's newest day.
type newestQuotes struct {
	source.Discard
	day  snapshot.Day
	rows map[quoteKey]source.Price
}

// Price takes a row that has more than a market price.
func (q *newestQuotes) Price(row source.Price) {
	switch {
	case row.Day < q.day:
		return
	case row.Day > q.day:
		q.day = row.Day
		clear(q.rows)
	}
	if max(row.Low, row.Mid, row.High, row.DirectLow) >= 0 {
		q.rows[quoteKey{strings.Clone(row.Ref), row.Variant}] = row
	}
}

// table gives the rows to the lanes that the catalog shows for their variants.
func (q *newestQuotes) table(catalog *snapshot.Catalog) (out snapshot.Quotes) {
	refs := map[string][]string{} // by card's id
	for i := range catalog.Registry.Ref.Len() {
		if ref, is := strings.CutPrefix(catalog.Registry.Ref.At(i), source.KindTCGCSV+"\x00"); is {
			refs[catalog.Registry.RefID.At(i)] = append(refs[catalog.Registry.RefID.At(i)], ref)
		}
	}

	for card := range catalog.Cards.ID.Len() {
		for _, lane := range shownLanes(catalog, card, nil) {
			variant := catalog.Variants.At(int(catalog.Lanes.Variant[lane]))
			// A card that two groups list has the prices of the first.
			for _, ref := range refs[catalog.Cards.ID.At(card)] {
				row, found := q.rows[quoteKey{ref, variant}]
				if !found {
					continue
				}
				out.Lane = append(out.Lane, uint32(lane))
				out.Low = append(out.Low, row.Low)
				out.Mid = append(out.Mid, row.Mid)
				out.High = append(out.High, row.High)
				out.Direct = append(out.Direct, row.DirectLow)
				break
			}
		}
	}
	return out
}

// shownLanes appends a lane for each variant of a card: that of the display price, else the first.
func shownLanes(catalog *snapshot.Catalog, card int, dst []int) []int {
	from, to := catalog.Lanes.Of.Range(card)
	for lane := from; lane < to; lane++ {
		last := len(dst) - 1
		switch {
		case last < 0 || catalog.Lanes.Variant[dst[last]] != catalog.Lanes.Variant[lane]:
			dst = append(dst, lane)
		case catalog.Lanes.Flags[lane]&snapshot.LaneDisplay != 0:
			dst[last] = lane
		}
	}
	return dst
}
