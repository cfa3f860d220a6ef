package bench

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ninepocket/snapshot"
)

// argMaker makes a legal value of one argument, from an earlier value if there is one; "" leaves
// the argument out.
type argMaker func(r *rand.Rand, old string) string

// huntOp is an operation of the hunt: makers of its arguments, and a function that encodes a
// request.
type huntOp struct {
	name   string
	makers []argMaker
	encode func(values []string) []byte
	// follow encodes the request of the next page; nil for operations without pages. The last
	// argument is then the number of pages, which the hunter requests, because cursors are signed.
	follow func(values []string, cursor string) []byte
}

// first makes a request's arguments.
func (q *huntOp) first(r *rand.Rand) []string {
	values := make([]string, len(q.makers))
	for i, m := range q.makers {
		values[i] = m(r, "")
	}
	return values
}

// mutate changes a few arguments, some of them to their values in another request of the operation.
func (q *huntOp) mutate(r *rand.Rand, values, other []string) []string {
	values = slices.Clone(values)
	for range 1 + r.IntN(1+len(values)/3) {
		i := r.IntN(len(values))
		if r.IntN(4) == 0 {
			values[i] = other[i]
		} else {
			values[i] = q.makers[i](r, values[i])
		}
	}
	return values
}

// corpus has the values that arguments are made of: values of the catalog, and values that it
// lacks.
type corpus struct {
	words, names, sets, series, numbers, rarities, variants, cards, cardSlugs, former, setRefs, setSlugs []string

	keys       Keys
	selections []selection
}

