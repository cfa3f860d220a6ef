package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// catalogRows are the rows of a catalog by kind and key, as JSON, without what only the bulk renews.
type catalogRows map[string]map[string]string

// kindsOfChanges are the values of kind.
var kindsOfChanges = []string{"cards", "prices", "sets"}

// catalogRowsOf are the rows of what a View serves, taken from its details and lists.
func catalogRowsOf(tb testing.TB, v *engine.View) catalogRows {
	tb.Helper()
	rows := catalogRows{"cards": {}, "prices": {}, "sets": {}}
	codes := map[string]string{}
	for condition := range snapshot.FactorySealed {
		codes[condition.Text()] = condition.Code()
	}

	for i := range v.Catalog.Cards.ID.Len() {
		card := decodeObject(tb, v.AppendDetail(nil, i))
		id := fmt.Sprint(card["id"])
		prices, _ := card["prices"].([]any)
		for _, price := range prices {
			lane, _ := price.(map[string]any)
			key := fmt.Sprint(id, " ", lane["variant"], " ", codes[fmt.Sprint(lane["condition"])])
			rows["prices"][key] = fmt.Sprint(lane["market_price_cents"])
		}
		delete(card, "prices")
		rows["cards"][id] = encoded(tb, card)
	}

	for i := range v.Catalog.Sets.ID.Len() {
		set := decodeObject(tb, v.AppendSets(nil, []uint32{uint32(i)}))
		rows["sets"][fmt.Sprint(set["id"])] = encoded(tb, set)
	}
	return rows
}

func decodeObject(tb testing.TB, text []byte) map[string]any {
	tb.Helper()
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return object
}

