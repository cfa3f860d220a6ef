package rivals

import (
	"encoding/json"
	"testing"
)

func TestWanted(t *testing.T) {
	const head = "query\tgame\texpect_name_regex\tnote\n"
	f := func(line, hits string, want bool) {
		t.Helper()
		all, err := readWanted(head + line + "\n")
		if err != nil || len(all) != 1 {
			t.Fatalf("%q is read as %v, %v", line, all, err)
		}
		var found []hit
		if err := json.Unmarshal([]byte(hits), &found); err != nil {
			t.Fatal(err)
		}
		if got := all[0].matches(found); got != want {
			t.Errorf("%q with the hits %s is %t", line, hits, got)
		}
	}

	const zard = `[{"name":"Charizard","number":"4","set":{"name":"Base"}},{"name":"Other"}]`
	f("a\tpokemon\t^Charizard$\ttier=1; cat=x", zard, true)
	// The first hit counts.
	f("a\tpokemon\t^Other$\ttier=1; cat=x", zard, false)
	f("a\tpokemon\t^Charizard$\ttier=1; cat=x; number=~^4$; set=~^Base$", zard, true)
	f("a\tpokemon\t^Charizard$\ttier=1; cat=x; number=~^5$", zard, false)
	f("a\tpokemon\t^Charizard$\ttier=1; cat=x; set=~^Jungle$", zard, false)
	f("a\tpokemon\t^Charizard$\ttier=1; cat=x", `[]`, false)
	f("a\t*\t^$\ttier=1; cat=none", `[]`, true)
	f("a\t*\t^$\ttier=1; cat=none", zard, false)
	f(" a \t*\tx\ttier=2", `[{"name":"x","set":null,"number":null}]`, true)

	if all, err := readWanted(head + " a \t*\tx\ttier=2\n# a remark\n"); err != nil || len(all) != 1 ||
		all[0].query != " a " || all[0].tier != "2" {
		t.Errorf("read %v, %v", all, err)
	}

	for _, bad := range []string{"a\tb\tc", "a\tb\t(\ttier=1", "a\tb\tc\tnumber=~("} {
		if _, err := readWanted(head + bad); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}
