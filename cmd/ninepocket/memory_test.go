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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/node"
)

// memoryGroup is a control group of memory, of version 1 or 2, whichever can be written here.
type memoryGroup struct {
	t    *testing.T
	path string
	// The files of the group.
	limit, usage, events string
}

func newMemoryGroup(t *testing.T) *memoryGroup {
	t.Helper()
	root := "/sys/fs/cgroup/memory" // version 1
	g := &memoryGroup{
		t: t, limit: "memory.limit_in_bytes", usage: "memory.max_usage_in_bytes", events: "memory.oom_control",
	}
	if _, err := os.Stat(root); err != nil {
		root = "/sys/fs/cgroup"
		g.limit = "memory.max"
		g.usage = "memory.peak"
		g.events = "memory.events"
	}

	g.path = filepath.Join(root, fmt.Sprintf("ninepocket-test-%d", os.Getpid()))
	if err := os.Mkdir(g.path, 0o755); err != nil {
		t.Skipf("skipped: a limit of memory, because no control group can be made here (%v)", err)
	}
	t.Cleanup(func() {
		// It can be removed once the last process has gone.
		for deadline := time.Now().Add(time.Minute); os.Remove(g.path) != nil; time.Sleep(10 * time.Millisecond) {
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
// its clients are answered, then and afterwards. The whole bodies alone would take the entire
// memory. Bodies may have a quarter, and a client with another body must retry.
func floodMemory(t *testing.T, path string) {
	t.Helper()
	const bodies = 240
	// The sum of the program without requests, 15 MiB, 25 kB for each of 340 connections, and a
	// quarter for bodies. With more memory, the load takes 26 to 29 MiB.
	const limit = 32 << 20
	g := newMemoryGroup(t)
	g.set(limit)
	p := newProgram(t)
	p.path = path
	p.serve(t, nil, "echo $$ >"+filepath.Join(g.path, "cgroup.procs"))
	f := newFlood(t, p)
	atFirst := g.peak()

	// Bodies of a known client stay in memory until their last byte; answers of all sizes are
	// made at the same time.
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
			for again := true; again; {
				c, err := net.Dial("tcp", f.address())
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				_, _ = c.Write(append([]byte(post(256<<10)), body...))
				_, _ = io.WriteString(c, " GET "+largest+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
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
				took := time.Since(begun)
				again = took < d || later.Load() == 0 && took < d+time.Minute
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
	room := min(int64(limit)/100*90/4, 64<<20)
	if long() && peak-atFirst < room || peak > limit {
		t.Errorf("%d bytes were used of %d, %d at first: %d more are bodies", peak, limit, atFirst, room)
	}
	f.end()
	f.comesBack()
}

// floodPersistent has clients of a known key bring a large body each, one after the other, and
// stay. Their requests and responses are not retained. Whole, the bodies would take 60 MiB.
func floodPersistent(t *testing.T, path string) {
	t.Helper()
	const clients = 240
	const limit = 32 << 20
	g := newMemoryGroup(t)
	g.set(limit)
	p := newProgram(t)
	p.path = path
	p.serve(t, nil, "echo $$ >"+filepath.Join(g.path, "cgroup.procs"))
	f := newFlood(t, p)
	atFirst := g.peak()

	body := bytes.Repeat([]byte{' '}, 256<<10)
	request := append(fmt.Appendf(nil, "POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", p.key, len(body)), body...)
	bring := func(c net.Conn) error {
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := c.Write(request); err != nil {
			return err
		}
		resp, err := http.ReadResponse(bufio.NewReaderSize(c, 1024), nil)
		if err == nil && (resp.StatusCode != http.StatusBadRequest || resp.Close) {
			err = fmt.Errorf("status %d, closed: %t", resp.StatusCode, resp.Close)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		return err
	}
	if n := f.each(clients, bring); n > 0 {
		t.Errorf("%d of %d bodies were not answered", n, clients)
	}

	// All of them are there, and each may bring another one.
	open := f.metric("ninepocket_connections")
	t.Logf("of %d MiB %d were used before and %d after %d clients had brought %d KiB each and stayed", limit>>20,
		atFirst>>20, g.peak()>>20, open, len(body)>>10)
	if open < clients {
		t.Errorf("%d connections are open of %d", open, clients)
	}
	f.mu.Lock()
	all := slices.Clone(f.open)
	f.mu.Unlock()
	for _, c := range all {
		if err := bring(c); err != nil {
			t.Fatalf("the second body of a client: %v\n%s", err, f.log)
		}
	}
	f.end()
	f.comesBack()
}

// restarts is how the unit has a server started again that was killed.
func restarts(t *testing.T) time.Duration {
	t.Helper()
	unit, err := os.ReadFile("../../deploy/systemd/ninepocket.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"StartLimitIntervalSec=0", "Restart=on-failure"} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}

	found := regexp.MustCompile(`\nRestartSec=(\d+)\n`).FindSubmatch(unit)
	if found == nil {
		t.Fatal("the unit has no RestartSec")
	}
	seconds, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds) * time.Second
}

// floodKilled lets the group kill the server, which plans with more memory than there is: who starts it
// again as the unit does has one that answers, and every charge is right.
func floodKilled(t *testing.T, path string) {
	t.Helper()
	const bodies = 240
	g := newMemoryGroup(t)
	g.set(32 << 20)
	pause := restarts(t)
	s := newSupervisor(t)
	s.path = path
	s.shell = "echo $$ >" + filepath.Join(g.path, "cgroup.procs") + " && "
	s.environ = []string{"GOMEMLIMIT=off"}
	s.ReadyFile = &node.ReadyFile{API: "http://" + s.address, Admin: "http://" + s.admin}
	f := &flood{program: s.program, t: t}

	one := s.start()
	s.untilReady(one)
	honest := f.visitor()
	if err := honest.ask(); err != nil {
		t.Fatal(err)
	}
	honest.leave()

	body := bytes.Repeat([]byte{' '}, 256<<10-1)
	request := append(fmt.Appendf(nil, "POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", s.key, len(body)+1), body...)
	f.bodies.Go(func() {
		f.each(bodies, func(c net.Conn) error {
			if f.over.Load() {
				return io.EOF
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			_, err := c.Write(request)
			return err
		})
	})

	died := make(chan error, 1)
	go func() { died <- one.cmd.Wait() }()
	select {
	case <-died:
	case <-time.After(time.Minute):
		_ = one.cmd.Process.Kill()
		<-died
		t.Fatalf("the server lives with %d MiB\n%s", g.peak()>>20, one.log)
	}
	status, _ := one.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if kills := g.kills(); status.Signal() != syscall.SIGKILL || kills == 0 {
		t.Fatalf("the server ended with %v, the group killed %d processes\n%s", one.cmd.ProcessState, kills, one.log)
	}

	defer s.startsAgain(pause)()
	f.end()
	f.comesBack()
}

// startsAgain starts a server after a pause as often as one ends, as the unit does, until the returned
// function is called: the flood may be too much for the second one, too.
func (s *supervisor) startsAgain(pause time.Duration) (stop func()) {
	over := make(chan struct{})
	var unit sync.WaitGroup
	unit.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(pause):
			}

			next := s.start()
			ended := make(chan error, 1)
			go func() { ended <- next.cmd.Wait() }()
			select {
			case <-over:
				_ = next.cmd.Process.Kill()
				<-ended
				return
			case <-ended:
			}
		}
	})
	return func() {
		close(over)
		unit.Wait()
	}
}

// kills is how many processes the group has killed.
func (g *memoryGroup) kills() int64 {
	g.t.Helper()
	return procNumber(g.t, filepath.Join(g.path, g.events), `oom_kill (\d+)`)
}
