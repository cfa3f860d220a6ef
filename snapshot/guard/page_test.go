package guard_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/snapshot/guard"
)

// TestGuardsPage wants the table of docs/GUARDS.md to have every guard in order, with its default.
func TestGuardsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/GUARDS.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([0-9]+)( %)?")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		limit, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(row[3]) == "%" {
			limit /= 100
		}
		shown = append(shown, fmt.Sprint(row[1], " ", limit))
	}

	var want []string
	for _, g := range guard.Describe() {
		want = append(want, fmt.Sprint(g.Name, " ", g.Limit))
	}
	if !slices.Equal(shown, want) {
		t.Errorf("docs/GUARDS.md has %q, the program %q", shown, want)
	}
}
