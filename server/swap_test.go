package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
)

// TestSwapsUnderReaders swaps catalogs under readers: every answer is wholly of the snapshot that it names.
func TestSwapsUnderReaders(t *testing.T) {
	w := newWorld(t, setup{})
	editions := map[string]*truth{today().view.ID: todaysTruth(), tomorrow().view.ID: tomorrowsTruth()}
	moved := movedCards(t, todaysTruth(), tomorrowsTruth())
	stop := make(chan struct{})
	answered := make(chan struct{})
	var readers sync.WaitGroup
	for n := range 4 {
		readers.Go(func() {
			for i := n; ; i++ {
				w.readOne(t, w.send, editions, moved, i)
				select {
				case answered <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
	}

	views := []*edition{tomorrow(), today()}
	for swap := range 400 / testsweep.Stride(4) {
		w.Engine.Swap(views[swap%2].view, time.Now())
		for range 5 { // while other answers are being made
			<-answered
		}
	}

	close(stop)
	readers.Wait()
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

// readOne asks for prices of moved cards in one of several ways and holds them against the edition that answered.
func (w *world) readOne(t *testing.T, send func(request) (reply, error), editions map[string]*truth,
	moved []*trueCard, i int,
) {
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
	n := 0
	for rest := string(r.body); ; n++ {
		_, after, found := strings.Cut(rest, `{"id":"card_`)
		if !found {
			break
		}
		id, after, _ := strings.Cut(after, `"`)
		_, after, _ = strings.Cut(after, `"market_price_cents":`)
		got, _, _ := strings.Cut(after, ",")
		want := tr.byID["card_"+id]
		if want == nil || strings.TrimRight(got, "}") != fmt.Sprint(want.price()) {
			fail(r, "card %s has the price %s, of another snapshot", id, got)
		}
		rest = after
	}

	if n == 0 {
		fail(r, "no price: %.300s", r.body)
	}
}
