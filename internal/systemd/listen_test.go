package systemd

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets the test binary stand in for a service that was given sockets.
func TestMain(m *testing.M) {
	if os.Getenv("SYSTEMD_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}

	sockets, err := Sockets()
	fmt.Println(len(sockets), err, os.Getenv("LISTEN_FDS")+os.Getenv("LISTEN_PID")+os.Getenv("LISTEN_FDNAMES"))
	for _, s := range sockets {
		c, err := s.Accept()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _ = io.WriteString(c, s.Name)
		_ = c.Close()
	}
}

// service starts a process as a service manager does, with sockets and the number of itself, and
// returns its first line and what to wait for its end with.
func service(t *testing.T, pid, fds, names string, sockets ...*os.File) (line string, wait func() error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	// A process knows its number only once it runs.
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "LISTEN_PID="+pid+" exec "+strconv.Quote(self))
	cmd.Env = append(os.Environ(), "SYSTEMD_TEST_CHILD=1", "LISTEN_FDS="+fds, "LISTEN_FDNAMES="+names)
	cmd.ExtraFiles = sockets
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewReader(out)
	line, err = lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Wait
}

// TestSockets gives a process two sockets, in which clients wait already.
func TestSockets(t *testing.T) {
	var files []*os.File
	var clients []net.Conn
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)

		tcp, _ := l.(*net.TCPListener)
		file, err := tcp.File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		files = append(files, file)
	}

	line, wait := service(t, "$$", "2", "api:admin", files...)
	if line != "2 <nil>" {
		t.Errorf("two sockets: %s", line)
	}
	for i, want := range []string{"api", "admin"} {
		if got, err := io.ReadAll(clients[i]); string(got) != want || err != nil {
			t.Errorf("the client of %s reads %q, %v", want, got, err)
		}
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestSocketsOfOthers(t *testing.T) {
	self := strconv.Itoa(os.Getpid())
	f := func(fds, pid string, want int, good bool) {
		t.Helper()
		if n, err := passed(fds, pid); n != want || (err == nil) != good {
			t.Errorf("passed(%q, %q) = %d, %v", fds, pid, n, err)
		}
	}

	f("2", self, 2, true)
	f("16", self, 16, true)
	f("0", self, 0, true)
	f("", self, 0, true)
	f("2", "", 0, true)
	f("2", "1", 0, true)
	f("x", self, 0, false)
	f("-1", self, 0, false)
	f("17", self, 0, false)

	// A descriptor that is no listening socket.
	line, wait := service(t, "$$", "1", "api")
	if !strings.HasPrefix(line, `0 cannot use the passed socket 1 ("api")`) {
		t.Errorf("without a socket: %s", line)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}
