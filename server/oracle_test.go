package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/testsweep"
)

var gameNames = map[string]string{"pokemon": "Pokémon", "one-piece": "One Piece"}

type object = map[string]any

func (k *trueCard) setJSON() any {
	if k.set == nil {
		return nil
	}
	return object{"id": k.set.id, "name": k.set.name}
}

// identity is what every shape of a card begins with.
func (k *trueCard) identity() object {
	return object{
		"id": k.id, "name": k.name, "number": nullable(k.number), "game": k.game, "game_name": gameNames[k.game],
		"set": k.setJSON(),
	}
}

// summary is a card's Card summary without its url, which no file has.
func (tr *truth) summary(k *trueCard) object {
	o := k.identity()
	o["rarity"] = nullable(k.rarity)
	o["image_url"] = nil
	price := object{
		"currency": "USD", "market_price_cents": nil,
		"price_updated_at": tr.at.Format("2006-01-02T15:04:05Z"),
	}
	if l := k.display(); l != nil {
		price["market_price_cents"] = float64(l.now)
		price["price_updated_at"] = l.updatedAt()
	}

	o["price"] = price
	return o
}

// detail is a card's Card detail without its url.
func (tr *truth) detail(k *trueCard) object {
	o := tr.summary(k)
	delete(o, "price")
	prices := []any{}
	for _, l := range k.lanes {
		if !l.licensed || l.now < 0 {
			continue
		}

		week := tr.base(l, 7)
		month := tr.base(l, 30)
		prices = append(prices, object{
			"variant": l.variant, "condition": conditionOrder[conditionRank(l.condition)].text, "currency": "USD",
			"market_price_cents": float64(l.now), "price_updated_at": l.updatedAt(),
			"change_7d_cents": change(week, l.now), "change_7d_percent": percent(week, l.now),
			"change_30d_cents": change(month, l.now), "change_30d_percent": percent(month, l.now),
		})
	}

	o["prices"] = prices
	o["identifiers"] = k.identifiers
	o["product_id"] = nil
	if k.number != "" && k.set != nil {
		o["product_id"] = "prd_" + k.id[len("card_"):]
	}
	return o
}

// differs reports how an answer differs from the truth; its url must lead to path and a slug.
func differs(got, want object, path string) string {
	got = cloned(got)
	url, _ := got["url"].(string)
	if !strings.HasPrefix(url, baseURL+path) || len(url) == len(baseURL+path) {
		return fmt.Sprintf("url %q", url)
	}
	delete(got, "url")
	if reflect.DeepEqual(got, want) {
		return ""
	}

	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	return fmt.Sprintf("%s\nwant %s", a, b)
}

func cloned(o object) object {
	c := object{}
	maps.Copy(c, o)
	return c
}

// TestEveryCardIsTrue compares every card's summary, detail and price entry, by id and by slug,
// with the files.
func TestEveryCardIsTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	slugs := map[string]string{}
	for from := 0; from < len(tr.cards); from += 100 {
		part := tr.cards[from:min(from+100, len(tr.cards))]
		var ids []string
		for _, k := range part {
			ids = append(ids, k.id)
		}

		body, _ := json.Marshal(object{"ids": ids})
		var cards struct {
			Data     []object
			NotFound []string `json:"not_found"`
		}
		r := w.try(t, scenario{path: "/v1/cards/batch", body: string(body)})
		r.decode(t, &cards)
		if len(cards.Data) != len(part) || len(cards.NotFound) != 0 {
			t.Fatalf("%d cards, %d not found of %d", len(cards.Data), len(cards.NotFound), len(part))
		}

		for i, k := range part {
			if diff := differs(cards.Data[i], tr.detail(k), "/cards/"); diff != "" {
				t.Errorf("card %s: %s", k.ref, diff)
			}
			url, _ := cards.Data[i]["url"].(string)
			slugs[k.id] = url[strings.LastIndexByte(url, '/')+1:]
		}

		var prices struct{ Data []object }
		r = w.try(t, scenario{path: "/v1/prices/batch", body: string(body)})
		r.decode(t, &prices)
		for i, k := range part {
			want, _ := tr.summary(k)["price"].(object)
			want["id"] = k.id
			if !reflect.DeepEqual(prices.Data[i], want) {
				t.Errorf("price of %s: %v, want %v", k.ref, prices.Data[i], want)
			}
		}
	}

	for i, k := range tr.cards {
		if i%(7*testsweep.Stride(5)) != 0 { // the table of slugs is one; a part of it is enough through single requests
			continue
		}

		byID := w.get(t, "/v1/cards/"+k.id)
		bySlug := w.get(t, "/v1/cards/"+slugs[k.id])
		if byID.status != http.StatusOK || string(byID.body) != string(bySlug.body) {
			t.Errorf("card %s by slug %q: %d %.200s", k.ref, slugs[k.id], bySlug.status, bySlug.body)
		}
		var detail object
		byID.decode(t, &detail)
		if diff := differs(detail, tr.detail(k), "/cards/"); diff != "" {
			t.Errorf("card %s alone: %s", k.ref, diff)
		}
	}
}

