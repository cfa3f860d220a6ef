package rivals

import (
	"context"
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
	"time"

	"ninepocket/bench"
)

// Quality counts the queries of a tier, and the queries that found the correct card.
type Quality struct {
	Passed, Asked int
}

// wanted is one line of a search set: a query and the expected first hit.
type wanted struct {
	query, game, tier string
	name, number, set *regexp.Regexp // nil for anything
	nothing           bool           // no hit at all
}

// hit has the compared members of a card summary.
type hit struct {
	Name, Number, Rarity string
	Set                  struct{ Name string }
}

// readWanted reads a search set: query, game, the first hit's name as a regular expression, notes
// (design: search).
func readWanted(text string) ([]wanted, error) {
	var all []wanted
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		// The first line has the column names.
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

		for condition := range strings.SplitSeq(cells[3], "; ") {
			key, value, _ := strings.Cut(condition, "=")
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

// matches reports whether the hits are as expected.
func (w *wanted) matches(hits []hit) bool {
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

// readQueries reads the search set of a file.
func readQueries(file string) ([]wanted, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the search set: %w", err)
	}
	return readWanted(string(text))
}

// judge sends the whole search set to every server and counts correct hits by server and tier.
func judge(ctx context.Context, all []wanted, servers []bench.Endpoint) (map[string]map[string]Quality, error) {
	judged := map[string]map[string]Quality{}
	for _, server := range servers {
		tiers := map[string]Quality{}
		for i := range all {
			hits, err := search(ctx, server, &all[i])
			if err != nil {
				return nil, err
			}
			quality := tiers[all[i].tier]
			quality.Asked++
			if all[i].matches(hits) {
				quality.Passed++
			}
			tiers[all[i].tier] = quality
		}

		judged[server.Name] = tiers
	}
	return judged, nil
}

// client has a timeout, so that a measurement fails if a server hangs.
var client = http.Client{Timeout: 30 * time.Second}

func search(ctx context.Context, server bench.Endpoint, w *wanted) ([]hit, error) {
	values := url.Values{"q": {w.query}, "limit": {"1"}}
	if w.game != "*" {
		values.Set("game", w.game)
	}

	target := "http://" + server.Address + "/v1/cards?" + values.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", server.Key)
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot search %s for %q: %w", server.Name, w.query, err)
	}

	// The body was only read, so an error of Close means nothing.
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answered %d: %s", response.StatusCode, text)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot search %s for %q: %w", server.Name, w.query, err)
	}

	var page struct{ Data []hit }
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("cannot read what %s found for %q: %w", server.Name, w.query, err)
	}
	return page.Data, nil
}

// QualityRow returns the row of the Markdown table with the results of the search set.
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

func formatTiers(tiers map[string]Quality) string {
	var parts []string
	for _, tier := range slices.Sorted(maps.Keys(tiers)) {
		parts = append(parts, fmt.Sprintf("tier %s %d of %d", tier, tiers[tier].Passed, tiers[tier].Asked))
	}
	return strings.Join(parts, ", ")
}
