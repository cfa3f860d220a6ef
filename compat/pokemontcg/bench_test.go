package pokemontcg_test

import (
	"log/slog"
	"os"
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

// madeStore is a store of made catalogs of 3,000 cards with prices, and 300 made cards of files.
type madeStore struct {
	testing.TB
	dir, index string
}

func newMadeStore(t testing.TB) madeStore {
	t.Helper()
	s := madeStore{t, t.TempDir(), t.TempDir()}
	pokemontcg.MadeFiles(t, filepath.Join(s.dir, "files"))
	return s
}

func (s madeStore) store() *snapshot.Store { return snapshot.OpenStore(filepath.Join(s.dir, "store")) }

func (s madeStore) service() *pokemontcg.Service {
	return pokemontcg.New(s.store(), s.index, slog.New(slog.DiscardHandler))
}

// view builds a catalog with prices of some days, and makes its View as the engine does.
func (s madeStore) view(days int) *engine.View {
	s.Helper()
	native := filepath.Join(s.TempDir(), "native")
	if err := synth.Write(native, synth.Options{Cards: 3000, HistoryDays: days}); err != nil {
		s.Fatal(err)
	}
	build := operate.Build{Store: filepath.Join(s.dir, "store"), Options: loader.Options{Sources: []loader.Input{
		{Kind: "native", Path: native}, {Kind: source.KindPokemonTCG, Path: filepath.Join(s.dir, "files")},
	}}}
	made, err := build.Run(s.Context())
	if err != nil {
		s.Fatal(err)
	}

	catalog, err := s.store().Load(s.Context(), made.ID, func() {})
	if err != nil {
		s.Fatal(err)
	}
	view, err := engine.NewView(catalog, wire.URLs{URL: "http://localhost", ProductPrefix: "prd"})
	if err != nil {
		s.Fatal(err)
	}
	view.ID = made.ID
	return view
}

// operations prepares a View and returns the operations on it, by path.
func (s madeStore) operations(service *pokemontcg.Service, view *engine.View) map[string]*api.Operation {
	s.Helper()
	if err := service.Prepare(s.Context(), view); err != nil {
		s.Fatal(err)
	}
	all := map[string]*api.Operation{}
	for _, op := range service.Operations() {
		all[op.Path] = op
	}
	return all
}

// TestNextDay: two Views of equal cards share one index, whose files are gone.
func TestNextDay(t *testing.T) {
	t.Parallel()
	s := newMadeStore(t)
	service := s.service()
	records := map[any]bool{}

	for days := range 3 {
		view := s.view(3 + days)
		op := s.operations(service, view)["/v2/cards"]
		var reply api.Reply
		request := api.Request{Op: op}
		request.Args.Parse([]byte("q=tcgplayer.prices.normal.market:[1%20TO%20*]"), op.Params)
		if f := op.Run(&request, &reply); f != nil || request.View != view || len(reply.Body) < 10_000 {
			t.Errorf("with prices of %d days: %v %.300s", 3+days, f, reply.Body)
		}
		records[pokemontcg.Records(service)] = true
	}
	if len(records) != 1 {
		t.Errorf("the cards were read and indexed %d times", len(records))
	}
	if left, err := os.ReadDir(s.index); err != nil || len(left) > 0 {
		t.Errorf("the folder of the index has %v, %v", left, err)
	}
}

// BenchmarkAnswers measures operations without the pipeline around them.
func BenchmarkAnswers(b *testing.B) {
	s := newMadeStore(b)
	all := s.operations(s.service(), s.view(3))

	for _, c := range []struct{ name, path, ref, query string }{
		{"card", "/v2/cards/{id}", "base1-4", ""},
		{"page_250", "/v2/cards", "", ""},
		{"prefix", "/v2/cards", "", "q=name:char*&pageSize=1"},
		{"phrase", "/v2/cards", "", `q=name:"mr.%20mime"&pageSize=1`},
		{"by_price", "/v2/cards", "", "orderBy=-tcgplayer.prices.holofoil.market&pageSize=1"},
		{"select_250", "/v2/cards", "", "select=id,name,images,tcgplayer"},
	} {
		// A response is reused, as in the server.
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
