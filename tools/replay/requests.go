package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
)

// card is a card of the demo, as its own list returns it, for requests about it.
type card struct {
	ID, Name, Number, Game, Rarity, URL string
	Set                                 struct{ ID, Name string }
}

func (c *card) slug() string { return c.URL[strings.LastIndexByte(c.URL, '/')+1:] }

// everything sends all requests, in an order that a seed fixes.
func (a *asker) everything() {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same requests each time
	cards := a.walk("/v1/cards?sort=newest&limit=50", 12)
	if len(cards) == 0 {
		return
	}

	a.searches(random, cards)
	a.singleCards(random, cards)
	a.sets(random, cards)
	a.batches(random, cards)
	a.valuations(random, cards)
	a.products()
	a.mistakes(cards)
	a.tools(random, cards)
	a.sitePages(random, cards)
	a.get("bench", "/v1/usage")
	a.get("preview_bench", "/v1/usage")
}

// get requests a target with a live key, and again with the ETag of the response.
func (a *asker) get(key, target string) string {
	body, header := a.one(key, target)
	if tag := header.Get("ETag"); tag != "" {
		a.one(key, target, "If-None-Match: "+tag)
	}
	return body
}

// one requests a target once.
func (a *asker) one(key, target string, lines ...string) (body string, header http.Header) {
	return a.send(request{key: key, method: "GET", target: target, header: lines})
}

// post sends a body, which is JSON unless a header says otherwise.
func (a *asker) post(key, target, body string, header ...string) {
	a.send(request{key: key, method: "POST", target: target, body: body, header: header})
}

// walk follows the cursors of a list for some pages and returns its cards.
func (a *asker) walk(target string, pages int) (cards []card) {
	cursor := ""
	for range pages {
		next := target
		if cursor != "" {
			next += "&cursor=" + cursor
		}

		var page struct {
			Data       []card
			NextCursor string `json:"next_cursor"`
		}
		_ = json.Unmarshal([]byte(a.get("bench", next)), &page)
		cards = append(cards, page.Data...)
		cursor = page.NextCursor
		if cursor == "" {
			break
		}
	}
	return cards
}

// misspell makes one typing error in a word.
func misspell(random *rand.Rand, text string) string {
	letters := []rune(text)
	at := random.IntN(len(letters))
	switch random.IntN(4) {
	case 0:
		letters[at] = rune('a' + random.IntN(26))
	case 1:
		letters = append(letters[:at], letters[at+1:]...)
	case 2:
		letters = append(letters[:at+1], letters[at:]...)
	default:
		if at > 0 {
			letters[at-1], letters[at] = letters[at], letters[at-1] // air: a swap
		}
	}
	return string(letters)
}

// phrasings returns queries that people would type for a card.
func phrasings(random *rand.Rand, c *card) []string {
	half := []rune(c.Name)
	return []string{
		c.Name, strings.ToLower(c.Name), misspell(random, c.Name), string(half[:(len(half)+1)/2]),
		c.Name + " " + c.Set.Name, c.Set.Name + " " + c.Name, c.Name + " " + c.Number, c.Number,
		c.Name + " " + c.Rarity, c.Name + " #" + strings.Split(c.Number, "/")[0], misspell(random,
			c.Name) + " " + c.Number,
		c.Set.Name + " " + strings.Split(c.Number, "/")[0], strings.ReplaceAll(c.Name, " ", ""),
		c.Name + " holo psa 10",
		c.Name + " first edition near mint", c.Name + " booster box",
	}
}

// queries are queries that do not depend on the cards of the demo.
var queries = []string{
	"charizard", "glurak", "リザードン", "dracaufeu", "umbreon sir", "pikachu promo", "cheapest charizard",
	"cards over $100",
	"top 10", "luffy leader", "zoro alt art", "ace", "op01", "gg44", "4/102", "201/165", "tg20", "151",
	"base set", "jungle",
	"reverse holo", "full art trainer", "gold star", "shiny", "mewtwo secret rare", "psa 10",
	"japanese charizard", "ex", "gx",
	"v", "vmax",
	"vstar", "tag team", "delta species", "nidoran", "nidoran ♀", "farfetch'd", "mr mime", "porygon z", "ho-oh",
	"flabébé", "a", "zzzzzz", "charizrad", "pikachuu", "mewto", "booster box evolving skies", "the", "100%",
	"\"quoted\"", "🙂",
	"ｐｉｋａｃｈｕ", "nika luffy", "gear 5", "straw hat crew", "don!!", "st01-001", "eb01", "prb01",
	"white beard", "shanks manga",
}

