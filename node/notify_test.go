package node

import (
	"net"
	"net/http"
	"testing"
)

func TestSelfCheck(t *testing.T) {
	status := http.StatusOK
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	})}
	go func() { _ = srv.Serve(l) }()
	check := selfCheck(false, l.Addr())
	if err := check(t.Context()); err != nil {
		t.Error(err)
	}

	status = http.StatusServiceUnavailable
	if check(t.Context()) == nil {
		t.Error("503 passed for health")
	}
	_ = srv.Close()
	if check(t.Context()) == nil {
		t.Error("a closed listener passed for health")
	}
}

func TestLoopback(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Loopback(in); got != want {
			t.Errorf("Loopback(%q) = %q, want %q", in, got, want)
		}
	}

	f("127.0.0.1:8081", "127.0.0.1:8081")
	f(":8081", "127.0.0.1:8081")
	f("0.0.0.0:1", "127.0.0.1:1")
	f("[::]:1", "127.0.0.1:1")
	f("[::1]:1", "[::1]:1")
	f("10.0.0.1:1", "10.0.0.1:1")
	f("host:1", "host:1")
}
