package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// handoverLead is how long a server of a supervisor continues to listen after the signal to end.
const handoverLead = 200 * time.Millisecond

// supervisor starts servers as systemd does: it owns the socket and passes it on.
type supervisor struct {
	*program // the store and the key
	t        *testing.T
	socket   *os.File
	address  string
	admin    string
	started  int
	shell    string   // what a shell does first, in the same process
	environ  []string // variables besides
}

func newSupervisor(t *testing.T) *supervisor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	tcp, _ := l.(*net.TCPListener)
	socket, err := tcp.File()
	if err == nil {
		err = l.Close() // the file holds the socket
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })

	// One address for the admin listener, as a configuration has it: servers that overlap share it. It
	// is this process's own, for between two servers nobody holds the port, and clients of other tests
	// have theirs on 127.0.0.1.
	pid := os.Getpid()
	own := net.IPv4(127, byte(128|pid>>16&63), byte(pid>>8), byte(pid))
	free, err := net.Listen("tcp", net.JoinHostPort(own.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	admin := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	p := newProgram(t)
	p.path = scriptPath(t)
	return &supervisor{program: p, t: t, socket: socket, address: l.Addr().String(), admin: admin}
}

// successor is one process that the supervisor started.
type successor struct {
	cmd   *exec.Cmd
	log   *safeBuffer
	ready string
}

// start starts a server with the socket. The process learns its number from the shell that it was.
func (s *supervisor) start() *successor {
	s.t.Helper()
	path, err := exec.LookPath(filepath.Join(s.path, "ninepocket"))
	if err != nil {
		s.t.Fatal(err)
	}

	s.started++
	one := &successor{log: &safeBuffer{}, ready: filepath.Join(s.dir, fmt.Sprint("ready", s.started))}
	one.cmd = exec.Command("/bin/sh", "-c", s.shell+`LISTEN_PID=$$ exec "$0" "$@"`, path,
		"serve", "--store", "store", "--state", "state", "--admin", s.admin, "--drain-lead", handoverLead.String(),
		"--ready-file", one.ready)
	one.cmd.Dir = s.dir
	one.cmd.Env = append(append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=api"), s.environ...)
	one.cmd.ExtraFiles = []*os.File{s.socket}
	one.cmd.Stdout = one.log
	one.cmd.Stderr = one.log
	if err := one.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { end(one.cmd) }) // before its folder is removed
	return one
}

// until waits for something that a server does.
func (s *supervisor) until(one *successor, what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the server did not %s within a minute:\n%s", what, one.log)
		}
	}
}

func (s *supervisor) untilReady(one *successor) {
	s.t.Helper()
	s.until(one, "get ready", func() bool { _, err := os.Stat(one.ready); return err == nil })
}

// end ends a server as a supervisor does, and returns how long that took.
func (s *supervisor) end(one *successor) time.Duration {
	s.t.Helper()
	begun := time.Now()
	if err := one.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := one.cmd.Wait(); err != nil {
		s.t.Errorf("the server did not end well: %v\n%s", err, one.log)
	}
	return time.Since(begun)
}

// restart ends a server and starts another one: clients wait in the socket meanwhile.
func (s *supervisor) restart(old *successor) *successor {
	s.t.Helper()
	s.end(old)
	next := s.start()
	s.untilReady(next)
	return next
}

// upgrade starts another server, which loads its snapshot and waits, and ends the old one then.
func (s *supervisor) upgrade(old *successor) *successor {
	s.t.Helper()
	next := s.start()
	s.until(next, "wait for its turn", func() bool {
		return strings.Contains(next.log.String(), "waiting for the state directory")
	})
	s.end(old)
	s.untilReady(next)
	return next
}

// visitor is a client that asks again and again on open connections, and retries nothing
// twice: what fails, failed. Only where lead is given, and it was so late itself that a server which
// drains may have ended the connection rightly, a request without any answer is sent again.
type visitor struct {
	address, key string
	secure       *tls.Config   // nil for plain HTTP
	pause        time.Duration // between two requests
	leaves       int           // every so many requests, unless 0
	lead         time.Duration // of a server that drains, unless 0
	late         int           // how often it was
	conn         net.Conn
	tcp          *net.TCPConn // conn, or what is below its TLS
	since        time.Time    // when the last request began, or the connection
	r            *bufio.Reader
	body         bytes.Buffer // of the last answer
	n            int
	good         *atomic.Int64 // counts what was answered 200; nil for nobody
}

var (
	// errRefused means: the request was not sent.
	errRefused = errors.New("refused")
	// errLate means: the client was late, and nothing was answered.
	errLate = errors.New("late")
)

// ask sends one request, of two kinds in turn, and wants 200.
func (v *visitor) ask() error {
	v.n++
	request := "GET /v1/games HTTP/1.1\r\nHost: x\r\nX-API-Key: " + v.key + "\r\n\r\n"
	if v.n%3 == 0 {
		const body = `{"ids":["none"]}`
		request = fmt.Sprintf("POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", v.key, len(body), body)
	}
	status, err := v.send(request)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err == nil && v.good != nil {
		v.good.Add(1)
	}
	return err
}