func (a *asker) searches(random *rand.Rand, cards []card) {
	for _, q := range queries {
		a.get("bench", "/v1/cards?q="+url.QueryEscape(q))
		a.one("-", "/search?q="+url.QueryEscape(q))
		a.one("-", "/search/suggest?q="+url.QueryEscape(q))
	}
	for range 40 {
		c := cards[random.IntN(len(cards))]
		for _, q := range phrasings(random, &c) {
			a.one("bench", "/v1/cards?limit=5&q="+url.QueryEscape(q))
		}
	}

	filters := func(c card) []string {
		return []string{
			"game=" + c.Game, "game=Pok%C3%A9mon", "set=" + c.Set.ID, "set=" + url.QueryEscape(c.Set.Name),
			"number=" + url.QueryEscape(c.Number), "number=" + strings.Split(c.Number, "/")[0],
			"rarity=" + url.QueryEscape(c.Rarity), "variant=holofoil", "variant=reverse_holofoil",
			"min_price_cents=500",
			"max_price_cents=20000", "released_after=2020-01-01", "released_before=2023-12-31",
			"updated_since=2026-08-20T00:00:00Z", "sort=price_desc", "sort=price_asc", "sort=newest",
			"sort=relevance",
			"limit=50", "limit=1", "q=" + url.QueryEscape(c.Name), "unknown=1", "identifier=tcgplayer:42382",
		}
	}
	for range 250 {
		c := cards[random.IntN(len(cards))]
		all := filters(c)
		var picked []string
		for range 1 + random.IntN(4) {
			picked = append(picked, all[random.IntN(len(all))])
		}
		a.one("bench", "/v1/cards?"+strings.Join(picked, "&"))
	}
	for _, sort := range []string{"price_desc", "price_asc", "newest"} {
		a.walk("/v1/cards?limit=20&game=one-piece&sort="+sort, 5)
	}
	a.walk("/v1/cards?limit=10&q=charizard", 5)
}

func (a *asker) singleCards(random *rand.Rand, cards []card) {
	for i := range 90 {
		c := cards[random.IntN(len(cards))]
		ref := c.ID
		if i%2 == 1 {
			ref = c.slug()
		}
		a.get("bench", "/v1/cards/"+ref)
		a.send(request{key: "bench", method: "HEAD", target: "/v1/cards/" + ref})
		a.get("bench", fmt.Sprintf("/v1/cards/%s/prices?days=%d", ref, []int{7, 30, 90, 365}[i%4]))
		a.get("bench", fmt.Sprintf("/v1/cards/%s/price-stats?window=%s", ref, []string{
			"7d", "30d", "90d",
			"365d",
		}[i%4]))
		a.one("bench", "/v1/cards/"+ref, "Accept-Encoding: gzip")
	}

	for _, key := range []string{
		"free", "starter", "pro", "business", "sandbox", "revoked", "preview", "-",
		"npk_live_nobody",
	} {
		c := cards[1]
		a.one(key, "/v1/cards/"+c.ID)
		a.one(key, "/v1/cards/"+c.ID+"/prices?days=365")
		a.one(key, "/v1/cards/"+c.ID+"/price-stats?window=90d")
		a.one(key, "/v1/usage")
	}
}

func (a *asker) sets(random *rand.Rand, cards []card) {
	a.get("bench", "/v1/games")
	a.get("bench", "/v1/facets")
	for _, target := range []string{
		"", "?limit=50", "?q=base", "?q=jungel", "?series=Base",
		"?game=one-piece", "?game=pokemon&limit=5",
	} {
		a.get("bench", "/v1/sets"+target)
	}
	for range 25 {
		a.get("bench", "/v1/sets/"+cards[random.IntN(len(cards))].Set.ID)
	}

	for _, direction := range []string{"up", "down"} {
		for _, rest := range []string{
			"", "&period=1", "&period=7", "&period=30", "&game=pokemon", "&min_price_cents=1000", "&limit=50",
			"&set=" + cards[3].Set.ID, "&period=7d", "&period=30d",
		} {
			a.get("bench", "/v1/market/movers?direction="+direction+rest)
		}
	}
}

// quoted returns a field of a CSV file.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

