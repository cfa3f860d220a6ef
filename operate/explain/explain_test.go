package explain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/fixture"
	"ninepocket/loader"
	"ninepocket/operate"
	"ninepocket/operate/explain"
	"ninepocket/snapshot"
)

// firstDay is when the first tree was built.
var firstDay = time.Date(2026, 8, 1, 20, 5, 0, 0, time.UTC)

// shelf is a feed that a test fills by hand, and a store that is built from it.
type shelf struct {
	t        *testing.T
	dir      string
	files    map[string]string
	server   *httptest.Server
	products map[string][]string // by group
	prices   map[string][]string
	catalog  *snapshot.Catalog // that was published last
}

// TestMain does without fsyncs.
func TestMain(m *testing.M) {
	disk.OS = disktest.Unsynced(true)
	os.Exit(m.Run())
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, dir: t.TempDir()}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := s.files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func results(list []string) string {
	return `{"success":true,"results":[` + strings.Join(list, ",") + `]}`
}

// card lists a product with a number, in a group.
func (s *shelf) card(group string, id int, name string) {
	s.products[group] = append(s.products[group], fmt.Sprintf(
		`{"productId":%d,"name":%q,"extendedData":[{"name":"Number","value":"%d/99"}]}`, id, name, id))
}

// sealed lists a product without a number.
func (s *shelf) sealed(group string, id int, name string) {
	s.products[group] = append(s.products[group], fmt.Sprintf(`{"productId":%d,"name":%q,"extendedData":[]}`, id, name))
}

// price adds a row of prices.
func (s *shelf) price(group string, id int, variant, price string) {
	s.prices[group] = append(s.prices[group],
		fmt.Sprintf(`{"productId":%d,"subTypeName":%q,"marketPrice":%s}`, id, variant, price))
}

// pulls pulls a day from a feed that fill has filled.
func (s *shelf) pulls(day int, fill func()) {
	s.t.Helper()
	s.products = map[string][]string{}
	s.prices = map[string][]string{}
	fill()
	at := firstDay.AddDate(0, 0, day)
	s.files = map[string]string{"/last-updated.txt": at.Format("2006-01-02T15:04:05-0700")}

	var groups []string
	for group, list := range s.products {
		_, id, _ := strings.Cut(group, "/")
		groups = append(groups, fmt.Sprintf(`{"groupId":%s,"name":"Set %[1]s","publishedOn":"2020-01-01"}`, id))
		s.files["/tcgplayer/"+group+"/products"] = results(list)
		if rows := s.prices[group]; !slices.Contains(rows, "none") {
			s.files["/tcgplayer/"+group+"/prices"] = results(rows)
		}
	}
	slices.Sort(groups)
	s.files["/tcgplayer/3/groups"] = results(groups)
	_, err := feed.Pull(s.t.Context(), feed.Options{
		Into: filepath.Join(s.dir, "feed"), URL: s.server.URL, Games: []string{"pokemon"},
		Now: func() time.Time { return at.Add(time.Hour) },
	})
	must(s.t, err)
}

// builds builds on what is published, and publishes.
func (s *shelf) builds() {
	s.t.Helper()
	source := []loader.Input{{Kind: "tcgcsv", Path: filepath.Join(s.dir, "feed", "current")}}
	days, err := operate.ArchivedDays("", source)
	must(s.t, err)
	build := operate.Build{
		Store: filepath.Join(s.dir, "store"), On: "current", Again: func() string { return "" },
		Options: loader.Options{Sources: source, ArchivedDays: days, Mapping: filepath.Join(s.dir, "mapping")},
	}

	store := snapshot.OpenStore(build.Store)
	if _, err := store.Current(); err != nil {
		build.On = "none"
	}
	built, err := build.Run(s.t.Context())
	must(s.t, err)
	_, err = store.Publish(built.ID, snapshot.PublishOptions{
		Now: firstDay, Check: func(*snapshot.Catalog) error { return nil },
	})
	must(s.t, err)
}

// maps writes a file of the mapping.
func (s *shelf) maps(name, text string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Join(s.dir, "mapping"), 0o700))
	must(s.t, os.WriteFile(filepath.Join(s.dir, "mapping", name), []byte(text), 0o600))
}

// explains explains a card of what is published.
func (s *shelf) explains(given string) (*explain.Explanation, error) {
	s.t.Helper()
	store := snapshot.OpenStore(filepath.Join(s.dir, "store"))
	cur, err := store.Current()
	must(s.t, err)
	if s.catalog == nil || s.catalog.ID != cur.ID {
		s.catalog, err = store.Load(s.t.Context(), cur.ID, nil)
		must(s.t, err)
	}
	return explain.Card(s.catalog, given, explain.Options{
		Feed: filepath.Join(s.dir, "feed"), Mapping: filepath.Join(s.dir, "mapping"),
		Report: store.QuarantinePath(cur.ID),
	})
}

