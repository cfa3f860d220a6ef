package loader

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"ninepocket/loader/source"
)

// pictureEndings are how files of pictures end, the likeliest first.
var pictureEndings = []string{".jpg", ".png", ".webp", ".jpeg", ".avif", ".gif"}

// pictureID is a reference that a file can be called by.
var pictureID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// pictures names the files of the cards' pictures (decision 1910). A card whose source names no file
// has one that is called as its feed calls the card: 42382.jpg of TCGCSV, base1-4.png of
// pokemon-tcg-data.
// They are the files of the operator's folder by their names without the ending.
type pictures map[string]string

// readPictures lists a folder, "" for none.
func readPictures(folder string) (found pictures, err error) {
	if folder == "" {
		return found, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return found, fmt.Errorf("cannot read the folder of pictures: %w", err)
	}

	found = pictures{}
	// The likelier ending wins where a card has several files.
	for _, ending := range pictureEndings {
		for _, entry := range entries {
			name, is := strings.CutSuffix(entry.Name(), ending)
			if is && found[name] == "" {
				found[name] = entry.Name()
			}
		}
	}
	return found, nil
}

// fileFor is the name of a card's picture: a file that is there if there is one, else the usual name.
func (all pictures) fileFor(c *card) string {
	if c.image != "" {
		return c.image
	}

	usual := ""
	for _, full := range c.refs {
		namespace, ref := splitRef(full)
		ending := ""
		switch namespace {
		case source.KindTCGCSV:
			ref, _ = productOf(namespace, ref)
			ending = ".jpg"
		case source.KindPokemonTCG:
			ending = ".png"
		}
		if ending == "" || !pictureID.MatchString(ref) {
			continue
		}

		if file := all[ref]; file != "" {
			return file
		}
		// A file fetched by feed pull has the product's name.
		if usual == "" || ending == ".jpg" {
			usual = ref + ending
		}
	}
	return usual
}