func (a *asker) batches(random *rand.Rand, cards []card) {
	for _, n := range []int{1, 3, 20, 50, 51, 100, 200, 201} {
		var ids []string
		for range n {
			ids = append(ids, cards[random.IntN(len(cards))].ID)
		}
		ids[n/2] = "nothing"
		body, _ := json.Marshal(map[string]any{"ids": ids})
		for _, target := range []string{"/v1/cards/batch", "/v1/prices/batch"} {
			a.post("bench", target, string(body))
			a.post("free", target, string(body))
		}
	}

	products := a.productIDs("card")
	sealed := a.productIDs("sealed")
	if len(products) == 0 || len(sealed) == 0 {
		a.err = errors.New("the demo has no products")
		return
	}
	for i := range 40 {
		var items []string
		for range 1 + random.IntN(6) {
			id := products[random.IntN(len(products))]
			variant := []string{"normal", "holofoil", "reverse_holofoil", "unlimited_holofoil"}[random.IntN(4)]
			items = append(items, fmt.Sprintf(`{"kind":"card","product_id":%q,"variant":%q,"condition":%q}`,
				id, variant,
				[]string{"near_mint", "ungraded", "lightly_played"}[random.IntN(3)]),
				fmt.Sprintf(`{"kind":"sealed","product_id":%q}`, sealed[random.IntN(len(sealed))]))
		}
		body := `{"items":[` + strings.Join(items, ",") + `]}`
		key := fmt.Sprintf("Idempotency-Key: k%d", i)
		for range 2 { // the second is a replay
			a.send(request{
				key: "preview_bench", method: "POST", target: "/v1/prices/batch",
				header: []string{key}, body: body,
			})
		}
		a.send(request{
			key: "preview_bench", method: "POST", target: "/v1/prices/batch",
			header: []string{key}, body: `{"items":[]}`,
		})
		a.send(request{
			key: "preview_small", method: "POST", target: "/v1/prices/batch",
			header: []string{key}, body: body,
		})
	}
}

func (a *asker) valuations(random *rand.Rand, cards []card) {
	line := func(c *card) string {
		templates := []string{
			c.Name + " " + c.Number, "2x " + c.Name + " (" + c.Set.Name + ") " + c.Number + " NM", c.Name,
			c.Name + " reverse holo x3",
			"4 " + c.Name + " " + c.Set.Name, misspell(random, c.Name) + " " + c.Number,
			c.Name + " 1st edition psa 9",
			c.Number + " " + c.Set.Name, c.Name + " booster box", "??? " + c.Name,
		}
		return templates[random.IntN(len(templates))]
	}
	for range 60 {
		var items, lines []map[string]any
		var text, exported strings.Builder
		exported.WriteString("Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language," +
			"Rarity,Product ID,SKU\n")
		for range 1 + random.IntN(8) {
			c := cards[random.IntN(len(cards))]
			items = append(items, map[string]any{"line": line(&c)}, map[string]any{
				"name": c.Name, "set": c.Set.Name,
				"number": c.Number, "quantity": 2, "variant": "holofoil",
			}, map[string]any{"id": c.ID})
			lines = append(lines, map[string]any{"name": line(&c), "quantity": 1 + random.IntN(3)})
			text.WriteString(line(&c) + "\n")
			fmt.Fprintf(&exported, "%d,%s,%[2]s,%s,%s,,Normal,Near Mint,English,%s,,\n", 1+random.IntN(4),
				quoted(c.Name), quoted(c.Set.Name),
				c.Number, c.Rarity)
		}

		body, _ := json.Marshal(map[string]any{"items": items})
		a.post("bench", "/v1/valuations", string(body))
		a.send(request{
			key: "bench", method: "POST", target: "/v1/valuations", body: exported.String(),
			header: []string{"Content-Type: text/csv"},
		})
		for _, list := range []string{text.String(), exported.String()} {
			a.send(request{
				key: "-", method: "POST", target: "/value", body: url.Values{"lines": {list}}.Encode(),
				header: []string{"Content-Type: application/x-www-form-urlencoded"},
			})
		}
		a.send(request{
			key: "-", method: "POST", target: "/value",
			header: []string{"Content-Type: application/x-www-form-urlencoded"},
			body:   url.Values{"lines": {text.String()}, "as": {"csv"}}.Encode(),
		})
		a.tool("catalog_value_cards", map[string]any{"cards": lines})
	}
}

// productIDs lists the products of a partner by kind, requests some of each page, and returns the
// ids.
func (a *asker) productIDs(kind string) (ids []string) {
	cursor := ""
	for range 15 {
		var page struct {
			Data []struct {
				ID string
			}
			Pagination struct {
				NextCursor string `json:"next_cursor"`
			}
		}
		target := "/v1/products?limit=50&kind=" + kind
		if cursor != "" {
			target += "&cursor=" + cursor
		}
		_ = json.Unmarshal([]byte(a.get("preview_bench", target)), &page)

		for i, product := range page.Data {
			ids = append(ids, product.ID)
			if i%10 == 0 {
				a.get("preview_bench", "/v1/products/"+product.ID)
			}
		}
		cursor = page.Pagination.NextCursor
		if cursor == "" {
			break
		}
	}
	return ids
}

func (a *asker) products() {
	for _, rest := range []string{
		"?kind=sealed", "?kind=card", "?game=pokemon", "?game=one_piece",
		"?partner_id=42382", "?limit=201", "?x=1",
	} {
		for _, key := range []string{"preview_bench", "preview_catalog", "preview_rival", "bench", "-"} {
			a.one(key, "/v1/products"+rest)
		}
	}
}
