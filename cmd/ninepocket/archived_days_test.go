package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/feedtest"
	"ninepocket/snapshot"
)

// firstEvening is when the fake feed of these tests was built first.
var firstEvening = time.Date(2024, 6, 20, 20, 5, 33, 0, time.UTC)

// feedStore is an operator's set-up: a fake feed, its local copy, a store, and a record of every
// price that was ever pulled.
type feedStore struct {
	*operator
	feed *feedtest.Feed
	url  string
	into string
	// pulled are the cents in archived days, by day and product, as the oracle has them.
	pulled map[string]map[int]int64
}

func newFeedStore(t *testing.T, groups, perGroup int) *feedStore {
	t.Helper()
	f := feedtest.New(groups, perGroup, firstEvening)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	return &feedStore{
		&operator{t, filepath.Join(dir, "store")}, f, server.URL, filepath.Join(dir, "feed"),
		map[string]map[int]int64{},
	}
}

// pulls runs feed pull, which must end with the code, and notes the prices that it brought.
func (h *feedStore) pulls(code int) (stderr string) {
	h.t.Helper()
	var out, errs bytes.Buffer
	args := []string{"feed", "pull", "tcgcsv", "--into", h.into, "--url", h.url, "--interval", "0s"}
	if got := runPlain(h.t, args, &out, &errs); got != code {
		h.t.Fatalf("feed pull: exit code %d, want %d\n%s%s", got, code, &out, &errs)
	}
	if code == exitOK {
		h.recordPrices()
	}
	return errs.String()
}

// recordPrices adds the prices of the newest download to the record.
func (h *feedStore) recordPrices() {
	h.t.Helper()
	stamp, err := os.ReadFile(filepath.Join(h.into, "current", "last-updated.txt"))
	if err != nil {
		h.t.Fatal(err)
	}
	day := string(stamp[:len(time.DateOnly)])
	at, _ := time.Parse(time.DateOnly, day)

	if h.pulled[day] == nil {
		h.pulled[day] = map[int]int64{}
	}
	for g := range h.feed.Groups {
		if _, err := os.Stat(filepath.Join(h.into, "current", feedtest.Path(g, "prices"))); err != nil {
			continue
		}
		for c := range h.feed.PerGroup {
			product := feedtest.Product(g, c)
			h.pulled[day][product] = feedtest.Cents(product, at)
		}
	}
}

// evening moves the feed to a day after the first, with a weather.
func (h *feedStore) evening(day int, w feedtest.Faults) {
	h.feed.Rebuild(firstEvening.AddDate(0, 0, day))
	h.feed.Set(w)
}

// dayName is the name of a day after the first.
func dayName(day int) string { return firstEvening.AddDate(0, 0, day).Format(time.DateOnly) }

// publishes builds on what is published and publishes.
func (h *feedStore) publishes(code int) (stderr string) {
	h.t.Helper()
	base := "current"
	if _, err := os.Stat(filepath.Join(h.store, "CURRENT")); err != nil {
		base = "none"
	}
	_, stderr = h.does(code, "snapshot", "build", "--source", "tcgcsv:"+filepath.Join(h.into, "current"),
		"--base", base, "--publish", "--keep", "5")
	return stderr
}

