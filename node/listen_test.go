package node

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ninepocket/internal/settings"
)

// TestLimiterOptions derives the bounds of connections from the configuration and the descriptors.
func TestLimiterOptions(t *testing.T) {
	var log bytes.Buffer
	f := func(maxOpen, maxPerAddr, capacity, wantMax, wantEach int, warns bool) {
		t.Helper()
		log.Reset()
		config := &settings.Config{MaxConnections: maxOpen, MaxConnectionsPerAddress: maxPerAddr}
		proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		o := limiterOptions(config, proxies, capacity, slog.New(slog.NewTextHandler(&log, nil)))
		if o.Max != wantMax || o.MaxPerAddr != wantEach || (log.Len() > 0) != warns || o.WriteBuffer != writeBuffer {
			t.Errorf("%+v with room for %d: %d, of an address %d; want %d, %d\n%s", config, capacity, o.Max,
				o.MaxPerAddr,
				wantMax,
				wantEach, &log)
		}
		if !o.Exempt(netip.MustParseAddr("10.1.1.1")) || o.Exempt(netip.MustParseAddr("11.1.1.1")) {
			t.Error("not the trusted proxies are exempt")
		}
	}

	f(0, 0, 65_472, 65_472, 16_368, false)
	f(1000, 0, 65_472, 1000, 250, false)
	f(1000, 7, 65_472, 1000, 7, false)
	f(100_000, 0, 960, 960, 240, true)
	f(2, 0, 960, 2, 1, false)
	f(0, 5000, 960, 960, 5000, false)
}

// TestInheritSockets takes the sockets of a service manager by name, with a client that already
// waits in one. A descriptor that is no socket is refused, and one socket too many is refused, too.
func TestInheritSockets(t *testing.T) {
	t.Parallel()
	passed := func(name string) (*os.File, net.Listener) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		// A file has the name that it is made with.
		fd, err := unix.Dup(int(file.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		t.Cleanup(func() { _ = l.Close() })
		return os.NewFile(uintptr(fd), name), l
	}

	admin, adminOf := passed("admin")
	api, apiOf := passed("LISTEN_FD_4")
	client, err := net.Dial("tcp", apiOf.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var all sockets
	defer func() { all.close() }()
	if err := all.inherit([]*os.File{admin, api}); err != nil || !all.inherited {
		t.Fatalf("given %t, %v", all.inherited, err)
	}
	if all.api.Addr().String() != apiOf.Addr().String() || all.admin.Addr().String() != adminOf.Addr().String() {
		t.Errorf("the sockets are %v and %v", all.api.Addr(), all.admin.Addr())
	}
	if conn, err := all.api.Accept(); err != nil || conn.RemoteAddr().String() != client.LocalAddr().String() {
		t.Errorf("the waiting client is not accepted: %v", err)
	}

	more, _ := passed("http")
	err = all.inherit([]*os.File{more})
	if err == nil || !strings.Contains(err.Error(), `"http": want one for the API`) {
		t.Errorf("a second socket for the API: %v", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	err = new(sockets).inherit([]*os.File{null})
	if err == nil || !strings.Contains(err.Error(), `cannot use the passed socket 1 ("/dev/null")`) {
		t.Errorf("what is no socket: %v", err)
	}
}
