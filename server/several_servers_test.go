package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// shelf is where one server of several gets its snapshots: the editions of this test, under a
// pointer of its own.
type shelf struct {
	mu      sync.Mutex
	all     map[string]*snapshot.Catalog
	current snapshot.Current
}

func newShelf(all ...*snapshot.Catalog) *shelf {
	s := &shelf{all: map[string]*snapshot.Catalog{}}
	for _, c := range all {
		s.all[c.ID] = c
	}
	return s
}

// publish moves the pointer; at is when all servers begin with the snapshot.
func (s *shelf) publish(id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = snapshot.Current{
		Epoch: s.current.Epoch + 1, ID: id, Previous: s.current.ID, PreviousEpoch: s.current.Epoch, ActivateAt: at,
		PreviousUntil: at,
	}
}

func (s *shelf) Current() (snapshot.Current, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, nil
}

func (s *shelf) Manifest(id string) (*snapshot.Manifest, error) {
	return &snapshot.Manifest{ID: id}, nil
}

func (s *shelf) Load(_ context.Context, id string, _ func()) (*snapshot.Catalog, error) {
	return s.all[id], nil
}

func (s *shelf) Published() ([]string, error) { return nil, nil }

// member is a server of several.
type member struct {
	*world
	*shelf
	remote engine.RemoteStatus // what the store of all servers said
}

// newMember starts a server on the first of the catalogs.
func newMember(t *testing.T, first, next *snapshot.Catalog) *member {
	t.Helper()
	m := &member{shelf: newShelf(first, next)}
	m.publish(first.ID, time.Time{})
	m.begins(t, time.Now())
	return m
}

// begins starts the server again.
func (m *member) begins(t *testing.T, now time.Time) {
	t.Helper()
	eng := engine.New(m.shelf, engine.Options{
		Site:         wire.URLs{URL: baseURL, ProductPrefix: "prd"},
		RemoteStatus: func() engine.RemoteStatus { return m.remote },
	})
	if err := eng.Open(now); err != nil {
		t.Fatal(err)
	}
	m.world = newWorld(t, setup{noViews: true, options: func(o *Options) { o.Engine = eng }})
}

// looks lets the server look at its store.
func (m *member) looks(t *testing.T, now time.Time) {
	t.Helper()
	if err := m.Engine.Retry(now); err != nil {
		t.Fatal(err)
	}
}

// another is a catalog with the same content under another id: releases of one day do that.
func another(c *snapshot.Catalog) *snapshot.Catalog {
	other := *c
	other.ID = "20991231T000000Z-" + strings.Repeat("a", 16)
	return &other
}

// cursors are what a server gives out on first pages, by surface.
type cursors struct{ live, preview, tool string }

func (m *member) cursors(t *testing.T) (c cursors) {
	t.Helper()
	text := func(value any, ok bool) string {
		t.Helper()
		if s, is := value.(string); ok && is {
			return s
		}
		t.Fatalf("a first page has the cursor %v", value)
		return ""
	}
	c.live = text(dig(t, m.get(t, "/v1/cards?sort=newest&limit=5").body, "next_cursor"))
	c.preview = text(dig(t, m.try(t, scenario{path: "/v1/products?limit=5", key: "preview"}).body,
		"pagination.next_cursor"))
	next, ok := m.tool(t, "catalog_search_cards", map[string]any{"limit": 5, "sort": "newest"})["next_cursor"]
	c.tool = text(next, ok)
	return c
}

// goesOn wants the cursors to lead to second pages of a snapshot, on each surface.
func (m *member) goesOn(t *testing.T, what string, c cursors, of *snapshot.Catalog) {
	t.Helper()
	live := m.get(t, "/v1/cards?sort=newest&limit=5&cursor="+c.live)
	if got := live.header.Get("X-Snapshot-Id"); live.status != http.StatusOK || got != of.ID {
		t.Errorf("%s: the live page is %d of %s, want %s: %.200s", what, live.status, got, of.ID, live.body)
	}
	preview := m.try(t, scenario{path: "/v1/products?limit=5&cursor=" + c.preview, key: "preview"})
	day, _ := dig(t, preview.body, "meta.snapshot_at")
	want := time.UnixMilli(of.SnapshotAt).UTC().Format("2006-01-02T15:04")
	if !strings.HasPrefix(fmt.Sprint(day), want) {
		t.Errorf("%s: the preview page is of %v, want %s", what, day, want)
	}
	page := m.tool(t, "catalog_search_cards", map[string]any{"limit": 5, "sort": "newest", "cursor": c.tool})
	if cards, _ := page["cards"].([]any); len(cards) != 5 {
		t.Errorf("%s: the tool's page is %v", what, page)
	}
}

