package pokemontcg

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"ninepocket/loader/source"
)

// TestSecondDialect: files of the second dialect are given in the words of the first.
func TestSecondDialect(t *testing.T) {
	t.Parallel()

	for _, c := range [][2]string{
		{`{"id":"a-1","types":["Dark"],"hp":160}`, `{"id":"a-1","hp":"160","types":["Darkness"]}`},
		{`{"subtypes": ["Basic Stage", "ex"]}`, `{"subtypes":["Basic","ex"]}`},
		{`{"subtypes":["Tool"]}`, `{"subtypes":["Pokémon Tool"]}`},
		{`{"subtypes":["Special Energy"]}`, `{"subtypes":["Special"]}`},
		{`{"weaknesses": [ {"type": "", "value": "\u00d7"} ]}`, `{}`},
		{`{"weaknesses":[{"type":"Dark","value":"x2"}]}`, `{"weaknesses":[{"type":"Darkness","value":"x2"}]}`},
		{`{"weaknesses":[{"type":""},{"type":"Fire"}]}`, `{"weaknesses":[{"type":""},{"type":"Fire"}]}`},
		{`{"evolvesFrom":"A","baseEvolution":"B"}`, `{"evolvesFrom":"A"}`},
		{`{"baseEvolution":"B","rarity":"MegaAttackRare"}`, `{"evolvesFrom":"B","rarity":"Mega Attack Rare"}`},
		{`{"attacks":[{"cost": "GC"}]}`, `{"attacks":[{"cost":["Grass","Colorless"]}]}`},
		{
			`{"name":"Dark","rules":["Tool"],"attacks":[{"name":"Dark"}]}`,
			`{"name":"Dark","rules":["Tool"],"attacks":[{"name":"Dark"}]}`,
		},
	} {
		// A card is read as from its file.
		read := &files{setSeen: map[string]bool{}, cardSeen: map[string]bool{}}
		read.add(source.RawRecord{ID: "a-1", Set: "a", JSON: []byte(c[0])})
		if got := string(read.cards[0].json); got != c[1] {
			t.Errorf("%s\nis %s\nwant %s", c[0], got, c[1])
		}
	}
}

// TestIndexUnmaps: the file of an index stays mapped as long as its records are used, and no longer.
func TestIndexUnmaps(t *testing.T) {
	mapped := func() (n int) {
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skipf("skipped: mapped files of this process are not listed: %v", err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, t.Name()) && strings.Contains(line, ".zap") {
				n++
			}
		}
		return n
	}

	dir := t.TempDir()
	madeFiles(t, dir)
	r := recordsOf(t, dir)
	if n := mapped(); n != 2 {
		t.Errorf("%d files are mapped, want one of cards and one of sets", n)
	}
	runtime.KeepAlive(r)

	// Cleanups run some time after a collection.
	for until := time.Now().Add(time.Minute); mapped() > 0; runtime.GC() {
		if time.Now().After(until) {
			t.Fatal("the files of an index that nobody uses are still mapped")
		}
		runtime.Gosched()
	}
}
