package main

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestTenMinutes has a tenant of the preview contract send fresh batches of 50 at its full rate to
// the real program for ten minutes. Its plan is business with 100,000 credits. No batch is 503, and
// a stored reply takes at most 200 bytes of memory. Ten minutes later the memory is free again. It
// takes 21 minutes, and is part of make torture alone; [access.TestTenMinutesOfBatches] does the
// same to the store, in virtual time.
func TestTenMinutes(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("skipped: 21 minutes, a part of make torture")
	}
	p := newProgram(t)
	p.path = scriptPath(t)
	key := anotherTenant(t, p.dir, "busy", "--surface", "preview", "--plan", "business", "--credits", "100000")
	p.serve(t, nil, "")

	items := make([]string, 50)
	for i := range items {
		items[i] = fmt.Sprintf(`{"kind":"sealed","product_id":"prd_abc%d"}`, i)
	}
	body := `{"items":[` + strings.Join(items, ",") + `]}`
	var mu sync.Mutex
	counts := map[int]int{}
	send := func(one *visitor, n int64) {
		t.Helper()
		status, err := one.send(fmt.Sprintf("POST /v1/prices/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
			"Content-Type: application/json\r\nIdempotency-Key: 0b1f5a52-6a6e-4b0e-9d3c-%012d\r\n"+
			"Content-Length: %d\r\n\r\n%s", key, n, len(body), body))
		if err != nil {
			t.Errorf("batch %d: %v\n%s", n, err, p.log)
		}
		mu.Lock()
		counts[status]++
		mu.Unlock()
	}

	var sent atomic.Int64
	first := &visitor{address: p.address(), key: key}
	for range 1000 {
		send(first, sent.Add(1)) // what is made once is made
	}
	first.leave()
	time.Sleep(time.Minute) // the rate of the minute is whole
	before := p.heap(t)
	clear(counts)

	// The tenant has eight connections: while one waits for a slow disk, the others keep the rate.
	begun := sent.Load()
	due := atFullRate(10 * time.Minute)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			one := &visitor{address: p.address(), key: key}
			defer one.leave()
			for range due {
				send(one, sent.Add(1))
			}
		})
	}
	clients.Wait()
	stored := int(sent.Load() - begun)
	t.Logf("%d batches in ten minutes, by status %v", stored, counts)
	time.Sleep(12 * time.Second) // a checkpoint
	during := p.heap(t)
	time.Sleep(11*time.Minute + 30*time.Second)
	after := p.heap(t)

	each := float64(during-before) / float64(stored)
	t.Logf("%.0f bytes of memory a kept reply, %.0f ten minutes later", each, float64(after-before)/float64(stored))
	if counts[http.StatusServiceUnavailable] > 0 || counts[http.StatusOK] < stored*99/100 || stored < 50_000 {
		t.Error("not all of them were made")
	}
	if each > 200 || float64(after-before)/float64(stored) > 20 {
		t.Error("memory is not as promised")
	}
}

// atFullRate says for a while when a batch is due: a hair below 6,000 a minute, of which buckets may take
// 0.1 s (decision 12). On a busy machine as many as fit that hair are made up for.
func atFullRate(d time.Duration) <-chan struct{} {
	const every = 10030 * time.Microsecond
	due := make(chan struct{}, 10)
	go func() {
		defer close(due)
		begun := time.Now()
		for at := time.Duration(0); at < d; at += every {
			time.Sleep(time.Until(begun.Add(at)))
			select {
			case due <- struct{}{}:
			default: // nobody is free: it is not sent at all
			}
		}
	}()
	return due
}

// heap is what is live in the program. Only the second collection takes what is in pools: compressors
// of several megabytes, as many as were once busy at the same time.
func (p *program) heap(t *testing.T) int64 {
	t.Helper()
	p.collect(t)
	return p.collect(t)
}

// collect makes the program collect its garbage, and returns what is live then.
func (p *program) collect(t *testing.T) int64 {
	t.Helper()
	resp, err := http.Get(p.Admin + "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		var m runtime.MemStats
		if n, _ := fmt.Sscanf(line, "# HeapAlloc = %d", &m.HeapAlloc); n == 1 {
			return int64(m.HeapAlloc)
		}
	}
	t.Fatalf("no heap in\n%s", text)
	return 0
}
