package rivals

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/bench"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// plain is a server in a good Go programmer's first version: net/http, structs and encoding/json,
// over the engine, keys and limiter of package server. It takes all steps of a live request
// (authenticate, admit, find, encode, tag, charge, the headers), so that only the implementation
// differs.
type plain struct {
	view  *engine.View
	gate  *access.Gate
	clock access.Clock
}

// The response types of the live surface that the plain server has.
type (
	plainSet struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	plainPrice struct {
		Currency  string `json:"currency"`
		Cents     *int64 `json:"market_price_cents"`
		UpdatedAt string `json:"price_updated_at"`
	}
	plainCard struct {
		ID       string    `json:"id"`
		Name     string    `json:"name"`
		Number   *string   `json:"number"`
		Game     string    `json:"game"`
		GameName string    `json:"game_name"`
		Rarity   *string   `json:"rarity"`
		Set      *plainSet `json:"set"`
		Image    *string   `json:"image_url"`
		URL      *string   `json:"url"`
	}
	plainSummary struct {
		plainCard
		Price plainPrice `json:"price"`
	}
	plainDetail struct {
		plainCard
		Prices      []plainLane       `json:"prices"`
		Identifiers []plainIdentifier `json:"identifiers"`
		Product     *string           `json:"product_id"`
	}
	plainIdentifier struct {
		Namespace string `json:"namespace"`
		Value     string `json:"value"`
	}
	plainLane struct {
		Variant   string `json:"variant"`
		Condition string `json:"condition"`
		plainPrice
		Change7   *int64   `json:"change_7d_cents"`
		Percent7  *float64 `json:"change_7d_percent"`
		Change30  *int64   `json:"change_30d_cents"`
		Percent30 *float64 `json:"change_30d_percent"`
	}
	plainEntry struct {
		ID string `json:"id"`
		plainPrice
	}
	plainPage[T any] struct {
		Data []T     `json:"data"`
		Next *string `json:"next_cursor"`
	}
	plainBatch[T any] struct {
		Data     []T      `json:"data"`
		NotFound []string `json:"not_found"`
	}
)

// servePlain serves the store's current snapshot with a plain server.
func servePlain(ctx context.Context, task *bench.Task, _ io.Writer) error {
	now := time.Now()
	eng := engine.New(snapshot.OpenStore(task.Store), engine.Options{
		Site: wire.URLs{URL: "http://localhost", ProductPrefix: "prd"},
	})
	defer eng.Close()
	if err := eng.Open(now); err != nil {
		return err
	}
	ring, err := bench.LoadKeys(task.State)
	if err != nil {
		return err
	}

	gate := access.NewGate(ring, access.NewMemory(access.MemoryOptions{}))
	p := &plain{view: eng.View(), gate: gate, clock: access.StartClock(now)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	srv := &http.Server{Handler: p.routes(), ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second}
	go func() { <-ctx.Done(); _ = srv.Close() }()
	if err := bench.WriteReady(task.Ready, bench.Ready{API: "http://" + l.Addr().String()}); err != nil {
		return err
	}
	if err := srv.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

func (p *plain) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/cards/{id}", p.live(access.CardsGet, func(r *http.Request) (any, int) {
		card, ok := p.view.Index.Card(r.PathValue("id"))
		if !ok {
			return nil, http.StatusNotFound
		}
		return p.detail(card), http.StatusOK
	}))

	mux.HandleFunc("GET /v1/cards", p.live(access.CardsSearch, p.search))
	mux.HandleFunc("POST /v1/cards/batch", p.live(access.CardsBatch, func(r *http.Request) (any, int) {
		return batch(p, r, p.detail)
	}))

	mux.HandleFunc("POST /v1/prices/batch", p.live(access.PricesBatch, func(r *http.Request) (any, int) {
		return batch(p, r, func(card int) plainEntry {
			return plainEntry{
				p.view.Catalog.Cards.ID.At(card),
				p.price(card),
			}
		})
	}))
	return mux
}

// live does the steps that every live request needs.
func (p *plain) live(op access.Operation, answer func(*http.Request) (any, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := p.clock.At(time.Now())
		// The clock is read once per request, as in package server.
		principal, err := p.gate.Authenticate([]byte(r.Header.Get("X-Api-Key")), now)
		if err != nil || principal.Surface != keys.Live {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}

		decision := p.gate.Admit(principal, op, now)
		if decision.Result != access.Admitted {
			http.Error(w, "rate limited", http.StatusTooManyRequests)
			return
		}

		value, status := answer(r)
		// Charged before the response is written, because the headers have the remaining quota.
		receipt, err := p.gate.Finish(decision.Reservation, status == http.StatusOK)
		if err != nil || status != http.StatusOK {
			http.Error(w, "refused", status)
			return
		}

		body, err := encodePlain(value)
		if err != nil {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		p.header(w.Header(), &decision, &receipt, body, r.Method)
		// An error means that the client is gone.
		_, _ = w.Write(body)
	}
}

// encodePlain is json.Marshal without its escapes for HTML, so that the bytes are equal to those of
// the other servers.
func encodePlain(value any) ([]byte, error) {
	var w bytes.Buffer
	enc := json.NewEncoder(&w)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), err
}

