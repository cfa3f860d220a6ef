package mcp_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
)

// messyLines are lines of a collection as its owner writes them, in addition to the file of real
// ones. Each has the expected card: a part of its name, of its set, and its number.
var messyLines = []struct{ line, name, set, number string }{
	{"charizard ex sir 151", "Charizard ex", "151", "199/165"},
	{"1x Umbreon VMAX (EVS 215) | Evolving Skies | NM | English", "Umbreon VMAX", "Evolving Skies", "215/203"},
	{"Mew ex 151 205/165", "Mew ex", "151", "205/165"},
	{"gengar fossil 5/62 holo lp", "Gengar", "Fossil", "005/062"},
	{"monkey d luffy op05-119 alternate art", "Monkey.D.Luffy (119) (Alternate Art)", "New Era", "OP05-119"},
	{"2x roronoa zoro (op01-001)", "Roronoa Zoro", "Romance Dawn", "OP01-001"},
	{"dark charizard team rocket 4/82", "Dark Charizard", "Team Rocket", "004/082"},
	{"lugia neo genesis 1st edition 9/111 nm", "Lugia", "Neo Genesis", "009/111"},
	{"Pikachu - 025/165", "Pikachu", "151", "025/165"},
	{"rayquaza vmax evolving skies 218/203 alt art", "Rayquaza VMAX", "Evolving Skies", "218/203"},
	{"blastoise base set", "Blastoise", "Base Set", "002/102"},
	{"3 snorlax jungle 27/64 non holo", "Snorlax", "Jungle", "27/64"},
	{"Mewtwo 10/102 base set shadowless", "Mewtwo", "Base Set (Shadowless)", "010/102"},
	{"gardevior ex 086/198 scarlet violet", "Gardevoir ex", "Scarlet & Violet Base Set", "086/198"},
	{"iono 269/193 paldea evolved", "Iono", "Paldea Evolved", "269/193"},
	{"x2 nami op01-016 romance dawn", "Nami", "Romance Dawn", "OP01-016"},
	{"giratina v 186/196 lost origin", "Giratina V", "Lost Origin", "186/196"},
	{"espeon vmax 270/264 fusion strike", "Espeon VMAX", "Fusion Strike", "270/264"},
}

// hint matches the text of an unresolved line that names the missing fields.
var hint = regexp.MustCompile(`give .* id, or (.*)$`)

// TestMessyListInTwoCalls values a list as its owner writes it. The agent sees the cards and
// reads only the results. It adds the missing fields to the lines that the first call leaves
// unresolved, and the second call resolves all.
func TestMessyListInTwoCalls(t *testing.T) {
	testsweep.OnlyFull(t)
	d := realDesk(t)
	var list []args
	for _, m := range messyLines {
		list = append(list, args{"line": m.line})
	}
	for _, row := range fixture.ValueLines(t) {
		list = append(list, args{"line": row[1]})
	}

	r := d.ok(t, "catalog_value_cards", args{"cards": list})
	var first valuation
	r.decode(t, &first)
	if first.Counts["priced"]*100 < len(list)*85 {
		t.Errorf("only %d of %d lines are priced at once:\n%s", first.Counts["priced"], len(list), r.text())
	}
	if n := len(r.StructuredContent) / len(list); n > 500 {
		t.Errorf("%d bytes a line", n)
	}
	t.Logf("%d bytes a line, %d of %d priced", len(r.StructuredContent)/len(list), first.Counts["priced"], len(list))

	var again []args
	for i, l := range first.Lines {
		if l.Card != nil || i >= len(messyLines) {
			continue
		}
		said := hint.FindStringSubmatch(l.Message)
		if said == nil {
			t.Fatalf("%v asks for nothing: %s", list[i], l.Message)
		}
		again = append(again, d.answer(t, said[1], i))
	}
	if len(again) == 0 {
		return
	}

	r = d.ok(t, "catalog_value_cards", args{"cards": again})
	var second valuation
	r.decode(t, &second)
	// No line may be unresolved now.
	if second.Counts["priced"] != len(again) {
		t.Errorf("the second call leaves lines open:\n%s", r.text())
	}
}

