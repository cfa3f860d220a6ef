package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/fixture"
	"ninepocket/internal/redistest"
	"ninepocket/internal/s3test"
	"ninepocket/internal/synth"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// follower is the part of a server that follows releases: from the store of many servers into a
// folder, and from there into memory.
type follower struct {
	cache  *mirror.Follower
	engine *engine.Engine
}

// TestPublicationsTogether pushes to three servers, each with a folder and a clock of its own: none
// begins with a release before its time, and all serve it then. How close to each other they are
// is measured in make torture-fleet, on a machine that does nothing else.
func TestPublicationsTogether(t *testing.T) {
	strict := os.Getenv("NINEPOCKET_TORTURE") != ""
	publications := 3
	lead := 700 * time.Millisecond
	if strict {
		publications = 100
	}

	model := s3test.Start(t)
	place, err := mirror.ParseLocation(model.Place("prod"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := mirror.CreateKey(filepath.Join(t.TempDir(), "key"), "ops")
	if err != nil {
		t.Fatal(err)
	}
	bucket := mirror.Open(place)
	operator := snapshot.OpenStore(t.TempDir())
	var ids []string
	for seed := range uint64(3) {
		m, _, err := operator.Write(fixture.Random(seed, fixture.Small).Catalog(), snapshot.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	push := func(id string, lead time.Duration) mirror.PushResult {
		t.Helper()
		done, err := bucket.Push(t.Context(), operator, id, mirror.PushOptions{Now: time.Now(), Key: key, Lead: lead})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	push(ids[0], 0)

	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	var all []*follower
	for range 3 {
		dir := snapshot.OpenStore(t.TempDir())
		f := &follower{
			cache: mirror.NewFollower(mirror.Open(place), dir, mirror.FollowerOptions{
				Publishers: []mirror.Publisher{key.Publisher()},
			}),
			engine: engine.New(dir, engine.Options{
				Site: wire.URLs{URL: "https://cards.test"}, Poll: 20 * time.Millisecond,
			}),
		}
		if _, err := f.cache.Pull(ctx); err != nil {
			t.Fatal(err)
		}
		if err := f.engine.Open(time.Now()); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
		following.Go(func() { f.engine.Follow(ctx) })
		following.Go(func() {
			for ctx.Err() == nil {
				// Failed pulls are repeated, as a server does.
				_, _ = f.cache.Pull(ctx)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}

	worst := time.Duration(0)
	for n := range publications {
		done := push(ids[(n+1)%len(ids)], lead)
		var first, last time.Time
		for k, f := range all {
			var st engine.Stats
			for deadline := time.Now().Add(time.Minute); st.Epoch != done.Epoch; st = f.engine.Stats() {
				if time.Now().After(deadline) {
					t.Fatalf("server %d never serves publication %d: %+v", k, n, st)
				}
				time.Sleep(5 * time.Millisecond)
			}
			if st.Live.Before(done.ActivateAt) {
				t.Errorf("server %d serves publication %d %s before its time", k, n, done.ActivateAt.Sub(st.Live))
			}
			if first.IsZero() || st.Live.Before(first) {
				first = st.Live
			}
			if st.Live.After(last) {
				last = st.Live
			}
		}
		worst = max(worst, last.Sub(first))
	}
	t.Logf("%d publications, at most %s between the first server and the last", publications, worst)
	if strict && worst > 250*time.Millisecond {
		t.Errorf("servers begin with a publication %s apart", worst)
	}
}

// TestReplayAnywhere sends a batch to one server of three, and then the same batch to all. Each
// repeats the first answer, also after the next day's snapshot, and the batch is billed once.
func TestReplayAnywhere(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.publishes()
	c.metering = r.URL()
	_, key := c.creates("acme", "preview", "preview")
	c.isOld(r)
	servers := []*fleetServer{c.serves(""), c.serves(""), c.serves("")}

	page := c.answered(servers[0].API+"/v1/products?kind=sealed&limit=1", key)
	var products struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(page), &products); err != nil || len(products.Data) != 1 {
		t.Fatalf("%v in %s", err, page)
	}
	body := `{"items":[{"kind":"sealed","product_id":"` + products.Data[0].ID + `"}]}`
	type answer struct {
		Data json.RawMessage
		Meta struct {
			SnapshotAt string `json:"snapshot_at"`
			Units      int    `json:"billable_units"`
			Replay     bool   `json:"idempotent_replay"`
		}
	}
	refused := 0 // because Redis was too slow
	batch := func(s *fleetServer) (a answer) {
		t.Helper()
		status := 0
		text := ""
		c.eventually("a batch is not refused", func() bool {
			status, text = c.posts(s.API+"/v1/prices/batch", key, "0b1f5a52-6a6e-4b0e-9d3c-000000000001", body)
			if status == http.StatusServiceUnavailable {
				refused++
			}
			return status != http.StatusServiceUnavailable
		})
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		return a
	}

	first := batch(servers[1])
	if (first.Meta.Replay || first.Meta.Units != 1) && refused == 0 {
		t.Fatalf("the first answer is %+v", first.Meta)
	}
	same := func(what string) {
		t.Helper()
		for k, s := range servers {
			again := batch(s)
			if string(again.Data) != string(first.Data) || again.Meta.SnapshotAt != first.Meta.SnapshotAt ||
				!again.Meta.Replay || again.Meta.Units != 0 {
				t.Errorf("%s: server %d repeats %s as %s, %+v", what, k, first.Data, again.Data, again.Meta)
			}
		}
	}
	same("on the same day")

	next := c.builds(1)
	c.eventually("all serve the next day", func() bool {
		for _, s := range servers {
			_, text := c.asks(s.Admin+"/-/snapshot", "")
			if !strings.Contains(text, next) {
				return false
			}
		}
		return true
	})
	same("on the next day")
	c.eventually("the batch is billed", func() bool { return c.billed("acme") >= 2 })
	if got := c.billed("acme"); got != 2 { // the page of products is the other one
		t.Errorf("%d calls are billed", got)
	}
}

// builds builds and publishes the catalog of another day.
func (c *fleetKit) builds(day int) (id string) {
	c.t.Helper()
	raw := filepath.Join(c.t.TempDir(), "raw")
	if _, err := synth.Summarize(raw, synth.Options{Cards: 300, HistoryDays: 30, Day: day}); err != nil {
		c.t.Fatal(err)
	}
	out, _ := c.does(exitOK, "snapshot", "build", "--store", c.store, "--source", "native:"+raw, "--base", "current",
		"--publish", "--json")
	return c.member(out, "id")
}

// posts sends a batch.
func (c *fleetKit) posts(url, key, idempotency, body string) (status int, answer string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", idempotency)

	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
