package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPlaceholder expects names in lines that fit, and the printed marks of rarities.
func TestPlaceholder(t *testing.T) {
	for name, want := range map[string][]string{
		"Charizard":                             {"Charizard", "", ""},
		"Pikachu & Zekrom-GX":                   {"Pikachu &", "Zekrom-GX", ""},
		"Pikachu with the Extraordinarily Wide": {"Pikachu with", "the", "Extraordinar…"},
		strings.Repeat("x", 40):                 {"xxxxxxxxxxxx…", "", ""},
		"":                                      {"", "", ""},
	} {
		f := NewPlaceholder(name, "OP01-101_p1", "Rare Holo", "", 7)
		if !slices.Equal(f.Lines[:], want) || f.Number != "OP01-101_p1" || f.Hue != hues[1] {
			t.Errorf("%q is %q, %+v", name, f.Lines, f)
		}
		for _, line := range f.Lines {
			if utf8.RuneCountInString(line) > lineLength {
				t.Errorf("%q has a line of more than %d: %q", name, lineLength, line)
			}
		}
	}

	for rarity, want := range map[string]Mark{
		"Common": {Shape: Circle, Count: 1}, "Uncommon": {Shape: Diamond, Count: 1}, "Rare": {Shape: Star, Count: 1},
		"Special Illustration Rare": {Shape: Star, Count: 3}, "Ultra Rare": {Shape: Star, Count: 2},
		"Promo": {Letters: "PR"}, "SEC": {Letters: "SEC"}, "DON!!": {Letters: "DON!!"}, "": {},
		"wholly new kind of thing": {Letters: "WNK"},
	} {
		if got := markOf(rarity); got != want {
			t.Errorf("%q is %+v, want %+v", rarity, got, want)
		}
		if (want.Letters == "" && rarity != "") != (want.Path() != "") {
			t.Errorf("%q has the path %q", rarity, want.Path())
		}
	}
}

// FuzzBroken breaks any text into lines.
func FuzzBroken(f *testing.F) {
	f.Add("Pikachu with the Extraordinarily Wide Grey Felt!!!")
	f.Add("a\xff\u2003b … \u00a0")
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range NewPlaceholder(text, "", "", "", 0).Lines {
			if utf8.RuneCountInString(line) > lineLength {
				t.Errorf("%q has the line %q", text, line)
			}
		}
	})
}

// TestPreview paints a card, also with characters that no font has.
func TestPreview(t *testing.T) {
	p := Preview{
		Placeholder: NewPlaceholder("リザードン Charizard ☆ \x00", "4/102", "Ultra Rare", "BS", 0),
		Title:       "リザードン Charizard ☆ " + strings.Repeat("long ", 60), About: "4/102", Price: "$1,234.50",
		When: "today",
	}
	text, err := p.PNG()
	if err != nil {
		t.Fatal(err)
	}

	painted, err := png.Decode(bytes.NewReader(text))
	if err != nil || painted.Bounds() != image.Rect(0, 0, previewWidth, previewHeight) {
		t.Fatalf("%v, %v", painted.Bounds(), err)
	}
	edge := color.RGBAModel.Convert(painted.At(62, previewHeight/2))
	if edge != parseColour(p.Placeholder.Hue.Edge) {
		t.Errorf("the edge of the card is %v", edge)
	}
}

// TestThumbnail checks that the aspect ratio is preserved, that no picture is enlarged, and that
// transparency becomes white.
func TestThumbnail(t *testing.T) {
	for _, c := range []struct{ width, height, wantWidth, wantHeight int }{
		{600, 840, 96, 134}, {60, 84, 60, 84}, {1000, 2, 96, 1},
	} {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewNRGBA(image.Rect(0, 0, c.width, c.height))); err != nil {
			t.Fatal(err)
		}
		small, err := Thumbnail(bytes.NewReader(file.Bytes()), Small)
		if err != nil {
			t.Fatal(err)
		}

		got, kind, err := image.Decode(bytes.NewReader(small))
		if err != nil || kind != "jpeg" || got.Bounds().Dx() != c.wantWidth || got.Bounds().Dy() != c.wantHeight {
			t.Errorf("%+v is %v as %s: %v", c, got.Bounds(), kind, err)
			continue
		}
		if r, g, b, _ := got.At(0, 0).RGBA(); min(r, g, b) < 0xf000 {
			t.Errorf("%+v: nothing is %v %v %v", c, r, g, b)
		}
	}
}
