package source

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

// pokemonTCG is the pokemon-tcg-data source: sets/en.json and cards/en/{set}.json, or weekly prices
// as wide history keyed by its card ids. The catalog has no prices of its own.
//
// The file set is written in two dialects, which differ in members that are not read (numeric hp,
// attack costs as text) and in rarities without spaces.
type pokemonTCG struct {
	opts    Options
	lim     limits
	in      folder // nil when there are only history files
	prefix  string // the folder that holds sets/ and cards/
	cards   setFiles
	history []historyFile
}

// pokemonTCGIDs is the namespace of its card ids as identifiers.
const pokemonTCGIDs = "pokemontcg"

type ptcgSet struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Series      string `json:"series"`
	Code        string `json:"ptcgoCode"`
	ReleaseDate string `json:"releaseDate"`
	UpdatedAt   string `json:"updatedAt"`

	PrintedTotal jsontext.Value `json:"printedTotal"`
}

type ptcgCard struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Number string `json:"number"`
	Rarity string `json:"rarity"`
}

const ptcgSets = "sets/en.json"

func openPokemonTCG(name string, o Options, lim limits) (Source, error) {
	if isHistoryFile(name) {
		return &pokemonTCG{opts: o, lim: lim, history: []historyFile{{path: name, name: filepath.Base(name)}}}, nil
	}

	in, err := openFolder(name, lim)
	if err != nil {
		return nil, err
	}

	return newPokemonTCG(in, name, o, lim)
}

// newPokemonTCG finds the catalog and history files of a folder, which lies at name on disk.
func newPokemonTCG(in folder, name string, o Options, lim limits) (Source, error) {
	s := &pokemonTCG{opts: o, lim: lim, history: historyFilesIn(name, in)}
	prefix, found, err := onlyPlace(in, ptcgSets)
	if err != nil {
		return nil, err
	}

	if !found {
		// A folder of history files alone is fine.
		if len(s.history) > 0 {
			return s, nil
		}
		return nil, fmt.Errorf("there is no %s in it", ptcgSets)
	}

	s.in = in
	s.prefix = prefix
	s.cards = newSetFiles(in, path.Join(prefix, "cards/en"))
	return s, nil
}

// onlyPlace finds the one folder that holds a file, whatever folders the input is wrapped in.
func onlyPlace(in folder, name string) (prefix string, found bool, err error) {
	for _, f := range in.files() {
		if f.name != name && !strings.HasSuffix(f.name, "/"+name) {
			continue
		}
		if found {
			return "", false, fmt.Errorf("there is more than one %s in it: give the folder of one of them", name)
		}
		prefix = strings.TrimSuffix(strings.TrimSuffix(f.name, name), "/")
		found = true
	}

	return prefix, found, nil
}

// Feed implements Source.
func (s *pokemonTCG) Feed() Feed {
	return Feed{
		Namespace: KindPokemonTCG, HasCatalog: s.in != nil, Partner: s.opts.Partner,
		Attribution: cmp.Or(s.opts.Attribution, "Card data from pokemon-tcg-data"),
	}
}

// Catalog implements Source: the sets, then the cards of each set's file.
func (s *pokemonTCG) Catalog(ctx context.Context, to Sink) error {
	if s.in == nil {
		return nil
	}

	updated := map[string]int64{} // by set
	var listed []string
	setsFile := path.Join(s.prefix, ptcgSets)
	err := readWholeFile(ctx, s.in, setsFile, func(data []byte) error {
		list, err := readArrayFile(data, checkPTCGSet)
		if err != nil {
			return fmt.Errorf("cannot read the sets in %q: %w", setsFile, err)
		}

		for i := range list {
			e := &list[i]
			if e.bad != nil {
				e.bad.refuse(to, setsFile, e.line)
				continue
			}

			listed = append(listed, e.rec.ID)
			updated[e.rec.ID] = parsePTCGTime(e.rec.UpdatedAt)
			// One that cannot be is not known.
			total, _ := totalOf(e.rec.PrintedTotal)
			to.Set(Set{
				At: At{File: setsFile, Line: e.line}, Total: total, Ref: e.rec.ID, Game: pokemon, Name: e.rec.Name,
				Series: e.rec.Series,
				Code:   e.rec.Code, Release: parsePTCGDate(e.rec.ReleaseDate),
			})
		}

		if len(listed) == 0 {
			return fmt.Errorf("cannot read the sets in %q: no usable set in it", setsFile)
		}

		return nil
	})
	if err != nil {
		return err
	}

	return readSetFiles(ctx, &s.cards, to, listed, checkPTCGCard, func(e *record[ptcgCard], file, set string) {
		if e.bad != nil {
			e.bad.refuse(to, file, e.line)
			return
		}

		to.Card(Card{
			At: At{File: file, Line: e.line}, Ref: e.rec.ID, Game: pokemon, SetRef: set, Name: e.rec.Name,
			Number: e.rec.Number, Rarity: spaced(e.rec.Rarity), UpdatedAt: updated[set],
			Identifiers: []Identifier{{Namespace: pokemonTCGIDs, Value: e.rec.ID}},
		})
	})
}

// readWholeFile reads one file of a folder.
func readWholeFile(ctx context.Context, in folder, name string, use func(data []byte) error) error {
	return in.each(ctx, func(n string) bool { return n == name }, func(f file, r io.Reader) error {
		data, err := readWhole(r)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", f.name, err)
		}
		return use(data)
	})
}

func checkPTCGSet(s *ptcgSet) *fault {
	if strings.Contains(s.ID, "/") { // it names a file
		return &fault{reason: ReasonBadRef, value: s.ID}
	}
	return checkNamed(s.ID, s.Name)
}

func checkPTCGCard(c *ptcgCard) *fault { return checkNamed(c.ID, c.Name) }

// checkNamed wants what every record of these catalogs must have: an id and a name.
func checkNamed(id, name string) *fault {
	switch {
	case !refOK(id):
		return &fault{reason: ReasonBadRef, value: id}
	case strings.TrimSpace(name) == "":
		return &fault{reason: ReasonMissingValue, ref: id, value: "name"}
	}

	return nil
}

// parsePTCGDate reads "2026/01/30".
func parsePTCGDate(text string) snapshot.Day {
	day, ok := parseDay(strings.ReplaceAll(text, "/", "-"))
	if !ok {
		return snapshot.NoDay
	}
	return day
}

// parsePTCGTime reads "2022/10/10 15:12:00", which is taken for UTC. It is the set's, and the
// nearest thing to an answer for its cards, which have none.
func parsePTCGTime(text string) int64 {
	at, _ := instantOf("2006/01/02 15:04:05", text)
	return at
}

// Prices implements Source: wide history files only.
func (s *pokemonTCG) Prices(ctx context.Context, to Sink) error {
	form := wideForm{key: "cardId", variant: "subTypeName", condition: s.opts.DefaultCondition, refOK: refOK}
	for _, f := range s.history {
		if err := readHistoryFile(ctx, f, form, s.lim, to); err != nil {
			return err
		}
	}
	return nil
}
