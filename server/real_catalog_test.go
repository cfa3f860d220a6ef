package server

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/wire"
)

// realDir is where the real catalogs are expected, which are not part of the repository.
func realDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("skipped: no real catalogs in %s", dir)
	}
	return dir
}

// realWorld serves a build of real inputs.
func realWorld(tb testing.TB, inputs ...loader.Input) *world {
	tb.Helper()
	at := time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC)
	built, err := loader.Build(tb.Context(), loader.Options{Sources: inputs, CollectedAt: at, SnapshotAt: at})
	if err != nil {
		tb.Fatal(err)
	}

	built.Catalog.ID = "20260822T200000Z-00000000000000aa"
	v, err := engine.NewView(built.Catalog, wire.URLs{URL: baseURL, ProductPrefix: "prd"})
	if err != nil {
		tb.Fatal(err)
	}
	return newWorld(tb, setup{views: []*engine.View{v}})
}

// TestSearchSet asks the search set over HTTP: tier 1 must pass entirely, of tier 2 nine in ten,
// tier 3 is reported.
func TestSearchSet(t *testing.T) {
	testsweep.OnlyFull(t)
	dir := realDir(t)
	w := realWorld(t,
		loader.Input{Kind: "pokemon-tcg-data", Path: filepath.Join(dir, "pokemon-tcg-data",
			"pokemon-tcg-data-en.tar.zst")},
		loader.Input{Kind: "punk-records", Path: filepath.Join(dir, "punk-records", "punk-records-english.tar.zst")})
	text, err := os.ReadFile(filepath.Join(dir, "search-queries.tsv"))
	if err != nil {
		t.Fatal(err)
	}

	passed := map[string]int{}
	asked := map[string]int{}
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n")[1:] {
		cells := strings.Split(line, "\t")
		remarks := map[string]string{}
		for remark := range strings.SplitSeq(cells[3], "; ") {
			key, value, _ := strings.Cut(remark, "=")
			remarks[key] = strings.TrimPrefix(value, "~")
		}

		tier := remarks["tier"]
		asked[tier]++
		if wrong := w.searchMiss(t, cells[0], cells[1], cells[2], remarks["number"], remarks["set"]); wrong != "" {
			t.Logf("tier %s: %q in %s: %s", tier, cells[0], cells[1], wrong)
			continue
		}
		passed[tier]++
	}

	for _, tier := range []string{"1", "2", "3"} {
		t.Logf("tier %s: %d of %d", tier, passed[tier], asked[tier])
	}
	if asked["1"] == 0 || passed["1"] < asked["1"] || 10*passed["2"] < 9*asked["2"] {
		t.Error("the search set is below its floors")
	}
}

// searchMiss says what is wrong with the first hit of a query, "" for nothing.
func (w *world) searchMiss(tb testing.TB, query, game, name, number, set string) string {
	tb.Helper()
	values := url.Values{"q": {query}, "limit": {"1"}}
	if game != "*" {
		values.Set("game", game)
	}

	var page struct {
		Data []struct {
			Name, Number string
			Set          struct{ Name string }
		}
	}
	w.get(tb, "/v1/cards?"+values.Encode()).decode(tb, &page)
	if name == "^$" || len(page.Data) == 0 {
		if name == "^$" && len(page.Data) == 0 {
			return ""
		}
		return fmt.Sprintf("found %v, want %s", page.Data, name)
	}

	first := page.Data[0]
	for _, want := range [][2]string{{name, first.Name}, {number, first.Number}, {set, first.Set.Name}} {
		if want[0] != "" && !regexp.MustCompile(want[0]).MatchString(want[1]) {
			return fmt.Sprintf("found %v, want %s", first, want[0])
		}
	}
	return ""
}