func encoded(tb testing.TB, v any) string {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// publications is a store whose releases a test makes, and a server of it.
type publications struct {
	*world
	dice   *rand.Rand
	dir    *snapshot.Store
	engine *engine.Engine
	now    time.Time
	latest *fixture.World
	rows   map[string]catalogRows // by snapshot
	past   []string               // published, with repetitions
}

func newPublications(tb testing.TB, seed uint64) *publications {
	tb.Helper()
	h := &publications{
		dice: rand.New(rand.NewPCG(seed, 41)), dir: snapshot.OpenStore(filepath.Join(tb.TempDir(), "store")),
		now: time.Now(), rows: map[string]catalogRows{},
		latest: fixture.Random(seed, fixture.Size{Sets: 4, Cards: 24, Sealed: 2, Days: 4}),
	}
	h.engine = engine.New(h.dir, engine.Options{
		Site: wire.URLs{URL: baseURL, ProductPrefix: "prd"}, Deltas: snapshot.DeltasOf(h.dir).All,
	})
	h.publish(tb, h.latest)
	h.world = newWorld(tb, setup{noViews: true, options: func(o *Options) { o.Engine = h.engine }})
	return h
}

func (h *publications) options() snapshot.PublishOptions {
	return snapshot.PublishOptions{Now: h.now, Check: func(*snapshot.Catalog) error { return nil }}
}

// publish builds and publishes a world.
func (h *publications) publish(tb testing.TB, w *fixture.World) {
	tb.Helper()
	m, _, err := h.dir.Write(w.Catalog(), snapshot.WriteOptions{})
	if err == nil {
		_, err = h.dir.Publish(m.ID, h.options())
	}
	if err != nil {
		tb.Fatal(err)
	}
	h.served(tb)
}

// served serves what is published, and remembers its rows.
func (h *publications) served(tb testing.TB) {
	tb.Helper()
	h.now = h.now.Add(time.Minute)
	if err := h.engine.Retry(h.now); err != nil {
		tb.Fatal(err)
	}
	v := h.engine.View()
	h.rows[v.ID] = catalogRowsOf(tb, v)
	h.past = append(h.past, v.ID)
}

// edit changes a world as days, builders and mistakes do.
func (h *publications) edit(w *fixture.World) *fixture.World {
	n := w.Clone()
	n.At += 1000 * int64(1+h.dice.IntN(5))
	chance := func(one int) bool { return h.dice.IntN(one) == 0 }
	n.Cards = slices.DeleteFunc(n.Cards, func(fixture.Card) bool { return chance(40) })
	for i := range n.Cards {
		card := &n.Cards[i]
		if chance(25) {
			card.Name = "Renamed " + fmt.Sprint(h.dice.IntN(3))
		}
		if chance(40) {
			other := fixture.Identifier{Namespace: "other", Value: fmt.Sprint(h.dice.IntN(9))}
			card.Identifiers = append(card.Identifiers, other)
		}
		if chance(50) {
			card.Slug = fmt.Sprintf("moved-%d-%s", h.dice.IntN(5), card.ID[len(card.ID)-6:])
		}
		for k := range card.Lanes {
			lane := &card.Lanes[k]
			lane.CollectedAt = snapshot.NoTime
			lane.SourceAsOf = snapshot.NoTime
			switch {
			case chance(12): // no source lists it any more
				lane.Cents = snapshot.NoCents
				lane.Points = nil
			case chance(4): // back and forth between few values
				lane.Cents = int64(100 * h.dice.IntN(3))
				lane.Licensed = true
				lane.Points = []snapshot.Point{{Day: n.Date(), Cents: lane.Cents}}
			}
			if lane.Cents != snapshot.NoCents {
				lane.CollectedAt = n.At // observed again, which is no change
			}
		}
		if chance(20) && len(card.Lanes) > 0 {
			card.Lanes = card.Lanes[1:]
		}
	}

	if chance(2) {
		more := fixture.Random(uint64(h.dice.IntN(4)), fixture.Size{Sets: 1, Cards: 2, Days: 2})
		has := func(id string) bool {
			return slices.ContainsFunc(n.Cards, func(c fixture.Card) bool { return c.ID == id })
		}
		for _, card := range more.Cards {
			if !has(card.ID) {
				card.Set = ""
				card.Product = false
				card.Slug = "new-" + card.ID[len(card.ID)-6:]
				n.Cards = append(n.Cards, card)
			}
		}
	}
	if chance(3) {
		n.Sets[h.dice.IntN(len(n.Sets))].Name += "+"
	}
	if chance(6) && len(n.Sets) > 1 {
		gone := n.Sets[len(n.Sets)-1].ID
		n.Sets = n.Sets[:len(n.Sets)-1]
		for i := range n.Cards {
			if n.Cards[i].Set == gone {
				n.Cards[i].Set = ""
				n.Cards[i].Product = false
			}
		}
	}
	n.Former = nil
	for i := range n.Cards {
		n.Cards[i].UpdatedAt = min(n.Cards[i].UpdatedAt, n.At)
	}
	return n
}

// step publishes something: mostly a new day, or an earlier snapshot again.
func (h *publications) step(tb testing.TB) {
	tb.Helper()
	cur, err := h.dir.Current()
	if err != nil {
		tb.Fatal(err)
	}
	if h.dice.IntN(4) > 0 {
		h.latest = h.edit(h.latest)
		h.publish(tb, h.latest)
		return
	}

	// A rollback goes on where it went back to: the next day builds on the world before.
	id := h.past[max(0, len(h.past)-1-h.dice.IntN(4))]
	if id == cur.ID {
		return
	}
	if h.dice.IntN(2) > 0 {
		_, err = h.dir.Rollback(id, h.options())
	} else {
		_, err = h.dir.Publish(id, h.options())
	}
	if err != nil {
		tb.Fatal(err)
	}
	h.served(tb)
}

// mirrored is a client that took the bulk once.
type mirrored struct {
	since string
	rows  catalogRows
}

// changed is a row of an answer.
type changed struct {
	kind, key, change, row string
}

func (h *publications) parse(tb testing.TB, kind string, body []byte) (to string, rows []changed, cursor string) {
	tb.Helper()
	page := decodeObject(tb, body)

	data, _ := page["data"].([]any)
	for _, one := range data {
		object, _ := one.(map[string]any)
		row := changed{kind: kind, key: fmt.Sprint(object["id"]), change: fmt.Sprint(object["change"])}
		now, has := object[strings.TrimSuffix(kind, "s")]
		switch {
		case !has:
			tb.Fatalf("%v has no record", object)
		case kind == "prices":
			row.key = fmt.Sprint(row.key, " ", object["variant"], " ", object["condition"])
			if price, _ := now.(map[string]any); price != nil {
				row.row = fmt.Sprint(price["market_price_cents"])
			}
		case now != nil:
			row.row = encoded(tb, now)
		}
		if (row.row == "") != (row.change == "removed") {
			tb.Fatalf("%v: %v", row, object)
		}
		rows = append(rows, row)
	}

	next, _ := page["next_cursor"].(string)
	return fmt.Sprint(page["snapshot_id"]), rows, next
}

// update applies the changes, over a network that repeats and reorders, and gives up a pagination
// now and then.
func (h *publications) update(t *testing.T, m *mirrored) {
	t.Helper()
	now := h.engine.View().ID
	var all []changed
	for _, kind := range kindsOfChanges {
		for attempt := 0; ; attempt++ {
			rows, whole := h.walk(t, m, kind, now)
			all = append(all, rows...)
			if whole {
				break
			}
		}
	}

	h.dice.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] }) // air: a swap
	for _, row := range all {
		if row.row == "" {
			delete(m.rows[row.kind], row.key)
		} else {
			m.rows[row.kind][row.key] = row.row
		}
	}

	if d := cmp.Diff(h.rows[now], m.rows); d != "" {
		t.Fatalf("from %s to %s: (-want +got)\n%s", m.since, now, d)
	}
	m.since = now
}

