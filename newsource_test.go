package ninepocket_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// shelf is a source as someone would write a new one: a file of names, one card per line.
type shelf struct{ lines []string }

func openShelf(path string, _ source.Options) (source.Source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &shelf{strings.Fields(string(text))}, nil
}

func (*shelf) Feed() source.Feed {
	return source.Feed{Namespace: "shelf", Attribution: "The shelf", HasCatalog: true}
}

func (s *shelf) Catalog(_ context.Context, to source.Sink) error {
	for i, name := range s.lines {
		to.Card(source.Card{At: source.Location{File: "shelf", Line: i + 1}, Ref: name, Game: "pokemon", Name: name})
	}
	return nil
}

func (s *shelf) Prices(_ context.Context, to source.Sink) error {
	day, err := snapshot.ParseDay("2026-11-21")
	if err != nil {
		return err
	}

	at := day.Time().UnixMilli()
	for i, name := range s.lines {
		to.Price(source.Price{
			At: source.Location{File: "shelf", Line: i + 1}, Ref: name, Variant: "normal", Condition: "ungraded",
			Day:   day,
			Cents: int64(100 * (i + 1)), SourceAsOf: snapshot.NoTime, CollectedAt: at, Licensed: true,
		})
	}
	return nil
}

// TestASourceIsOneRow adds a kind of source, selects it as the command line does, and builds a
// catalog from it.
func TestASourceIsOneRow(t *testing.T) {
	kinds := source.Kinds
	t.Cleanup(func() { source.Kinds = kinds })
	source.Kinds = append(slices.Clip(kinds), source.Kind{Name: "shelf", Open: openShelf})

	path := filepath.Join(t.TempDir(), "cards.txt")
	if err := os.WriteFile(path, []byte("Pikachu Onix"), 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := loader.ParseInput("shelf:" + path)
	if err != nil {
		t.Fatal(err)
	}
	built, err := loader.Build(t.Context(), loader.Options{Sources: []loader.Input{input}})
	if err != nil {
		t.Fatal(err)
	}

	c := built.Catalog
	if len(built.Quarantine) > 0 || c.Cards.ID.Len() != 2 {
		t.Fatalf("%d cards, refused: %s", c.Cards.ID.Len(), built.Quarantine)
	}
	for card, want := range []struct {
		name  string
		cents int64
	}{{"Onix", 200}, {"Pikachu", 100}} { // by price
		if cents, _ := c.DisplayPrice(card); c.Cards.Name.At(card) != want.name || cents != want.cents {
			t.Errorf("card %d is %q at %d cents, want %q at %d", card, c.Cards.Name.At(card), cents, want.name,
				want.cents)
		}
	}

	if _, err := loader.ParseInput("drawer:" + path); err == nil || !strings.Contains(err.Error(), "shelf") {
		t.Errorf("the error of an unknown kind does not name the new one: %v", err)
	}
}
