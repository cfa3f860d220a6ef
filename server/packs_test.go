package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPacksServe asks for everything that is remembered, again and again and in another snapshot:
// bodies are what they are without compression, and cursors and request ids are new.
func TestPacksServe(t *testing.T) {
	w := newWorld(t, setup{})
	tr := todaysTruth()
	cards := tr.cards[0].id
	asks := []scenario{
		{path: "/v1/cards?limit=50"},
		{path: "/v1/cards?q=pikachu&limit=20"},
		{path: "/v1/sets?limit=50"},
		{path: "/v1/sets/" + tr.sets[0].id},
		{path: "/v1/cards/" + cards + "/prices?days=365"},
		{path: "/v1/cards/" + cards + "/prices?days=365", key: "capped"}, // a plan of 20 days
		{path: "/v1/market/movers?direction=up&limit=50"},
		{path: "/v1/products?limit=50", key: "preview"},
	}

	varies := map[string]bool{"next_cursor": true, "request_id": true}
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				v[name] = strip(v[name])
				if varies[name] && v[name] != nil {
					v[name] = "new"
				}
			}
		case []any:
			for i := range v {
				v[i] = strip(v[i])
			}
		}
		return v
	}

	body := func(s scenario, encoding string) string {
		t.Helper()
		s.header = nil
		if encoding != "" {
			s.header = []string{"Accept-Encoding: " + encoding}
		}

		r := w.try(t, s)
		if got := r.header.Get("Content-Encoding"); got != encoding {
			t.Errorf("%s in %q is in %q", s.path, encoding, got)
		}

		var v any
		r.decode(t, &v)
		return fmt.Sprint(strip(v))
	}

	hits := uint64(0)
	for _, e := range []*edition{today(), tomorrow(), today()} {
		w.Engine.Swap(e.view, time.Now())
		for _, s := range asks {
			want := body(s, "")
			for _, encoding := range []string{"gzip", "zstd"} {
				// A response that is requested twice is cached, a moment later.
				before := w.Stats().CompressedHits
				for try := 0; try < 4 || w.Stats().CompressedHits == before; try++ {
					if got := body(s, encoding); got != want {
						t.Errorf("%s in %s differs from itself", s.path, encoding)
					}
					if try == 1000 {
						t.Fatalf("%s in %s is never remembered", s.path, encoding)
					}
				}
			}
		}

		now := w.Stats()
		if now.CompressedHits < hits+uint64(len(asks)) {
			t.Errorf("%d hits of %d requests, %d misses", now.CompressedHits-hits, 8*len(asks), now.CompressedMisses)
		}
		hits = now.CompressedHits
	}

	// Two cursors of one millisecond are the same: the next one is another, a moment later.
	cursor := func() any {
		r := w.get(t, asks[0].path, "Accept-Encoding: gzip")
		next, _ := dig(t, r.body, "next_cursor")
		return next
	}
	first := cursor()
	for try := 0; cursor() == first; try++ {
		if try == 1000 {
			t.Fatalf("the cursor %v is remembered", first)
		}
	}
	if first == nil {
		t.Error("there is no cursor")
	}
}

// TestPacksPrivate sends private responses and wants no part of them cached.
func TestPacksPrivate(t *testing.T) {
	w := newWorld(t, setup{})
	tr := todaysTruth()
	var ids, items []string
	for _, card := range tr.cards[:20] {
		ids = append(ids, card.id)
	}

	products, _, _ := tr.trueProducts()
	for _, id := range products[:20] {
		items = append(items, `{"kind":"sealed","product_id":"`+id+`"}`)
	}

	encoded := []string{"Accept-Encoding: gzip"}
	for range 3 {
		for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch"} {
			s := scenario{path: path, body: `{"ids":["` + strings.Join(ids, `","`) + `"]}`, header: encoded}
			if r := w.try(t, s); r.header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%s is not compressed", path)
			}
		}
		s := batchOf("preview", "private", `{"items":[`+strings.Join(items, ",")+`]}`)
		s.header = append(s.header, encoded...)
		if r := w.try(t, s); r.header.Get("Content-Encoding") != "gzip" {
			t.Error("a batch of selections is not compressed")
		}
		for _, key := range []string{"bench", "preview"} {
			w.try(t, scenario{path: "/v1/usage", key: key, header: encoded})
		}
	}

	if s := w.Stats(); s.CompressedHits+s.CompressedMisses != 0 {
		t.Errorf("%d hits, %d misses", s.CompressedHits, s.CompressedMisses)
	}
}
