package pokemontcg_test

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ninepocket/compat/pokemontcg"
	"ninepocket/internal/settings"
	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/loader/source"
)

// treeRow is a row of the feed's prices, in dollars.
type treeRow struct {
	ProductID                                                  int
	SubTypeName                                                string
	LowPrice, MidPrice, HighPrice, MarketPrice, DirectLowPrice *float64
}

// readTree reads the prices of a tree by product, then by printing.
func readTree(t *testing.T, path string) map[string]map[string]treeRow {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("skipped: prices of the real tree: %v", err)
	}
	defer func() { _ = f.Close() }()
	unpacked, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<28))
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()

	all := map[string]map[string]treeRow{}
	for in := tar.NewReader(unpacked); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(head.Name) != "prices" {
			continue
		}
		var file struct{ Results []treeRow }
		if err := json.NewDecoder(in).Decode(&file); err != nil {
			continue // an empty file is in the quarantine of the build
		}
		for _, row := range file.Results {
			product := fmt.Sprint(row.ProductID)
			if all[product] == nil {
				all[product] = map[string]treeRow{}
			}
			all[product][row.SubTypeName] = row
		}
	}
}

// spellings are the names of the feed's printings in the API, written down by hand.
var spellings = map[string]string{
	"normal": "Normal", "holofoil": "Holofoil", "reverseHolofoil": "Reverse Holofoil",
	"1stEditionNormal": "1st Edition", "1stEditionHolofoil": "1st Edition Holofoil",
	"unlimited": "Unlimited", "unlimitedHolofoil": "Unlimited Holofoil", "foil": "Foil",
}

// v1Card is a card of /v1, with the number that joins it to the feed.
type v1Card struct {
	ID          string
	Prices      []v1Price
	Identifiers []struct{ Namespace, Value string }
}

type v1Price struct {
	Variant string
	Cents   *int64 `json:"market_price_cents"`
}

// v1Cards asks /v1 for cards of the other API.
func (s *served) v1Cards(cards []apiCard) map[string]v1Card {
	s.t.Helper()
	all := map[string]v1Card{}
	for part := range slices.Chunk(cards, 50) {
		var ask struct {
			IDs         []string `json:"ids,omitempty"`
			Identifiers []string `json:"identifiers,omitempty"`
		}
		for _, card := range part {
			if strings.HasPrefix(card.ID, "card_") {
				ask.IDs = append(ask.IDs, card.ID)
			} else {
				ask.Identifiers = append(ask.Identifiers, "pokemon-tcg-data:"+card.ID)
			}
		}

		body, err := json.Marshal(ask)
		if err != nil {
			s.t.Fatal(err)
		}
		var got struct {
			Data []struct {
				v1Card
				Ref string
			}
		}
		status, answer, _ := s.do(http.MethodPost, "192.0.2.1", "/v1/cards/batch", s.key, string(body))
		if err := json.Unmarshal([]byte(answer), &got); status != http.StatusOK || err != nil {
			s.t.Fatalf("/v1: %d %v %.300s", status, err, answer)
		}
		for _, card := range got.Data {
			all[cmp.Or(strings.TrimPrefix(card.Ref, "pokemon-tcg-data:"), card.ID)] = card.v1Card
		}
	}
	return all
}

// TestRealPrices: each price of each joined card equals the feed's price of its printing, and the market price equals
// the price of /v1.
func TestRealPrices(t *testing.T) {
	testsweep.OnlyFull(t)
	files, err := pokemontcg.RealFiles()
	if err != nil {
		t.Skipf("skipped: there are no real files: %v", err)
	}
	path := filepath.Join(cmp.Or(os.Getenv("DATA"), "../../../shared/data"), "tcgcsv", "tcgplayer-current.tar.zst")
	tree := readTree(t, path)
	s := serves(t, func(*settings.Config) {},
		loader.Input{Kind: source.KindTCGCSV, Path: path}, loader.Input{Kind: source.KindPokemonTCG, Path: files})

	// Pages are compared one after the other.
	joined := 0
	cells := 0
	for n := 1; ; n++ {
		got := s.list("/v2/cards", url.Values{"page": {fmt.Sprint(n)}, "select": {"id,tcgplayer.prices"}})
		if len(got.Data) == 0 {
			break
		}
		ours := s.v1Cards(got.Data)
		for _, card := range got.Data {
			if card.TCGPlayer == nil {
				continue
			}
			joined++
			cells += comparePrices(t, card, ours[card.ID], tree)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d cards with %d prices", joined, cells)
	if joined < 26_000 {
		t.Errorf("only %d cards have prices", joined)
	}
}

// comparePrices compares all prices of a card, and returns how many there are.
func comparePrices(t *testing.T, card apiCard, ours v1Card, tree map[string]map[string]treeRow) (cells int) {
	t.Helper()
	for printing, prices := range card.TCGPlayer.Prices {
		// A card that several products are joined to has the row of one of them.
		market := int64(-1)
		for _, price := range ours.Prices {
			name, known := spellings[printing]
			if !known {
				t.Fatalf("%s: printing %s is not in the table", card.ID, printing)
			}
			if price.Variant == strings.ToLower(strings.ReplaceAll(name, " ", "_")) && price.Cents != nil {
				market = *price.Cents
			}
		}
		if got := cents(prices["market"]); got != market {
			t.Errorf("%s %s: market %d, /v1 says %d", card.ID, printing, got, market)
		}

		fits := false
		for _, id := range ours.Identifiers {
			row, has := tree[id.Value][spellings[printing]]
			if id.Namespace != "tcgplayer" || !has {
				continue
			}
			fits = fits || cents(row.LowPrice) == cents(prices["low"]) && cents(row.MidPrice) == cents(prices["mid"]) &&
				cents(row.HighPrice) == cents(prices["high"]) && cents(row.MarketPrice) == cents(prices["market"]) &&
				cents(row.DirectLowPrice) == cents(prices["directLow"])
		}
		if !fits {
			t.Errorf("%s %s: %v is no row of the tree of %v", card.ID, printing, prices, ours.Identifiers)
		}
		cells += len(prices)
	}
	return cells
}

// cents is a price in cents, -1 for none.
func cents(dollars *float64) int64 {
	if dollars == nil {
		return -1
	}
	return int64(math.Round(*dollars * 100))
}