// TestEverySetIsTrue compares every set, its count and its most expensive cards with the files.
func TestEverySetIsTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	for _, s := range tr.sets {
		r := w.get(t, "/v1/sets/"+s.id)
		var got object
		r.decode(t, &got)
		want := s.summary()
		top := []any{}
		dear := slices.Clone(s.cards)
		slices.SortFunc(dear, func(a, b *trueCard) int {
			return cmp.Or(cmp.Compare(b.price(), a.price()), cmp.Compare(a.rank, b.rank))
		})

		for _, k := range dear[:min(10, len(dear))] {
			if k.price() >= 0 {
				top = append(top, object{
					"id": k.id, "name": k.name, "number": nullable(k.number), "currency": "USD",
					"market_price_cents": float64(k.price()),
				})
			}
		}

		list, _ := got["top_cards"].([]any)
		for i := range list {
			entry, _ := list[i].(object)
			if i < len(top) {
				if diff := differs(entry, top[i].(object), "/cards/"); diff != "" {
					t.Errorf("set %s, top card %d: %s", s.ref, i, diff)
				}
			}
		}

		if len(list) != len(top) {
			t.Errorf("set %s has %d top cards, want %d", s.ref, len(list), len(top))
		}
		delete(got, "top_cards")
		if diff := differs(got, want, "/sets/"); diff != "" {
			t.Errorf("set %s: %s", s.ref, diff)
		}

		url, _ := got["url"].(string)
		if bySlug := w.get(t, "/v1"+strings.TrimPrefix(url, baseURL)); string(bySlug.body) != string(r.body) {
			t.Errorf("set %s by slug: %.200s", s.ref, bySlug.body)
		}
	}
}

func (s *trueSet) summary() object {
	return object{
		"id": s.id, "name": s.name, "series": nullable(s.series), "release_date": nullable(s.released),
		"card_count": float64(len(s.cards)), "game": s.game, "game_name": gameNames[s.game],
	}
}

func TestGamesAreTrue(t *testing.T) {
	tr := todaysTruth()
	want := []any{}
	for _, game := range []string{"pokemon", "one-piece"} {
		sets := 0
		cards := 0
		for _, s := range tr.sets {
			if s.game == game {
				sets++
			}
		}

		for _, k := range tr.cards {
			if k.game == game {
				cards++
			}
		}
		want = append(want, object{"slug": game, "name": gameNames[game], "set_count": sets, "card_count": cards})
	}

	text, _ := json.Marshal(object{"data": want})
	shared().run(t, []scenario{
		{path: "/v1/games", want: []match{exact(string(text))}},
		{path: "/healthz", key: "-", want: []match{at("status", "ok"), at("snapshot_id", today().view.ID)}},
		{path: "/openapi.json", key: "-", want: []match{at("servers.0.url", baseURL)}},
	})
}

