// Package redistest is a kit: redis-server processes for tests, which end with them.
package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// waitTimeout is how long a test waits for a process. It is long, because the machine may be busy.
const waitTimeout = 90 * time.Second

// Process is a redis-server process of a test.
type Process struct {
	t            testing.TB
	Dir          string
	port         int
	args         []string
	overrideArgs []string // replace all others; for a Sentinel
	cmd          *exec.Cmd
	log          *os.File
	exited       atomic.Pointer[chan struct{}] // closed when the process has exited
}

// Need skips a test if redis-server is not installed.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("skipped: redis-server is not installed")
	}
}

// Start starts a redis-server without persistence, with more arguments. It ends with the test.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	Need(t)
	r := StartIn(t, t.TempDir(), args...)
	t.Cleanup(r.Kill)
	return r
}

// Sentinel starts a Sentinel that watches a primary under a name. It detects a failure only after a
// minute, so that a test decides when to fail over. It may have more lines of configuration.
func Sentinel(t testing.TB, primary *Process, name string, more ...string) *Process {
	t.Helper()
	r := &Process{t: t, Dir: t.TempDir()}
	file := filepath.Join(r.Dir, "sentinel.conf")
	r.overrideArgs = []string{file, "--sentinel"}
	r.startOnFreePort(func() {
		text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor %s 127.0.0.1 %d 1\n"+
			"sentinel down-after-milliseconds %s 60000\nsentinel failover-timeout %s 10000\n%s\n",
			r.port, r.Dir, name, primary.port, name, name, strings.Join(more, "\n"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(r.Kill)
	return r
}

// StartIn starts a redis-server in a directory. The caller must end it.
func StartIn(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	Need(t)
	r := &Process{t: t, Dir: dir, args: args}
	r.startOnFreePort(func() {})
	return r
}

// startOnFreePort starts the process on a free port. It tries again if another process takes the
// port first.
func (r *Process) startOnFreePort(prepare func()) {
	r.t.Helper()
	for range 5 {
		r.port = freePort(r.t)
		prepare()
		if r.start() {
			return
		}
		r.Kill()
	}
	r.fatal("it starts")
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

// Address returns the host and port on which it listens.
func (r *Process) Address() string { return "127.0.0.1:" + strconv.Itoa(r.port) }

// Port returns the port on which it listens.
func (r *Process) Port() string { return strconv.Itoa(r.port) }

// URL returns the URL of its first database.
func (r *Process) URL() string { return "redis://" + r.Address() + "/0" }

// Restart starts the process again and waits until it responds.
func (r *Process) Restart() {
	r.t.Helper()
	if !r.start() {
		r.fatal("it starts")
	}
}

// start starts the process, and reports whether it responds. A process that cannot start exits by
// itself.
func (r *Process) start() bool {
	r.t.Helper()
	args := append([]string{
		"--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.Dir, "--save", "", "--daemonize", "no",
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, r.args...)
	if r.overrideArgs != nil {
		args = r.overrideArgs
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
	exited := make(chan struct{})
	r.exited.Store(&exited)
	go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(exited) }(r.cmd)

	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if answer, ok := r.ask("PING"); ok && (answer == "PONG" || strings.HasPrefix(answer, "NOAUTH")) {
			return true
		}
		if r.hasExited() {
			return false
		}
	}
	r.fatal("it answers")
	return false
}

// hasExited reports whether the process has exited. It is safe for concurrent use.
func (r *Process) hasExited() bool {
	select {
	case <-*r.exited.Load():
		return true
	default:
		return false
	}
}

// fatal fails the test with the output of the process.
func (r *Process) fatal(what string) {
	r.t.Helper()
	said, _ := os.ReadFile(filepath.Join(r.Dir, "log"))
	r.t.Fatalf("redis-server on %d: never that %s:\n%s", r.port, what, said)
}

// Kill kills the process.
func (r *Process) Kill() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	<-*r.exited.Load()
	_ = r.log.Close()
	r.cmd = nil
}

// Signal sends a signal to the process.
func (r *Process) Signal(s os.Signal) { _ = r.cmd.Process.Signal(s) }

// Until waits until ready returns true, and fails the test after waitTimeout.
func (r *Process) Until(what string, ready func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(waitTimeout)
	for !ready() {
		if time.Now().After(deadline) {
			r.fatal(what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Try sends a command over a new connection, and again until there is a response. The command must
// be safe to repeat. Try returns "" if the process has exited or never responds, or if the response
// is empty.
func (r *Process) Try(words ...string) string {
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if answer, ok := r.ask(words...); ok {
			return answer
		}
		if r.hasExited() {
			break
		}
	}
	return ""
}

// ask sends a command once, and reports whether there was a response.
func (r *Process) ask(words ...string) (answer string, ok bool) {
	conn, err := net.DialTimeout("tcp", r.Address(), time.Second)
	if err != nil {
		return "", false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
	}

	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return "", false
	}
	line = strings.TrimRight(line, "\r\n")
	if !strings.HasPrefix(line, "$") {
		return strings.TrimLeft(line, "+:-"), true
	}

	// A bulk string has its length first; null has none.
	size, err := strconv.Atoi(line[1:])
	if err != nil || size < 0 {
		return "", err == nil
	}
	text := make([]byte, size)
	_, err = io.ReadFull(in, text)
	return strings.TrimRight(string(text), "\r\n"), err == nil
}
