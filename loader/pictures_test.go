package loader

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPictures names pictures with and without a folder, of cards that one feed has or two.
func TestPictures(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"42382.webp", "42382.png", "base1-4.png", "base1-5.avif", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	price := fullRef("tcgcsv", "3/42382")
	unseen := fullRef("tcgcsv", "3/7")
	database := fullRef("pokemon-tcg-data", "base1-4")
	for _, c := range []struct {
		card      card
		with, not string
	}{
		{card{item: item{refs: []string{price}}}, "42382.png", "42382.jpg"},
		{card{item: item{refs: []string{unseen}}}, "7.jpg", "7.jpg"},
		{card{item: item{refs: []string{database}}}, "base1-4.png", "base1-4.png"},
		{card{item: item{refs: []string{unseen, database}}}, "base1-4.png", "7.jpg"},
		{card{item: item{refs: []string{database, unseen}}}, "base1-4.png", "7.jpg"},
		{card{item: item{refs: []string{fullRef("pokemon-tcg-data", "base1-5")}}}, "base1-5.avif", "base1-5.png"},
		{card{item: item{refs: []string{price}}, image: "own.gif"}, "own.gif", "own.gif"},
		{card{item: item{refs: []string{fullRef("pokemon-tcg-data", "../etc/passwd")}}}, "", ""},
		{card{item: item{refs: []string{fullRef("pokemon-tcg-data", "ex10-?")}}}, "", ""},
		{card{item: item{refs: []string{fullRef("mine", "42382")}}}, "", ""},
	} {
		for where, want := range map[string]string{folder: c.with, "": c.not} {
			p, err := readPictures(where)
			if got := p.fileFor(&c.card); err != nil || got != want {
				t.Errorf("the picture of %q in %q is %q (%v), want %q", c.card.refs, where, got, err, want)
			}
		}
	}

	if _, err := readPictures(filepath.Join(folder, "typo")); err == nil {
		t.Error("a folder that is not there is read")
	}
}
