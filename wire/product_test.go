package wire_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

type (
	identifier struct {
		Namespace string `json:"namespace"`
		Value     string `json:"value"`
	}
	option struct {
		Variant   string `json:"variant"`
		Condition string `json:"condition"`
	}
	productHead struct {
		ID          string       `json:"id"`
		Kind        string       `json:"kind"`
		Name        string       `json:"name"`
		Game        string       `json:"game"`
		Language    string       `json:"language"`
		Market      string       `json:"market"`
		Identifiers []identifier `json:"identifiers"`
		UpdatedAt   string       `json:"catalog_updated_at"`
	}
	cardProduct struct {
		productHead
		Set      *setRef  `json:"set"`
		Number   string   `json:"collector_number"`
		Printing string   `json:"printing"`
		Options  []option `json:"price_options"`
	}
	sealedProduct struct {
		productHead
		PackageType string `json:"package_type"`
		Units       int    `json:"units_per_package"`
		UnitKind    string `json:"unit_kind"`
		Edition     string `json:"edition"`
		Condition   string `json:"condition"`
	}
	selection struct {
		Kind      string `json:"kind"`
		ProductID string `json:"product_id"`
		Variant   string `json:"variant,omitzero"`
		Condition string `json:"condition,omitzero"`
	}
	money struct {
		Cents    int64  `json:"amount_cents"`
		Currency string `json:"currency"`
	}
	observation struct {
		Source      string  `json:"source"`
		SourceAsOf  *string `json:"source_as_of"`
		CollectedAt string  `json:"collected_at"`
		Basis       string  `json:"basis"`
		Attribution string  `json:"attribution"`
	}
	priceResult struct {
		Selection   selection    `json:"selection"`
		Status      string       `json:"status"`
		Price       *money       `json:"price"`
		Observation *observation `json:"observation"`
		Reason      *string      `json:"missing_reason"`
	}
)

func millis(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z") }

func (w truth) productHead(tail, kind, name string, game int, ids []fixture.Identifier, updatedAt int64) productHead {
	head := productHead{
		"np_" + tail, kind, name, strings.ReplaceAll(w.Games[game].Slug, "-", "_"), "en", "US",
		[]identifier{},
		millis(updatedAt),
	}

	for _, id := range ids {
		head.Identifiers = append(head.Identifiers, identifier(id))
	}

	return head
}

func TestProducts(t *testing.T) {
	for seed := range uint64(4) {
		w := truth{fixture.Random(seed, fixture.Small)}
		c := w.Catalog()
		for i, from := range w.PriceDesc() {
			if !from.Product {
				continue
			}

			tail := strings.TrimPrefix(from.ID, "card_")
			want := cardProduct{
				w.productHead(tail, "card", from.Name, from.Game,
					append(slices.Clone(from.Identifiers), fixture.Identifier{Namespace: "ninepocket", Value: from.ID}),
					from.UpdatedAt), w.set(&from),
				from.Number, from.Printing,
				[]option{},
			}

			for _, l := range fixture.SortedLanes(from.Lanes) {
				want.Options = append(want.Options, option{l.Variant, l.Condition.Code()})
			}

			got := decode[cardProduct](t, wire.AppendProduct(nil, c, i, tail, site))
			equal(t, "card product", want, got)
		}

		for i := range c.Sealed.Tail.Len() {
			for _, from := range w.Sealed {
				if from.Tail != c.Sealed.Tail.At(i) {
					continue
				}
				equal(t, "sealed product", sealedProduct{
					w.productHead(from.Tail, "sealed", from.Name, from.Game, from.Identifiers, from.UpdatedAt),
					from.PackageType, from.Units, from.UnitKind, from.Edition, "factory_sealed",
				}, decode[sealedProduct](t, wire.AppendProduct(nil, c, c.Cards.ID.Len()+i, from.Tail, site)))
			}
		}
	}
}

func TestPriceResults(t *testing.T) {
	const hour = 3_600_000
	at := fixture.Random(1, fixture.Size{}).At
	f := func(asOf int64, status string) {
		t.Helper()
		want := priceResult{
			selection{"card", "np_abc", "normal", "near_mint"},
			status, &money{0, "USD"},
			&observation{"licensed_reference", nil, millis(at - hour/1000), "market_reference", `The "Own" Feed`}, nil,
		}
		if asOf != snapshot.NoTime {
			want.Observation.SourceAsOf = to(millis(asOf))
		}

		s := wire.Selection(want.Selection)
		result := wire.PriceResult{Cents: 0, AsOf: asOf, CollectedAt: at - hour/1000, Attribution: `The "Own" Feed`}
		equal(t, status, want, priceResultOf(t, s, result, at))
	}

	f(at-36*hour, "fresh") // exactly as old as fresh may be (decision 28)
	f(at-36*hour-1, "stale")
	f(at-hour, "fresh")
	f(snapshot.NoTime, "unknown")

	for reason, text := range map[wire.MissingReason]string{
		wire.ReasonNotFound: "not_found", wire.ReasonUnsupported: "unsupported_selection",
		wire.ReasonNotLicensed: "not_licensed", wire.ReasonNoObservation: "no_observation",
	} {
		for _, s := range []selection{{"card", "np_a", `a"b`, "damaged"}, {"sealed", "np_abc", "", ""}} {
			asked := wire.Selection(s)
			equal(t, text, priceResult{s, "missing", nil, nil, &text},
				priceResultOf(t, asked, wire.PriceResult{Missing: reason}, at))
		}
	}
}

// priceResultOf decodes the list of one result.
func priceResultOf(t *testing.T, s wire.Selection, result wire.PriceResult, at int64) priceResult {
	t.Helper()
	list := wire.AppendPriceResults(nil, []wire.Selection{s}, []wire.PriceResult{result}, at)
	return decode[[]priceResult](t, list)[0]
}

// TestPriceResultsInTurn compares lists of results with lists of one each, whatever they have in common.
func TestPriceResultsInTurn(t *testing.T) {
	const at = 1_760_000_000_000
	oneOf := func(random *rand.Rand, times ...int64) int64 { return times[random.IntN(len(times))] }

	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var selections []wire.Selection
		var results []wire.PriceResult
		for i := range random.IntN(8) {
			selections = append(selections, wire.Selection{Kind: "card", ProductID: "np_" + strconv.Itoa(i)})
			results = append(results, wire.PriceResult{
				Missing: wire.MissingReason(max(0, random.IntN(9)-4)), Cents: oneOf(random, 0, 199, 1_000_000),
				AsOf:        oneOf(random, snapshot.NoTime, at, at-1000, at-60*3_600_000),
				CollectedAt: oneOf(random, at, at-1),
				Attribution: []string{"", "A", `"B"`}[random.IntN(3)],
			})
		}

		var want []string
		for i := range results {
			one := wire.AppendPriceResults(nil, selections[i:i+1], results[i:i+1], at)
			want = append(want, string(one[1:len(one)-1]))
		}
		got := string(wire.AppendPriceResults([]byte("data:"), selections, results, at))
		if got != "data:["+strings.Join(want, ",")+"]" {
			t.Fatalf("seed %d:\n%s\nwant the results\n%s", seed, got, strings.Join(want, "\n"))
		}
	}
}
