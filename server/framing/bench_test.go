package framing_test

import (
	"strings"
	"testing"

	"ninepocket/server/framing"
)

var limits = framing.Limits{Head: 16 << 10, Fields: 100, Body: 256 << 10}

const (
	plainGet = "GET /v1/cards/card_abcdefghijklmnop HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: " +
		"*/*\r\n" +
		"X-API-Key: npk_live_0123456789abcdefghijklmnopqr\r\n\r\n"
	browserGet = "GET /v1/cards?q=charizard&limit=20 HTTP/1.1\r\nHost: cards.example.com\r\nConnection: " +
		"keep-alive\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 " +
		"Safari/537.36\r\n" +
		"Accept: application/json\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: " +
		"en-GB,en;q=0.9\r\nOrigin: https://app.example.com\r\n" +
		"Authorization: Bearer npk_live_0123456789abcdefghijklmnopqr\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: " +
		"same-site\r\n\r\n"
)

// BenchmarkCheck is what the guard adds to a request.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct{ name, request string }{
		{"get", plainGet},
		{"browser", browserGet},
		{"post", "POST /v1/cards/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\nContent-Length: 4000\r\n\r\n" + strings.Repeat("x", 4000)},
		{"chunked", "POST /v1/cards/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfa0\r\n" +
			strings.Repeat("x", 4000) + "\r\n0\r\n\r\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := framing.Guard{Limits: &limits}
			p := []byte(c.request)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()

			for b.Loop() {
				if n, fault := g.Check(p); n != len(p) || fault != nil {
					b.Fatal(n, fault)
				}
			}
		})
	}
}
