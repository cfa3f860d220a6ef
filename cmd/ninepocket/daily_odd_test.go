package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ninepocket/internal/feedtest"
	"ninepocket/snapshot"
)

// oddDay is an evening on which a part of the feed is not as it should be.
type oddDay struct {
	name     string
	change   func(path, body string) string
	weather  feedtest.Faults
	exit     int
	unusable map[string]int // groups whose prices of the day are not used, by reason
	lost     []int          // products without a price of this day
	says     []string
	// override says that the command of the hint publishes the day.
	override bool
	// row is added to aliases.csv before the next day.
	row string
}

// oddGroups is enough for one group to be less than 5 % of them, and for two to be more.
const oddGroups, oddCards = 24, 12

// productsOf are the products of some groups.
func productsOf(groups ...int) (all []int) {
	for _, g := range groups {
		for c := range oddCards + 1 {
			all = append(all, feedtest.Product(g, c))
		}
	}
	return all
}

// in applies a change to one file of a group.
func in(group int, file string, change func(body string) string) func(path, body string) string {
	return func(path, body string) string {
		if path != feedtest.Path(group, file) {
			return body
		}
		return change(body)
	}
}

// unlisting takes groups out of the listing of their game.
func unlisting(groups ...int) func(path, body string) string {
	return func(path, body string) string {
		for _, g := range groups {
			if path == "tcgplayer/"+feedtest.Category(g)+"/groups" {
				row := regexp.MustCompile(fmt.Sprintf(`\{[^{}]*"groupId":%d,[^{}]*\},?`, feedtest.Group(g)))
				body = strings.Replace(row.ReplaceAllString(body, ""), "},]", "}]", 1)
			}
		}
		return body
	}
}

// rowOf matches the rows of a product in a file of prices.
func rowOf(product int) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`\{[^{}]*"productId":%d,[^{}]*\},?`, product))
}

// quoted makes a text of each price.
func quoted(body string) string {
	return regexp.MustCompile(`"marketPrice":([0-9.]+)`).ReplaceAllString(body, `"marketPrice":"$1"`)
}

// doubled has each row twice.
func doubled(body string) string {
	return regexp.MustCompile(`\{"marketPrice[^{}]*\}`).ReplaceAllString(body, "$0,$0")
}

// forgotten are two cards of group 5 that the feed leaves out.
func forgotten(path, body string) string {
	if path == feedtest.Path(5, "products") {
		list := regexp.MustCompile(`\{"extendedData":\[(\{[^{}]*\},?)*\],[^{}]*"productId":(\d+)\},?`)
		return list.ReplaceAllStringFunc(body, func(row string) string {
			if strings.Contains(row, fmt.Sprintf(`"productId":%d}`, feedtest.Product(5, 1))) ||
				strings.Contains(row, fmt.Sprintf(`"productId":%d}`, feedtest.Product(5, 2))) {
				return ""
			}
			return row
		})
	}

	if path == feedtest.Path(5, "prices") {
		for c := 1; c <= 2; c++ {
			body = rowOf(feedtest.Product(5, c)).ReplaceAllString(body, "")
		}
	}
	return body
}

// renumbered has another number for one product of group 5.
func renumbered(_, body string) string {
	old := fmt.Sprintf(`"productId":%d`, feedtest.Product(5, 1))
	return strings.Replace(body, old, `"productId":9042386`, 1)
}

var oddDays = []oddDay{
	{
		name: "d10: a file that is not there", weather: feedtest.Faults{Lost: []string{feedtest.Path(5, "prices")}},
		unusable: map[string]int{"missing_file": 1}, lost: productsOf(5),
		says: []string{"no prices of tcgcsv group 68/106 (Set F) for " + dayName(1) + " (missing_file)", "stand until"},
	}, {
		name: "d11: a page of HTML", weather: feedtest.Faults{Page: []string{feedtest.Path(5, "prices")}},
		unusable: map[string]int{"missing_file": 1}, lost: productsOf(5),
		says: []string{"(Set F) for " + dayName(1) + " (missing_file)"},
	}, {
		name: "d12: no row", weather: feedtest.Faults{Empty: []string{feedtest.Path(5, "prices")}},
		unusable: map[string]int{"empty_file": 1}, lost: productsOf(5),
		says: []string{"(Set F) for " + dayName(1) + " (empty_file)"},
	}, {
		name: "d13, d27: a group gone from the listing", change: unlisting(5),
		unusable: map[string]int{"unlisted": 1}, lost: productsOf(5),
		says: []string{"(Set F) for " + dayName(1) + " (unlisted)", "no source lists "},
	}, {
		name: "d17: a product with another number", change: renumbered, lost: []int{feedtest.Product(5, 1)},
		says: []string{"card,tcgcsv,68/9042386,tcgcsv,68/106001"},
		row:  "card,tcgcsv,68/9042386,tcgcsv,68/106001",
	}, {
		name: "d25, d26: two products left out", change: forgotten,
		lost: []int{feedtest.Product(5, 1), feedtest.Product(5, 2)},
		says: []string{`no source lists 2 cards and sealed products any more; they stay for a year`},
	}, {
		name: "d47: prices of text", change: in(5, "prices", quoted),
		unusable: map[string]int{"bad_price": 1}, lost: productsOf(5),
		says: []string{"(Set F) for " + dayName(1) + " (bad_price)"},
	}, {
		name: "d48: each row twice", change: in(5, "prices", doubled),
	}, {
		name: "d53: a name with a wrong number", change: in(5, "products", func(body string) string {
			return strings.Replace(body, `"name":"Card 3 of F"`, `"name":"Card 3 of F - 4/24 (League Challenge)"`, 1)
		}),
	}, {
		name: "one group ×100", weather: feedtest.Faults{Wrong: []string{feedtest.Path(5, "prices")}},
		unusable: map[string]int{"implausible": 1}, lost: productsOf(5),
		says: []string{"(Set F) for " + dayName(1), "more than half of its prices went up or down by 10 times or more"},
	}, {
		name: "prices of text in two groups of 24", change: func(path, body string) string {
			return in(6, "prices", quoted)(path, in(5, "prices", quoted)(path, body))
		},
		exit: exitRefused, unusable: map[string]int{"bad_price": 2}, lost: productsOf(5, 6),
		says: []string{
			"guard groups_missing: the feed has no prices of 2 of 24 sets", `"Set G" (bad_price), "Set F" (bad_price)`,
		},
		override: true,
	},
}