// catalog is what is published.
func (h *feedStore) catalog() *snapshot.Catalog {
	h.t.Helper()
	c, err := snapshot.OpenStore(h.store).Load(h.t.Context(), h.current(), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// products finds the rows of cards by product.
func products(c *snapshot.Catalog) map[int]int {
	rows := map[int]int{}
	for card := range c.Cards.ID.Len() {
		from, to := c.Identifiers.Of.Range(card)
		for i := from; i < to; i++ {
			if c.Identifiers.Namespace.At(i) == "tcgplayer" {
				product, _ := strconv.Atoi(c.Identifiers.Value.At(i))
				rows[product] = card
			}
		}
	}
	return rows
}

// hasAllPrices wants the history of every product to equal the pulled prices, to the cent, within
// the days of a history. No price is missing or added.
func (h *feedStore) hasAllPrices() {
	h.t.Helper()
	c := h.catalog()
	rows := products(c)
	first := c.Date() - snapshot.HistoryDays + 1
	want := map[int]map[snapshot.Day]int64{}
	for name, prices := range h.pulled {
		day, err := snapshot.ParseDay(name)
		if err != nil {
			h.t.Fatal(err)
		}
		for product, cents := range prices {
			if want[product] == nil {
				want[product] = map[snapshot.Day]int64{}
			}
			if day >= first {
				want[product][day] = cents
			}
		}
	}

	for product, prices := range want {
		card, known := rows[product]
		if !known {
			h.t.Errorf("product %d is gone", product)
			continue
		}
		got := map[snapshot.Day]int64{}
		from, to := c.Lanes.Of.Range(card)
		for lane := from; lane < to; lane++ {
			for _, point := range c.History.AppendPoints(nil, lane, first, c.Date()) {
				got[point.Day] = point.Cents
			}
		}
		if !maps.Equal(got, prices) {
			h.t.Errorf("product %d: %d points in the history, %d prices were pulled: %s", product, len(got),
				len(prices), differences(got, prices))
		}
	}
}

func differences(got, want map[snapshot.Day]int64) string {
	var lines []string
	for day := range want {
		if _, there := got[day]; !there {
			lines = append(lines, day.String()+" is missing")
		} else if got[day] != want[day] {
			lines = append(lines, fmt.Sprintf("%s is %d, want %d", day, got[day], want[day]))
		}
	}
	for day := range got {
		if _, there := want[day]; !there {
			lines = append(lines, day.String()+" was never pulled")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 5)], "; ")
}

// names are the ids and slugs of all cards and sets, by product and by set.
func (h *feedStore) names() map[string]string {
	h.t.Helper()
	c := h.catalog()
	names := map[string]string{}
	for product, card := range products(c) {
		names[strconv.Itoa(product)] = c.Cards.ID.At(card) + " " + c.Cards.Slug.At(card)
	}
	for set := range c.Sets.ID.Len() {
		names[c.Sets.Name.At(set)] = c.Sets.ID.At(set) + " " + c.Sets.Slug.At(set)
	}
	return names
}

// price is the current price of a product and the day it is of, 0 without one.
func (h *feedStore) price(product int) (cents int64, day string) {
	h.t.Helper()
	c := h.catalog()
	lane := c.Cards.Display[products(c)[product]]
	if lane < 0 {
		return 0, ""
	}
	return c.Lanes.Cents[lane], snapshot.DayOf(c.Lanes.CollectedAt[lane]).String()
}

// TestNoDayIsLost publishes three days, rolls two of them back, has one refused, and wants the next
// release to hold them all.
func TestNoDayIsLost(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 6)
	for day := range 3 {
		h.evening(day, feedtest.Faults{})
		h.pulls(exitOK)
		h.publishes(exitOK)
	}
	h.does(exitOK, "snapshot", "rollback")
	h.does(exitOK, "snapshot", "rollback")

	// The fourth day is pulled and refused: a set is in cents.
	wrong := feedtest.Path(3, "prices")
	h.evening(3, feedtest.Faults{Wrong: []string{wrong}})
	h.pulls(exitOK)
	if stderr := h.publishes(exitRefused); !strings.Contains(stderr, "filled from archived days: "+dayName(1)+" to "+
		dayName(2)) {
		t.Errorf("the build does not say what it filled: %s", stderr)
	}
	// The feed is fixed and built again the same evening.
	h.feed.Rebuild(firstEvening.AddDate(0, 0, 3).Add(time.Hour))
	h.feed.Set(feedtest.Faults{})
	h.pulls(exitOK)

	// The fifth day is never built, and the next two are not pulled.
	h.evening(4, feedtest.Faults{})
	h.pulls(exitOK)
	h.evening(7, feedtest.Faults{})
	h.pulls(exitOK)
	stderr := h.publishes(exitOK)
	h.hasAllPrices()

	for _, want := range []string{
		"filled from archived days: " + dayName(1) + " to " + dayName(4),
		"no prices of tcgcsv one-piece, tcgcsv pokemon for 2 days: " + dayName(5) + " to " + dayName(6) + "; with",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the build does not say %q: %s", want, stderr)
		}
	}
}

// TestBadSetOfAnArchivedDay has a day refused for one set, and wants the others' prices of it.
func TestBadSetOfAnArchivedDay(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 12)
	h.pulls(exitOK)
	h.publishes(exitOK)
	h.evening(1, feedtest.Faults{Wrong: []string{feedtest.Path(3, "prices")}})
	h.pulls(exitOK)
	for c := range h.feed.PerGroup {
		delete(h.pulled[dayName(1)], feedtest.Product(3, c))
	}

	h.evening(2, feedtest.Faults{})
	h.pulls(exitOK)
	stderr := h.publishes(exitOK)
	says(t, stderr, "filled from archived days: "+dayName(1),
		"68/104/prices of the kept day "+dayName(1)+" is left out: more than half of its prices",
		"no prices of tcgcsv group 68/104 (Set D) for "+dayName(1))
	h.hasAllPrices()
}

