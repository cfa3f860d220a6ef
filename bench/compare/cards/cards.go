// Package cards is what the database servers of the comparison share: the catalog as ninepocket
// exports it, the shapes of the answers, and a plain net/http front over whatever stores the cards.
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

// Head is what every shape of a card begins with.
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

// Read calls each with every card of a dump, dearest first.
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

// Fold folds text as all stores index it and are asked for it. It is lower case, without marks and
// apostrophes, other punctuation as spaces, the symbols of card names as words.
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

// Text is what a card is found by beside its name.
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
