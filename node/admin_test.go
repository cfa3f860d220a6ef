package node

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/internal/settings"
	"ninepocket/wire"
)

// TestAdminGate wants requests by the names of the listener to be let in, those by other names and
// from pages of other origins not.
func TestAdminGate(t *testing.T) {
	n := &Node{Options: Options{Config: settings.Config{
		Admin: "admin.example:8081", AdminHosts: []string{"Cards1.internal.example"},
	}}}
	gate := n.guardAdmin(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "in")
	}))

	f := func(host, origin string, want int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/-/reload", http.NoBody)
		r.Host = host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		gate.ServeHTTP(w, r)
		if w.Code != want || (w.Body.String() == "in") != (want == http.StatusOK) {
			t.Errorf("Host %q, Origin %q: %d %s, want %d", host, origin, w.Code, w.Body, want)
		}
	}

	const in, out = http.StatusOK, http.StatusForbidden
	for _, host := range []string{
		"127.0.0.1:8081", "127.0.0.1", "[::1]:8081", "[::1]", "10.1.2.3:8081", "localhost:8081", "LOCALHOST",
		"x.localhost", "ninepocket:8081", "admin.example:8081", "ADMIN.example", "cards1.internal.example:8081",
	} {
		f(host, "", in)
		f(host, "http://"+host, in)
		f(host, "https://evil.example", out)
		f(host, "null", out)
	}
	for _, host := range []string{
		"", "evil.example", "evil.example:8081", "127.0.0.1.evil.example:8081", "localhost.evil.example", ":8081",
		"internal.example", "xadmin.example",
	} {
		f(host, "", out)
		f(host, "http://"+host, out)
	}
	f("127.0.0.1:8081", "http://127.0.0.1:8080", out)
}

// TestNotReady wants /readyz to say why.
func TestNotReady(t *testing.T) {
	store := access.NewMemory(access.MemoryOptions{})
	n := &Node{engine: engine.New(nil, engine.Options{}), store: store}
	if why := n.notReady(); !strings.Contains(why, "no snapshot") {
		t.Errorf("without a snapshot: %q", why)
	}

	catalog := fixture.Random(1, fixture.Small).Catalog()
	v, err := engine.NewView(catalog, wire.URLs{})
	if err != nil {
		t.Fatal(err)
	}

	n.engine.Swap(v, time.Now())
	if why := n.notReady(); why != "" {
		t.Errorf("with a snapshot: %q", why)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if why := n.notReady(); !strings.Contains(why, "metering is down") {
		t.Errorf("with metering down: %q", why)
	}
}