// TestRealSelections prices every price option of every product of the real One Piece and Pokémon
// trees and compares each with the decimal text of its file: the feed has no observation times, so
// a price is of unknown age.
func TestRealSelections(t *testing.T) {
	testsweep.OnlyFull(t)
	tree := filepath.Join(realDir(t), "tcgcsv", "tcgplayer-current.tar.zst")
	w := realWorld(t, loader.Input{Kind: "tcgcsv", Path: tree})
	truth := readMarketPrices(t, tree)
	key := w.key(t, keys.NewKey{Tenant: "real", Surface: keys.Preview, Plan: "unlimited"})
	var items []string
	var want []string
	priced := 0
	batches := 0
	flush := func() {
		if len(items) == 0 {
			return
		}

		batches++
		r, err := w.send(request{
			method: http.MethodPost, target: "/v1/prices/batch", body: `{"items":[` + strings.Join(items, ",") + `]}`,
			header: []string{
				"X-API-Key: " + key, "Content-Type: application/json",
				fmt.Sprintf("Idempotency-Key: real-%d", batches),
			},
		})
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("batch %d: %d %v %.200s", batches, r.status, err, r.body)
		}

		var got struct {
			Data []struct {
				Status string
				Price  *struct {
					Cents json.Number `json:"amount_cents"`
				}
				MissingReason *string `json:"missing_reason"`
				Observation   *struct {
					SourceAsOf *string `json:"source_as_of"`
				}
			}
		}
		r.decode(t, &got)
		for i, result := range got.Data {
			have := result.Status
			switch {
			case result.Price != nil && result.Observation != nil && result.Observation.SourceAsOf == nil &&
				result.MissingReason == nil:
				have += " " + result.Price.Cents.String()
				priced++
			case result.Price == nil && result.Observation == nil && result.MissingReason != nil:
				have += " " + *result.MissingReason
			}

			if have != want[i] {
				t.Errorf("%s: %s, want %s", items[i], have, want[i])
			}
		}
		items = items[:0]
		want = want[:0]
	}

	options := 0
	for _, product := range w.walkProducts(t, key, url.Values{"limit": {"50"}}, func(int) {}) {
		id, _ := product["id"].(string)
		listed, _ := product["price_options"].([]any)
		for _, option := range listed {
			o, _ := option.(map[string]any)
			variant, _ := o["variant"].(string)
			items = append(items, fmt.Sprintf(`{"kind":"card","product_id":%q,"variant":%q,"condition":%q}`, id,
				variant, o["condition"]))
			answer := "missing no_observation"
			if cents, ok := truth[tcgplayerID(product)+" "+variant]; ok {
				answer = "unknown " + cents
			}

			want = append(want, answer)
			options++
			if len(items) == 50 {
				flush()
			}
		}
	}

	flush()
	if options < 40_000 || priced < 40_000 {
		t.Errorf("%d options, %d priced: the tree has over 40,000", options, priced)
	}
}

// tcgplayerID is the shop's own id among a product's identifiers.
func tcgplayerID(product map[string]any) string {
	ids, _ := product["identifiers"].([]any)
	for _, one := range ids {
		if id, _ := one.(map[string]any); id["namespace"] == "tcgplayer" {
			value, _ := id["value"].(string)
			return value
		}
	}
	return ""
}

// readMarketPrices reads the market prices of a tree as text of cents by "productId variant_code",
// rounding decimals beyond two half up.
func readMarketPrices(tb testing.TB, path string) map[string]string {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()

	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()

	prices := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return prices
		}
		if err != nil {
			tb.Fatal(err)
		}
		if filepath.Base(h.Name) != "prices" {
			continue
		}

		var file struct {
			Results []struct {
				ProductID   json.Number  `json:"productId"`
				MarketPrice *json.Number `json:"marketPrice"`
				SubTypeName string       `json:"subTypeName"`
			} `json:"results"`
		}
		if err := json.NewDecoder(r).Decode(&file); err != nil {
			tb.Fatal(err)
		}

		for _, row := range file.Results {
			if row.MarketPrice != nil {
				variant := strings.ToLower(strings.ReplaceAll(row.SubTypeName, " ", "_"))
				prices[row.ProductID.String()+" "+variant] = centsText(row.MarketPrice.String())
			}
		}
	}
}

// centsText turns "12.345" into "1235".
func centsText(decimal string) string {
	whole, fraction, _ := strings.Cut(decimal, ".")
	fraction += "000"
	var n int64
	for _, c := range whole + fraction[:2] {
		n = n*10 + int64(c-'0')
	}

	if fraction[2] >= '5' {
		n++
	}
	return fmt.Sprint(n)
}
