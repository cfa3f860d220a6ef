package loader

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/snapshot"
)

// nameFile writes an operator's file of names and returns its path.
func nameFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names.tsv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\r\n")+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// namesOf are the names of a catalog in other languages: English, language and name.
func namesOf(c *snapshot.Catalog) map[string]bool {
	all := map[string]bool{}
	for i, game := range c.Names.Game {
		text := fmt.Sprintf("%s %s %s", c.Names.English.At(i), c.Names.Language.At(i), c.Names.Name.At(i))
		if game == snapshot.AnyGame {
			text = "beside " + text
		}
		all[text] = true
	}
	return all
}

// TestNames checks the names of a catalog: its own species, cards of the operator's file, and words next to
// names.
func TestNames(t *testing.T) {
	f := newFake("shop").set("s", "Sky").card("r1", "s", "Dark Charizard", "1").card("r2", "s", "Ho-Oh-GX", "2").
		card("r3", "s", "Misty's Psyduck", "3").card("r4", "s", "Luffy (4) (Parallel)", "X-004").
		card("r5", "s", "Farfetch'd", "5").card("r6", "s", "Type: Null", "6").card("r7", "s", "Mr. Mime", "7")
	path := nameFile(t, "\ufeffnumber\ten\tja\tzh-hk", "X-004\tMonkey\tルフィ\t魯夫", "X-005\t\tゾロ\t")
	all := namesOf(one(t, Options{SnapshotAt: atDay(today), Names: path}, f).Catalog)
	for name, want := range map[string]bool{
		"Charizard de Glurak": true, "Charizard zh-hant 噴火龍": true, "Ho-Oh ja ホウオウ": true, "Psyduck fr Psykokwak": true,
		"Farfetch'd de Porenta": true, "Type: Null fr Type:0": true, "Mr. Mime fr M. Mime": true,
		"Luffy ja ルフィ": true, "Luffy zh-hk 魯夫": true, "beside Alolan ja アローラ": true, "beside  ja の": true,
		"Charizard es Charizard": false, "Charmander de Glumanda": false, "Zoro ja ゾロ": false, "Monkey ja ルフィ": false,
	} {
		if all[name] != want {
			t.Errorf("%q is there: %t", name, !want)
		}
	}

	chosen := Options{SnapshotAt: atDay(today), Names: path, Languages: []string{"zh", "ja-roma"}}
	all = namesOf(one(t, chosen, f).Catalog)
	for name, want := range map[string]bool{
		"Charizard zh-hans 喷火龙": true, "Charizard ja-roma Lizardon": true,
		"Charizard ja-roma Rizaadon": true, "Luffy zh-hk 魯夫": true,
		"Charizard ja リザードン": false, "Luffy ja ルフィ": false, "Charizard de Glurak": false,
	} {
		if all[name] != want {
			t.Errorf("of two languages, %q is there: %t", name, !want)
		}
	}

	bare := newFake("shop").set("s", "Sky").card("r1", "s", "Energy Retrieval", "1")
	if none := one(t, Options{SnapshotAt: atDay(today)}, bare).Catalog.Names; len(none.Game) > 0 {
		t.Errorf("a catalog without a species has %d names", len(none.Game))
	}
}

// TestWrongNames holds that every problem of names is named at once.
func TestWrongNames(t *testing.T) {
	path := nameFile(t, "Number\tja\tJA\tja", "A-1\tア\tイ\tウ", "A-1\tア\tイ\tウ", "\tア\tイ\tウ",
		"A-2\tア", "A-3\tア\x07\tイ\tウ")
	err := CheckNames(path, []string{"de", "tlh", "zz"})
	if err == nil {
		t.Fatal("a wrong file passes")
	}
	for _, want := range []string{
		`line 1 has "Number": want number`, `line 1 has "JA"`, `line 1 has "ja" twice`, `line 3 has no number, or one`,
		`line 4 has no number`, "line 5 has 2 columns, not 4", "line 6 has text",
		`language "tlh": there are names in de, es`, `language "zz"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}

	if err := CheckNames("nowhere.tsv", nil); err == nil || !strings.Contains(err.Error(), "nowhere.tsv") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := CheckNames("", []string{"de", "zh", "ja-roma"}); err != nil {
		t.Error(err)
	}
}
