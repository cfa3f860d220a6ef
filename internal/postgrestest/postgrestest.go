// Package postgrestest is a kit: a PostgreSQL server for the tests of a package. It runs in a
// temporary directory, without fsync, and as another user if the tests run as root.
package postgrestest

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Password is the password of the server's user. No message may contain it.
const Password = "correct-horse-staple"

// serverTimeout bounds the start and the end of a server on a busy machine.
const serverTimeout = 90 * time.Second

// Server is a running PostgreSQL server.
type Server struct {
	folder, data string
	port         int
	up           bool                // it has responded once
	owner        *syscall.Credential // nil = this user

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has exited
	log  *os.File
}

var (
	mu      sync.Mutex
	shared  *Server
	missing error
	names   atomic.Int64
)

// Installed reports whether PostgreSQL is installed.
func Installed() bool {
	_, err := program("initdb")
	return err == nil
}

// Start returns the server of this test binary, which the first call starts. It skips the test if
// PostgreSQL is not installed. TestMain must call Stop.
func Start(t testing.TB) *Server {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if shared == nil && missing == nil {
		_, missing = program("initdb")
	}
	if missing != nil {
		t.Skip("skipped: what needs PostgreSQL, because it is not installed (Debian package postgresql)")
	}

	if shared == nil {
		made, err := begin()
		if err != nil {
			t.Fatalf("cannot start PostgreSQL: %v", err)
		}
		shared = made
	}
	return shared
}

// Stop ends the server of this test binary, if there is one.
func Stop() {
	mu.Lock()
	defer mu.Unlock()
	if shared != nil {
		// SIGINT is a fast shutdown, which also frees the shared memory.
		shared.end(syscall.SIGINT)
		_ = shared.log.Close()
		_ = os.RemoveAll(shared.folder)
		shared = nil
	}
}

// program returns the path of a program of PostgreSQL, which Debian does not put on PATH.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", exec.ErrNotFound
	}
	return found[len(found)-1], nil
}

// begin makes a cluster and starts its server.
func begin() (_ *Server, err error) {
	s := &Server{}
	s.folder, err = os.MkdirTemp("", "ninepocket-postgres-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.folder)
		}
	}()
	s.data = filepath.Join(s.folder, "data")

	// PostgreSQL does not run as root.
	if os.Getuid() == 0 {
		s.owner, err = unprivilegedUser()
	}
	if err == nil && s.owner != nil {
		err = os.Chown(s.folder, int(s.owner.Uid), int(s.owner.Gid))
	}
	if err == nil {
		s.log, err = os.Create(filepath.Join(s.folder, "log"))
	}
	if err == nil {
		const readable = 0o644 // by the server's user
		err = os.WriteFile(filepath.Join(s.folder, "password"), []byte(Password), readable)
	}
	if err != nil {
		return nil, err
	}

	err = s.run("initdb", "-D", s.data, "-U", "np", "-E", "UTF8", "--locale=C", "--no-sync",
		"--auth=scram-sha-256", "--auth-local=trust", "--pwfile="+filepath.Join(s.folder, "password"))
	if err == nil {
		s.port, err = freePort()
	}
	if err == nil {
		err = s.start()
	}
	return s, err
}

// unprivilegedUser returns a user as whom the server can run.
func unprivilegedUser() (*syscall.Credential, error) {
	found, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	return int(port), l.Close()
}

// command returns a command for a program of PostgreSQL, run as the server's user.
func (s *Server) command(name string, args ...string) (*exec.Cmd, error) {
	path, err := program(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...) //nolint:gosec // a test names it
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "PGPASSWORD="+Password)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd, nil
}