// historyJSON are the points of a history: the last n dates, by date and then in variant order.
func (tr *truth) historyJSON(lanes []*trueLane, n int) []any {
	points := []any{}
	for back := n - 1; back >= 0; back-- {
		for _, l := range lanes {
			if cents, ok := l.days.at(back); ok {
				points = append(points, object{
					"date": tr.day(back), "variant": l.variant, "market_price_cents": float64(cents), "currency": "USD",
				})
			}
		}
	}
	return points
}

// statsJSON are the statistics entries of lanes over the last n dates.
func (tr *truth) statsJSON(lanes []*trueLane, n int) []any {
	entries := []any{}
	for _, l := range lanes {
		sum := int64(0)
		count := int64(0)
		lo := int64(-1)
		hi := int64(-1)
		from := int64(0)
		to := int64(0)
		first := ""
		last := ""
		for back := n - 1; back >= 0; back-- {
			cents, ok := l.days.at(back)
			if !ok {
				continue
			}
			if count == 0 {
				first = tr.day(back)
				from = cents
				lo = cents
				hi = cents
			}

			last = tr.day(back)
			to = cents
			lo = min(lo, cents)
			hi = max(hi, cents)
			sum = sum + cents
			count = count + 1
		}

		if count == 0 {
			continue
		}
		entries = append(entries, object{
			"variant": l.variant, "min_price_cents": float64(lo), "max_price_cents": float64(hi),
			"average_price_cents": float64((2*sum + count) / (2 * count)),
			"first":               object{"date": first, "price_cents": float64(from)},
			"last":                object{"date": last, "price_cents": float64(to)},
			"change_cents":        float64(to - from), "change_percent": percent(from,
				to), "data_points": float64(count),
		})
	}
	return entries
}

// interesting are the planted cards and a spread of the others.
func (tr *truth) interesting() (cards []*trueCard) {
	sum := today().summary
	for _, places := range sum.Cases {
		for _, place := range places[:min(3, len(places))] {
			if k := tr.byRef[place.Ref]; k != nil {
				cards = append(cards, k)
			}
		}
	}

	for i := 0; i < len(tr.cards); i += 61 {
		cards = append(cards, tr.cards[i])
	}
	slices.SortFunc(cards, func(a, b *trueCard) int { return cmp.Compare(a.rank, b.rank) })
	return slices.Compact(cards)
}

// TestHistoriesAreTrue compares histories and statistics with the CSV files.
func TestHistoriesAreTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	points := 0
	entries := 0
	for i, k := range tr.interesting() {
		days := []int{90, 1, 7, 30, 365}[i%5]
		var history struct {
			ID, Name string
			Days     int
			Data     []any
		}

		r := w.get(t, fmt.Sprintf("/v1/cards/%s/prices?days=%d", k.id, days))
		r.decode(t, &history)
		want := tr.historyJSON(k.shown(), days)
		if history.ID != k.id || history.Name != k.name || history.Days != days ||
			!reflect.DeepEqual(append([]any{}, history.Data...), want) {
			t.Errorf("%s over %d days: %d points, want %d: %.300s", k.ref, days, len(history.Data), len(want), r.body)
		}

		points += len(want)
		window := []string{"7d", "30d", "90d"}[i%3]
		n := []int{7, 30, 90}[i%3]
		var stats struct {
			ID, Window  string
			Variant     *string
			WindowStart string `json:"window_start"`
			WindowEnd   string `json:"window_end"`
			Data        struct{ Variants []any }
		}
		r = w.get(t, fmt.Sprintf("/v1/cards/%s/price-stats?window=%s", k.id, window))
		r.decode(t, &stats)
		wantStats := tr.statsJSON(k.shown(), n)
		if stats.ID != k.id || stats.Window != window || stats.Variant != nil ||
			stats.WindowStart != tr.day(n-1)+"T00:00:00Z" ||
			stats.WindowEnd != tr.at.Format("2006-01-02T15:04:05Z") ||
			!reflect.DeepEqual(append([]any{}, stats.Data.Variants...), wantStats) {
			text, _ := json.Marshal(wantStats)
			t.Errorf("%s over %s: %.600s\nwant %s", k.ref, window, r.body, text)
		}

		entries += len(wantStats)
		for lane, l := range k.shown() {
			if (i+lane)%testsweep.Stride(2) != 0 {
				continue
			}

			written := strings.ToUpper(strings.ReplaceAll(l.variant, "_", "%20- "))
			written = strings.ReplaceAll(written, " ", "+")
			r = w.get(t, fmt.Sprintf("/v1/cards/%s/price-stats?window=%s&variant=%s", k.id, window, written))
			r.decode(t, &stats)
			if !reflect.DeepEqual(append([]any{}, stats.Data.Variants...), tr.statsJSON([]*trueLane{l}, n)) ||
				stats.Variant == nil || *stats.Variant != l.variant {
				t.Errorf("%s, variant %s: %.400s", k.ref, written, r.body)
			}

			r = w.get(t, fmt.Sprintf("/v1/cards/%s/prices?days=%d&variant=%s", k.id, days, written))
			r.decode(t, &history)
			if !reflect.DeepEqual(append([]any{}, history.Data...), tr.historyJSON([]*trueLane{l}, days)) {
				t.Errorf("%s, history of %s: %.400s", k.ref, written, r.body)
			}
		}
	}

	if points < 1000 || entries < 100 {
		t.Errorf("only %d points and %d entries compared", points, entries)
	}
}