// send sends one request and reads its answer.
func (v *visitor) send(request string) (status int, err error) {
	status, err = v.sendOnce(request)
	for errors.Is(err, errLate) {
		v.late++
		v.leave()
		status, err = v.sendOnce(request)
	}
	return status, err
}

func (v *visitor) sendOnce(request string) (status int, err error) {
	// As clients with a pool do: a connection that was closed while it was idle is not used.
	if v.conn != nil && v.pause > 0 && v.isClosed() {
		v.leave()
	}
	begun := time.Now()
	if v.conn == nil {
		v.since = begun
		conn, err := net.Dial("tcp", v.address)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errRefused, err)
		}
		v.tcp, _ = conn.(*net.TCPConn)
		if v.secure != nil {
			conn = tls.Client(conn, v.secure)
		}
		v.conn = conn
		v.r = bufio.NewReader(conn)
	}

	_ = v.conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = io.WriteString(v.conn, request)
	wrote := time.Now()
	if err == nil {
		_, err = v.r.Peek(1)
	}

	// The server did not drain yet when the last request began, because its answer did not close
	// the connection. All requests within the lead from then on are before the end.
	if v.lead > 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && wrote.Sub(v.since) >= v.lead {
		return 0, errLate
	}

	var resp *http.Response
	if err == nil {
		resp, err = http.ReadResponse(v.r, nil)
	}
	if err == nil {
		v.body.Reset()
		_, err = io.Copy(&v.body, resp.Body)
	}
	if err != nil {
		return 0, fmt.Errorf("reset: %w", err)
	}
	v.since = begun
	if resp.Close || v.leaves > 0 && v.n%v.leaves == 0 {
		v.leave()
	}
	return resp.StatusCode, nil
}

// isClosed reports whether the connection has anything to read while nothing was asked: its end.
func (v *visitor) isClosed() (closed bool) {
	raw, err := v.tcp.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool {
			_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			closed = !errors.Is(err, syscall.EAGAIN)
			return true // it does not wait
		})
	}
	return closed || err != nil
}

func (v *visitor) leave() {
	if v.conn != nil {
		_ = v.conn.Close()
	}
	v.conn = nil
}

// TestHandover restarts and upgrades servers under load. Of all requests none is refused, reset or
// answered 5xx, and each is charged once. NINEPOCKET_TORTURE makes it 100,000 requests.
func TestHandover(t *testing.T) {
	t.Parallel()
	wanted := int64(2000)
	if os.Getenv("NINEPOCKET_TORTURE") != "" {
		wanted = 100_000
	}

	s := newSupervisor(t)
	one := s.start()
	s.untilReady(one)

	var asked, failed, late atomic.Int64
	var enough atomic.Bool
	var slowest atomic.Int64
	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			v := &visitor{address: s.address, key: s.key, leaves: 50, lead: handoverLead}
			defer v.leave()
			defer func() { late.Add(int64(v.late)) }()
			switch {
			case i >= 10: // longer than the drain leads: their connections are closed while idle
				v.pause = 400 * time.Millisecond
			case i >= 4:
				v.pause = time.Duration(i) * time.Millisecond
			}

			for !enough.Load() {
				begun := time.Now()
				if err := v.ask(); err != nil {
					failed.Add(1)
					t.Errorf("request %d of client %d: %v", v.n, i, err)
					return
				}
				asked.Add(1)
				if took := int64(time.Since(begun)); took > slowest.Load() {
					slowest.Store(took)
				}
				time.Sleep(v.pause)
			}
		})
	}

	restarts := 0
	upgrades := 0
	for asked.Load() < wanted && failed.Load() == 0 || restarts == 0 || upgrades == 0 {
		before := asked.Load()
		if restarts == upgrades {
			one = s.upgrade(one)
			upgrades++
		} else {
			one = s.restart(one)
			restarts++
		}
		for share := wanted / 40; asked.Load() < before+share && failed.Load() == 0; {
			time.Sleep(time.Millisecond)
		}
	}
	enough.Store(true)
	clients.Wait()
	s.end(one)

	t.Logf("%d requests over %d restarts and %d upgrades: %d failed, %d were sent too late; the longest took %v",
		asked.Load(), restarts, upgrades, failed.Load(), late.Load(),
		time.Duration(slowest.Load()).Round(time.Millisecond))
	if got := s.charged(t)["acme"]; got != asked.Load() {
		t.Errorf("%d calls were charged, %d answered", got, asked.Load())
	}
}

// charged is what the ledger has of each tenant, read next to the server or without one.
func (p *program) charged(t *testing.T) map[string]int64 {
	t.Helper()
	var usage struct {
		Tenants []struct {
			Tenant string
			Keys   []struct {
				Days []struct {
					Operations map[string]struct{ Charged int64 }
				}
			}
		}
	}
	text := command(t, p.dir, "usage", "--state", "state", "--json")
	if err := json.Unmarshal([]byte(text), &usage); err != nil {
		t.Fatal(err)
	}

	sums := map[string]int64{}
	for _, one := range usage.Tenants {
		for _, key := range one.Keys {
			for _, day := range key.Days {
				for _, operation := range day.Operations {
					sums[one.Tenant] += operation.Charged
				}
			}
		}
	}
	return sums
}
