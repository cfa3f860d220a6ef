// Package redistest is a kit: redis-server processes for tests, which end with them.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Process is a redis-server of a test's own.
type Process struct {
	t    testing.TB
	Dir  string
	port int
	args []string
	line []string // instead of all others: a Sentinel's
	cmd  *exec.Cmd
	log  *os.File
}

// Need skips a test where there is no redis-server.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("skipped: redis-server is not installed")
	}
}

// Start starts a redis-server that keeps nothing on disk, with more arguments. It ends with the
// test.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	Need(t)
	r := In(t, t.TempDir(), args...)
	t.Cleanup(r.Kill)
	return r
}

// Sentinel starts a Sentinel that watches a primary under a name, and takes it for down after 0.3 s.
func Sentinel(t testing.TB, primary *Process, name string) *Process {
	t.Helper()
	r := &Process{t: t, Dir: t.TempDir(), port: freePort(t)}
	file := filepath.Join(r.Dir, "sentinel.conf")
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor %s 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds %s 300\nsentinel failover-timeout %s 3000\n",
		r.port, r.Dir, name, primary.port, name, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.line = []string{file, "--sentinel"}
	r.Again()
	t.Cleanup(r.Kill)
	return r
}

// In starts a redis-server in a directory. Who asks for it ends it.
func In(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	Need(t)
	r := &Process{t: t, Dir: dir, port: freePort(t), args: args}
	r.Again()
	return r
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Address is where it listens.
func (r *Process) Address() string { return "127.0.0.1:" + strconv.Itoa(r.port) }

// Port is where it listens.
func (r *Process) Port() string { return strconv.Itoa(r.port) }

// URL leads to its first database.
func (r *Process) URL() string { return "redis://" + r.Address() + "/0" }

// Again starts the process and waits until it answers.
func (r *Process) Again() {
	r.t.Helper()
	args := append([]string{
		"--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.Dir, "--save", "", "--daemonize", "no",
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, r.args...)
	if r.line != nil {
		args = r.line
	}

	log, err := os.Create(filepath.Join(r.Dir, "log"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.log = log
	r.cmd = exec.Command("redis-server", args...)
	r.cmd.Stdout = log
	r.cmd.Stderr = log
	endWithParent(r.cmd)
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.Until("it answers", func() bool { return r.Try("PING") == "PONG" })
}

// Kill ends the process at once.
func (r *Process) Kill() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	_ = r.log.Close()
	r.cmd = nil
}

// Signal sends a signal to the process.
func (r *Process) Signal(s os.Signal) { _ = r.cmd.Process.Signal(s) }

// Until waits for something that has to happen.
func (r *Process) Until(what string, ready func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ready() {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(r.log.Name())
			r.t.Fatalf("redis-server on %d: never that %s:\n%s", r.port, what, said)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Try sends a command on a connection of its own; "" = it could not be sent.
func (r *Process) Try(words ...string) string {
	conn, err := net.DialTimeout("tcp", r.Address(), time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
	}

	answer := make([]byte, 64<<10)
	n, _ := conn.Read(answer)
	text := string(answer[:n])
	if strings.HasPrefix(text, "$") {
		_, text, _ = strings.Cut(text, "\r\n")
	}
	return strings.TrimRight(strings.TrimLeft(text, "+:-"), "\r\n")
}