// TestBadArchivedDay has a day with implausible prices refused, and wants none of them in the
// history, neither that evening nor the day after.
func TestBadArchivedDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		perGroup int
		weather  feedtest.Faults
		guard    string
		why      string
	}{
		{"twice what they were", 12, feedtest.Faults{Doubled: []string{"tcgplayer/"}}, "prices_moved", ""},
		{"half of them so", 12, feedtest.Faults{Doubled: []string{"tcgplayer/68/"}}, "prices_moved", ""},
		{"yesterday's", 6, feedtest.Faults{Of: firstEvening}, "repeated_feed", "not one of"},
	} {
		h := newFeedStore(t, 12, c.perGroup)
		h.pulls(exitOK)
		h.publishes(exitOK)
		h.evening(1, c.weather)
		h.pulls(exitOK)
		says(t, h.publishes(exitRefused), "guard "+c.guard)
		delete(h.pulled, dayName(1))

		h.evening(2, feedtest.Faults{})
		h.pulls(exitOK)
		if said := h.publishes(exitOK); !strings.Contains(said, "the kept day "+dayName(1)+" is left out: "+c.why) {
			t.Errorf("%s: %s", c.name, said)
		}
		h.hasAllPrices()
	}
}

// TestGuardsOfArchivedDays wants an operator who raised a guard to have it raised for days that are
// filled in later too: each such day is left out by the guard's own limit, and built with the raised
// one.
func TestGuardsOfArchivedDays(t *testing.T) {
	t.Parallel()
	base := firstEvening
	for _, c := range []struct {
		raised  string
		weather feedtest.Faults
		cents   func(product int) int64 // what the odd day has
	}{
		{
			"prices_moved = 1.0",
			feedtest.Faults{Doubled: []string{"tcgplayer/"}},
			func(product int) int64 { return 2 * feedtest.Cents(product, base.AddDate(0, 0, 1)) },
		},
		{
			"sets_repriced = 1000",
			feedtest.Faults{Wrong: []string{feedtest.Path(3, "prices")}},
			func(product int) int64 {
				cents := feedtest.Cents(product, base.AddDate(0, 0, 1))
				if product/1000 == feedtest.Group(3) {
					cents *= 100
				}
				return cents
			},
		},
		{
			"repeated_feed = 1\nfeed_partly_old = 1.0",
			feedtest.Faults{Of: base},
			func(product int) int64 { return feedtest.Cents(product, base) },
		},
	} {
		for _, raised := range []bool{false, true} {
			h := newFeedStore(t, 36, 12)
			file := h.configures("")
			if raised {
				file = h.configures("[guards]\n" + c.raised + "\n")
			}
			h.days(exitOK, file)
			h.evening(1, c.weather)
			h.pulls(exitOK)
			for product := range h.pulled[dayName(1)] {
				h.pulled[dayName(1)][product] = c.cents(product)
			}

			h.evening(2, feedtest.Faults{})
			_, stderr := h.days(exitOK, file)
			if raised {
				says(t, stderr, "filled from archived days: "+dayName(1))
				h.hasAllPrices()
			}
			if left := strings.Contains(stderr, " is left out: "); left == raised {
				t.Errorf("%s, raised: %t, and a day is left out: %t: %s", c.raised, raised, left, stderr)
			}
		}
	}
}

