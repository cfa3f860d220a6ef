package mcp_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
)

// The job of TestJob is "value these 30 cards and show me which of them rose this month". An agent
// does the job with only the results of its calls: textAgent reads only texts, dataAgent only
// structuredContent.

// ownedCard is a line of the list as the owner wrote it.
type ownedCard struct {
	name, number string
	quantity     int
}

// report is the final report of the agent.
type report struct {
	total int64
	rose  []string // ids
}

type agent interface {
	// value reads a result of catalog_value_cards: the ids of the priced and unpriced lines, and
	// the id of the first candidate of each other line, "" without one.
	value(tb testing.TB, r *result) (total int64, known, chosen map[int]string)
	// rose reads a result of catalog_get_price_history.
	rose(tb testing.TB, r *result) bool
}

type textAgent struct{}

var (
	totalLine     = regexp.MustCompile(`^Total \$(\d+)\.(\d\d): `)
	resolvedLine  = regexp.MustCompile(`^(\d+)\. (?:priced|unpriced) \| .* \| (card_\w+)$`)
	openLine      = regexp.MustCompile(`^(\d+)\. (?:ambiguous|unmatched) \| `)
	candidateLine = regexp.MustCompile(`^   - .* \| (card_\w+)$`)
)

func (textAgent) value(_ testing.TB, r *result) (total int64, known, chosen map[int]string) {
	known = map[int]string{}
	chosen = map[int]string{}
	open := 0
	for line := range strings.Lines(r.text()) {
		line = strings.TrimRight(line, "\n")
		if m := totalLine.FindStringSubmatch(line); m != nil {
			total, _ = strconv.ParseInt(m[1]+m[2], 10, 64)
		} else if m := resolvedLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			known[n-1] = m[2]
			open = 0
		} else if m := openLine.FindStringSubmatch(line); m != nil {
			open, _ = strconv.Atoi(m[1])
			chosen[open-1] = ""
		} else if m := candidateLine.FindStringSubmatch(line); m != nil && open > 0 && chosen[open-1] == "" {
			chosen[open-1] = m[1]
		}
	}

	return total, known, chosen
}

func (textAgent) rose(_ testing.TB, r *result) bool {
	return slices.ContainsFunc(strings.Split(r.text(), "\n"),
		func(line string) bool { return strings.Contains(line, ": rising | ") })
}

type dataAgent struct{}

func (dataAgent) value(tb testing.TB, r *result) (total int64, known, chosen map[int]string) {
	tb.Helper()
	var v valuation
	r.decode(tb, &v)

	known = map[int]string{}
	chosen = map[int]string{}
	for i, l := range v.Lines {
		switch {
		case l.Card != nil:
			known[i] = l.Card.ID
		case len(l.Candidates) > 0:
			chosen[i] = l.Candidates[0].ID
		default:
			chosen[i] = ""
		}
	}
	return v.TotalCents, known, chosen
}

func (dataAgent) rose(tb testing.TB, r *result) bool {
	tb.Helper()
	var h struct {
		Series []struct{ Summary struct{ Trend string } }
	}

	r.decode(tb, &h)
	return slices.ContainsFunc(h.Series, func(s struct{ Summary struct{ Trend string } }) bool {
		return s.Summary.Trend == "rising"
	})
}

// work does the job.
func work(tb testing.TB, d *desk, a agent, format string, list []ownedCard) report {
	tb.Helper()
	lines := make([]args, len(list))
	for i, h := range list {
		lines[i] = args{"name": h.name, "number": h.number, "quantity": h.quantity}
		if h.number == "" {
			delete(lines[i], "number")
		}
	}

	first := d.ok(tb, "catalog_value_cards", args{"cards": lines, "response_format": format})
	_, known, chosen := a.value(tb, &first)
	var ids []string
	var again []args
	for i := range list {
		id := known[i]
		if id == "" {
			id = chosen[i]
		}
		if id == "" {
			tb.Fatalf("line %d (%v) led nowhere:\n%s", i+1, list[i], first.text())
		}
		ids = append(ids, id)
		again = append(again, args{"id": id, "quantity": list[i].quantity})
	}

	last := d.ok(tb, "catalog_value_cards", args{"cards": again, "response_format": format})
	total, known, open := a.value(tb, &last)
	if len(open) > 0 || len(known) != len(list) {
		tb.Fatalf("ids of candidates are not resolved:\n%s", last.text())
	}

	rose := map[string]bool{}
	for _, id := range ids {
		history := d.ok(tb, "catalog_get_price_history", args{"id": id, "days": 30, "response_format": format})
		if a.rose(tb, &history) {
			rose[id] = true
		}
	}

	return report{total, slices.Sorted(maps.Keys(rose))}
}

func TestJob(t *testing.T) {
	d, w := randomDesk(t, 11, fixture.Size{Sets: 8, Cards: 300, Days: 90})
	var list []ownedCard
	for i := 0; len(list) < 30; i++ {
		list = append(list, ownedCard{w.Cards[i].Name, w.Cards[i].Number, 1 + i%3})
	}

	var reports []string
	for _, format := range []string{"concise", "detailed"} {
		for _, a := range []agent{textAgent{}, dataAgent{}} {
			r := work(t, d, a, format, list)
			if r.total == 0 || len(r.rose) == 0 {
				t.Errorf("%T, %s: %v", a, format, r)
			}
			reports = append(reports, fmt.Sprint(r))
		}
	}

	for _, r := range reports {
		if r != reports[0] {
			t.Errorf("the agents disagree:\n%s", strings.Join(reports, "\n"))
		}
	}
}

// TestJobOnRealCards does the job with the real catalogs, and compares the size of every result
// with its budget.
func TestJobOnRealCards(t *testing.T) {
	testsweep.OnlyFull(t)
	d := realDesk(t)
	c := d.view.Catalog
	var list []ownedCard
	for card := 0; len(list) < 30; card += 173 {
		if c.Cards.Number.At(card) != "" {
			list = append(list, ownedCard{c.Cards.Name.At(card), c.Cards.Number.At(card), 1})
		}
	}

	want := fmt.Sprint(work(t, d, textAgent{}, "concise", list))
	if got := fmt.Sprint(work(t, d, dataAgent{}, "detailed", list)); got != want {
		t.Errorf("%s\n%s", want, got)
	}
}