// TestCursorAcrossServers asks one server with cursors of another, which is ahead or behind
// (docs/FLEET-STORE.md, Scheduled activation). No pagination ends with an avoidable error.
func TestCursorAcrossServers(t *testing.T) {
	first := small().view.Catalog
	next := later().view.Catalog
	lead := time.Now().Add(10 * time.Minute) // longer than this test takes anywhere
	ahead := newMember(t, first, next)
	old := ahead.cursors(t)
	ahead.publish(next.ID, time.Time{})
	ahead.looks(t, time.Now())
	fresh := ahead.cursors(t)

	b := newMember(t, first, next)
	t.Run("not here yet", func(t *testing.T) {
		b.remote = engine.RemoteStatus{Current: snapshot.Current{ID: next.ID}, Asked: time.Now()}
		live := b.get(t, "/v1/cards?sort=newest&limit=5&cursor="+fresh.live)
		if got := live.header.Get("X-Snapshot-Id"); live.status != http.StatusOK || got != first.ID {
			t.Errorf("the live page is %d of %s", live.status, got)
		}
		page := b.tool(t, "catalog_search_cards", map[string]any{"limit": 5, "sort": "newest", "cursor": fresh.tool})
		if cards, _ := page["cards"].([]any); len(cards) != 5 {
			t.Errorf("the tool's page has %d cards", len(cards))
		}

		refused := scenario{
			path: "/v1/products?limit=5&cursor=" + fresh.preview, key: "preview", status: http.StatusServiceUnavailable,
			code: "temporarily_unavailable",
		}
		if r := b.try(t, refused); r.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
		// The store was last asked before the cursor was issued: it may know more.
		b.remote = engine.RemoteStatus{Current: snapshot.Current{ID: first.ID}, Asked: time.Now().Add(-time.Minute)}
		b.try(t, refused)
		// It knows of nothing newer: the cursor is of a snapshot that is gone.
		b.remote.Asked = time.Now().Add(time.Minute)
		refused.status = http.StatusBadRequest
		refused.code = "invalid_request"
		b.try(t, refused)
	})

	t.Run("a validator of the next snapshot", func(t *testing.T) {
		for _, path := range []string{"/v1/cards?limit=5", "/v1/games", "/v1/market/movers?direction=up"} {
			tag := ahead.get(t, path).header.Get("ETag")
			r := b.get(t, path, "If-None-Match: "+tag)
			// Equal content in both has equal answers.
			same := r.header.Get("ETag") == tag
			if tag == "" || !same && (r.status != http.StatusOK || r.header.Get("X-Snapshot-Id") != first.ID) ||
				same && r.status != http.StatusNotModified {
				t.Errorf("%s: %d of %s, tag %s, asked with %s", path, r.status, r.header.Get("X-Snapshot-Id"),
					r.header.Get("ETag"), tag)
			}
		}
	})

	t.Run("prepared", func(t *testing.T) {
		b.publish(next.ID, lead)
		b.looks(t, time.Now())
		b.goesOn(t, "of what is prepared", fresh, next)
		b.goesOn(t, "of what is served", old, first)
	})

	t.Run("served before", func(t *testing.T) {
		b.looks(t, lead)
		b.goesOn(t, "of what is served now", fresh, next)
		b.goesOn(t, "of what was served before", old, first)
	})

	t.Run("served before a start", func(t *testing.T) {
		b.begins(t, lead.Add(time.Minute))
		b.goesOn(t, "of what is served now", fresh, next)
		b.goesOn(t, "of what others served before", old, first)
	})

	t.Run("equal products", func(t *testing.T) {
		same := another(first)
		other := newMember(t, first, same)
		other.publish(same.ID, time.Time{})
		other.looks(t, time.Now())
		c := other.cursors(t)
		behind := newMember(t, first, next)
		behind.remote = engine.RemoteStatus{Current: snapshot.Current{ID: same.ID}, Asked: time.Now()}
		behind.goesOn(t, "of equal products", c, first)
	})
}

