package pokemontcg_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"ninepocket/api"
	"ninepocket/compat/pokemontcg"
	"ninepocket/engine"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/operate"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// benchService answers from a made catalog of 3,000 cards with prices, and 300 made cards of files.
func benchService(b *testing.B) map[string]*api.Operation {
	b.Helper()
	dir := b.TempDir()
	pokemontcg.MadeFiles(b, filepath.Join(dir, "files"))
	err := synth.Write(filepath.Join(dir, "native"), synth.Options{Cards: 3000, HistoryDays: 3})
	if err != nil {
		b.Fatal(err)
	}
	build := operate.Build{Store: filepath.Join(dir, "store"), Options: loader.Options{Sources: []loader.Input{
		{Kind: "native", Path: filepath.Join(dir, "native")},
		{Kind: source.KindPokemonTCG, Path: filepath.Join(dir, "files")},
	}}}
	made, err := build.Run(b.Context())
	if err != nil {
		b.Fatal(err)
	}

	// The engine's part is a View of the same catalog.
	store := snapshot.OpenStore(build.Store)
	catalog, err := store.Load(b.Context(), made.ID, func() {})
	if err != nil {
		b.Fatal(err)
	}
	view, err := engine.NewView(catalog, wire.URLs{URL: "http://localhost", ProductPrefix: "prd"})
	if err != nil {
		b.Fatal(err)
	}
	view.ID = made.ID
	service := pokemontcg.New(store, b.TempDir(), slog.New(slog.DiscardHandler))
	if err := service.Prepare(b.Context(), view); err != nil {
		b.Fatal(err)
	}
	all := map[string]*api.Operation{}
	for _, op := range service.Operations() {
		all[op.Path] = op
	}
	return all
}

// BenchmarkAnswers measures operations without the pipeline around them.
func BenchmarkAnswers(b *testing.B) {
	all := benchService(b)

	for _, c := range []struct{ name, path, ref, query string }{
		{"card", "/v2/cards/{id}", "base1-4", ""},
		{"page_250", "/v2/cards", "", ""},
		{"prefix", "/v2/cards", "", "q=name:char*&pageSize=1"},
		{"phrase", "/v2/cards", "", `q=name:"mr.%20mime"&pageSize=1`},
		{"by_price", "/v2/cards", "", "orderBy=-tcgplayer.prices.holofoil.market&pageSize=1"},
		{"select_250", "/v2/cards", "", "select=id,name,images,tcgplayer"},
	} {
		// A reply is used again, as the server does.
		b.Run(c.name, func(b *testing.B) {
			op := all[c.path]
			var reply api.Reply
			b.ReportAllocs()
			for b.Loop() {
				request := api.Request{Op: op, Ref: c.ref}
				request.Args.Parse([]byte(c.query), op.Params)
				reply = api.Reply{Body: reply.Body[:0]}
				if f := op.Run(&request, &reply); f != nil {
					b.Fatal(f.Detail)
				}
			}
			b.ReportMetric(float64(len(reply.Body)), "bytes/op")
		})
	}
}
