package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access"
)

// clientPool is the clients of a squad, and what they saw.
type clientPool struct {
	*faultFleet
	clients []*client
	good    atomic.Int64
	over    atomic.Bool
	group   sync.WaitGroup
}

// client asks both servers by one key. It tries no call twice, but a batch until it is answered.
type client struct {
	*clientPool
	tenant, plan, path string
	limit              int   // in any minute
	maxCharged         int64 // that may be charged in all
	pause              time.Duration
	visitors           [2]*visitor

	admitted []admission
	good     [2]int64          // plain calls that a server answered 200
	unknown  [2]int64          // calls that nobody answered: they may have been charged
	batches  map[string][]byte // by key: what was answered, nil = nothing yet
	bought   map[string]int    // answers that say that they cost something, by key
	replays  int
}

// ownMeta is what two answers to one batch do not share.
var ownMeta = regexp.MustCompile(`"(request_id|billable_units|idempotent_replay)":[^,}]*`)

// admission is a call that was answered 200.
type admission struct{ sent, got time.Time }

const (
	gamesPath    = "/v1/games"
	productsPath = "/v1/products"
	batchPath    = "/v1/prices/batch"
)

func newClientPool(q *faultFleet, config string) *clientPool {
	q.t.Helper()
	cr := &clientPool{faultFleet: q}
	for _, c := range []*client{
		{tenant: "tight", plan: "tight", path: gamesPath, limit: 60, pause: 40 * time.Millisecond},
		{tenant: "middle", plan: "middle", path: gamesPath, limit: 600, pause: 20 * time.Millisecond},
		{tenant: "large", plan: "leased", path: gamesPath, limit: 1500, pause: 10 * time.Millisecond},
		{tenant: "days", plan: "days", path: gamesPath, limit: 900, maxCharged: 70, pause: 30 * time.Millisecond},
		{tenant: "poor", plan: "credits", path: productsPath, limit: 900, maxCharged: 50, pause: 30 * time.Millisecond},
		{
			tenant: "partner", plan: "credits", path: batchPath, limit: 900, maxCharged: 90_000,
			pause: 60 * time.Millisecond,
		},
		{tenant: "later", plan: "days", path: gamesPath, limit: 900, maxCharged: 70},
	} {
		c.clientPool = cr
		c.batches = map[string][]byte{}
		c.bought = map[string]int{}
		for i := range c.visitors {
			c.visitors[i] = &visitor{}
		}

		args := []string{
			"keys", "create", "--control", q.control, "--config", config, "--json",
			"--tenant", c.tenant, "--plan", c.plan, "--surface", "live",
		}
		if c.plan == "credits" {
			args[len(args)-1] = "preview"
			args = append(args, "--credits", fmt.Sprint(c.maxCharged))
		}
		out, _ := q.does(exitOK, args...)
		for _, v := range c.visitors {
			v.key = q.fleetKit.member(out, "key")
		}
		cr.clients = append(cr.clients, c)
	}
	return cr
}

// begins lets all clients ask, but the last one, until the crowd is over.
func (cr *clientPool) begins() {
	for _, c := range cr.clients {
		if c.pause == 0 {
			continue
		}

		cr.group.Go(func() {
			for !cr.over.Load() {
				time.Sleep(c.pause/2 + rand.N(c.pause))
				if c.path == batchPath {
					c.batch()
				} else {
					c.call(rand.IntN(2))
				}
			}
		})
	}
}

// until waits for something that the crowd has to see.
func (cr *clientPool) until(what string, done func() bool) {
	cr.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			cr.t.Fatalf("not within 90 s: %s\n%s\n%s", what, cr.members[0].log, cr.members[1].log)
		}
	}
}

// send sends a request to a server, on an open connection. Its answer is 0 if there is none,
// or when the server cannot be reached.
func (c *client) send(server int, request string) (status int) {
	v := c.visitors[server]
	address := *c.members[server].address.Load()
	if v.address != address {
		v.leave()
		v.address = address
	}

	sent := time.Now()
	status, err := v.send(request)
	if err != nil {
		v.leave()
		if !errors.Is(err, errRefused) {
			c.unknown[server]++
		}
		return 0
	}
	if status == http.StatusOK {
		c.admitted = append(c.admitted, admission{sent, time.Now()})
		c.clientPool.good.Add(1)
	}
	return status
}

// call makes a plain call.
func (c *client) call(server int) (status int) {
	status = c.send(server, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", c.path,
		c.visitors[server].key))
	switch status {
	case http.StatusOK:
		c.good[server]++
	case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusPaymentRequired:
	default:
		c.t.Errorf("%s is answered %d: %s", c.tenant, status, &c.visitors[server].body)
	}
	return status
}

// batch repeats unanswered batches, or else sends a new batch and an answered one.
func (c *client) batch() {
	var names []string
	answered := ""
	for name, answer := range c.batches { // in any order
		switch {
		case answer != nil:
			answered = name
		case len(names) < 3:
			names = append(names, name)
		}
	}
	if len(names) < 3 {
		names = append(names, fmt.Sprint("batch-", len(c.batches)))
	}
	if answered != "" && rand.IntN(3) == 0 {
		names = append(names, answered)
	}

	for _, name := range names {
		c.sendBatch(name, rand.IntN(2))
	}
}

