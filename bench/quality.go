package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Quality is how many queries of a tier found what they mean.
type Quality struct {
	Passed, Asked int
}

// wanted is one line of a search set: a query and what its first hit must be.
type wanted struct {
	query, game, tier string
	name, number, set *regexp.Regexp // nil for anything
	nothing           bool           // no hit at all
}

// hit is what is judged of a card summary.
type hit struct {
	Name, Number string
	Set          struct{ Name string }
}

// readWanted reads a search set: query, game, the first hit's name as an expression, notes (design:
// search).
func readWanted(text string) ([]wanted, error) {
	var all []wanted
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		// The first line names the columns.
		if i == 0 || strings.HasPrefix(line, "# ") {
			continue
		}
		if len(cells) != 4 {
			return nil, fmt.Errorf("cannot read the search set: line %d has %d columns, want 4", i+1, len(cells))
		}

		w := wanted{query: cells[0], game: cells[1], nothing: cells[2] == "^$"}
		var err error
		w.name, err = regexp.Compile(cells[2])
		if err != nil {
			return nil, fmt.Errorf("cannot read the search set: line %d: %w", i+1, err)
		}

		for note := range strings.SplitSeq(cells[3], "; ") {
			key, value, _ := strings.Cut(note, "=")
			value = strings.TrimPrefix(value, "~")
			switch key {
			case "tier":
				w.tier = value
			case "number":
				w.number, err = regexp.Compile(value)
			case "set":
				w.set, err = regexp.Compile(value)
			}
			if err != nil {
				return nil, fmt.Errorf("cannot read the search set: line %d: %w", i+1, err)
			}
		}

		all = append(all, w)
	}
	return all, nil
}

// kept reports whether the hits are as wanted.
func (w *wanted) kept(hits []hit) bool {
	if w.nothing || len(hits) == 0 {
		return w.nothing && len(hits) == 0
	}

	first := hits[0]
	for _, of := range []struct {
		want *regexp.Regexp
		text string
	}{{w.name, first.Name}, {w.number, first.Number}, {w.set, first.Set.Name}} {
		if of.want != nil && !of.want.MatchString(of.text) {
			return false
		}
	}
	return true
}

// judge asks every server that searches the whole search set.
func (r *run) judge(report *Report) error {
	text, err := os.ReadFile(r.o.Queries)
	if err != nil {
		return fmt.Errorf("cannot read the search set: %w", err)
	}

	all, err := readWanted(string(text))
	if err != nil {
		return err
	}

	report.Quality = map[string]map[string]Quality{}
	for _, c := range r.contestants {
		if c.addresses != nil {
			// A bare server does not search.
			continue
		}

		// Only servers that search by themselves are asked.
		tiers := map[string]Quality{}
		for i := range all {
			hits, err := c.search(&all[i], r.keys.Live)
			if err != nil {
				return err
			}
			q := tiers[all[i].tier]
			q.Asked++
			if all[i].kept(hits) {
				q.Passed++
			}
			tiers[all[i].tier] = q
		}
		report.Quality[c.name] = tiers
	}
	return nil
}

func (c *contestant) search(w *wanted, key string) ([]hit, error) {
	values := url.Values{"q": {w.query}, "limit": {"1"}}
	if w.game != "*" {
		values.Set("game", w.game)
	}

	a, err := askOnce(c.api, spell(http.MethodGet, "/v1/cards?"+values.Encode(), key, ""))
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, fmt.Errorf("cannot search %s for %q: it answered %d: %s", c.name, w.query, a.status, a.body)
	}

	var page struct{ Data []hit }
	if err := json.Unmarshal(a.body, &page); err != nil {
		return nil, fmt.Errorf("cannot read what %s found for %q: %w", c.name, w.query, err)
	}
	return page.Data, nil
}

// printQuality writes how the servers did on the search set.
func (r *Report) printQuality(out io.Writer) error {
	for _, server := range r.Servers {
		if tiers := r.Quality[server]; tiers != nil {
			if _, err := fmt.Fprintf(out, "search set, %s: %s\n", server, spellTiers(tiers)); err != nil {
				return err
			}
		}
	}
	return nil
}

// QualityRow is the line of the Markdown table that says how the servers did on the search set.
func (r *Report) QualityRow() string {
	if r.Quality == nil {
		return ""
	}

	var w strings.Builder
	w.WriteString("| first hit as meant (tier 1, 2, 3) |")
	for _, server := range r.Servers {
		var parts []string
		tiers := r.Quality[server]
		for _, tier := range slices.Sorted(maps.Keys(tiers)) {
			parts = append(parts, fmt.Sprintf("%d/%d", tiers[tier].Passed, tiers[tier].Asked))
		}
		w.WriteString(" " + strings.Join(parts, " ") + " |")
	}
	return w.String() + "\n"
}

func spellTiers(tiers map[string]Quality) string {
	var parts []string
	for _, tier := range slices.Sorted(maps.Keys(tiers)) {
		parts = append(parts, fmt.Sprintf("tier %s %d of %d", tier, tiers[tier].Passed, tiers[tier].Asked))
	}
	return strings.Join(parts, ", ")
}