// TestOddDays has an odd evening between two good evenings. It checks the published prices and the
// operator's output, and that the next evening is whole.
func TestOddDays(t *testing.T) {
	t.Parallel()
	for _, day := range oddDays {
		t.Run(strings.ReplaceAll(day.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			h := newFeedStore(t, oddGroups, oddCards)
			mapping := t.TempDir()
			file := h.configures("[daily]\nmapping = '" + mapping + "'\n")
			h.days(exitOK, file)
			names := h.names()

			day.weather.Change = day.change
			h.evening(1, day.weather)
			out, stderr := h.days(day.exit, file)
			says(t, stderr, day.says...)
			for _, product := range day.lost {
				delete(h.pulled[dayName(1)], product)
			}
			if published := strings.Contains(out, "\npublished "); published != (day.exit == exitOK) {
				t.Errorf("published: %t, exit code %d: %s", published, day.exit, out)
			}
			if day.override {
				h.hinted(exitOK, strings.ReplaceAll(stderr, "say why: ninepocket", "run: ninepocket"))
			}
			h.hasOddDay(day, names)

			if day.row != "" {
				text := "kind,namespace,ref,target_namespace,target_ref\n" + day.row + "\n"
				if err := os.WriteFile(filepath.Join(mapping, "aliases.csv"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// The row says that the new number is the old card for good.
			next := feedtest.Faults{}
			if day.row != "" {
				next.Change = day.change
			}
			h.evening(2, next)
			h.days(exitOK, file)
			h.isWhole(day, names)
		})
	}
}

// hasOddDay checks what is served of an odd day.
func (h *feedStore) hasOddDay(day oddDay, names map[string]string) {
	h.t.Helper()
	c := h.catalog()
	unusable := map[string]int{}
	for i, of := range c.Gaps.Day {
		if of == c.Date() {
			unusable[c.GapReasons.At(i)]++
		}
	}
	if c.Date().String() != dayName(1) || !maps.Equal(unusable, day.unusable) {
		h.t.Errorf("%s is served, unusable are %v, want %v", c.Date(), unusable, day.unusable)
	}

	// A new name is a new slug, and an id is for ever.
	now := h.names()
	for name, is := range names {
		if id, _, _ := strings.Cut(is, " "); !strings.HasPrefix(now[name], id+" ") {
			h.t.Errorf("%s is %q after %q", name, now[name], is)
		}
	}
	// Each card has a price: today's, or the previous one.
	for product, card := range products(c) {
		if c.Cards.Display[card] < 0 {
			h.t.Errorf("product %d has no price", product)
		}
	}
	h.hasAllPrices()
}

// isWhole checks that all is as if there had been no odd day, but for the prices that nobody has.
func (h *feedStore) isWhole(day oddDay, names map[string]string) {
	h.t.Helper()
	c := h.catalog()
	if n := len(c.Unlisted.Item); n > 0 {
		h.t.Errorf("%d items are unlisted", n)
	}
	now := h.names()
	// Of the two numbers the shop's new one leads to the card.
	if day.row != "" {
		now["106001"] = now["9042386"]
	}
	for name, is := range names {
		if now[name] != is {
			h.t.Errorf("%s is %q after %q", name, now[name], is)
		}
	}
	if day.row == "" {
		h.hasAllPrices()
		return
	}

	// The card of the new number goes on with the history of the old one, the odd day included.
	rows := products(c)
	card, known := rows[9042386]
	if !known || c.Cards.ID.At(card) != strings.Fields(names["106001"])[0] {
		h.t.Fatalf("the new number is card %d", card)
	}
	from, to := c.Lanes.Of.Range(card)
	var points []snapshot.Point
	for lane := from; lane < to; lane++ {
		points = c.History.AppendPoints(points, lane, 0, c.Date())
	}
	if len(points) != 3 {
		h.t.Errorf("its history is %v", points)
	}
}