// sendBatch sends a batch to a server, and reports whether it is answered.
func (c *client) sendBatch(name string, server int) bool {
	const body = `{"items":[{"kind":"sealed","product_id":"prd_abc"}]}`
	status := c.send(server, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		c.path, c.visitors[server].key, name, len(body), body))
	before := c.batches[name]
	c.batches[name] = before
	switch status {
	case http.StatusOK:
	case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return false
	default:
		c.t.Errorf("a batch is answered %d: %s", status, &c.visitors[server].body)
		return false
	}

	// Of its meta a replay has the request's own id, and costs nothing.
	answer := c.visitors[server].body.Bytes()
	if bytes.Contains(answer, []byte(`"billable_units":1,`)) {
		c.bought[name]++
	} else {
		c.replays++
	}
	answer = ownMeta.ReplaceAll(answer, nil)
	if before != nil && !bytes.Equal(before, answer) || c.bought[name] > 1 {
		c.t.Errorf("%s is answered\n%s\nand again\n%s\n%d times for a credit", name, before, answer, c.bought[name])
	}
	c.batches[name] = answer
	return true
}

// settles ends the crowd once all is well: each server answers, batches are sent until they are
// answered, by the other server once more, and the servers end.
func (cr *clientPool) settles() {
	cr.t.Helper()
	later := cr.clients[len(cr.clients)-1]
	for server := range cr.members {
		cr.until("a new client is answered", func() bool { return later.call(server) == http.StatusOK })
	}
	cr.over.Store(true)
	cr.group.Wait()

	for _, c := range cr.clients {
		sampled := 0
		for name, answer := range c.batches {
			if answer != nil {
				sampled++
			}
			if answer != nil && sampled > 40 {
				continue
			}
			for server := range cr.members {
				cr.until("a batch is answered", func() bool { return c.sendBatch(name, server) })
			}
		}
	}
	for _, m := range cr.members {
		m.endsReported(cr.t, func() { cr.starts(m) })
	}
}

// agrees compares the clients' count, the servers' own logs, and the bill.
func (cr *clientPool) agrees() {
	cr.t.Helper()
	for _, c := range cr.clients {
		c.respectsMinutes()
		logged := cr.logged(c.tenant)
		var local [2]int64
		for i, m := range cr.members {
			rows, err := access.ReadLedger(filepath.Join(m.dir, "own"), c.tenant, 0, lastDay)
			if err != nil {
				cr.t.Fatal(err)
			}
			for _, row := range rows {
				local[i] += row.Charged
			}
			if c.path != batchPath && (local[i] < c.good[i] || local[i] > c.good[i]+c.unknown[i]) {
				cr.t.Errorf("%s at server %d: %d calls are charged, %d were answered, and %d more may have been",
					c.tenant, i, local[i], c.good[i], c.unknown[i])
			}
		}

		billed := cr.billed(c.tenant)
		if billed != local[0]+local[1] {
			cr.t.Errorf("%s: %d calls are billed, %d are in the servers' logs", c.tenant, billed, local[0]+local[1])
		}
		if c.path == batchPath && billed != int64(len(c.batches)) {
			cr.t.Errorf("%s: %d calls are billed for %d batches", c.tenant, billed, len(c.batches))
		}
		if c.maxCharged > 0 && billed > c.maxCharged {
			cr.t.Errorf("%s: %d calls are billed of %d", c.tenant, billed, c.maxCharged)
		}
		if maxCharged := len(c.admitted) + int(c.unknown[0]+c.unknown[1]); logged > maxCharged {
			cr.t.Errorf("%s: %d calls are logged as answered, %d were", c.tenant, logged, maxCharged)
		}
		cr.t.Logf("%s: %d answered, %d unknown, %d billed, %d replays", c.tenant, len(c.admitted),
			c.unknown[0]+c.unknown[1], billed, c.replays)
	}
}

// respectsMinutes wants no more calls in any 60 seconds than the plan has. When a call was admitted
// only the servers know: it was between its request and its answer.
func (c *client) respectsMinutes() {
	c.t.Helper()
	for i, first := range c.admitted {
		within := 0
		for _, one := range c.admitted[i:] {
			if one.got.Sub(first.sent) < time.Minute {
				within++
			}
		}
		if within > c.limit {
			c.t.Errorf("%s: %d calls in a minute of %d", c.tenant, within, c.limit)
			return
		}
	}
}

// logged counts the calls of a tenant that access logs have as answered 200.
func (cr *clientPool) logged(tenant string) (n int) {
	cr.t.Helper()
	for _, m := range cr.members {
		text, err := os.ReadFile(filepath.Join(m.dir, "access.log"))
		if err != nil {
			cr.t.Fatal(err)
		}

		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			var line struct {
				Tenant string
				Status int
			}

			// Of a server that was killed, the last one may be half a line.
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil && !strings.HasPrefix(lines.Text(), `{"time"`) {
				cr.t.Fatal(err)
			}
			if line.Tenant == tenant && line.Status == http.StatusOK {
				n++
			}
		}
	}
	return n
}
