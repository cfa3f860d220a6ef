package server

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Bounds of the specification's parameters.
const (
	maxPage, defaultPage = 50, 20
	maxPriceBound        = 100_000_000
	maxLiveCursor        = 512
	maxID                = 200
	maxText, maxShort    = 200, 64
	maxCollectorNumber   = 32
	maxDays, defaultDays = 365, 90
	moversMinPrice       = 500
)

// games answers GET /v1/games.
func (x *exchange) games() *wire.Fault {
	if f := x.invalid(); f != nil {
		return f
	}
	x.stored = x.view.Games()
	return nil
}

// cardsSearch answers GET /v1/cards.
func (x *exchange) cardsSearch() *wire.Fault {
	q := index.Query{Filter: index.NoFilter}
	q.Words, q.HasWords = x.textArg("q", maxText)
	if q.HasWords && strings.TrimSpace(q.Words) == "" {
		x.problem("q must not be blank")
	}
	q.Set, _ = x.textArg("set", maxText)
	q.Game, _ = x.textArg("game", maxShort)
	q.Number, _ = x.textArg("number", maxCollectorNumber)
	q.Rarity, _ = x.textArg("rarity", maxShort)
	q.Min = x.intArg("min_price_cents", 0, maxPriceBound, snapshot.NoCents)
	q.Max = x.intArg("max_price_cents", 0, maxPriceBound, snapshot.NoCents)
	if q.Max != snapshot.NoCents && q.Min > q.Max {
		x.problem("min_price_cents must not be more than max_price_cents")
	}
	sort := x.oneOf("sort", "relevance", "relevance", "price_desc", "price_asc", "newest")
	q.Sort, _ = index.ParseSort(sort)
	limit := int(x.intArg("limit", 1, maxPage, defaultPage))

	bound := cursor.Hash("cards", q.Words, q.Set, q.Game, q.Number, q.Rarity, decimal(q.Min), decimal(q.Max), sort)
	var after *index.Position
	if page, ok := x.openCursor(cursor.Cards, bound); ok {
		position, err := index.ParsePosition(page.Position)
		if err != nil {
			x.problem(cursorProblem(cursor.ErrMalformed))
		}
		after = &position
	}
	if f := x.invalid(); f != nil {
		return f
	}
	page := x.view.Cards(x.cards[:0], q, after, limit)
	x.cards = page.Cards
	x.body = append(x.body, `{"data":[`...)
	x.body = x.view.AppendSummaries(x.body, page.Cards)
	x.body = append(x.body, ']')
	if page.More {
		x.text = page.Last.AppendBinary(x.text[:0])
		x.appendNext(cursor.Cards, bound, x.text)
	} else {
		x.appendNoNext()
	}
	x.body = append(x.body, '}')
	x.tagQuery(page.More)
	return nil
}

// openCursor reads the cursor parameter and turns the exchange to the View that the walk began in, when it is still
// kept. Problems are noted.
func (x *exchange) openCursor(op cursor.Op, bound uint64) (cursor.Page, bool) {
	token, ok := x.textArg("cursor", maxLiveCursor)
	if !ok || len(x.problems) > 0 {
		return cursor.Page{}, false
	}
	page, err := x.s.Cursors.Open(token, op, bound, x.time)
	if err != nil {
		x.problem(cursorProblem(err))
		return cursor.Page{}, false
	}
	if kept := x.s.Engine.Retained(page.Snapshot); kept != nil {
		x.view = kept
	}
	return page, true
}

// cursorProblem says what is wrong with a cursor and what to do (decision 29).
func cursorProblem(err error) string { return err.Error() + ", start again from the first page" }

// appendNext appends next_cursor, which is new each time, and sets the Link header.
func (x *exchange) appendNext(op cursor.Op, bound uint64, position []byte) {
	x.varying = len(x.body)
	x.body = append(x.body, `,"next_cursor":"`...)
	from := len(x.body)
	x.body = x.s.Cursors.Append(x.body, cursor.Page{Op: op, Snapshot: x.view.Hash, Position: position}, bound, x.time)
	token := x.body[from:]
	x.link = append(x.link[:0], '<')
	x.link = append(x.link, x.s.BaseURL...)
	x.link = append(x.link, x.path.pattern...)
	x.link = append(x.link, '?')
	for i := range x.args.known {
		if a := &x.args.known[i]; a.given > 0 && a.name != "cursor" {
			x.link = append(x.link, a.name...)
			x.link = append(x.link, '=')
			x.link = appendEscaped(x.link, a.value)
			x.link = append(x.link, '&')
		}
	}
	x.link = append(x.link, "cursor="...)
	x.link = append(x.link, token...)
	x.link = append(x.link, `>; rel="next"`...)
	x.body = append(x.body, '"')
}