// answer returns a messy line with the fields that a hint names, as printed on the card.
func (d *desk) answer(t *testing.T, fields string, i int) args {
	t.Helper()
	m := messyLines[i]
	line := args{"line": m.line}
	c := d.view.Catalog
	for card := range c.Cards.ID.Len() {
		set := c.Cards.Set[card]
		if set < 0 || c.Cards.Number.At(card) != m.number || !strings.HasPrefix(c.Cards.Name.At(card), m.name) ||
			!strings.HasSuffix(c.Sets.Name.At(int(set)), m.set) {
			continue
		}
		for word, give := range map[string]func(){
			"name":   func() { line["name"] = c.Cards.Name.At(card) },
			"set":    func() { line["set"] = c.Sets.Name.At(int(set)) },
			"number": func() { line["number"] = c.Cards.Number.At(card) },
		} {
			if strings.Contains(fields, word) {
				give()
			}
		}
		return line
	}

	t.Fatalf("no card is %+v", m)
	return nil
}

// TestValueSizes checks that the structured content of lists has at most 1,100 bytes a line, with any
// results.
func TestValueSizes(t *testing.T) {
	d := shopDesk(t)
	var lines []args
	for _, l := range []args{
		{"name": "Charizard ex"},
		{"id": "charizard-ex-199", "condition": "NM"},
		{"name": "charizad"},
		{"name": "Pikachu", "set": "Jungle"},
		{"name": "Monkey.D.Luffy"},
		{"id": "pikachu-151", "variant": "foil"},
	} {
		lines = append(lines, l, l)
	}

	r := d.ok(t, "catalog_value_cards", args{"cards": lines})
	var v struct{ Lines []json.RawMessage }
	r.decode(t, &v)
	for i, line := range v.Lines {
		if len(line) > 1100 {
			t.Errorf("line %d has %d bytes: %s", i+1, len(line), line)
		}
	}
	if n := len(r.StructuredContent) / len(lines); n > 650 {
		t.Errorf("%d bytes a line", n)
	}
}

// TestOpenLinesFit checks that unresolved lines of real cards have at most 1,100 bytes. Ambiguous
// lines always fit, other lines unless one candidate is too long. If two or three cards match,
// nearly all lines have space for all of them.
func TestOpenLinesFit(t *testing.T) {
	testsweep.OnlyFull(t)
	d := realDesk(t)
	c := d.view.Catalog
	unfit := 0
	whole := 0
	for seed, m := range mistakes {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		var lines []args
		for len(lines) < 500 {
			card := r.IntN(c.Cards.ID.Len())
			if c.Cards.Set[card] < 0 || c.Cards.Number.At(card) == "" {
				continue
			}
			line := args{
				"name": c.Cards.Name.At(card), "number": c.Cards.Number.At(card),
				"set": c.Sets.Name.At(int(c.Cards.Set[card])), "game": c.Games.Slug.At(int(c.Cards.Game[card])),
			}
			m.make(r, line)
			lines = append(lines, line)
		}

		for part := range slices.Chunk(lines, 50) {
			r := d.ok(t, "catalog_value_cards", args{"cards": part})
			var v struct{ Lines []json.RawMessage }
			r.decode(t, &v)
			for i, text := range v.Lines {
				var l valuedLine
				if err := json.Unmarshal(text, &l); err != nil {
					t.Fatal(err)
				}
				if l.Card == nil && len(text) > 1100 && (l.Status == "ambiguous" || len(l.Candidates) > 1) {
					t.Errorf("%v has %d bytes: %s", part[i], len(text), text)
				}
				if l.Fitting == 2 || l.Fitting == 3 {
					unfit++
					if len(l.Candidates) == l.Fitting {
						whole++
					}
				}
			}
		}
	}

	t.Logf("%d of %d lines that two or three cards fit have all of them", whole, unfit)
	if unfit < 100 || whole*100 < unfit*85 {
		t.Errorf("only %d of %d lines that two or three cards fit have all of them", whole, unfit)
	}
}
