package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// memoryGroup is a control group of memory, of version 1 or 2, whichever can be written here.
type memoryGroup struct {
	t            *testing.T
	path         string
	limit, usage string // files
}

func newMemoryGroup(t *testing.T) *memoryGroup {
	t.Helper()
	root := "/sys/fs/cgroup/memory" // version 1
	g := &memoryGroup{t: t, limit: "memory.limit_in_bytes", usage: "memory.max_usage_in_bytes"}
	if _, err := os.Stat(root); err != nil {
		root = "/sys/fs/cgroup"
		g.limit = "memory.max"
		g.usage = "memory.peak"
	}

	g.path = filepath.Join(root, fmt.Sprintf("ninepocket-test-%d", os.Getpid()))
	if err := os.Mkdir(g.path, 0o755); err != nil {
		t.Skipf("skipped: a limit of memory, because no control group can be made here (%v)", err)
	}
	t.Cleanup(func() {
		// It can be removed once the last process has gone.
		for deadline := time.Now().Add(5 * time.Second); os.Remove(g.path) != nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("cannot remove %s", g.path)
				return
			}
		}
	})
	if _, err := os.Stat(filepath.Join(g.path, g.limit)); err != nil {
		t.Skip("skipped: a limit of memory, because control groups have no memory here")
	}
	return g
}

func (g *memoryGroup) set(bytes int64) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.path, g.limit), []byte(strconv.FormatInt(bytes, 10)), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// peak is the most that the group has used.
func (g *memoryGroup) peak() int64 {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.path, g.usage))
	if err != nil {
		g.t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// floodMemory loads a server until it uses the memory that its control group allows: it lives, and
// its clients are answered, then and afterwards. The bodies alone, whole, would take all of it; a
// quarter is what bodies may have, and who sends another one is told to come again.
func floodMemory(t *testing.T, path string) {
	t.Helper()
	const bodies = 240
	// What the program takes without requests, 15 MiB, 25 kB for each of 340 connections, and a quarter
	// for bodies; where there is more, the load takes 26 to 29 MiB.
	const limit = 32 << 20
	g := newMemoryGroup(t)
	g.set(limit)
	p := newProgram(t)
	p.path = path
	p.serve(t, nil, "echo $$ >"+filepath.Join(g.path, "cgroup.procs"))
	f := newFlood(t, p)
	atFirst := g.peak()

	// Bodies of a known client are held in memory until their last byte; answers of all sizes are
	// made beside them.
	post := func(n int) string {
		return fmt.Sprintf("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", p.key, n)
	}
	body := bytes.Repeat([]byte{' '}, 256<<10-1)
	if n := f.each(bodies, func(c net.Conn) error {
		_, err := c.Write(append([]byte(post(256<<10)), body...))
		return err
	}); n > 0 {
		t.Errorf("%d of %d bodies were refused", n, bodies)
	}

	d := 500 * time.Millisecond
	if long() {
		d = 20 * time.Second
	}
	var clients sync.WaitGroup
	var later atomic.Int64 // bodies that were answered 503, to be sent again
	begun := time.Now()
	for i := range 48 {
		clients.Go(func() {
			v := f.visitor()
			defer v.leave()
			for time.Since(begun) < d {
				c, err := net.Dial("tcp", f.address())
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				_, _ = c.Write(append([]byte(post(256<<10)), body...))
				_, _ = io.WriteString(c, " GET "+f.script+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				r := bufio.NewReader(c)
				resp, err := http.ReadResponse(r, nil)
				if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
					later.Add(1)
				}
				_, _ = io.Copy(io.Discard, r)
				_ = c.Close()
				if err := v.ask(); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	clients.Wait()

	peak := g.peak()
	t.Logf("of %d MiB %d were used before the load and %d under it; %d bodies were to come again", limit>>20,
		atFirst>>20, peak>>20, later.Load())
	if later.Load() == 0 {
		t.Error("no body was refused")
	}
	// The bodies that were read on had all the room that bodies may have. In a short time on a busy
	// machine they may not come so far.
	room := bodyRoom(limit / 100 * heapShare)
	if long() && peak-atFirst < room || peak > limit {
		t.Errorf("%d bytes were used of %d, %d at first: %d more are bodies", peak, limit, atFirst, room)
	}
	f.end()
	f.comesBack()
}