func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; isWord(c) || c == '-' || c == '.' || c == '~' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return dst
}

func (x *exchange) appendNoNext() { x.body = append(x.body, `,"next_cursor":null`...) }

// tagQuery makes the validator of an answer whose body holds a cursor, which is different each time: it comes from
// the snapshot and the request (decision 9). It changes long before that cursor expires: a client that revalidates for
// ever must not be told to keep a page whose cursor is dead.
func (x *exchange) tagQuery(more bool) {
	x.text = append(x.text[:0], x.view.ID...)
	x.text = append(x.text, x.path.pattern...)
	for i := range x.args.known {
		a := &x.args.known[i]
		x.text = append(x.text, byte(len(a.value)), byte(len(a.value)>>8), byte(a.given))
		x.text = append(x.text, a.value...)
	}
	if more {
		x.text = binary.AppendVarint(x.text, x.time.UnixMilli()/(cursor.Lifetime/3).Milliseconds())
	}
	x.etag, x.hasETag = cursor.Hash(string(x.text)), true
}

// cardID finds the card that the path names; false is a 404.
func (x *exchange) cardID() (int, bool) {
	ref, ok := x.pathID()
	if !ok {
		return 0, false
	}
	return x.view.Index.Card(ref)
}

// pathID decodes the path's {id}. What decision 4 refuses is not found. The id lives in the exchange's scratch for
// header values: it is to be looked up at once.
func (x *exchange) pathID() (string, bool) {
	raw := unsafe.String(unsafe.SliceData(x.param), len(x.param))
	if x.param == nil {
		raw, _ = x.ctx.UserValue("id").(string)
	}
	x.text = x.text[:0]
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		if b == '%' {
			if i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2]) {
				return "", false
			}
			b = hexValue(raw[i+1])<<4 | hexValue(raw[i+2])
			i += 2
			if b == '/' {
				return "", false
			}
		}
		x.text = append(x.text, b)
	}
	ref := unsafe.String(unsafe.SliceData(x.text), len(x.text))
	return ref, textProblem(ref) == "" && utf8.RuneCountInString(ref) <= maxID
}

func noCard() *wire.Fault {
	return &wire.Fault{Code: wire.NotFound, Detail: "No card has this id or slug."}
}

// cardsGet answers GET /v1/cards/{id}.
func (x *exchange) cardsGet() *wire.Fault {
	if f := x.invalid(); f != nil {
		return f
	}
	card, ok := x.cardID()
	if !ok {
		return noCard()
	}
	x.stored = x.view.Detail(card)
	x.etag, x.hasETag = x.view.DetailTag(card), true
	return nil
}

// cardsBatch answers POST /v1/cards/batch.
func (x *exchange) cardsBatch() *wire.Fault {
	return x.batch(200, x.principal.Plan.MaxCards, x.view.Detail)
}

// pricesBatch answers POST /v1/prices/batch of the live surface.
func (x *exchange) pricesBatch() *wire.Fault {
	return x.batch(100, x.principal.Plan.MaxPrices, x.view.Entry)
}

// cardPrices answers GET /v1/cards/{id}/prices.
func (x *exchange) cardPrices() *wire.Fault {
	days := int(x.intArg("days", 1, maxDays, defaultDays))
	variant, _ := x.textArg("variant", maxShort)
	if f := x.invalid(); f != nil {
		return f
	}
	card, ok := x.cardID()
	if !ok {
		return noCard()
	}
	x.body = x.view.AppendHistory(x.body, card, min(days, x.principal.Plan.HistoryDays), variant)
	return nil
}

// cardPriceStats answers GET /v1/cards/{id}/price-stats.
func (x *exchange) cardPriceStats() *wire.Fault {
	window := x.oneOf("window", "30d", "7d", "30d", "90d")
	variant, _ := x.textArg("variant", maxShort)
	if f := x.invalid(); f != nil {
		return f
	}
	plan := x.principal.Plan
	if !plan.Stats() {
		return &wire.Fault{Code: wire.PlanLimit, Detail: "Price statistics need a paid plan: starter, pro or business."}
	}
	w := map[string]int{"7d": 0, "30d": 1, "90d": 2}[window]
	if snapshot.StatWindows[w] > plan.StatsWindow {
		return &wire.Fault{Code: wire.PlanLimit, Detail: "The plan's statistics reach back " + decimal(int64(plan.StatsWindow)) + " days at most."}
	}
	card, ok := x.cardID()
	if !ok {
		return noCard()
	}
	x.body = x.view.AppendStats(x.body, engine.StatsQuery{
		Card: card, Variant: variant, Window: w, Name: window, MaxDays: plan.HistoryDays,
	})
	return nil
}