// TestMoversAreTrue compares movers under every filter with the files.
func TestMoversAreTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	f := func(direction string, minimum int64, game string, set *trueSet, limit int) {
		t.Helper()
		type mover struct {
			k        *trueCard
			from, to int64
		}

		var all []mover
		for _, k := range tr.cards {
			l := k.display()
			if l == nil || l.now < minimum || game != "" && k.game != game || set != nil && k.set != set {
				continue
			}

			m := mover{k, tr.base(l, 7), l.now}
			if m.from > 0 && (direction == "up" && m.to > m.from || direction == "down" && m.to < m.from) {
				all = append(all, m)
			}
		}

		slices.SortFunc(all, func(a, b mover) int {
			size := func(m mover) (*big.Rat, int64) {
				d := max(m.to-m.from, m.from-m.to)
				return big.NewRat(d, m.from), d
			}
			ra, da := size(a)
			rb, db := size(b)
			return cmp.Or(rb.Cmp(ra), cmp.Compare(db, da), cmp.Compare(a.k.id, b.k.id))
		})

		query := "/v1/market/movers?direction=" + direction
		if minimum != 500 {
			query += fmt.Sprint("&min_price_cents=", minimum)
		}
		if limit != 20 {
			query += fmt.Sprint("&limit=", limit)
		}
		if game != "" {
			query += "&game=" + game
		}
		if set != nil {
			query += "&set=" + set.id
		}

		r := w.try(t, scenario{path: query})
		var got struct {
			Data      []object
			Direction string
			Period    int `json:"period_days"`
		}
		r.decode(t, &got)
		if got.Direction != direction || got.Period != 7 || len(got.Data) != min(limit, len(all)) {
			t.Errorf("%s: %d movers of %d, direction %s, period %d", query, len(got.Data), len(all), got.Direction,
				got.Period)
			return
		}

		for i, m := range all[:len(got.Data)] {
			want := m.k.identity()
			want["currency"] = "USD"
			want["market_price_cents"] = float64(m.to)
			want["price_change_cents"] = float64(m.to - m.from)
			want["price_change_percent"] = percent(m.from, m.to)
			want["price_updated_at"] = m.k.display().updatedAt()
			if diff := differs(got.Data[i], want, "/cards/"); diff != "" {
				t.Errorf("%s, mover %d: %s", query, i, diff)
			}
		}
	}

	for _, direction := range []string{"up", "down"} {
		f(direction, 500, "", nil, 20)
		f(direction, 0, "", nil, 50)
		f(direction, 0, "pokemon", nil, 1)
		f(direction, 10_000, "one-piece", nil, 50)
		for _, s := range tr.sets[:5] {
			f(direction, 0, "", s, 50)
			f(direction, 100, s.game, s, 7)
		}
	}
}
