package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"ninepocket/deploy/fleet"
)

// call is a request as its client saw it.
type call struct {
	tenant   string
	sent     time.Time
	got      time.Time
	status   int // 0: the outcome is unknown
	ours     bool
	id       string // of the request
	why      string // of a refusal, unless it is 429
	snapshot string
}

// answer is the response of a batch under an idempotency key.
type answer struct {
	data   string
	units  int
	replay bool
}

// batch has the outcomes of all tries of a batch.
type batch struct {
	answers []answer
	unknown bool // the outcome of a try is unknown
}

// unknown reports whether the outcome of the call is unknown: the connection was cut, or the proxy
// responded for a server.
func (one *call) unknown() bool { return one.status == 0 || !one.ours }

// client sends requests to a fleet, through its proxy and past it, and records the responses.
type client struct {
	fleet *fleet.Fleet
	http  *http.Client
	// behind means that everybody asks the proxy: a server that ends is missed by nobody then.
	behind bool

	mu      sync.Mutex
	calls   []call
	bodies  map[string]string // the response of a path from a snapshot, without its cursor
	batches map[string]*batch // by idempotency key
	walks   []walk
	faults  []string // forbidden observations
}

func newClient(f *fleet.Fleet) *client {
	return &client{
		fleet: f, bodies: map[string]string{}, batches: map[string]*batch{},
		http: &http.Client{
			Timeout:   8 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 5 * time.Second},
		},
	}
}

// wrong records a forbidden observation.
func (c *client) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// anywhere is the proxy or one of the servers.
func (c *client) anywhere() string {
	if c.behind || rand.IntN(2) == 0 {
		return c.fleet.BaseURL
	}
	return "http://" + c.fleet.Places[fleet.Servers[rand.IntN(len(fleet.Servers))]]
}

// ask sends a request somewhere and records its outcome.
func (c *client) ask(ctx context.Context, tenant, key, method, path, body, idempotency string) (one call, text string) {
	one = call{tenant: tenant, sent: time.Now()}
	req, err := http.NewRequestWithContext(ctx, method, c.anywhere()+path, strings.NewReader(body))
	if err != nil {
		c.wrong("%v", err)
		return one, ""
	}
	req.Header.Set("X-API-Key", key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", idempotency)
	}

	resp, err := c.http.Do(req)
	var b []byte
	if err == nil {
		b, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	one.got = time.Now()
	if err == nil {
		one.status = resp.StatusCode
		one.id = resp.Header.Get("X-Request-Id")
		one.snapshot = resp.Header.Get("X-Snapshot-Id")
		one.ours = resp.Header.Get("Server") == "ninepocket"
		if one.status >= http.StatusBadRequest && one.status != http.StatusTooManyRequests {
			one.why = fmt.Sprintf("Retry-After: %s, %s", resp.Header.Get("Retry-After"), b)
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, one)
	return one, string(b)
}

// paths are the requests of live tenants; equal paths must have equal responses in equal snapshots.
var paths = []string{
	"/v1/games", "/v1/cards?limit=50&sort=price_desc", "/v1/cards?limit=20&q=pikachu", "/v1/sets?limit=20",
	"/v1/market/movers?direction=up&limit=20",
}

// live asks as a tenant of the live API, at a pace, until ctx is done.
func (c *client) live(ctx context.Context, tenant, key string, pace time.Duration) {
	for ctx.Err() == nil {
		path := paths[rand.IntN(len(paths))]
		one, text := c.ask(ctx, tenant, key, http.MethodGet, path, "", "")
		if one.status == http.StatusOK {
			c.same(one.snapshot, path, text)
		}
		pause(ctx, pace)
	}
}

// same checks that a path has one response in one snapshot, on every server.
func (c *client) same(snapshot, path, text string) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		c.wrong("%s answers no JSON: %.200s", path, text)
		return
	}
	delete(body, "next_cursor")
	encoded, err := json.Marshal(body)
	if err != nil {
		c.wrong("%v", err)
		return
	}

	c.mu.Lock()
	before, known := c.bodies[snapshot+" "+path]
	c.bodies[snapshot+" "+path] = string(encoded)
	c.mu.Unlock()
	if known && before != string(encoded) {
		c.wrong("%s answers two things from snapshot %s: %.200s and %.200s", path, snapshot, before, encoded)
	}
}