// TestDamagedArchivedDay wants an unreadable archived day not to stop other days: it is named, with
// the next step.
func TestDamagedArchivedDay(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(file string) error{
		"half written": func(file string) error { return os.Truncate(file, 300) },
		"empty":        func(file string) error { return os.Truncate(file, 0) },
		"another day's": func(file string) error {
			other, err := os.ReadFile(filepath.Join(filepath.Dir(file), dayName(0)+".tar.zst"))
			return errors.Join(err, os.WriteFile(file, other, 0o600))
		},
		"a folder": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
	} {
		h := newFeedStore(t, 2, 5)
		for day := range 2 {
			h.evening(day, feedtest.Faults{})
			h.pulls(exitOK)
			if day == 0 {
				h.publishes(exitOK)
			}
		}
		file := filepath.Join(h.into, "days", dayName(1)+".tar.zst")
		if err := damage(file); err != nil {
			t.Fatal(err)
		}
		delete(h.pulled, dayName(1))

		h.evening(2, feedtest.Faults{})
		h.pulls(exitOK)
		said := h.publishes(exitOK)
		for _, want := range []string{
			"the kept day " + dayName(1) + " is left out: ", "; put a whole file in the place of " + file,
			"no prices of tcgcsv one-piece, tcgcsv pokemon for " + dayName(1) + "; with their files in the folder days",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not said: %s", name, want, said)
			}
		}
		h.hasAllPrices()
	}
}

// TestMissingDayIsAdded pastes the command that a build names for a missing day, once its file was
// found.
func TestMissingDayIsAdded(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 2, 5)
	h.pulls(exitOK)
	h.publishes(exitOK)
	h.evening(1, feedtest.Faults{})
	h.pulls(exitOK)
	elsewhere := filepath.Join(t.TempDir(), dayName(1)+".tar.zst")
	if err := os.Rename(filepath.Join(h.into, "days", dayName(1)+".tar.zst"), elsewhere); err != nil {
		t.Fatal(err)
	}
	h.evening(2, feedtest.Faults{})
	h.pulls(exitOK)
	_, command, named := strings.Cut(h.publishes(exitOK), "for "+dayName(1)+"; with their files in the folder days "+
		"beside the tree run: ninepocket ")
	if !named {
		t.Fatal("the missing day is not named")
	}

	command, _, _ = strings.Cut(command, "\n")
	words := strings.Fields(command)
	if err := os.Rename(elsewhere, filepath.Join(h.into, "days", dayName(1)+".tar.zst")); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := runPlain(t, append(words, "--publish"), &out, &errs); code != exitOK {
		t.Fatalf("%s: exit code %d: %s", words, code, &errs)
	}
	h.hasAllPrices()
	if strings.Contains(errs.String(), "no prices of") {
		t.Errorf("the day is still missing: %s", &errs)
	}
}

// TestMissingGroup wants a day with a missing group to go live with the others: its prices stand for
// seven days, have no point, and come back.
func TestMissingGroup(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 6)
	h.pulls(exitOK)
	h.publishes(exitOK)
	names := h.names()
	lost := feedtest.Product(4, 2)
	other := feedtest.Product(5, 2)
	was, _ := h.price(lost)

	weather := feedtest.Faults{Lost: []string{feedtest.Path(4, "prices"), feedtest.Path(4, "products")}}
	for day := 1; day <= 9; day++ {
		h.evening(day, weather)
		h.pulls(exitOK)
		stderr := h.publishes(exitOK)
		h.hasAllPrices()

		cents, of := h.price(lost)
		carried := fmt.Sprintf("no prices of tcgcsv group 3/105 (Set E) for %s (missing_file): 6 prices of %s stand "+
			"until %s", dayName(day), dayName(0), dayName(7))
		if day > 7 {
			was = 0
			carried = fmt.Sprintf("no prices of tcgcsv group 3/105 (Set E) for %s (missing_file)\n", dayName(day))
		} else if of != dayName(0) {
			t.Errorf("day %d: the held price is of %s", day, of)
		}
		if cents != was || !strings.Contains(stderr, carried) {
			t.Errorf("day %d: the price of the missing group is %d of %s, was %d: %s", day, cents, of, was, stderr)
		}
		if _, of := h.price(other); of != dayName(day) {
			t.Errorf("day %d: the price of another group is of %s", day, of)
		}
	}

	h.evening(10, feedtest.Faults{})
	h.pulls(exitOK)
	if stderr := h.publishes(exitOK); strings.Contains(stderr, "group") {
		t.Errorf("a group is missing of a whole day: %s", stderr)
	}
	h.hasAllPrices()
	if _, of := h.price(lost); of != dayName(10) {
		t.Errorf("the group's price is of %s", of)
	}
	if !maps.Equal(names, h.names()) {
		t.Error("ids or slugs have changed")
	}
}

