package ninepocket_test

import (
	"os"
	"strings"
	"testing"
)

// TestTestingShowsRealTests compares the excerpts of docs/dev/TESTING.md with the tests. The first line
// of an excerpt names its file, which must contain the other lines in this order.
func TestTestingShowsRealTests(t *testing.T) {
	page, err := os.ReadFile("docs/dev/TESTING.md")
	if err != nil {
		t.Fatal(err)
	}

	shown := 0
	for i, part := range strings.Split(string(page), "```") {
		// Every second part is a code block. Its first line is the language.
		if i%2 == 0 {
			continue
		}
		_, excerpt, _ := strings.Cut(part, "\n")
		name, lines, _ := strings.Cut(excerpt, "\n")
		name = strings.TrimLeft(name, "/# ")

		text, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("an excerpt is of no file: %v", err)
			continue
		}
		if !strings.Contains(string(text), lines) {
			t.Errorf("docs/dev/TESTING.md shows what %s no longer has:\n%s", name, lines)
		}
		shown++
	}
	if shown < 6 {
		t.Errorf("docs/dev/TESTING.md shows %d tests", shown)
	}
}
