package bench

import (
	"testing"
)

// BenchmarkPages measures every kind of page through the whole pipeline; pages are not cached.
func BenchmarkPages(b *testing.B) {
	w := worlds[30_000]()
	card := "/cards/" + w.view.Catalog.Cards.Slug.At(777)
	set := "/sets/" + w.view.Catalog.Sets.Slug.At(7)
	for _, page := range []struct{ name, path, encoding string }{
		{"card/plain", card, ""},
		{"card/zstd", card, "zstd"},
		{"card/gzip", card, "gzip"},
		{"card/365/zstd", card + "?days=365", "zstd"},
		{"home/zstd", "/", "zstd"},
		{"set/zstd", set, "zstd"},
		{"sets/zstd", "/sets", "zstd"},
		{"search/typo/zstd", "/search?q=charizrd", "zstd"},
		{"suggest", "/search/suggest?q=charizrd", ""},
		{"error", "/errors/not_found", ""},
	} {
		text := "GET " + page.path + " HTTP/1.1\r\nHost: localhost\r\n"
		if page.encoding != "" {
			text += "Accept-Encoding: " + page.encoding + "\r\n"
		}

		op := &Operation{Name: page.name, Depth: 1, Requests: []Request{{Bytes: []byte(text + "\r\n")}}}
		b.Run(page.name, func(b *testing.B) { replay(b, w.server.ServeConn, op) })
	}
}
