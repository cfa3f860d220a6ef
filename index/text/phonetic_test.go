package text

import (
	"context"
	"testing"
)

// TestSoundsThatRepeat looks for words in which the same letters come again and again, so that a word
// and its sound share more runs than either has.
func TestSoundsThatRepeat(t *testing.T) {
	c := testCatalog{cards: []testCard{{name: "Hahahahahaha"}, {name: "Zehahahahaha!"}, {name: "Charizard"}}}
	ix, err := Build(context.Background(), c.corpus(), nil)
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
