package wire_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

type card = fixture.Card

var site = &wire.URLs{URL: "https://cards.example", Images: "https://cards.example/images/", ProductPrefix: "np"}

// oneCard returns a catalog of one card, edited.
func oneCard(t testing.TB, edit func(c *card)) *snapshot.Catalog {
	t.Helper()
	w := fixture.Random(1, fixture.Size{Cards: 1})
	edit(&w.Cards[0])
	return w.Catalog()
}

func seconds(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }

// percent returns the percentage of a change as JSON, nil if there is none.
func percent(base, now int64) *jsontext.Value {
	if base <= 0 || now < 0 {
		return nil
	}
	return to(jsontext.Value(percentOracle(now-base, base)))
}

func change(base, now int64) *int64 {
	if base < 0 || now < 0 {
		return nil
	}
	return to(now - base)
}

func cents(v int64) *int64 {
	if v < 0 {
		return nil
	}
	return &v
}

// truth computes the expected responses for a world.
type truth struct{ *fixture.World }

func (w truth) head(c *card) cardHead {
	g := w.Games[c.Game]
	h := cardHead{
		ID: c.ID, Name: c.Name, Number: nullable(c.Number), Game: &g.Slug, GameName: &g.Name,
		Rarity: nullable(c.Rarity),
		Set:    w.set(c), URL: to(site.URL + "/cards/" + c.Slug),
	}

	switch c.Image {
	case "":
	case "a b.png":
		h.Image = to(site.Images + "a%20b.png")
	case "übung.webp":
		h.Image = to(site.Images + "%C3%BCbung.webp")
	default:
		h.Image = to(site.Images + c.Image)
	}

	return h
}

func (w truth) set(c *card) *setRef {
	if s := w.SetOf(c); s != nil {
		return &setRef{s.ID, s.Name}
	}
	return nil
}

func updated(l *fixture.Lane) string {
	if l.SourceAsOf != snapshot.NoTime {
		return seconds(l.SourceAsOf)
	}
	return seconds(l.CollectedAt)
}

func (w truth) price(c *card) price {
	if l := c.Display(); l != nil {
		return price{"USD", &l.Cents, updated(l)}
	}
	return price{"USD", nil, seconds(w.At)}
}

func (w truth) lanes(c *card) []lanePrice {
	all := []lanePrice{}
	for _, l := range fixture.SortedLanes(c.Lanes) {
		if l.Cents == snapshot.NoCents {
			continue
		}

		base7 := l.Base(w.Date(), 7)
		base30 := l.Base(w.Date(), 30)
		all = append(all, lanePrice{
			l.Variant, l.Condition.Text(),
			price{"USD", &l.Cents, updated(&l)},
			change(base7, l.Cents), percent(base7, l.Cents), change(base30, l.Cents), percent(base30, l.Cents),
		})
	}

	return all
}

// identifiers returns the identifiers of a card, with the public namespaces.
func identifiers(c *card) []identifier {
	all := []identifier{}
	for _, id := range c.Identifiers {
		if id.Namespace == "pokemontcg" {
			id.Namespace = "pokemon-tcg-data"
		}
		all = append(all, identifier(id))
	}
	return all
}

// product returns the id of a card as a product, nil if it is none.
func product(c *card) *string {
	if !c.Product {
		return nil
	}
	return to(site.ProductPrefix + c.ID[len("card"):])
}

// priceOf returns the members of a card's display price.
func priceOf(c *snapshot.Catalog, card int) []byte {
	cents, at := c.DisplayPrice(card)
	return wire.AppendMarketPrice(nil, cents, at)
}

// detailOf returns a card's Card detail: its head, its prices and its tail.
func detailOf(c *snapshot.Catalog, card int, urls *wire.URLs) []byte {
	detail := wire.AppendPrices(wire.AppendCardHead(nil, c, card, urls), c, card)
	return wire.AppendCardTail(detail, c, card, urls)
}

// summaryOf returns a card's Card summary.
func summaryOf(c *snapshot.Catalog, card int, urls *wire.URLs) []byte {
	head := wire.AppendCardHead(nil, c, card, urls)
	return wire.AppendCardSummary(nil, head, priceOf(c, card))
}

