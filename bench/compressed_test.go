package bench

import (
	"bytes"
	"testing"

	"ninepocket/server"
)

// BenchmarkCompressed measures operations and pages with compressed bodies, which browsers and most libraries
// request by default. Bodies come from the cache (cached), or are compressed for each response (fresh).
func BenchmarkCompressed(b *testing.B) {
	w := worlds[30_000]()
	o := w.server.Options
	o.CompressedCacheSize = 0
	fresh, err := server.New(o)
	if err != nil {
		b.Fatal(err)
	}

	card := Operation{Name: "card_page", Depth: 1, Requests: []Request{
		{Bytes: []byte("GET /cards/" + w.view.Catalog.Cards.Slug.At(777) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")},
	}}

	for _, op := range []*Operation{
		w.operation(b, "history_365"), w.operation(b, "search_exact"), w.operation(b, "filter_price"), w.operation(b,
			"sets"),
		w.operation(b, "set"), w.operation(b, "movers"), w.operation(b, "products"), &card,
	} {
		for _, encoding := range []string{"gzip", "zstd"} {
			asked := accepting(op, encoding)
			b.Run(op.Name+"/"+encoding+"/fresh", func(b *testing.B) { replay(b, fresh.ServeConn, asked) })
			b.Run(op.Name+"/"+encoding+"/cached", func(b *testing.B) { replay(b, w.server.ServeConn, asked) })
		}
	}
}

// accepting returns an operation whose client accepts an encoding.
func accepting(op *Operation, encoding string) *Operation {
	asked := *op
	asked.Requests = make([]Request, len(op.Requests))
	for i, r := range op.Requests {
		line := bytes.Index(r.Bytes, []byte("\r\n")) + 2
		header := "Accept-Encoding: " + encoding + "\r\n"
		r.Bytes = append(append(append([]byte{}, r.Bytes[:line]...), header...), r.Bytes[line:]...)
		r.At += len(header)
		asked.Requests[i] = r
	}
	return &asked
}