func newCorpus(w *world) *corpus {
	c := w.view.Catalog
	g := &corpus{keys: w.sample.keys, selections: w.sample.selections}
	distinct := func(s *snapshot.Strings, limit int) (all []string) {
		step := max(s.Len()/limit, 1)
		for i := 0; i < s.Len(); i += step {
			if v := s.At(i); v != "" {
				all = append(all, v)
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}

	const many = 3000
	g.names = distinct(&c.Cards.Name, many)
	g.sets = distinct(&c.Sets.Name, many)
	g.series = distinct(&c.Sets.Series, many)
	g.numbers = distinct(&c.Cards.Number, many)
	g.rarities = distinct(&c.Cards.Rarity, many)
	g.variants = distinct(&c.Variants, many)
	g.former = distinct(&c.Registry.Slug, many)
	g.cardSlugs = distinct(&c.Cards.Slug, many)
	g.setSlugs = distinct(&c.Sets.Slug, many)
	g.cards = slices.Concat(distinct(&c.Cards.ID, many), g.cardSlugs)
	g.setRefs = slices.Concat(distinct(&c.Sets.ID, many), g.setSlugs)
	for _, s := range slices.Concat(g.names, g.sets) {
		g.words = append(g.words, strings.Fields(s)...)
	}

	slices.Sort(g.words)
	g.words = slices.Compact(g.words)
	return g
}

func pick(r *rand.Rand, all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[r.IntN(len(all))]
}

// clip truncates a text to limit characters.
func clip(s string, limit int) string {
	for utf8.RuneCountInString(s) > limit {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// typo changes one letter of a word.
func typo(r *rand.Rand, word string) string {
	letters := []rune(word)
	if len(letters) < 2 {
		return word
	}

	i := r.IntN(len(letters))
	letter := rune('a' + r.IntN(26))
	switch r.IntN(4) {
	case 0:
		letters = slices.Delete(letters, i, i+1)
	case 1:
		letters = slices.Insert(letters, i, letter)
	case 2:
		letters[i] = letter
	default:
		k := max(i, 1)
		letters[k-1], letters[k] = letters[k], letters[k-1] // air: a pair
	}
	return string(letters)
}

// word makes a word that may be expensive for a search.
func (g *corpus) word(r *rand.Rand) string {
	w := pick(r, g.words)
	switch r.IntN(11) {
	case 0:
		return typo(r, w)
	case 1, 2:
		return typo(r, typo(r, w))
	case 3:
		// A prefix of many words.
		return clip(w, 1+r.IntN(4))
	case 4:
		// Two words joined.
		return w + typo(r, pick(r, g.words))
	case 5:
		return pick(r, g.numbers)
	case 6:
		return strconv.Itoa(r.IntN(1000))
	case 7:
		return strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(40))

	// A word that no card has, of common letters.
	case 8:
		b := make([]byte, 3+r.IntN(12))
		for i := range b {
			b[i] = "aeiourstnlchd"[r.IntN(13)]
		}
		return string(b)
	case 9:
		return pick(r, []string{"é", "ポケモン", "δ", "☆", "ﬃ", "İ", "a\u0301\u0301\u0301", "★", "Ⅷ", "ß", "🃏", "２５"}) + w
	}
	return w
}

// text makes a text of words with at most limit characters, or changes one word of a text.
func (g *corpus) text(limit int) argMaker {
	return func(r *rand.Rand, old string) string {
		all := strings.Fields(old)
		if len(all) == 0 {
			for range 1 + r.IntN(40) {
				all = append(all, g.word(r))
			}
		}

		for range 1 + r.IntN(3) {
			switch i := r.IntN(len(all)); r.IntN(4) {
			case 0:
				all = append(all, g.word(r))
			case 1:
				all[i] = typo(r, all[i])
			case 2:
				all = slices.Insert(all, i, g.word(r))
			default:
				all[i] = g.word(r)
			}
		}

		separator := pick(r, []string{" ", " ", " ", " ", "-", "/", "'", ".", "&"})
		if s := strings.TrimSpace(clip(strings.Join(all, separator), limit)); s != "" {
			return s
		}
		return pick(r, g.names)
	}
}

// sometimes makes "" three times in four, else a value of m.
func sometimes(m argMaker) argMaker {
	return func(r *rand.Rand, old string) string {
		if r.IntN(4) > 0 {
			return ""
		}
		return m(r, old)
	}
}

// oneValue chooses one of the values, which may be "".
func oneValue(all ...string) argMaker {
	return func(r *rand.Rand, _ string) string { return pick(r, all) }
}

// oneMaker makes a value with one of the makers.
func oneMaker(all ...argMaker) argMaker {
	return func(r *rand.Rand, old string) string { return all[r.IntN(len(all))](r, old) }
}

func number(low, high int) argMaker {
	return func(r *rand.Rand, _ string) string { return strconv.Itoa(low + r.IntN(high-low+1)) }
}

// argument is a named argument with its maker.
type argument struct {
	name string
	make argMaker
}

// Arguments that several operations have.
func (g *corpus) set() argMaker {
	return oneMaker(oneValue(g.sets...), oneValue(g.setRefs...), g.text(200))
}

func (g *corpus) searched(words, game string) []argument {
	return []argument{
		{words, g.text(200)},
		{"set", sometimes(g.set())},
		{"game", sometimes(oneValue("pokemon", game))},
		{"number", sometimes(oneMaker(oneValue(g.numbers...), g.text(32)))},
		{"rarity", sometimes(oneMaker(oneValue(g.rarities...), g.text(64)))},
		{"min_price_cents", sometimes(number(0, 5000))},
		{"max_price_cents", sometimes(number(5000, 100_000_000))},
		{"sort", oneValue("relevance", "price_desc", "price_asc", "newest")},
		{"limit", oneValue("1", "20", "50", "50")},
	}
}

// encodings chooses the encoding that the client accepts.
func encodings() argMaker { return oneValue("", "gzip", "zstd") }

// get returns a GET operation. Its arguments are the query, the {id} of the pattern if it has one,
// and the encoding.
func (g *corpus) get(pattern, key string, ids argMaker, paged bool, arguments ...argument) huntOp {
	q := huntOp{name: "GET " + pattern}
	for _, a := range arguments {
		q.makers = append(q.makers, a.make)
	}

	if ids == nil {
		ids = oneValue("")
	}
	q.makers = append(q.makers, ids, encodings())
	encodePage := func(values []string, cursor string) []byte {
		query := url.Values{}
		for i, a := range arguments {
			if values[i] != "" {
				query.Set(a.name, values[i])
			}
		}

		if cursor != "" {
			query.Set("cursor", cursor)
		}
		n := len(arguments)
		return encode(http.MethodGet, strings.Replace(pattern, "{id}", url.PathEscape(values[n]),
			1)+"?"+query.Encode(), key, "", accepts(values[n+1])...)
	}
	q.encode = func(values []string) []byte { return encodePage(values, "") }
	if paged {
		q.makers = append(q.makers, oneValue("0", "0", "1", "3", "8"))
		q.follow = encodePage
	}
	return q
}

func accepts(encoding string) []string {
	if encoding == "" {
		return nil
	}
	return []string{"Accept-Encoding: " + encoding}
}

// reads returns the operations of the live surface, of products and of the pages whose arguments
// are in the target.
func (g *corpus) reads() []huntOp {
	live := g.keys.Live
	preview := g.keys.Preview
	card := oneValue(g.cards...)
	variant := sometimes(oneMaker(oneValue(g.variants...), g.text(64)))
	search := g.searched("q", "one-piece")
	blank := slices.Clone(search)
	blank[0].make = oneValue("")
	product := make([]string, 0, len(g.selections))
	for _, s := range g.selections {
		product = append(product, s.ProductID)
	}

	all := []huntOp{
		g.get("/v1/cards", live, nil, true, search...),
		g.get("/v1/cards", live, nil, true, blank...),
		g.get("/v1/cards/{id}", live, card, false),
		g.get("/v1/cards/{id}/prices", live, card, false, argument{"days", oneValue("30", "365", "365")},
			argument{"variant", variant}),
		g.get("/v1/cards/{id}/price-stats", live, card, false, argument{"window", oneValue("7d", "30d", "90d")},
			argument{"variant", variant}),
		g.get("/v1/games", live, nil, false),
		g.get("/v1/usage", live, nil, false),
		g.get("/v1/sets", live, nil, true, argument{"series", sometimes(oneMaker(oneValue(g.series...), g.text(200)))},
			argument{"game", oneValue("", "pokemon", "one-piece")}, argument{"limit", oneValue("1", "50")}),
		g.get("/v1/sets/{id}", live, oneValue(g.setRefs...), false),
		g.get("/v1/market/movers", live, nil, false, argument{"direction", oneValue("up", "down")},
			argument{"set", g.set()}, argument{"game", oneValue("", "pokemon", "one-piece")}, argument{
				"min_price_cents",
				number(0, 3000),
			}, argument{"limit", oneValue("50")}),
		g.get("/v1/products", preview, nil, true, argument{"game", oneValue("", "pokemon", "one_piece")},
			argument{"kind", oneValue("", "card", "sealed")}, argument{
				"partner_id",
				oneMaker(oneValue(""), number(0, 1_000_000)),
			}, argument{"limit", oneValue("1", "50")}),
		g.get("/v1/products/{id}", preview, oneValue(product...), false),
		g.get("/search", "", nil, false, search[:8]...),
		g.get("/search/suggest", "", nil, false, search[0]),
		g.get("/cards/{id}", "", oneValue(g.cardSlugs...), false, argument{"days", oneValue("30", "90", "365")}),
		g.get("/sets/{id}", "", oneValue(g.setSlugs...), false, argument{"sort", oneValue("", "price")},
			argument{"page", number(1, 9)}),
	}
	for _, path := range []string{"/", "/sets", "/movers", "/docs", "/sitemap.xml", "/openapi.json"} {
		all = append(all, g.get(path, "", nil, false))
	}

	all[1].name += ", filters alone"
	return all
}

// batches returns the operations with lists in their bodies.
func (g *corpus) batches() []huntOp {
	unknown := func(r *rand.Rand, _ string) string {
		return strings.Repeat(string(rune('a'+r.IntN(26))), 199) + strconv.Itoa(r.IntN(10))
	}

	card := oneValue(g.cards...)
	ref := oneMaker(card, card, card, oneValue(g.former...), unknown, g.text(200))
	batch := func(name, path string, n int) huntOp {
		q := huntOp{name: name, makers: append(slices.Repeat([]argMaker{ref}, n), encodings())}
		q.encode = func(values []string) []byte {
			ids := slices.DeleteFunc(slices.Clone(values[:n]), func(id string) bool { return id == "" })
			return encode(http.MethodPost, path, g.keys.Live, toJSON(map[string]any{"ids": ids}),
				accepts(values[n])...)
		}
		return q
	}

	const selections = 50
	one := func(r *rand.Rand, _ string) string {
		s := g.selections[r.IntN(len(g.selections))]
		if r.IntN(2) == 0 {
			s.Variant = clip(pick(r, g.variants)+strings.Repeat(" é", r.IntN(50)), 100)
		}
		if r.IntN(3) == 0 {
			s.ProductID = "prd_" + strings.Repeat("z", 10+r.IntN(50))
		}
		return toJSON(s)
	}

	priced := huntOp{name: "preview /v1/prices/batch", makers: append(slices.Repeat([]argMaker{one}, selections),
		encodings())}
	priced.encode = func(values []string) []byte {
		// An exact duplicate is refused.
		items := slices.Compact(slices.Sorted(slices.Values(values[:selections])))
		body := `{"items":[` + strings.Join(items, ",") + `]}`
		return encode(http.MethodPost, "/v1/prices/batch", g.keys.Preview, body, append(accepts(values[selections]),
			"Idempotency-Key: "+freshKey)...)
	}
	return []huntOp{batch("/v1/cards/batch", "/v1/cards/batch", 200), batch("live /v1/prices/batch",
		"/v1/prices/batch", 100), priced}
}

// freshKey is replaced by a unique key in every request.
const freshKey = "hunt-0000000000000000"

// tools returns the operations of the MCP tools.
func (g *corpus) tools() []huntOp {
	detail := argument{"response_format", oneValue("concise", "detailed")}
	game := argument{"game", oneValue("", "pokemon", "one-piece")}
	id := argument{"id", oneValue(g.cards...)}
	limit := argument{"limit", oneValue("10", "50", "50")}
	all := []huntOp{
		g.tool("catalog_search_cards", true, append(g.searched("query", "one-piece"), detail)...),
		g.tool("catalog_get_card", false, id, detail),
		g.tool("catalog_get_price_history", false, id, argument{"days", oneValue("90", "365")},
			argument{"variant", sometimes(oneValue(g.variants...))}, detail),
		g.tool("catalog_browse_sets", true, argument{"series", sometimes(oneMaker(oneValue(g.series...), g.text(200)))},
			game, limit, detail),
		g.tool("catalog_get_market_movers", false, argument{"direction", oneValue("up", "down")},
			argument{"set", sometimes(oneValue(g.sets...))}, game,
			argument{"min_price_cents", number(0, 3000)}, limit, detail),
	}

	const lines = 50
	line := []argument{
		{"name", oneMaker(g.text(200), g.text(200), oneValue(g.names...))},
		{"set", oneMaker(oneValue(""), g.set())},
		{"number", oneMaker(oneValue(""), oneValue(g.numbers...), g.text(32))},
		game,
		{"variant", sometimes(oneValue(g.variants...))},
	}
	value := huntOp{name: "catalog_value_cards"}
	for range lines {
		for _, a := range line {
			value.makers = append(value.makers, a.make)
		}
	}

	value.makers = append(value.makers, detail.make, encodings())
	value.encode = func(values []string) []byte {
		cards := make([]map[string]any, lines)
		for i := range cards {
			cards[i] = object(line, values[i*len(line):])
		}

		rest := values[lines*len(line):]
		return g.call(value.name, map[string]any{"cards": cards, "response_format": rest[0]}, rest[1])
	}
	all = append(all, value)

	// The same list over REST, which allows twice as many.
	const items = 2 * lines
	rest := huntOp{name: "/v1/valuations", makers: append(slices.Repeat(value.makers[:len(line)], items), encodings())}
	rest.encode = func(values []string) []byte {
		cards := make([]map[string]any, items)
		for i := range cards {
			cards[i] = object(line, values[i*len(line):])
		}
		return encode(http.MethodPost, "/v1/valuations", g.keys.Live, toJSON(map[string]any{"items": cards}),
			accepts(values[items*len(line)])...)
	}
	return append(all, rest)
}

// object returns the JSON object of the arguments that are not left out.
func object(arguments []argument, values []string) map[string]any {
	all := map[string]any{}
	for i, a := range arguments {
		n, err := strconv.Atoi(values[i])
		switch {
		case values[i] == "":
		case err == nil && slices.Contains([]string{"limit", "days", "min_price_cents", "max_price_cents"}, a.name):
			all[a.name] = n
		default:
			all[a.name] = values[i]
		}
	}
	return all
}

func (g *corpus) tool(name string, paged bool, arguments ...argument) huntOp {
	q := huntOp{name: name}
	for _, a := range arguments {
		q.makers = append(q.makers, a.make)
	}

	q.makers = append(q.makers, encodings())
	encodePage := func(values []string, cursor string) []byte {
		all := object(arguments, values)
		if cursor != "" {
			all["cursor"] = cursor
		}
		return g.call(name, all, values[len(arguments)])
	}

	q.encode = func(values []string) []byte { return encodePage(values, "") }
	if paged {
		q.makers = append(q.makers, oneValue("0", "0", "1", "3", "8"))
		q.follow = encodePage
	}
	return q
}

func (g *corpus) call(tool string, arguments map[string]any, encoding string) []byte {
	body := toJSON(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": arguments},
	})
	return encode(http.MethodPost, "/mcp", g.keys.Live, body,
		append(accepts(encoding), "Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2025-06-18")...)
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		// Strings and numbers do not fail.
		panic(err)
	}
	return string(text)
}