// codes are the codes of all reasons, and their texts.
func codes(e *explain.Explanation) (code, text string) {
	var all, texts []string
	for _, reason := range e.Reasons {
		all = append(all, reason.Code)
		texts = append(texts, reason.Text)
	}
	for _, lane := range e.Lanes {
		if lane.Reason != nil {
			all = append(all, lane.Variant+" "+lane.Reason.Code)
			texts = append(texts, lane.Reason.Text)
		}
	}
	return strings.Join(all, ", "), strings.Join(texts, "; ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill is the feed of a day: it has a card for each reason.
func (s *shelf) fill(day int) {
	for id := 1; id <= 30; id++ {
		gone := id == 15 && day > 7 || id == 16 && day > 0 || id == 18 && day > 2
		name := fmt.Sprintf("Card %d", id)
		if id == 20 {
			name = "" // a record without a name
		}
		if !gone && (id != 21 || day > 9) {
			s.card("3/101", id, name)
		}
		price := fmt.Sprintf("%d.5", id+day)
		switch {
		case gone, id == 7, id == 9, id == 13, id == 20 || id == 21: // no row
		case id == 8 && day > 2:
		case id == 2 && day == 9:
			s.price("3/101", id, "Normal", "null")
		case id == 3 && day == 9:
			s.price("3/101", id, "Normal", `"1.50"`)
		case id == 4 && day == 9:
			s.price("3/101", id, "Normal", "1.5")
			s.price("3/101", id, "Normal", "2.5")
		default:
			s.price("3/101", id, "Normal", price)
		}
		if id == 10 && day < 9 {
			s.price("3/101", id, "Holofoil", price)
		}
	}
	s.price("3/101", 999, "Normal", "1.0") // of no product
	if day > 9 {
		s.price("3/101", 13, "Normal", "1.0")
	}

	s.card("3/102", 201, "Pika")
	if day == 9 {
		s.prices["3/102"] = []string{"none"}
	} else {
		s.price("3/102", 201, "Normal", "3.0")
	}
	s.card("3/103", 301, "Abra")
	if day < 1 {
		s.price("3/103", 301, "Normal", "3.0")
	}
	s.card("3/104", 401, "Empty")
	s.sealed("3/104", 501, "Set A Booster Box")
	s.sealed("3/104", 502, "Set B Booster Box")
	s.sealed("3/104", 503, "Code Card - Set A")
	s.sealed("3/104", 504, "Set C Booster Box")
	s.sealed("3/105", 505, "Set D Booster Box")
	s.price("3/105", 505, "Holofoil", "3.0")
	s.sealed("3/105", 506, "Set E Booster Box")
	s.price("3/105", 506, "Normal", "3.0")
}

// TestEveryReason has a card for each reason that a build leaves one without a price, or out of the catalog.
func TestEveryReason(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	box := "tcgcsv,3/%d,booster_box,36,booster_pack,standard\n"
	s.maps("sealed.csv", "namespace,ref,package_type,units_per_package,unit_kind,edition\n"+
		fmt.Sprintf(box, 505)+fmt.Sprintf(box, 506))
	// A day that no history reaches back to.
	s.pulls(-400, func() {
		s.card("3/101", 9, "Card 9")
		s.price("3/101", 9, "Normal", "1.0")
	})
	removed := "kind,namespace,ref,reason\ncard,tcgcsv,3/17,a proxy\n"
	for day := range 10 {
		switch day {
		case 3:
			s.maps("removed.csv", removed+"card,tcgcsv,3/18,for good\n")
		case 4:
			s.maps("removed.csv", removed)
		}
		s.pulls(day, func() { s.fill(day) })
		// Days between are filled from the archive.
		if day < 5 || day > 7 {
			s.builds()
		}
	}
	s.pulls(10, func() { s.fill(10) })

	for given, want := range map[string][2]string{
		"tcgplayer:1":   {"", ""},
		"tcgplayer:2":   {"normal no_price", "the feed names it on 2026-08-10 without a price"},
		"tcgplayer:3":   {"normal quarantined", "bad price"},
		"tcgplayer:4":   {"normal quarantined", "duplicate lane"},
		"tcgplayer:7":   {"never_listed", "no price feed"},
		"tcgcsv,3/8":    {"normal not_named", "since 2026-08-04"},
		"tcgplayer:9":   {"expired", "its last row is of 2025-06-27"},
		"tcgplayer:10":  {"holofoil not_named", "since 2026-08-10"},
		"tcgplayer:13":  {"not_read", "no build has read"},
		"tcgplayer:15":  {"normal unlisted", "since 2026-08-09; the price of 2026-08-08 stands until"},
		"tcgplayer:16":  {"normal unlisted", "since 2026-08-02; a price stands for 7 days, and its last row"},
		"TCGplayer: 17": {"removed", "removed.csv of the mapping takes 3/17"},
		"tcgcsv:3/17":   {"removed, gone", "had it on 2026-08-03"},
		"tcgcsv:3/18":   {"gone", "had it on 2026-08-03 for the last time"},
		"tcgplayer:20":  {"refused", "missing value"},
		"tcgplayer:21":  {"not_built", "the feed lists it"},
		"tcgcsv:3/999":  {"no_product", "prices of it on 2026-08-11"},
		"tcgplayer:201": {"normal group_missing", "2026-08-10 3/102 (missing file); the price of 2026-08-09"},
		"tcgplayer:301": {"normal group_missing", "2026-08-10 3/103 (empty file); a price stands for 7 days"},
		"tcgplayer:401": {"group_missing", "empty file"},
		"tcgplayer:503": {"code_card", "code card"},
		"tcgplayer:504": {"sealed", "mapping suggest"},
		"tcgplayer:505": {"other_variant", "sealed product"},
		"tcgplayer:506": {"", ""},
		"https://cards.example.com/cards/set-101-card-2-2-99": {"normal no_price", ""},
	} {
		e, err := s.explains(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if code, text := codes(e); code != want[0] || !strings.Contains(text, want[1]) {
			t.Errorf("%s is explained by %q (%s), want %q and %q: %+v", given, code, text, want[0], want[1], e)
		}
	}

	e, err := s.explains("tcgplayer:8")
	must(t, err)
	if want := []string{"2026-08-01", "2026-08-02", "2026-08-03"}; !slices.Equal(e.Days, want) || len(e.Unknown) > 0 {
		t.Errorf("archived days are %q, want %q; without an index %q", e.Days, want, e.Unknown)
	}
	if _, err := s.explains("nonsense"); !errors.Is(err, explain.ErrUnknown) {
		t.Errorf("nonsense: %v", err)
	}
	text, err := json.Marshal(e)
	if want := `"missing":[],"quarantine":[],"days":["2026-08-01"`; err != nil ||
		!strings.Contains(string(text), want) || !strings.Contains(string(text), `"days_without_index":[]`) {
		t.Errorf("%s (%v)", text, err)
	}

	// Without an index the reason is unknown, and the tree alone has fewer facts.
	must(t, os.Remove(filepath.Join(s.dir, "feed", "days", "2026-08-02.refs")))
	e, err = s.explains("tcgplayer:8")
	must(t, err)
	if len(e.Days) != 2 || !slices.Equal(e.Unknown, []string{"2026-08-02"}) {
		t.Errorf("archived days are %q, without an index %q", e.Days, e.Unknown)
	}
}

// TestNames wants a card to be found by all that is said of it.
func TestNames(t *testing.T) {
	// Every card by each of its names.
	w := fixture.Random(3, fixture.Size{Sets: 3, Cards: 40, Sealed: 5, Days: 9})
	c := w.Catalog()
	find := func(given, want string) {
		t.Helper()
		e, err := explain.Card(c, given, explain.Options{})
		if err != nil || e.ID != want || !e.InCatalog {
			t.Errorf("%s is %+v (%v), want %s", given, e, err, want)
		}
	}

	for i := range c.Cards.ID.Len() {
		id := c.Cards.ID.At(i)
		for _, given := range []string{
			id, c.Cards.Slug.At(i), "ninepocket:" + id, "https://cards.example.com/cards/" + c.Cards.Slug.At(i),
			"https://cards.example.com/cards/" + c.Cards.Slug.At(i) + "/printings?page=2",
			"https://cards.example.com/v1/cards/" + id, strings.Replace(id, "card_", "prd_", 1),
		} {
			find(given, id)
		}
	}
	for i := range c.Sealed.Tail.Len() {
		find("np_"+c.Sealed.Tail.At(i), "prd_"+c.Sealed.Tail.At(i))
	}
	for i := range c.Registry.Slug.Len() {
		if id := c.Registry.SlugID.At(i); slices.Contains(slices.Collect(c.Cards.ID.All()), id) {
			find(c.Registry.Slug.At(i), id)
		}
	}
}

// TestUnlicensed wants a price that may not be distributed to be no mystery.
func TestUnlicensed(t *testing.T) {
	w := fixture.Random(1, fixture.Size{})
	w.Cards = []fixture.Card{{ID: "card_a", Slug: "a", Name: "Abra", Lanes: []fixture.Lane{{
		Variant: "normal", Condition: snapshot.NearMint, Cents: snapshot.NoCents, CollectedAt: snapshot.NoTime,
		SourceAsOf: snapshot.NoTime, Seen: w.Date(),
	}}}}
	e, err := explain.Card(w.Catalog(), "a", explain.Options{})
	must(t, err)
	if code, _ := codes(e); code != "normal unlicensed" {
		t.Errorf("it is explained by %q", code)
	}
}