func TestCards(t *testing.T) {
	for seed := range uint64(6) {
		w := truth{fixture.Random(seed, fixture.Small)}
		c := w.Catalog()
		for i, from := range w.PriceDesc() {
			equal(t, "summary", cardSummary{w.head(&from), w.price(&from)},
				decode[cardSummary](t, summaryOf(c, i, site)))
			equal(t, "detail", cardDetail{w.head(&from), w.lanes(&from), identifiers(&from), product(&from)},
				decode[cardDetail](t, detailOf(c, i, site)))
			equal(t, "entry", entry{from.ID, w.price(&from)}, decode[entry](t,
				wire.AppendPriceEntry(nil, detailOf(c, i, site), priceOf(c, i))))
			base := snapshot.NoCents
			if l := from.Display(); l != nil {
				base = l.Base(w.Date(), 7)
			}

			h := w.head(&from)
			p := w.price(&from)
			equal(t, "mover", mover{
				h.ID, h.Name, h.Number, h.Game, h.GameName, h.Set, h.URL, "USD", p.Cents,
				change(base, from.Price()), percent(base, from.Price()), p.UpdatedAt,
			}, decode[mover](t, wire.AppendMover(nil, c, i, site, c.Lanes.Price7DaysAgo)))
		}
	}
}

func TestCardWithoutAnything(t *testing.T) {
	c := oneCard(t, func(c *card) {
		*c = card{ID: "card_abc", Slug: "a", Name: "A", UpdatedAt: 0}
	})
	const want = `{"id":"card_abc","name":"A","number":null,"game":"pokemon","game_name":"Pokémon",` +
		`"rarity":null,"set":null,` +
		`"image_url":null,"url":"https://cards.example/cards/a",` +
		`"price":{"currency":"USD","market_price_cents":null,"price_updated_at":"2026-03-14T20:05:30Z"}}`
	if got := string(summaryOf(c, 0, site)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestGamesAndSets(t *testing.T) {
	for seed := range uint64(6) {
		w := truth{fixture.Random(seed, fixture.Small)}
		c := w.Catalog()
		want := gameList{}
		for g, from := range w.Games {
			count := game{Slug: from.Slug, Name: from.Name}
			for _, s := range w.Sets {
				if s.Game == g {
					count.Sets++
				}
			}

			for _, card := range w.Cards {
				if card.Game == g {
					count.Cards++
				}
			}

			want.Data = append(want.Data, count)
		}

		equal(t, "games", want, decode[gameList](t, wire.AppendGames(nil, c)))
		for i := range c.Sets.ID.Len() {
			var from fixture.Set
			for _, s := range w.Sets {
				if s.ID == c.Sets.ID.At(i) {
					from = s
				}
			}

			g := w.Games[from.Game]
			head := setHead{
				ID: from.ID, Name: from.Name, Series: nullable(from.Series), Cards: to(0), Game: &g.Slug,
				GameName: &g.Name,
			}
			if from.Release != snapshot.NoDay {
				head.Release = to(from.Release.String())
			}

			detail := setDetail{URL: to(site.URL + "/sets/" + from.Slug), Top: []topCard{}}
			var top []uint32
			for k, card := range w.PriceDesc() {
				if card.Set != from.ID {
					continue
				}
				*head.Cards++
				top = append(top, uint32(k))
				h := w.head(&card)
				detail.Top = append(detail.Top, topCard{h.ID, h.Name, h.Number, h.URL, "USD", cents(card.Price())})
			}

			detail.setHead = head
			equal(t, "set", head, decode[setHead](t, wire.AppendSetSummary(nil, c, i)))
			equal(t, "set detail", detail, decode[setDetail](t, wire.AppendSetDetail(nil, c, i, top, site)))
		}
	}
}

func TestHistoryAndStats(t *testing.T) {
	c := oneCard(t, func(c *card) { c.ID, c.Slug, c.Name = "card_abc", "a-1", `A "1"` }) // air: one card
	b := wire.AppendHistoryHead(nil, c, 0, 30, site)
	var normal, holofoil wire.PointTemplate
	normal.Reset("normal")
	holofoil.Reset("holofoil")
	b = normal.Append(b, (*[10]byte)([]byte("2026-03-14")), snapshot.MaxCents)
	b = holofoil.Append(b, (*[10]byte)([]byte("2026-03-15")), 0)
	b = normal.Append(b, (*[10]byte)([]byte("2026-03-16")), 0)
	b = append(b[:len(b)-1], ']', '}') // without the last comma
	equal(t, "history", history{"card_abc", `A "1"`, to("https://cards.example/cards/a-1"), 30, []point{
		{"2026-03-14", "normal", snapshot.MaxCents, "USD"},
		{"2026-03-15", "holofoil", 0, "USD"},
		{"2026-03-16", "normal", 0, "USD"},
	}}, decode[history](t, b))

	for _, variant := range []string{"", "normal"} {
		b = wire.AppendStatsHead(nil, c, wire.Stats{
			Card: 0, Variant: variant, Window: "7d", From: 1_773_014_400_000,
			To: c.SnapshotAt,
		})
		s := snapshot.PriceSummary{
			Min: 0, Max: 300, Mean: 120, First: 200, Last: 100, FirstDay: 20_520, LastDay: 20_526,
			Points: 5,
		}
		b = append(wire.AppendSummary(b, "normal", s), ']', '}', '}')
		want := stats{
			Currency: "USD", ID: "card_abc", Variant: nullable(variant), Window: "7d",
			From: "2026-03-09T00:00:00Z", To: "2026-03-14T20:05:30Z",
		}
		want.Data.Variants = []summary{{
			"normal", to(int64(0)), to(int64(300)), to(int64(120)), &end{"2026-03-08", 200}, &end{"2026-03-14", 100},
			to(int64(-100)), to(jsontext.Value("-50")), 5,
		}}
		equal(t, "stats", want, decode[stats](t, b))
	}
}

func TestUsage(t *testing.T) {
	u := wire.Usage{
		Tenant: `t"1`, From: 1_772_323_200_000, To: 1_775_001_600_000, Limit: 10_000, Used: 9_999,
		Remaining: 1, PerMinute: 60,
	}
	closing := wire.Meta{RequestID: "req_1", SnapshotAt: 1_773_518_730_250, Units: 1, Replay: true}
	got := decode[usage](t, append(wire.AppendMeta(append(wire.AppendUsage(nil, u), `,"meta":`...), closing), '}'))

	var want usage
	want.Data.Tenant = `t"1`
	want.Data.From = "2026-03-01T00:00:00Z"
	want.Data.To = "2026-04-01T00:00:00Z"
	want.Data.Limit = 10_000
	want.Data.Used = 9_999
	want.Data.Remaining = 1
	want.Data.PerMinute = 60
	want.Meta = meta{"req_1", "2026-03-14T20:05:30.25Z", 1, true}
	equal(t, "usage", want, got)
}

func TestAPIErrors(t *testing.T) {
	for _, retry := range []int{0, 17} {
		for code, m := range wire.LiveCodes {
			got := decode[problem](t, wire.AppendProblem(nil, "https://api.example",
				wire.APIError{Code: code, Detail: `a "b"`, RetryAfter: retry}, "req_x"))
			want := problem{
				"https://api.example/errors/" + string(code), m.Title, m.Status, `a "b"`, string(code),
				"req_x", nil,
			}
			if retry > 0 {
				want.Retry = &retry
			}

			equal(t, "problem", want, got)
		}

		for code := range wire.PreviewCodes {
			got := decode[envelope](t, wire.AppendEnvelope(nil,
				wire.APIError{Code: code, Detail: "a\nb", RetryAfter: retry}, "req_x"))
			var want envelope
			want.Error.Code = string(code)
			want.Error.Message = "a\nb"
			want.Error.RequestID = "req_x"
			if retry > 0 {
				want.Error.Retry = &retry
			}

			equal(t, "envelope", want, got)
		}
	}
}

// TestCodes compares the tables with those of decision 3.
func TestCodes(t *testing.T) {
	statuses := func(table map[wire.Code]wire.Meaning) map[wire.Code]int {
		all := map[wire.Code]int{}
		for code, m := range table {
			if m.Title == "" {
				t.Errorf("%s has no title", code)
			}
			all[code] = m.Status
		}

		return all
	}

	both := map[wire.Code]int{
		"invalid_request": 400, "not_found": 404, "rate_limit_exceeded": 429, "quota_exceeded": 429,
		"internal_error":     500,
		"method_not_allowed": 405, "request_timeout": 408, "payload_too_large": 413,
		"unsupported_media_type": 415, "request_header_fields_too_large": 431, "temporarily_unavailable": 503,
	}

	live := map[wire.Code]int{
		"unauthorized": 401, "sandbox_key": 403, "plan_limit": 403,
		"host_not_allowed": 403, "origin_not_allowed": 403, "not_acceptable": 406,
		"snapshot_gone": 412, "range_not_satisfiable": 416,
	}
	preview := map[wire.Code]int{"invalid_api_key": 401, "insufficient_scope": 403, "idempotency_conflict": 409}
	for code, status := range both {
		live[code] = status
		preview[code] = status
	}

	equal(t, "live codes", live, statuses(wire.LiveCodes))
	equal(t, "preview codes", preview, statuses(wire.PreviewCodes))
}
