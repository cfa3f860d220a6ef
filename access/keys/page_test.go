package keys

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPlansPage wants the table of docs/KEYS.md to have every plan that is built in, with its limits.
func TestPlansPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/KEYS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `\\w+` \\| \\d+ \\| .*$").FindAllString(string(page), -1)

	plans := DefaultPlans()
	if len(rows) != len(plans) {
		t.Errorf("%d rows, %d plans", len(rows), len(plans))
	}
	for _, plan := range plans {
		stats := "none"
		if plan.StatsWindow > 0 {
			stats = fmt.Sprint(plan.StatsWindow, " days")
		}
		row := fmt.Sprintf("| `%s` | %d | %d | %d | %s |", plan.Name, plan.PerMinute, plan.PerDay, plan.Credits, stats)
		if !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("docs/KEYS.md lacks %s", row)
		}
	}
}