// header sets the headers of the live surface.
func (p *plain) header(h http.Header, d *access.Decision, receipt *access.Charge, body []byte, method string) {
	var id [12]byte
	// Never fails.
	_, _ = rand.Read(id[:])
	h.Set("X-Request-Id", "req_"+hex.EncodeToString(id[:]))
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	h.Set("RateLimit-Policy",
		`"minute";q=`+decimal(d.Minute.Limit)+`;w=60, "day";q=`+decimal(receipt.Quota.Limit)+`;w=86400`)
	h.Set("RateLimit", `"minute";r=`+decimal(d.Minute.Remaining)+`;t=`+decimal(d.Minute.Wait)+
		`, "day";r=`+decimal(receipt.Quota.Remaining)+`;t=`+decimal(receipt.Quota.Wait))

	h.Set("X-RateLimit-Limit", strconv.FormatInt(d.Minute.Limit, 10))
	h.Set("X-RateLimit-Remaining", strconv.FormatInt(d.Minute.Remaining, 10))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(d.Minute.Reset, 10))
	h.Set("X-Snapshot-Id", p.view.ID)
	h.Set("Vary", "Authorization, X-API-Key, Accept-Encoding")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if method == http.MethodPost {
		h.Set("Cache-Control", "no-store")
		return
	}

	h.Set("Cache-Control", "private, max-age=60")
	h.Set("ETag", fmt.Sprintf("%q", strconv.FormatUint(xxhash.Sum64(body), 36)))
}

func (p *plain) search(r *http.Request) (any, int) {
	values := r.URL.Query()
	query := index.Query{Filter: index.NoFilter, Words: values.Get("q"), HasWords: values.Has("q")}
	query.Game = values.Get("game")
	query.Sort = index.ParseSort(values.Get("sort"))
	for name, bound := range map[string]*int64{"min_price_cents": &query.Min, "max_price_cents": &query.Max} {
		if values.Has(name) {
			n, err := strconv.ParseInt(values.Get(name), 10, 64)
			if err != nil {
				return nil, http.StatusUnprocessableEntity
			}
			*bound = n
		}
	}

	limit := 20
	if values.Has("limit") {
		limit, _ = strconv.Atoi(values.Get("limit"))
	}
	if limit < 1 || limit > 50 {
		return nil, http.StatusUnprocessableEntity
	}

	page := p.view.Cards(nil, query, nil, limit)
	out := plainPage[plainSummary]{Data: make([]plainSummary, len(page.Cards))}
	for i, card := range page.Cards {
		out.Data[i] = plainSummary{p.card(int(card)), p.price(int(card))}
	}

	if page.More {
		next := hex.EncodeToString(page.Last.AppendBinary(nil))
		out.Next = &next
	}
	return out, http.StatusOK
}

// batch returns the response to a batch of ids, with one element for each known id.
func batch[T any](p *plain, r *http.Request, element func(card int) T) (any, int) {
	var body struct{ IDs []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, http.StatusBadRequest
	}

	out := plainBatch[T]{Data: make([]T, 0, len(body.IDs)), NotFound: []string{}}
	for _, id := range body.IDs {
		if card, ok := p.view.Index.Card(id); ok {
			out.Data = append(out.Data, element(card))
		} else {
			out.NotFound = append(out.NotFound, id)
		}
	}
	return out, http.StatusOK
}

func (p *plain) card(card int) plainCard {
	c := p.view.Catalog
	game := int(c.Cards.Game[card])
	out := plainCard{
		ID: c.Cards.ID.At(card), Name: c.Cards.Name.At(card), Number: optional(c.Cards.Number.At(card)),
		Game: c.Games.Slug.At(game), GameName: c.Games.Name.At(game), Rarity: optional(c.Cards.Rarity.At(card)),
		URL: optional(p.view.Site().URL + "/cards/" + c.Cards.Slug.At(card)),
	}

	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		out.Set = &plainSet{c.Sets.ID.At(int(set)), c.Sets.Name.At(int(set))}
	}
	return out
}

func (p *plain) price(card int) plainPrice {
	cents, at := p.view.Catalog.DisplayPrice(card)
	return priceOf(cents, at)
}

func priceOf(cents, at int64) plainPrice {
	out := plainPrice{Currency: "USD", UpdatedAt: time.UnixMilli(at).UTC().Format(time.RFC3339)}
	if cents != snapshot.NoCents {
		out.Cents = &cents
	}
	return out
}

func (p *plain) detail(card int) plainDetail {
	c := p.view.Catalog
	out := plainDetail{plainCard: p.card(card), Prices: []plainLane{}, Identifiers: []plainIdentifier{}}
	for k, to := c.Identifiers.Of.Range(card); k < to; k++ {
		namespace := snapshot.PublicNamespace(c.Identifiers.Namespace.At(k))
		out.Identifiers = append(out.Identifiers, plainIdentifier{namespace, c.Identifiers.Value.At(k)})
	}
	if c.Cards.Product[card] != 0 {
		id := p.view.Site().ProductPrefix + "_" + index.ProductTail(c, card)
		out.Product = &id
	}

	from, to := c.Lanes.Of.Range(card)
	for lane := from; lane < to; lane++ {
		if c.Lanes.Cents[lane] < 0 {
			continue
		}

		one := plainLane{
			Variant:    c.Variants.At(int(c.Lanes.Variant[lane])),
			Condition:  snapshot.Condition(c.Lanes.Condition[lane]).Text(),
			plainPrice: priceOf(c.Lanes.Cents[lane], c.UpdatedAt(lane)),
		}
		one.Change7, one.Percent7 = changed(c.Lanes.Price7DaysAgo[lane], c.Lanes.Cents[lane])
		one.Change30, one.Percent30 = changed(c.Lanes.Price30DaysAgo[lane], c.Lanes.Cents[lane])
		out.Prices = append(out.Prices, one)
	}
	return out
}

// changed returns the change from a base in cents, and in percent with two decimals.
func changed(base, cents int64) (difference *int64, percent *float64) {
	if base == snapshot.NoCents {
		return nil, nil
	}

	d := cents - base
	if base == 0 {
		return &d, nil
	}
	share := math.Round(float64(d)*10_000/float64(base)) / 100
	return &d, &share
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