// partner sends batches as a preview tenant: half of them are new, and half repeat an earlier one.
func (c *client) partner(ctx context.Context, tenant, key string, products []string, pace time.Duration) {
	var names []string
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("0b1f5a52-6a6e-4b0e-9d3c-%s-%06d", tenant, n)
		if len(names) > 0 && rand.IntN(2) == 0 {
			name = names[max(0, len(names)-1-rand.IntN(20))]
		} else {
			names = append(names, name)
		}

		// The body follows from the name.
		var number int
		_, _ = fmt.Sscanf(name[strings.LastIndexByte(name, '-')+1:], "%d", &number)
		body := `{"items":[{"kind":"sealed","product_id":"` + products[number%len(products)] + `"}]}`
		one, text := c.ask(ctx, tenant, key, http.MethodPost, "/v1/prices/batch", body, name)
		c.recordBatch(name, one, text)
		pause(ctx, pace)
	}
}

// recordBatch records the response of a batch.
func (c *client) recordBatch(name string, one call, text string) {
	var reply struct {
		Data json.RawMessage
		Meta struct {
			Units  int  `json:"billable_units"`
			Replay bool `json:"idempotent_replay"`
		}
	}
	if one.status == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &reply); err != nil {
			c.wrong("a batch answers no JSON: %.200s", text)
			return
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.batches[name]
	if all == nil {
		all = &batch{}
		c.batches[name] = all
	}
	all.unknown = all.unknown || one.unknown()
	if one.status == http.StatusOK {
		all.answers = append(all.answers, answer{string(reply.Data), reply.Meta.Units, reply.Meta.Replay})
	}
}

// walk has the observations of a client that read all pages.
type walk struct {
	snapshots map[string]bool
	cards     []string
	whole     bool
}

// walker reads the pages of all cards, each page from another server, again and again.
func (c *client) walker(ctx context.Context, tenant, key string, pace time.Duration) {
	for ctx.Err() == nil {
		w := walk{snapshots: map[string]bool{}}
		cursor := ""
		for ctx.Err() == nil {
			path := "/v1/cards?limit=50&sort=price_desc"
			if cursor != "" {
				path += "&cursor=" + cursor
			}
			one, text := c.ask(ctx, tenant, key, http.MethodGet, path, "", "")
			pause(ctx, pace)
			if one.status == http.StatusBadRequest {
				c.wrong("a page of a walk is refused: %.300s", text)
				break
			}
			if one.status != http.StatusOK {
				continue // once more, somewhere else
			}

			w.snapshots[one.snapshot] = true
			var page struct {
				Data []struct{ ID string }
				Next *string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(text), &page); err != nil {
				c.wrong("a page answers no JSON: %.200s", text)
				break
			}
			for _, card := range page.Data {
				w.cards = append(w.cards, card.ID)
			}
			if page.Next == nil {
				w.whole = true
				break
			}
			cursor = *page.Next
		}

		c.mu.Lock()
		c.walks = append(c.walks, w)
		c.mu.Unlock()
	}
}

// watch checks that the epochs of each server ascend, also over its restarts.
func (c *client) watch(ctx context.Context, name string) {
	last := uint64(0)
	for ctx.Err() == nil {
		pause(ctx, 100*time.Millisecond)
		served, ok := c.served(ctx, name)
		if !ok {
			continue
		}
		if served < last {
			c.wrong("%s serves epoch %d after epoch %d", name, served, last)
		}
		last = served
	}
}

// served is the epoch that a server serves.
func (c *client) served(ctx context.Context, name string) (epoch uint64, ok bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.fleet.Places[name+"/admin"]+"/-/snapshot",
		http.NoBody)
	if err != nil {
		return 0, false
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()

	var now struct{ Epoch uint64 }
	err = json.NewDecoder(resp.Body).Decode(&now)
	return now.Epoch, err == nil && resp.StatusCode == http.StatusOK
}

func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
