// Package cards is the common code of the database servers of the comparison: the catalog as
// ninepocket exports it, the types of the responses, and a plain net/http server over a store of
// cards.
package cards

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Set is the set of a card.
type Set struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Price is a card's display price.
type Price struct {
	Currency  string `json:"currency"`
	Cents     *int64 `json:"market_price_cents"`
	UpdatedAt string `json:"price_updated_at"`
}

// Head has the first members of every response with a card.
type Head struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Number   *string `json:"number"`
	Game     string  `json:"game"`
	GameName string  `json:"game_name"`
	Rarity   *string `json:"rarity"`
	Set      *Set    `json:"set"`
	Image    *string `json:"image_url"`
	URL      *string `json:"url"`
}

// Summary is a hit of a search.
type Summary struct {
	Head
	Price Price `json:"price"`
}

// Lane is a price of one variant and condition.
type Lane struct {
	Variant   string `json:"variant"`
	Condition string `json:"condition"`
	Price
	Change7   *int64   `json:"change_7d_cents"`
	Percent7  *float64 `json:"change_7d_percent"`
	Change30  *int64   `json:"change_30d_cents"`
	Percent30 *float64 `json:"change_30d_percent"`
}

// Detail is a card with its prices.
type Detail struct {
	Head
	Prices []Lane `json:"prices"`
}

// Entry is a card's price in a batch.
type Entry struct {
	ID string `json:"id"`
	Price
}

// Exported is a line of the dump.
type Exported struct {
	Detail
	Slug    string `json:"slug"`
	SetCode string `json:"set_code"`
	Display Price  `json:"display"`
}

// Read calls each with every card of a dump, most expensive first.
func Read(file string, each func(rank int, card *Exported) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()

	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for rank := 0; lines.Scan(); rank++ {
		var card Exported
		if err := json.Unmarshal(lines.Bytes(), &card); err != nil {
			return fmt.Errorf("cannot read line %d of %q: %w", rank+1, file, err)
		}
		if err := each(rank, &card); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Fold normalizes the text of indexes and queries of all stores. It removes marks and apostrophes,
// makes letters lower case and other punctuation spaces, and replaces the symbols of card names by
// words.
func Fold(s string) string {
	s = symbols.Replace(s)
	var out strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		switch {
		case unicode.Is(unicode.Mn, r) || r == '\'' || r == '’':
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			out.WriteRune(r)
		default:
			out.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

var symbols = strings.NewReplacer("♀", " female", "♂", " male", "δ", " delta", "★", " star", "☆", " star", "◇",
	" prism star")

// Text returns the texts that searches for a card compare.
func (c *Exported) Text() (name, number, set string) {
	if c.Number != nil {
		number = Fold(*c.Number)
	}
	if c.Set != nil {
		set = Fold(c.Set.Name + " " + c.SetCode)
	}
	if c.Rarity != nil {
		set += " " + Fold(*c.Rarity)
	}
	return Fold(c.Name), number, set
}
