package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// unpack reads a body as the strictest client would: one gzip member or one zstd frame, and nothing after it.
func unpack(t *testing.T, body []byte, encoding string) []byte {
	t.Helper()
	if encoding == "zstd" {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		plain, err := d.DecodeAll(body, nil)
		if err != nil {
			t.Fatalf("%d bytes of zstd: %v", len(body), err)
		}
		if n := bytes.Count(body, []byte("\x28\xb5\x2f\xfd")); n != 1 {
			t.Fatalf("%d zstd frames", n)
		}
		return plain
	}
	in := bytes.NewReader(body)
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	plain, err := io.ReadAll(z) // compares length and checksum
	if err != nil || in.Len() != 0 {
		t.Fatalf("%d bytes of gzip: %v, %d bytes follow", len(body), err, in.Len())
	}
	return plain
}

// TestPacked packs bodies of many sizes with ends of many sizes and unpacks them with other programs' readers.
func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = "abcdefgh\x00\xff"[r.IntN(10)]
	}
	text := []byte(strings.Repeat(`{"id":"card_abc","name":"Pikachu","price":123},`, 10_000))
	for _, source := range [][]byte{noise, text} {
		for _, begin := range []int{0, 1, 100, 1024, 20_000, 65_535, 65_536, 131_072, 290_000} {
			for _, end := range []int{0, 1, 30, 600, maxEnd} {
				for _, encoding := range []string{"gzip", "zstd"} {
					whole := source[:min(begin+end, len(source))]
					begin := min(begin, len(whole))
					packed := appendPacked([]byte("x"), whole[:begin], encoding)
					packed = appendEnd(packed, whole[begin:], encoding, checksum(whole[:begin], encoding), len(whole))
					if packed[0] != 'x' || !bytes.Equal(unpack(t, packed[1:], encoding), whole) {
						t.Fatalf("%s of %d and %d bytes is another body", encoding, begin, end)
					}
					if !bytes.Equal(unpack(t, compressed(whole, encoding), encoding), whole) {
						t.Fatalf("%s of %d bytes is another body", encoding, len(whole))
					}
				}
			}
		}
	}
}

// TestPacksCollide gives two bodies one key: what comes back is always of the body that was asked for.
func TestPacksCollide(t *testing.T) {
	p := newPacks(1 << 20)
	defer p.close()
	ours, theirs := []byte(strings.Repeat("ours ", 300)), []byte(strings.Repeat("them ", 300))
	through := func(plain []byte) []byte {
		packed, sum := p.append(nil, plain, "gzip")
		return unpack(t, appendEnd(packed, nil, "gzip", sum, len(plain)), "gzip")
	}
	packed := appendPacked(nil, theirs, "gzip")
	p.kept.Set(maphash.Bytes(p.seed, ours)^'g', &pack{theirs, packed, checksum(theirs, "gzip")}, 1)
	p.kept.Wait()
	if got := through(ours); !bytes.Equal(got, ours) || p.hits.Load() != 0 {
		t.Errorf("got %.20q, %d hits", got, p.hits.Load())
	}
	for range 3 {
		if got := through(ours); !bytes.Equal(got, ours) {
			t.Errorf("got %.20q", got)
		}
		p.kept.Wait()
	}
	if p.hits.Load() != 2 || p.misses.Load() != 2 { // seen, kept, and found twice
		t.Errorf("%d hits, %d misses", p.hits.Load(), p.misses.Load())
	}
	if got, _ := p.append(nil, ours, "zstd"); !bytes.Equal(got[:4], []byte("\x28\xb5\x2f\xfd")) {
		t.Errorf("zstd begins with %x", got[:4])
	}
}

// TestPacksServe asks for everything that is remembered, again and again and in another snapshot: bodies are what they
// are without compression, and cursors and request ids are new.
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
				if v[name] = strip(v[name]); varies[name] && v[name] != nil {
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
				for range 4 {
					if got := body(s, encoding); got != want {
						t.Errorf("%s in %s differs from itself", s.path, encoding)
					}
					w.packs.kept.Wait()
				}
			}
		}
		now := w.Stats()
		if now.PackHits < hits+uint64(len(asks)) {
			t.Errorf("%d hits of %d requests, %d misses", now.PackHits-hits, 8*len(asks), now.PackMisses)
		}
		hits = now.PackHits
	}
	one, two := w.get(t, asks[0].path, "Accept-Encoding: gzip"), w.get(t, asks[0].path, "Accept-Encoding: gzip")
	a, _ := dig(t, one.body, "next_cursor")
	b, _ := dig(t, two.body, "next_cursor")
	if a == b || a == nil {
		t.Errorf("cursors %v and %v", a, b)
	}
}

// TestPacksPrivate sends what is somebody's own and wants nothing of it remembered.
func TestPacksPrivate(t *testing.T) {
	w, tr := newWorld(t, setup{}), todaysTruth()
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
	if s := w.Stats(); s.PackHits+s.PackMisses != 0 {
		t.Errorf("%d hits, %d misses", s.PackHits, s.PackMisses)
	}
}
