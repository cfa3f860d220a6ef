package systemd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// manager listens as a service manager does.
func manager(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	return conn
}

func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestSend(t *testing.T) {
	names := []string{filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names = append(names, fmt.Sprintf("@ninepocket-test-%d", os.Getpid()))
	}

	for _, name := range names {
		conn := manager(t, name)
		t.Setenv("WATCHDOG_USEC", "3000000")
		t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
		n, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		if n.Watchdog != 3*time.Second {
			t.Errorf("watchdog is %v", n.Watchdog)
		}

		for _, lines := range [][]string{{"READY=1", "STATUS=serving"}, {"STOPPING=1"}} {
			if err := n.Send(lines...); err != nil {
				t.Fatal(err)
			}
			if got, want := receive(t, conn), strings.Join(lines, "\n"); got != want { // air: a pair
				t.Errorf("%s: got %q, want %q in one datagram", name, got, want)
			}
		}
	}
}

func TestNobodyListens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	n, err := Open()
	if n != nil || err != nil {
		t.Fatalf("Open() = %v, %v without a service manager", n, err)
	}
	if err := n.Send("READY=1"); err != nil {
		t.Error(err)
	}

	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nowhere"))
	if n, err := Open(); n != nil || err == nil {
		t.Errorf("Open() = %v, %v with a socket that is not there", n, err)
	}
}

func TestWatchdog(t *testing.T) {
	f := func(microseconds, pid string, want time.Duration) {
		t.Helper()
		if got := watchdog(microseconds, pid); got != want {
			t.Errorf("watchdog(%q, %q) = %v, want %v", microseconds, pid, got, want)
		}
	}

	f("", "", 0)
	f("20", "", 20*time.Microsecond)
	f("20", strconv.Itoa(os.Getpid()), 20*time.Microsecond)
	f("20", "1", 0)
	f("0", "", 0)
	f("-1", "", 0)
	f("9223372036854775807", "", 0)
	f("x", "", 0)
}

func TestReloading(t *testing.T) {
	clock := func() int64 {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			t.Fatal(err)
		}
		return now.Nano() / 1000
	}

	before := clock()
	text := Reloading()
	after := clock()
	begins, ok := strings.CutPrefix(text, "RELOADING=1\nMONOTONIC_USEC=")
	if at, err := strconv.ParseInt(begins, 10, 64); !ok || err != nil || at < before || at > after {
		t.Errorf("%q is not a reload between %d and %d", text, before, after)
	}
}
