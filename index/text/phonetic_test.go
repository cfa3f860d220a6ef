package text

import (
	"context"
	"testing"
)

// TestSoundsThatRepeat searches for words with repeated letters. In such a word, letters and sound
// have more runs in common than either has.
func TestSoundsThatRepeat(t *testing.T) {
	c := testCatalog{cards: []testCard{{name: "Hahahahahaha"}, {name: "Zehahahahaha!"}, {name: "Charizard"}}}
	ix, err := Build(context.Background(), c.corpus(), noStep)
	if err != nil {
		t.Fatal(err)
	}

	for _, q := range []string{
		"zehahahahaha autographt", "hahahahahaha xyzzy", "zehahahahaha alternate art autographed",
		"haha hahahaha charizart",
	} {
		if hits := ix.Search(nil, q, nil); len(hits) == 0 {
			t.Errorf("%q finds nothing", q)
		}
	}
}
