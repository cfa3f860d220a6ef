package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDescriptorsRunOut takes all descriptors from a running server, so that the system refuses
// every other one, for some time in which something has to be opened. Open connections are still
// served. When there are descriptors again, nothing remains of the shortage.
func TestDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	for what, d := range descriptorFaults() {
		p := newProgram(t)
		p.path = scriptPath(t)
		p.serve(t, nil, "")
		f := &flood{program: p, t: t}
		openVisitor := f.visitor()
		defer openVisitor.leave()
		if err := openVisitor.ask(); err != nil {
			t.Fatal(err)
		}

		// No descriptor has so low a number any more.
		var before unix.Rlimit
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
			t.Fatal(err)
		}
		none := unix.Rlimit{Cur: 1, Max: before.Max}
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &none, nil); err != nil {
			t.Fatal(err)
		}

		begun := time.Now()
		waiting, err := net.Dial("tcp", f.address()) // the system takes it; the server cannot
		if err != nil {
			t.Fatal(err)
		}
		defer waiting.Close()
		const request = "GET /v1/games HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n"
		if _, err := fmt.Fprintf(waiting, request, p.key); err != nil {
			t.Fatal(err)
		}
		newKey := anotherTenant(t, p.dir, "late", "--surface", "live", "--plan", "unlimited")
		newSnapshot := p.anotherSnapshot(t)
		for time.Since(begun) < d {
			if err := openVisitor.ask(); err != nil {
				t.Errorf("%s: who was there before is not served: %v", what, err)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}

		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
			t.Fatal(err)
		}
		over := time.Now()
		_ = waiting.SetReadDeadline(over.Add(30 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(waiting), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: who waited is answered %v, %v", what, resp, err)
		}
		f.good.Add(1)
		p.isWhole(t, newKey, newSnapshot, over)
		f.isCharged()
		t.Logf("%s: all is well %v after %v without descriptors; accept failed %d times", what,
			time.Since(over).Round(time.Millisecond), d, f.metric("ninepocket_accept_failures_total"))
		if f.metric("ninepocket_accept_failures_total") == 0 {
			t.Errorf("%s: there was no fault", what)
		}
	}
}

// descriptorFaults are how long descriptors are missing, by what the server opens meanwhile: keys
// are looked at twice a second, the store four times.
func descriptorFaults() map[string]time.Duration {
	faults := map[string]time.Duration{"a swap and new keys": 1500 * time.Millisecond}
	if long() {
		faults["a checkpoint, of which there is one every 10 s"] = 12 * time.Second
	}
	return faults
}

// anotherSnapshot publishes the example once more, as of a later day, and returns its id.
func (p *program) anotherSnapshot(t *testing.T) string {
	t.Helper()
	example, err := filepath.Abs("../../docs/examples/native")
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(command(t, p.dir, "snapshot", "build", "--store", "store", "--source",
		"native:"+example, "--publish", "--json", "--snapshot-at", "2026-08-22T21:00:00Z",
		"--override", "repeated_feed", "--reason", "a test")), &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// isWhole wants a server, within 30 s, to be ready, and to serve a new client with a key on a
// snapshot.
func (p *program) isWhole(t *testing.T, key, snapshot string, since time.Time) {
	t.Helper()
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	look := func() string {
		ready, err := fresh.Get(p.Admin + "/readyz")
		if err != nil {
			return err.Error()
		}
		why, _ := io.ReadAll(ready.Body)
		_ = ready.Body.Close()
		if ready.StatusCode != http.StatusOK {
			return strings.TrimSpace(string(why))
		}

		other := &program{ReadyFile: p.ReadyFile, key: key}
		resp, err := other.get(t.Context(), fresh, "/v1/games")
		switch {
		case err != nil:
			return err.Error()
		case resp.Header.Get("X-Snapshot-Id") != snapshot:
			return "it serves " + resp.Header.Get("X-Snapshot-Id")
		}
		return ""
	}

	for {
		why := look()
		if why == "" {
			return
		}
		if time.Since(since) > 30*time.Second {
			t.Fatalf("30 s after the fault has ended: %s\n%s", why, p.log)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