// walk asks for all pages of a kind, and holds them against the rows themselves.
func (h *publications) walk(t *testing.T, m *mirrored, kind, now string) (rows []changed, whole bool) {
	t.Helper()
	limit := 1 + h.dice.IntN(12)
	path := "/v1/changes?" + url.Values{"since": {m.since}, "kind": {kind}, "limit": {fmt.Sprint(limit)}}.Encode()
	target := path
	shown := map[string]string{} // the page that had a row
	for {
		r := h.try(t, scenario{path: target})
		to, page, cursor := h.parse(t, kind, r.body)
		for _, row := range page {
			if on, had := shown[row.key]; had && on != target {
				t.Fatalf("%v is on two pages", row)
			}
			shown[row.key] = target
		}
		if to != now || r.header.Get("X-Snapshot-Id") != now || len(page) > limit || cursor != "" && len(page) < limit {
			t.Fatalf("%s: to %s with %d rows: %s", target, to, len(page), r.body)
		}
		rows = append(rows, page...)
		if cursor == "" {
			break
		}
		if h.dice.IntN(30) == 0 {
			return rows, false
		}
		if h.dice.IntN(6) > 0 { // else the answer was lost, and the page comes again
			target = path + "&cursor=" + url.QueryEscape(cursor)
		}
	}

	got := map[string]string{}
	for _, row := range rows {
		got[row.key] = row.change
	}
	want := map[string]string{}
	before := h.rows[m.since][kind]
	after := h.rows[now][kind]
	for key, row := range after {
		if was, had := before[key]; !had {
			want[key] = "added"
		} else if was != row {
			want[key] = "changed"
		}
	}
	for key := range before {
		if _, has := after[key]; !has {
			want[key] = "removed"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s from %s to %s: (-want +got)\n%s", kind, m.since, now, d)
	}
	return rows, true
}

func (h *publications) bulk() *mirrored {
	id := h.engine.View().ID
	m := &mirrored{since: id, rows: catalogRows{}}
	for kind, rows := range h.rows[id] {
		m.rows[kind] = maps.Clone(rows)
	}
	return m
}

// TestChangesOracle has clients take the bulk once, at any of 45 releases, and then only
// changes. They must have today's rows, and every answer must list just the rows that differ.
// Releases are days with new, changed, unlisted and removed cards, rollbacks, and the same
// snapshot again.
func TestChangesOracle(t *testing.T) {
	for seed := range uint64(40 / testsweep.Stride(20)) {
		h := newPublications(t, seed)
		daily := h.bulk()
		var others []*mirrored
		for range 45 {
			others = append(others, h.bulk())
			h.step(t)
			h.update(t, daily)
			if k := h.dice.IntN(len(others)); h.knows(others[k].since) {
				h.update(t, others[k])
			}
		}

		// Those that are within the last 30 releases catch up at once. Another cursor is
		// refused.
		for _, m := range others {
			if h.knows(m.since) {
				h.update(t, m)
			} else if slices.Contains(h.past[len(h.past)-30:], m.since) {
				t.Fatalf("nobody knows what changed since %s", m.since)
			} else {
				h.isGone(t, m.since)
			}
		}
	}
}

func (h *publications) knows(since string) bool { return h.engine.View().KnowsChanges(since) }

func (h *publications) isGone(t *testing.T, since string, header ...string) {
	t.Helper()
	r := h.try(t, scenario{
		path: "/v1/changes?kind=prices&since=" + since, status: 410, code: "snapshot_gone", header: header,
	})
	if !strings.Contains(string(r.body), "GET /v1/bulk") || r.header.Get("X-Snapshot-Id") == "" {
		t.Errorf("the way on is not named: %v %s", r.header, r.body)
	}
}

// TestChangesOfBrokenChain wants a store with a damaged delta to publish and serve, to say 410 for what is behind the
// gap, and to be well again after it.
func TestChangesOfBrokenChain(t *testing.T) {
	h := newPublications(t, 3)
	first := h.bulk()
	h.latest = h.edit(h.latest)
	h.publish(t, h.latest)
	second := h.bulk()

	// An earlier program knows no deltas; a disk may spoil one.
	deltas, err := snapshot.DeltasOf(h.dir).All()
	if err != nil || len(deltas) != 1 {
		t.Fatal(len(deltas), err)
	}
	deltas[0].Packed[len(deltas[0].Packed)/2] ^= 1
	if err := snapshot.DeltasOf(h.dir).Add(deltas[0]); err != nil {
		t.Fatal(err)
	}

	h.latest = h.edit(h.latest)
	h.publish(t, h.latest)
	h.isGone(t, first.since)
	h.isGone(t, "20200101T000000Z-0123456789abcdef")
	h.update(t, second)
	h.try(t, scenario{path: "/v1/changes?kind=cards&since=" + h.engine.View().ID, want: []match{has(`"data":[]`)}})

	// A rollback to the first one closes the gap: its content is what it was.
	if _, err := h.dir.Rollback(first.since, h.options()); err != nil {
		t.Fatal(err)
	}
	h.served(t)
	h.update(t, first)
	h.update(t, second)
}

// TestChangesWalk wants pagination to stay on its snapshot through releases, and an error once
// the snapshot is gone.
func TestChangesWalk(t *testing.T) {
	h := newPublications(t, 5)
	before := h.engine.View().ID
	h.latest = h.edit(h.latest)
	h.publish(t, h.latest)
	middle := h.engine.View().ID
	path := "/v1/changes?limit=1&kind=prices&since=" + before
	first := h.try(t, scenario{path: path})
	_, _, cursor := h.parse(t, "prices", first.body)
	if cursor == "" {
		t.Fatalf("one page: %s", first.body)
	}
	next := path + "&cursor=" + cursor

	h.latest = h.edit(h.latest)
	h.publish(t, h.latest)
	r := h.try(t, scenario{path: next})
	if to, _, _ := h.parse(t, "prices", r.body); to != middle {
		t.Errorf("the walk goes on in %s", to)
	}
	pinned := h.try(t, scenario{path: path, header: []string{"X-Snapshot-Id: " + middle}})
	if to, _, _ := h.parse(t, "prices", pinned.body); to != middle {
		t.Errorf("the header is not obeyed: %s", to)
	}
	h.try(t, scenario{
		path: next, header: []string{"X-Snapshot-Id: " + h.engine.View().ID}, status: 400, code: "invalid_request",
	})
	h.isGone(t, before, "X-Snapshot-Id: none")
	h.try(t, scenario{path: strings.Replace(next, before, middle, 1), status: 400, code: "invalid_request"})
	for _, wrong := range []string{
		"", "?kind=cards", "?since=x", "?kind=names&since=x", "?kind=sets&since=x&limit=1001",
	} {
		h.try(t, scenario{path: "/v1/changes" + wrong, status: 400, code: "invalid_request"})
	}

	tag := first.header.Get("Etag")
	same := h.try(t, scenario{
		path: path, header: []string{"X-Snapshot-Id: " + middle, "If-None-Match: " + tag}, status: 304,
	})
	if len(same.body) > 0 {
		t.Errorf("304 with a body")
	}

	h.engine.Swap(h.engine.View(), h.now.Add(time.Hour))
	r = h.try(t, scenario{path: next, status: 410, code: "snapshot_gone"})
	if !strings.Contains(string(r.body), "GET /v1/bulk") {
		t.Errorf("the way on is not named: %s", r.body)
	}
}

// TestChangesOfAdoptedView wants a release that was undone between two looks at the store to be among what is
// known: another server may have served it.
func TestChangesOfAdoptedView(t *testing.T) {
	h := newPublications(t, 8)
	served := h.engine.View()
	h.latest = h.edit(h.latest)
	m, _, err := h.dir.Write(h.latest.Catalog(), snapshot.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.dir.Publish(m.ID, h.options()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.dir.Rollback(served.ID, h.options()); err != nil {
		t.Fatal(err)
	}
	h.served(t)

	c, err := h.dir.Load(context.Background(), m.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := engine.NewView(c, *served.Site())
	if err != nil {
		t.Fatal(err)
	}
	h.rows[m.ID] = catalogRowsOf(t, v)
	other := &mirrored{since: m.ID, rows: catalogRowsOf(t, v)}
	h.update(t, other)
}
