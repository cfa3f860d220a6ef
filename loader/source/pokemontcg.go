package source

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// pokemonTCG is the pokemon-tcg-data source: sets/en.json and cards/en/{set}.json, or weekly prices
// as wide history keyed by its card ids. The catalog has no prices of its own.
//
// The file set is written in two dialects, which differ in members that are not read (numeric hp,
// attack costs as text) and in rarities without spaces.
type pokemonTCG struct {
	opts       Options
	in         folder
	prefix     string // the folder that holds sets/ and cards/
	hasCatalog bool   // whether it is there: else there are only history files
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

// newPokemonTCG finds the catalog of a folder.
func newPokemonTCG(in folder, _ string, o Options) (Source, error) {
	prefix, found, err := findOnlyFolder(in, ptcgSets)
	if err != nil {
		return nil, err
	}
	// A folder of history files alone is fine.
	if !found && len(historyIn(in)) == 0 {
		return nil, fmt.Errorf("there is no %s in it", ptcgSets)
	}

	return &pokemonTCG{opts: o, in: in, prefix: prefix, hasCatalog: found}, nil
}

// findOnlyFolder finds the only folder that holds a file, below any folders around it.
func findOnlyFolder(in folder, name string) (prefix string, found bool, err error) {
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
		Namespace: KindPokemonTCG, HasCatalog: s.hasCatalog, Partner: s.opts.Partner,
		Attribution: cmp.Or(s.opts.Attribution, "Card data from pokemon-tcg-data"),
	}
}

// Catalog implements Source: the sets, then the cards of each set's file.
func (s *pokemonTCG) Catalog(ctx context.Context, to Sink) error {
	updated := map[string]int64{} // by set
	useSet := func(set *ptcgSet, at Location) string {
		// Taken for UTC. It is the set's time, and the nearest value for its cards, which have no time.
		updated[set.ID], _ = instantOf("2006/01/02 15:04:05", set.UpdatedAt)
		release, _ := parseDay(strings.ReplaceAll(set.ReleaseDate, "/", "-"))
		// A total that cannot be is not known.
		total, _ := totalOf(set.PrintedTotal)
		to.Set(Set{
			At: at, Total: total, Ref: set.ID, Game: pokemon, Name: set.Name, Series: set.Series, Code: set.Code,
			Release: release, Aliases: []string{set.ID},
		})
		return set.ID
	}

	// Cards say nothing of their set: their file does.
	useCard := func(card *ptcgCard, at Location, set string) *recordError {
		to.Card(Card{
			At: at, Ref: card.ID, Game: pokemon, SetRef: set, Name: card.Name, Number: card.Number,
			Rarity:    spaced(card.Rarity),
			UpdatedAt: updated[set], Identifiers: []Identifier{{Namespace: pokemonTCGIDs, Value: card.ID}},
		})
		return nil
	}
	return readPTCG(ctx, s, to, checkPTCGSet, checkPTCGCard, useSet, useCard)
}

// readPTCG reads the sets, whose ids useSet returns, then the cards of each set's file.
func readPTCG[S, C any](
	ctx context.Context, files *pokemonTCG, to Sink, checkSet func(*S) *recordError, checkCard func(*C) *recordError,
	useSet func(set *S, at Location) string, useCard func(card *C, at Location, set string) *recordError,
) error {
	if !files.hasCatalog {
		return nil
	}

	dir := path.Join(files.prefix, "cards/en")
	parse := func(data []byte) ([]record[S], error) { return readArrayFile(data, checkSet) }
	listed, err := readListing(ctx, files.in, path.Join(files.prefix, ptcgSets), "set", dir, to, parse, useSet)
	if err != nil {
		return err
	}
	cards := jsonFiles(files.in, dir, checkCard)
	cards.use = useCard
	return cards.records(ctx, to, listed)
}

func checkPTCGSet(set *ptcgSet) *recordError {
	if strings.Contains(set.ID, "/") { // it names a file
		return &recordError{reason: ReasonBadRef, value: set.ID}
	}
	return checkNamed(set.ID, set.Name)
}

func checkPTCGCard(card *ptcgCard) *recordError { return checkNamed(card.ID, card.Name) }

// checkNamed checks for the fields that every record of these catalogs must have: an id and a name.
func checkNamed(id, name string) *recordError {
	switch {
	case !validRef(id):
		return &recordError{reason: ReasonBadRef, value: id}
	case strings.TrimSpace(name) == "":
		return &recordError{reason: ReasonMissingValue, ref: id, value: "name"}
	}

	return nil
}

// Prices implements Source: wide history files only.
func (s *pokemonTCG) Prices(ctx context.Context, to Sink) error {
	layout := wideLayout{key: "cardId", variant: "subTypeName", condition: s.opts.DefaultCondition, refOK: validRef}
	return readHistory(ctx, s.in, layout, s.opts, to)
}