// TestUnlistedGroup has a group gone from its listing for ten days: its prices stand for seven, and the
// eighth day says once that they do no longer.
func TestUnlistedGroup(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 24, 6)
	h.pulls(exitOK)
	h.publishes(exitOK)
	lost := feedtest.Product(5, 2)
	for day := 1; day <= 10; day++ {
		h.evening(day, feedtest.Faults{Change: unlisting(5)})
		h.pulls(exitOK)
		stderr := h.publishes(exitOK)

		if _, of := h.price(lost); (of == dayName(0)) != (day <= 7) {
			t.Errorf("day %d: the price of the group is of %q", day, of)
		}
		const ended = "no source has listed group tcgcsv/68/106 for 7 days: its prices stand no longer"
		if said := strings.Contains(stderr, ended); said != (day == 8) {
			t.Errorf("day %d: it says that the prices stand no longer: %t\n%s", day, said, stderr)
		}
	}
	h.hasAllPrices()
}

// TestTreeWithoutAGroup takes a group out of a tree by hand, as another program that pulls may leave
// it: its cards stay.
func TestTreeWithoutAGroup(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 6)
	h.pulls(exitOK)
	h.publishes(exitOK)
	names := h.names()
	h.evening(1, feedtest.Faults{})
	h.pulls(exitOK)

	group := filepath.Join(h.into, "current", filepath.Dir(feedtest.Path(2, "prices")))
	if err := os.RemoveAll(group); err != nil {
		t.Fatal(err)
	}
	h.publishes(exitOK)
	if !maps.Equal(names, h.names()) {
		t.Errorf("ids or slugs have changed:\n%v\n%v", names, h.names())
	}
	if cents, of := h.price(feedtest.Product(2, 1)); of != dayName(0) || cents == 0 {
		t.Errorf("the price of the missing group is %d of %s", cents, of)
	}

	// Two of twelve are half a tree.
	group = filepath.Join(h.into, "current", filepath.Dir(feedtest.Path(3, "prices")))
	if err := os.RemoveAll(group); err != nil {
		t.Fatal(err)
	}
	if stderr := h.publishes(exitRefused); !strings.Contains(stderr, "guard groups_missing: the feed has no prices of "+
		`2 of 12 sets`) {
		t.Errorf("two groups are missing: %s", stderr)
	}
}

// TestGroupComesLater: a group that a day lacked and that is pulled once the day was published comes
// with the next build.
func TestGroupComesLater(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 6)
	h.pulls(exitOK)
	h.publishes(exitOK)
	h.evening(1, feedtest.Faults{Lost: []string{feedtest.Path(4, "prices")}})
	h.pulls(exitOK)
	h.publishes(exitOK)
	h.feed.Set(feedtest.Faults{})
	h.pulls(exitOK)

	h.evening(2, feedtest.Faults{})
	h.pulls(exitOK)
	h.publishes(exitOK)
	h.hasAllPrices()
	if gaps := h.catalog().Gaps; len(gaps.Day) > 0 {
		t.Errorf("gaps are left: %v of %v", gaps.Group.At(0), gaps.Day)
	}
}

// TestFirstPublication wants a first snapshot to be judged too.
func TestFirstPublication(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 6)
	h.pulls(exitOK)
	// The files are younger than the snapshot is said to be: every line is refused.
	_, stderr := h.does(exitRefused, "snapshot", "build", "--source", "tcgcsv:"+filepath.Join(h.into, "current"),
		"--snapshot-at", "2024-01-01T00:00:00Z", "--publish")
	for _, guard := range []string{"quarantined", "unpriced"} {
		if !strings.Contains(stderr, "guard "+guard+": ") {
			t.Errorf("guard %s did not refuse: %s", guard, stderr)
		}
	}
	h.publishes(exitOK)
}

// TestFileTimes wants a build that takes the day from file times to say so.
func TestFileTimes(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 2, 3)
	h.pulls(exitOK)
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.CopyFS(tree, os.DirFS(filepath.Join(h.into, "current", "tcgplayer"))); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := h.does(exitOK, "snapshot", "build", "--source", "tcgcsv:"+tree, "--json")
	if !strings.Contains(stderr, "was taken from file times") {
		t.Errorf("the build does not say whence it took the day: %s", stderr)
	}
	if !strings.Contains(stdout, `"file_time": "20`) {
		t.Errorf("the report does not say it: %s", stdout)
	}

	_, stderr = h.does(exitOK, "snapshot", "build", "--source", "tcgcsv:"+tree,
		"--collected-at", "2025-11-20T20:05:00Z")
	if strings.Contains(stderr, "file times") {
		t.Errorf("the day was given: %s", stderr)
	}
}
