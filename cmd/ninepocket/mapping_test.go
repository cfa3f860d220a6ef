package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/internal/feedtest"
	"ninepocket/snapshot"
)

// TestMappingSuggest proposes rows, reviews one, builds with them, and wants each to be a product.
func TestMappingSuggest(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	h.pulls(exitOK)
	tree := "tcgcsv:" + filepath.Join(h.into, "current")
	dir := filepath.Join(t.TempDir(), "mapping")
	var out, errs bytes.Buffer
	suggest := func(code int, more ...string) {
		t.Helper()
		out.Reset()
		errs.Reset()
		args := append([]string{"mapping", "suggest", "--source", tree, "--into", dir}, more...)
		if got := run(t.Context(), args, &out, &errs); got != code {
			t.Fatalf("exit code %d, want %d: %s%s", got, code, &out, &errs)
		}
	}
	suggest(exitOK)
	says(t, out.String(), "4 rows proposed")
	suggest(exitFailure)
	says(t, errs.String(), "it is there")

	// An operator corrects one row, deletes another, and mistypes a third and a feed.
	file := filepath.Join(dir, "sealed.csv")
	edit(t, file, func(_ int, line string) []string {
		switch {
		case strings.HasPrefix(line, "tcgcsv,3/101005,"):
			return []string{strings.Replace(line, ",36,", ",18,", 1)}
		case strings.HasPrefix(line, "tcgcsv,68/102005,"):
			return nil
		case strings.HasPrefix(line, "tcgcsv,3/103005,"):
			return []string{line, strings.Replace(line, "3/103005", "3/1030050", 1)}
		}
		return []string{line}
	})
	feeds := "\uFEFF[tcgcsw]\nas_of = 'as collected'\n[tcgcsv]\nas_of = 'as collected'\n"
	aliases := "kind,namespace,ref,target_namespace,target_ref\nset,tcgcsv,3/99,pokemon-tcg-data,base99\n"
	for name, text := range map[string]string{"feeds.toml": feeds, "aliases.csv": aliases} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	_, stderr := h.does(exitOK, "snapshot", "build", "--source", tree, "--mapping", dir, "--publish")
	says(t, stderr, "sealed.csv: 1 rows name no sealed product of the sources: tcgcsv/3/1030050",
		"feeds.toml: 1 feeds are those of no input: tcgcsw",
		"aliases.csv: 1 aliases name nothing that the sources have: pokemon-tcg-data/base99 = tcgcsv/3/99")
	c := h.catalog()
	units := map[string]uint32{}
	for i := range c.Sealed.Name.Len() {
		units[c.Sealed.Name.At(i)] = c.Sealed.Units[i]
	}
	if len(units) != 3 || units["Set A Booster Box"] != 18 || units["Set C Booster Box"] != 36 ||
		units["Set D Booster Box"] != 24 {
		t.Errorf("sealed products are %v", units)
	}
	lane := c.Cards.Display[products(c)[feedtest.Product(0, 1)]]
	if c.Lanes.SourceAsOf[lane] != firstEvening.UnixMilli() || c.Lanes.Cents[lane] == snapshot.NoCents {
		t.Errorf("a price as collected is of %d", c.Lanes.SourceAsOf[lane])
	}

	dir = filepath.Join(t.TempDir(), "more")
	suggest(exitOK, "--mapping", filepath.Dir(file))
	says(t, out.String(), "1 rows proposed")
}
