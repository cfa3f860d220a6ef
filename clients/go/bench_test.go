package ninepocket

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// card is a card in the API's responses.
const card = `{"id":"card_5vfvbdg5zt4y47pl","name":"Charizard","number":"4/102","game":"pokemon",` +
	`"game_name":"Pokémon","rarity":"Rare Holo","set":{"id":"set_4vivkexbbqnj2ti5","name":"Kanto Classic"},` +
	`"image_url":null,"url":null,"prices":[{"variant":"holofoil","condition":"Near Mint","currency":"USD",` +
	`"market_price_cents":45000,"price_updated_at":"2026-11-21T16:08:10Z","change_7d_cents":2295,` +
	`"change_7d_percent":5.37,"change_30d_cents":3465,"change_30d_percent":8.34}],"identifiers":[],"product_id":null}`

// BenchmarkCard compares a call of the client with net/http, request, body and decoding included.
// Both talk over loopback to one server, by turns, so that both have equal conditions.
func BenchmarkCard(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, card)
	}))
	defer server.Close()
	const id = "card_5vfvbdg5zt4y47pl"
	client := New(server.URL, "npk_live_x", Options{})
	bare := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}

	ask := func() error {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/v1/cards/"+id, nil)
		if err != nil {
			return err
		}
		request.Header.Set("X-API-Key", "npk_live_x")
		response, err := bare.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()

		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, new(CardDetail))
	}
	call := func() error {
		_, err := client.Card(b.Context(), id, CardsGetParams{})
		return err
	}

	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("turns", func(b *testing.B) {
		var times [2][]time.Duration
		for b.Loop() {
			for i, f := range []func() error{ask, call} {
				began := time.Now()
				if err := f(); err != nil {
					b.Fatal(err)
				}
				times[i] = append(times[i], time.Since(began))
			}
		}

		// A wait for a processor takes many times a call: the median leaves it out.
		var middle [2]float64
		for i, all := range times {
			slices.Sort(all)
			middle[i] = float64(all[len(all)/2])
		}
		b.ReportMetric((middle[1]-middle[0])/1000, "µs-more")
		b.ReportMetric(middle[1]/middle[0], "times-bare")
	})
}