// run runs a program and waits for it.
func (s *Server) run(name string, args ...string) error {
	cmd, err := s.command(name, args...)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// start starts the server and returns when it responds. After a kill, processes of the old server
// may have to end first.
func (s *Server) start() error {
	deadline := time.After(serverTimeout)
	for {
		if err := s.launch(); err != nil {
			return err
		}

		for running := true; running; {
			select {
			case <-s.done:
				running = false
			case <-deadline:
				text, _ := os.ReadFile(s.log.Name())
				return fmt.Errorf("it does not answer within %s: %s", serverTimeout, text)
			case <-time.After(20 * time.Millisecond):
				// Through its own socket, because another server may have taken the port.
				if s.run("pg_isready", "-q", "-h", s.folder, "-p", strconv.Itoa(s.port)) == nil {
					s.up = true
					return nil
				}
			}
		}

		select {
		case <-deadline:
			text, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("it ends at once: %s", text)
		case <-time.After(100 * time.Millisecond):
		}

		// Another program may have taken the port before the first start. Later the port must not
		// change.
		if !s.up {
			port, err := freePort()
			if err != nil {
				return err
			}
			s.port = port
		}
	}
}

// launch starts the process, which dies with this one.
func (s *Server) launch() error {
	cmd, err := s.command("postgres", "-D", s.data, "-k", s.folder, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port),
		"-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=60", "-c", "autovacuum=off",
		"-c", "dynamic_shared_memory_type=mmap", "-c", "max_wal_size=256MB")
	if err != nil {
		return err
	}
	cmd.Stdout = s.log
	cmd.Stderr = s.log
	endWithParent(cmd)

	done := make(chan struct{})
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that started the process ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(done)
	}()
	s.cmd = cmd
	s.done = done
	return <-started
}

func (s *Server) end(signal syscall.Signal) {
	_ = s.cmd.Process.Signal(signal)
	<-s.done
}

// Kill kills the server and all its child processes, as kill -9 does.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	children := s.children()
	s.end(syscall.SIGKILL)

	// Processes of connections would run on until they notice.
	for _, child := range children {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// Signal sends a signal to the server and its child processes.
func (s *Server) Signal(signal syscall.Signal) {
	for _, pid := range append(s.children(), s.cmd.Process.Pid) {
		_ = syscall.Kill(pid, signal)
	}
}

// children returns the child processes of the server.
func (s *Server) children() (all []int) {
	pid := s.cmd.Process.Pid
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for word := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// Resume starts the server again, on the same port and with the same data.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatalf("cannot start PostgreSQL again: %v", err)
	}
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", names.Add(1))
	if err := s.run("createdb", "-h", s.folder, "-p", strconv.Itoa(s.port), "-U", "np", name); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("postgres://np:%s@127.0.0.1:%d/%s?sslmode=disable", Password, s.port, name)
}

// Owner returns the user as whom programs of PostgreSQL run; nil is this one.
func Owner(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	owner, err := unprivilegedUser()
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// UseTLS gives the server a certificate and its key, for new connections. A superuser's url reaches it.
func (s *Server) UseTLS(t testing.TB, url, certFile, keyFile string) {
	t.Helper()
	for name, from := range map[string]string{"server.crt": certFile, "server.key": keyFile} {
		text, err := os.ReadFile(from)
		path := filepath.Join(s.data, name)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err == nil && s.owner != nil {
			err = os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	s.SQL(t, url, "alter system set ssl = on")
	before := s.SQL(t, url, "select clock_timestamp()")
	s.SQL(t, url, "select pg_reload_conf()")
	// It reads its files a moment later, and new sessions say when.
	for s.SQL(t, url, "select pg_conf_load_time() > '"+strings.TrimSpace(before)+"'") != "t" {
	}
}

// File runs a file of statements in the database of a URL, with variables NAME=VALUE of psql.
func (s *Server) File(t testing.TB, url, file string, variables ...string) {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = text.Close() }()
	args := []string{"-X", "-q", "-A", "-t"}
	for _, variable := range variables {
		args = append(args, "-v", variable)
	}

	cmd, err := s.command("psql", append(args, url)...)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = text
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
}

// SQL runs statements in the database of a URL and returns the output of psql: values alone, one
// row per line.
func (s *Server) SQL(t testing.TB, url, statements string) string {
	t.Helper()
	cmd, err := s.command("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, url)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	return string(bytes.TrimSpace(out))
}
