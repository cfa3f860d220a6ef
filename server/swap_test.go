package server

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSwapsUnderReaders swaps catalogs under readers: every answer is wholly of the snapshot that
// it names.
func TestSwapsUnderReaders(t *testing.T) {
	w := newWorld(t, setup{})
	editions := map[string]*truth{today().view.ID: todaysTruth(), tomorrow().view.ID: tomorrowsTruth()}
	moved := movedCards(t, todaysTruth(), tomorrowsTruth())
	var stop atomic.Bool
	var asked atomic.Int64
	var readers sync.WaitGroup
	for n := range 4 {
		readers.Go(func() {
			for i := n; !stop.Load(); i++ {
				w.readOne(t, w.send, editions, moved, i)
				asked.Add(1)
			}
		})
	}

	views := []*edition{tomorrow(), today()}
	deadline := time.Now().Add(2 * time.Second)
	swaps := 0
	for ; time.Now().Before(deadline) || swaps < 40; swaps++ {
		w.Engine.Swap(views[swaps%2].view, time.Now())
		time.Sleep(5 * time.Millisecond)
	}

	stop.Store(true)
	readers.Wait()
	t.Logf("%d answers over %d swaps", asked.Load(), swaps)
}

// movedCards are cards that both editions have, at another price.
func movedCards(t *testing.T, a, b *truth) (moved []*trueCard) {
	t.Helper()
	for _, k := range a.cards {
		if other := b.byID[k.id]; other != nil && other.price() != k.price() && k.price() >= 0 && other.price() >= 0 {
			moved = append(moved, k)
		}
	}

	if len(moved) < 50 {
		t.Fatalf("only %d cards moved", len(moved))
	}
	return moved
}

// readOne asks for prices of moved cards in one of several ways and holds them against the edition
// that answered.
func (w *world) readOne(t *testing.T, send func(request) (reply, error), editions map[string]*truth,
	moved []*trueCard, i int) {
	t.Helper()
	k := moved[i%len(moved)]
	fail := func(r reply, format string, args ...any) {
		t.Errorf("snapshot %s: %s", r.header.Get("X-Snapshot-Id"), fmt.Sprintf(format, args...))
	}

	ask := func(s scenario) (reply, *truth) {
		r, err := send(s.request(w))
		if err != nil || r.status != http.StatusOK {
			t.Errorf("%s: %d %v", s.path, r.status, err)
			return r, nil
		}

		tr := editions[r.header.Get("X-Snapshot-Id")]
		if tr == nil {
			fail(r, "unknown")
		}
		return r, tr
	}

	type priced struct {
		ID    string
		Cents *int64 `json:"market_price_cents"`
		Price struct {
			Cents *int64 `json:"market_price_cents"`
		}
	}

	var list struct{ Data []priced }
	var r reply
	var tr *truth
	switch i % 3 {
	case 0:
		body := `{"ids":["` + k.id + `"`
		for j := range 60 {
			body += `,"` + moved[(i+j*7)%len(moved)].id + `"`
		}
		r, tr = ask(scenario{path: "/v1/prices/batch", body: body + "]}"})
	case 1:
		r, tr = ask(scenario{path: "/v1/cards?limit=50&sort=price_desc"})
	case 2:
		r, tr = ask(scenario{path: "/v1/market/movers?direction=up&limit=50"})
	}

	if tr == nil {
		return
	}
	r.decode(t, &list)
	for _, d := range list.Data {
		got := d.Cents
		if got == nil {
			got = d.Price.Cents
		}
		want := tr.byID[d.ID]
		if want == nil || got == nil || *got != want.price() {
			fail(r, "card %s has a price of another snapshot", d.ID)
		}
	}
}
