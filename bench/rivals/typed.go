package rivals

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"ninepocket/bench"
)

// A typed query is a query as people type it, with its intended cards. It is one row of a file
// with category, catalogs, needs, query and intent (docs/dev/SEARCH.md, How it is checked).
type typed struct {
	family, query string
	intents       [][4]*regexp.Regexp // name, set, number, rarity; none for an empty result
}

// readTyped reads the rows that are about pokemon-tcg-data and punk-records.
func readTyped(file string) ([]typed, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the typed queries: %w", err)
	}

	var all []typed
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		if len(cells) != 5 {
			return nil, fmt.Errorf("cannot read the typed queries: line %d has %d columns, want 5", i+1, len(cells))
		}
		if cells[1] == "t" {
			continue
		}

		q := typed{family: cells[0], query: cells[3]}
		for alternative := range strings.SplitSeq(cells[4], " || ") {
			if alternative == "none" {
				continue
			}
			in, err := readIntent(alternative)
			if err != nil {
				return nil, fmt.Errorf("cannot read the typed queries: line %d: %w", i+1, err)
			}
			q.intents = append(q.intents, in)
		}
		all = append(all, q)
	}
	return all, nil
}

func readIntent(text string) (in [4]*regexp.Regexp, err error) {
	for i, part := range strings.Split(text, "~") {
		part = strings.TrimSpace(part)
		if exact, ok := strings.CutPrefix(part, "="); ok && i == 2 {
			base, parallels := strings.CutSuffix(exact, "*")
			part = "^" + regexp.QuoteMeta(plainNumber(base))
			if parallels {
				part += "(_[pr][0-9]+)?"
			}
			part += "$"
		}

		if part != "" && i < len(in) {
			in[i], err = regexp.Compile(part)
			if err != nil {
				return in, err
			}
		}
	}
	return in, nil
}

var (
	paddedRuns = regexp.MustCompile(`(^|[^0-9])0+([0-9])`)
	plainSigns = strings.NewReplacer("-", " ", ".", " ", ",", " ", `"`, " ", "'", "", "’", "")
)

// plainNumber returns a number without the part after a slash, spaces and leading zeros.
func plainNumber(number string) string {
	number, _, _ = strings.Cut(number, "/")
	return paddedRuns.ReplaceAllString(strings.ReplaceAll(number, " ", ""), "$1$2")
}

// plainText returns a text in lower case, without marks, apostrophes and some signs.
func plainText(s string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		if r < 0x300 || r > 0x36f {
			out.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(plainSigns.Replace(out.String())), " ")
}

// means reports whether a hit is a card that the query means.
func (q *typed) means(h *hit) bool {
	texts := [4]string{plainText(h.Name), plainText(h.Set.Name), plainNumber(h.Number), plainText(h.Rarity)}
	return slices.ContainsFunc(q.intents, func(in [4]*regexp.Regexp) bool {
		for i, want := range in {
			if want != nil && !want.MatchString(texts[i]) {
				return false
			}
		}
		return true
	})
}

// allFamilies is the family of all rows.
const allFamilies = "all"

// judgeTyped sends all typed queries to every server and counts correct first hits by server
// and family.
func judgeTyped(ctx context.Context, all []typed, servers []bench.Endpoint) (map[string]map[string]Quality, error) {
	judged := map[string]map[string]Quality{}
	for _, server := range servers {
		families := map[string]Quality{}
		for i := range all {
			q := &all[i]
			hits, err := search(ctx, server, &wanted{query: q.query, game: "*"})
			if err != nil {
				return nil, err
			}

			good := len(q.intents) == 0 && len(hits) == 0 || len(hits) > 0 && q.means(&hits[0])
			for _, family := range []string{q.family, allFamilies} {
				n := families[family]
				n.Asked++
				if good {
					n.Passed++
				}
				families[family] = n
			}
		}
		judged[server.Name] = families
	}
	return judged, nil
}

// TypedTable returns the Markdown table of the typed queries, by family and server.
func (r *Report) TypedTable() string {
	if r.Typed == nil {
		return ""
	}

	var servers []string
	for _, server := range r.Servers {
		// The net/http server has our engine.
		if r.Typed[server] != nil && server != Plain {
			servers = append(servers, server)
		}
	}

	var w strings.Builder
	fmt.Fprintf(&w, "| first hit as meant | rows | %s |\n|---|---|%s\n", strings.Join(servers, " | "),
		strings.Repeat("---|", len(servers)))
	families := slices.Sorted(maps.Keys(r.Typed[servers[0]]))
	families = slices.DeleteFunc(families, func(f string) bool { return f == allFamilies })
	for _, family := range append(families, allFamilies) {
		fmt.Fprintf(&w, "| %s | %d |", family, r.Typed[servers[0]][family].Asked)
		for _, server := range servers {
			fmt.Fprintf(&w, " %d |", r.Typed[server][family].Passed)
		}
		w.WriteString("\n")
	}
	return w.String()
}
