package site_test

import (
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/site"
)

// BenchmarkCard renders the page of the card with the most lanes and a year of history, without and with compressing
// it.
func BenchmarkCard(b *testing.B) {
	w := today(b)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		b.Fatal(err)
	}

	now := time.UnixMilli(w.view.Catalog.SnapshotAt)
	for _, days := range []int{30, 90, 365} {
		q := site.CardQuery{Card: w.busiest(), Days: days}
		for _, compress := range []string{"plain", "zstd"} {
			b.Run(compress+"/"+itoa(days), func(b *testing.B) {
				var page, small []byte
				for b.Loop() {
					page = w.pages.Card(page[:0], w.view, now, q)
					if compress == "zstd" {
						small = encoder.EncodeAll(page, small[:0])
					}
				}
				b.ReportMetric(float64(len(page)), "page-bytes")
				b.ReportMetric(float64(len(small)), "sent-bytes")
				b.ReportAllocs()
			})
		}
	}
}

// BenchmarkPages renders the other kinds of pages.
func BenchmarkPages(b *testing.B) {
	w := today(b)
	now := time.UnixMilli(w.view.Catalog.SnapshotAt)
	pages := map[string]func([]byte) []byte{
		"home":   func(dst []byte) []byte { return w.pages.Home(dst, w.view, now) },
		"movers": func(dst []byte) []byte { return w.pages.Movers(dst, w.view, now, site.MoversQuery{}) },
		"search": func(dst []byte) []byte {
			return w.pages.Search(dst, w.view, now, site.SearchQuery{Words: "pikachu", Page: 1})
		},
		"set":  func(dst []byte) []byte { return w.pages.Set(dst, w.view, now, site.SetQuery{}) },
		"sets": func(dst []byte) []byte { return w.pages.Sets(dst, w.view, now, site.SetsQuery{}) },
	}

	for name, page := range pages {
		b.Run(name, func(b *testing.B) {
			var body []byte
			for b.Loop() {
				body = page(body[:0])
			}
			b.ReportMetric(float64(len(body)), "page-bytes")
			b.ReportAllocs()
		})
	}
}

// maxCardBytes is the budget of a compressed card page.
const maxCardBytes = 12 << 10

// TestCardPageIsSmall compares the page of the card with the most prices, with a year of all its
// variants, with its budget.
func TestCardPageIsSmall(t *testing.T) {
	w := today(t)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}

	now := time.UnixMilli(w.view.Catalog.SnapshotAt)
	page := w.pages.Card(nil, w.view, now, site.CardQuery{Card: w.busiest(), Days: 365})
	if n := len(encoder.EncodeAll(page, nil)); n > maxCardBytes {
		t.Errorf("the page sends %d bytes, more than %d", n, maxCardBytes)
	}
}
