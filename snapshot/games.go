package snapshot

import (
	"slices"
	"strings"
)

// Game is the program's knowledge of a game. Every difference between games is a member.
type Game struct {
	Slug string // as the live surface, MCP and the pages name it
	Name string // as people read it
	// Preview is the value of the preview contract's enum.
	Preview string
	// Category is the number of TCGplayer's category in the paths of TCGCSV. It is empty for a game
	// that TCGCSV does not have.
	Category string
	// Editions are the editions of the game's sealed products besides the standard one.
	Editions []string
}

// Games is the only table of the games, in listing order (decision 22). Code reads it when it
// makes a server, a builder or a page. It does not read it while packages are initialised,
// because a test appends a game. A stored catalog has another table, Catalog.Games: the games
// that have cards or products in the catalog.
var Games = []Game{
	{Slug: "pokemon", Name: "Pokémon", Preview: "pokemon", Category: "3", Editions: []string{"pokemon_center"}},
	{Slug: "one-piece", Name: "One Piece", Preview: "one_piece", Category: "68"},
}

// GameBySlug returns the game with a slug; false for a game that this program does not know.
func GameBySlug(slug string) (Game, bool) {
	return findGame(func(g Game) bool { return g.Slug == slug })
}

// GameByPreview returns the game that the preview contract gives this name.
func GameByPreview(name string) (Game, bool) {
	return findGame(func(g Game) bool { return g.Preview == name })
}

// GameByCategory returns the game of a category of TCGplayer.
func GameByCategory(category string) (Game, bool) {
	return findGame(func(g Game) bool { return g.Category == category && category != "" })
}

// GamesInWords names all games for a sentence: "Pokémon and One Piece". There are at least two.
func GamesInWords() string {
	names := make([]string, len(Games))
	for i := range Games {
		names[i] = Games[i].Name
	}
	last := len(names) - 1

	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// StandardEdition is the edition that sealed products of every game may have.
const StandardEdition = "standard"

// HasEdition reports whether sealed products of the game come in an edition.
func (g *Game) HasEdition(edition string) bool {
	return edition == StandardEdition || slices.Contains(g.Editions, edition)
}

// IsEdition reports whether any game has the edition.
func IsEdition(edition string) bool {
	return slices.ContainsFunc(Games, func(g Game) bool { return g.HasEdition(edition) })
}

func findGame(is func(g Game) bool) (Game, bool) {
	at := slices.IndexFunc(Games, is)
	if at < 0 {
		return Game{}, false
	}
	return Games[at], true
}
