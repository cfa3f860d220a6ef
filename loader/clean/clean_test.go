package clean

import (
	"strings"
	"testing"

	"ninepocket/internal/testsweep"
	"ninepocket/loader/source"
)

func TestCleanText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := cleanText(in)
		if !ok || got != want {
			t.Errorf("cleanText(%q) = %q, %v, want %q", in, got, ok, want)
		}

		if again, _ := cleanText(got); again != got && !strings.Contains(got, "&") {
			t.Errorf("cleanText is not stable: %q, then %q", got, again)
		}
	}

	f("", "")
	f("Pikachu", "Pikachu")
	f("  Pikachu   V  ", "Pikachu V")
	f("Team Rocket&#39;s Meowth", "Team Rocket's Meowth")
	f("Tag &amp; Team", "Tag & Team")
	f("Pikachu & Zekrom", "Pikachu & Zekrom")
	f("Tag&notit", "Tag&notit")
	f("A\tB\r\nC\x00D", "A B CD")
	f("Poke\u0301mon", "Pokémon")
	f("Ni\u200bdoran\u00a0♀", "Nidoran ♀")
	f("\ufeffAbra", "Abra")
	f(" \t ", "")
	if _, ok := cleanText("Pika\xffchu"); ok {
		t.Error("cleanText takes what is not UTF-8")
	}
}

func TestQuarantineIsBounded(t *testing.T) {
	// To write a line takes the same time for each of them, so that make test begins with most of them.
	begun := maxLines - maxLines/testsweep.Stride(20)
	q := Quarantine{stored: begun, Counts: map[string]int{source.ReasonBadRow: begun}}
	for range maxLines - begun + 5 {
		q.Add(source.Quarantine{Reason: source.ReasonBadRow})
	}

	q.Refuse(source.Location{}, source.ReasonBadText, "r", strings.Repeat("é", 400))
	if q.Counts[source.ReasonBadRow] != maxLines+5 || q.Cut != 6 || q.stored != maxLines {
		t.Errorf("the report counts %v, keeps %d and cuts %d", q.Counts, q.stored, q.Cut)
	}

	if got := source.Clip(strings.Repeat("é", 101), MaxValue); got != strings.Repeat("é", 100)+"…" {
		t.Errorf("cut gives %q", got)
	}
}