// TestTagsAgree asks three servers that were given the same snapshot on different ways.
func TestTagsAgree(t *testing.T) {
	first := small().view.Catalog
	next := later().view.Catalog
	now := time.Now()
	all := []*member{newMember(t, first, next), newMember(t, first, next), newMember(t, next, first)}
	all[0].publish(next.ID, time.Time{})
	all[0].looks(t, now)
	all[1].publish(next.ID, now.Add(time.Minute))
	all[1].looks(t, now)
	all[1].looks(t, now.Add(time.Minute))
	at := now.Truncate(cursor.Lifetime).Add(cursor.Lifetime)
	for _, m := range all {
		m.stopAt(at)
	}

	card := next.Cards.ID.At(0)
	for _, path := range []string{
		"/v1/cards?limit=5&q=a", "/v1/games", "/v1/market/movers?direction=up", "/v1/sets?limit=5", "/v1/cards/" + card,
		"/v1/cards/" + card + "/prices", "/v1/cards/" + card + "/price-stats", "/openapi.json",
	} {
		want := all[0].get(t, path)
		tag := want.header.Get("ETag")
		for k, m := range all[1:] {
			if r := m.get(t, path); tag == "" || r.header.Get("ETag") != tag || string(r.body) != string(want.body) {
				t.Errorf("%s: server %d answers %d %s, another one %d %s", path, k+1, r.status, r.header.Get("ETag"),
					want.status, tag)
			}
			if r := m.get(t, path, "If-None-Match: "+tag); r.status != http.StatusNotModified {
				t.Errorf("%s: server %d answers its validator of another server with %d", path, k+1, r.status)
			}
		}
	}
}

// TestWalkOverServers turns pages at three servers at random while they load the next snapshot.
// Every pagination shows every card of one snapshot once.
func TestWalkOverServers(t *testing.T) {
	first := small().view.Catalog
	next := later().view.Catalog
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	now := time.Now()
	at := now.Add(time.Minute)
	var all []*member
	for range 3 {
		all = append(all, newMember(t, first, next))
	}

	walks := make([]walk, 7)
	// In steps all servers prepare, and then each begins with the next snapshot: walks begin and go
	// on between any two of these.
	var steps []func()
	for _, m := range all {
		steps = append(steps, func() { m.publish(next.ID, at); m.looks(t, now) })
	}
	for _, m := range all {
		steps = append(steps, func() { m.looks(t, at) })
	}
	for i, step := range append(steps, func() {}) {
		for k := range walks[:min(i+1, len(walks))] {
			for range 3 {
				walks[k].turn(t, all[random.IntN(len(all))])
			}
		}
		step()
	}

	for k := range walks {
		w := &walks[k]
		for !w.ended {
			w.turn(t, all[random.IntN(len(all))])
		}
		want := next
		if w.of == first.ID {
			want = first
		}
		slices.Sort(w.cards)
		var ids []string
		for i := range want.Cards.ID.Len() {
			ids = append(ids, want.Cards.ID.At(i))
		}
		slices.Sort(ids)
		if w.of != want.ID || !slices.Equal(w.cards, ids) {
			t.Errorf("walk %d through %s shows %d cards, want each of %d once", k, w.of, len(w.cards), len(ids))
		}
	}
	if last := walks[len(walks)-1].of; walks[0].of != first.ID || last != next.ID {
		t.Errorf("the first walk is through %s, the last one through %s", walks[0].of, last)
	}
}

// walk is a client that turns the pages of all cards.
type walk struct {
	of     string // snapshot of the pages
	cursor string
	cards  []string
	ended  bool
}

// turn asks a server for the next page.
func (w *walk) turn(t *testing.T, m *member) {
	t.Helper()
	if w.ended {
		return
	}
	path := "/v1/cards?limit=20&sort=price_desc"
	if w.cursor != "" {
		path += "&cursor=" + w.cursor
	}

	r := m.get(t, path)
	var page struct {
		Data []struct{ ID string }
		Next *string `json:"next_cursor"`
	}
	r.decode(t, &page)
	of := r.header.Get("X-Snapshot-Id")
	if w.of == "" {
		w.of = of
	}
	if r.status != http.StatusOK || of != w.of {
		t.Fatalf("a page of a walk through %s is %d of %s", w.of, r.status, of)
	}

	for _, card := range page.Data {
		w.cards = append(w.cards, card.ID)
	}
	w.ended = page.Next == nil
	if !w.ended {
		w.cursor = *page.Next
	}
}
