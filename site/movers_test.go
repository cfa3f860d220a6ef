package site_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// gapWorld returns a world with one card in each of two games: the days of each before the catalog's
// own have the price of its first cents.
func gapWorld(t *testing.T, cents int64, pokemon, onePiece []snapshot.Day) *world {
	t.Helper()
	at := time.Date(2026, 8, 22, 20, 5, 0, 0, time.UTC).UnixMilli()
	date := snapshot.DayOf(at)
	w := &fixture.World{
		At: at, Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}, {Slug: "one-piece", Name: "One Piece"}},
		Feeds: []fixture.Feed{{Namespace: "t", Attribution: "T"}},
	}
	for game, days := range [][]snapshot.Day{pokemon, onePiece} {
		var points []snapshot.Point
		for _, before := range days {
			points = append(points, snapshot.Point{Day: date - before, Cents: cents})
		}
		points = append(points, snapshot.Point{Day: date, Cents: 1200})
		w.Cards = append(w.Cards, fixture.Card{
			ID: fixture.ID("card_", 1, game), Slug: w.Games[game].Slug + "-card", Name: "A card", Game: game,
			UpdatedAt: at,
			Lanes: []fixture.Lane{{
				Variant: "normal", Licensed: true, Cents: 1200, SourceAsOf: at, CollectedAt: at, Seen: date,
				Points: points,
			}},
		})
	}

	c := w.Catalog()
	c.ID = "gaps"
	v, err := engine.NewView(c, wire.URLs{URL: base, ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}
	return &world{view: v, pages: basePages(), now: time.UnixMilli(at)}
}

// TestMoversSayWhatIsMissing expects each game to be compared with its own last day of prices, and a
// sentence about the days between.
func TestMoversSayWhatIsMissing(t *testing.T) {
	f := func(w *world, q site.MoversQuery, want ...string) {
		t.Helper()
		page := string(w.pages.Movers(nil, w.view, w.now, q))
		for _, phrase := range want {
			if !strings.Contains(page, phrase) {
				t.Errorf("%+v lacks %q", q, phrase)
			}
		}
	}

	// Pokémon lacks 28 Jul to 21 Aug, One Piece the seventh day alone.
	w := gapWorld(t, 900, []snapshot.Day{40, 26}, []snapshot.Day{8, 6, 1})
	gain := `<span class="up">+$3.00`
	f(w, site.MoversQuery{}, "No prices from 28 Jul to 21 Aug; change since 27 Jul.",
		"No price on 15 Aug; change since 14 Aug.", gain, "<h1>Biggest gains</h1>")
	f(w, site.MoversQuery{Days: 1, Game: "one-piece"}, "<h1>Biggest gains in 1 day</h1>", gain)
	f(w, site.MoversQuery{Days: 30, Game: "pokemon"}, "No prices from 14 Jul to 26 Jul; change since 13 Jul.", gain)
	f(w, site.MoversQuery{Days: 30, Game: "one-piece"}, "Prices begin on 14 Aug 2026: no change in 30 days is known.",
		"Most valuable cards")
	f(w, site.MoversQuery{Down: true, Days: 7}, "No price fell.", "Most valuable cards")
	f(gapWorld(t, 900, nil, nil), site.MoversQuery{}, "Prices of one day alone are known.")

	home := string(w.pages.Home(nil, w.view, w.now))
	if !strings.Contains(home, "<h3>Up since 27 Jul</h3>") || !strings.Contains(home, "<h3>Up since 14 Aug</h3>") {
		t.Error("the home page does not say since when each game moved")
	}
}

var changedPattern = regexp.MustCompile(`href="/cards/([^"]*)"`)

// TestMoversAgreeWithTheIndex compares the movers of 7 and 30 days with those of the API and the
// tools, in a game without missing days.
func TestMoversAgreeWithTheIndex(t *testing.T) {
	w := today(t)
	f := func(q site.MoversQuery, listed []uint32) {
		t.Helper()
		var want []string
		for _, card := range listed {
			want = append(want, w.view.Catalog.Cards.Slug.At(int(card)))
		}
		_, page, _ := strings.Cut(string(w.pages.Movers(nil, w.view, w.now, q)), `id="results"`)
		var got []string
		for _, m := range changedPattern.FindAllStringSubmatch(page, -1) {
			got = append(got, m[1])
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", q, got, want)
		}
	}

	for _, game := range []string{"pokemon", "one-piece"} {
		for _, down := range []bool{false, true} {
			filter := index.NoFilter
			filter.Min = wire.MoversMinCents
			filter.Game = game
			f(site.MoversQuery{Down: down, Game: game, Days: 7}, w.view.Index.Movers(nil, down, filter, 50))
			f(site.MoversQuery{Down: down, Game: game, Days: 30}, w.view.Index.MoversOfMonth(nil, down, filter, 50))
		}
	}
}

// TestHomeHasEachGame expects both games with pockets and movers, and the notice of an old catalog
// only when it is old.
func TestHomeHasEachGame(t *testing.T) {
	w := today(t)
	fresh := string(w.pages.Home(nil, w.view, w.now))
	for _, want := range []string{"<h2>Pokémon</h2>", "<h2>One Piece</h2>", "Newest sets"} {
		if !strings.Contains(fresh, want) {
			t.Errorf("the home page lacks %s", want)
		}
	}
	if n := strings.Count(fresh, `<ul class="pockets">`); n != 4 {
		t.Errorf("%d pages of pockets, want two of each game", n)
	}

	old := string(w.pages.Home(nil, w.view, w.now.Add(72*time.Hour)))
	if strings.Contains(fresh, oldCatalog) || !strings.Contains(old, oldCatalog) {
		t.Error("the notice of an old catalog is there when it is fresh, or not when it is old")
	}
}

// TestChangeOfACard expects the change since the last earlier price, and why there is none.
func TestChangeOfACard(t *testing.T) {
	f := func(want string, days ...snapshot.Day) {
		t.Helper()
		_, show := oneCard(t, site.Options{BaseURL: base}, func(k *fixture.Card) {
			date := k.Lanes[0].Seen
			k.Lanes[0].Points = []snapshot.Point{{Day: date, Cents: 1200}}
			for _, before := range days {
				k.Lanes[0].Points = slices.Insert(k.Lanes[0].Points, 0, snapshot.Point{Day: date - before, Cents: 1000})
			}
		})
		_, week, _ := strings.Cut(show(site.CardQuery{}), `<p class="week">`)
		week, _, _ = strings.Cut(week, "</p>")
		if !strings.Contains(week, want) {
			t.Errorf("%v days before: %s, want %q", days, week, want)
		}
	}

	f("+$2.00 <small>+20\u00a0%</small></span> in 7 days", 7)
	f("+$2.00 <small>+20\u00a0%</small></span> <small class=\"none\">"+
		"No prices from 28 Jul to 21 Aug; change since 27 Jul.", 26)
	f("No prices from 28 Jul to 19 Aug; change since 27 Jul.", 2, 26)
	f("No change in 7 days is known: the first price is of 20 Aug", 1, 2)
	f("No earlier price is known")
}
