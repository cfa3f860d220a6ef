package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/settings"
)

// TestAdminGate wants requests by the names of the listener to be let in, those by other names and
// from pages of other origins not.
func TestAdminGate(t *testing.T) {
	s := &service{config: settings.Config{Admin: "admin.example:8081", AdminHosts: []string{"Cards1.internal.example"}}}
	gate := s.guardAdmin(nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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

// TestDoorOptions derives the bounds of connections from the configuration and the descriptors.
func TestDoorOptions(t *testing.T) {
	var log bytes.Buffer
	f := func(most, each, room, wantMost, wantEach int, warns bool) {
		t.Helper()
		log.Reset()
		c := &settings.Config{MaxConnections: most, MaxConnectionsPerAddress: each}
		proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		o := doorOptions(c, proxies, room, slog.New(slog.NewTextHandler(&log, nil)))
		if o.Most != wantMost || o.Each != wantEach || (log.Len() > 0) != warns || o.WriteBuffer != writeBuffer {
			t.Errorf("%+v with room for %d: %d, of an address %d; want %d, %d\n%s", c, room, o.Most, o.Each, wantMost,
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

// TestDrainIsTold wants /readyz and /healthz to say from the first moment that the server drains,
// while it goes on to answer; and neither a connection that never sent anything, nor an idle one,
// nor one of the admin listener to keep it.
func TestDrainIsTold(t *testing.T) {
	t.Parallel()
	inTime(t, 1200*time.Millisecond, drainIsTold)
}

// inTime lets a test ask a server that drains. When the test itself took longer than the lead, it
// learns nothing, and it tries again with a longer one.
func inTime(t *testing.T, lead time.Duration, try func(t *testing.T, lead time.Duration) (late bool)) {
	t.Helper()
	for range 20 {
		if !try(t, lead) {
			return
		}
		t.Logf("too late for a lead of %v", lead)
		lead = min(2*lead, settings.LongestLead)
	}
	t.Fatal("the test is too late each time")
}

func drainIsTold(t *testing.T, lead time.Duration) (late bool) {
	t.Helper()
	p := startServe(t, nil, "--drain-lead", lead.String())
	client := &http.Client{Transport: &http.Transport{}}
	if _, err := p.get(t.Context(), client, "/v1/games"); err != nil { // this connection stays idle
		t.Fatal(err)
	}
	for _, url := range []string{p.API, p.API, p.Admin} {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}

	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(url string) (int, string, error) {
		resp, err := fresh.Get(url)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b), err
	}
	if code, text, err := status(p.Admin + "/readyz"); err != nil || code != http.StatusOK {
		t.Fatalf("/readyz is %d %s, %v", code, text, err)
	}

	begun := time.Now()
	p.signal(t, syscall.SIGTERM)
	p.eventually(t, "drain", p.logs("draining"))
	for range 5 {
		ready, readyText, readyErr := status(p.Admin + "/readyz")
		health, healthText, healthErr := status(p.API + "/healthz")
		resp, err := p.get(t.Context(), fresh, "/v1/games")
		if errors.Join(readyErr, healthErr, err) != nil && time.Since(begun) >= lead {
			end(p.cmd)
			return true
		}

		if readyErr != nil || ready != http.StatusServiceUnavailable || !strings.Contains(readyText, "draining") {
			t.Errorf("/readyz is %d %s, %v", ready, readyText, readyErr)
		}
		if healthErr != nil || health != http.StatusServiceUnavailable ||
			!strings.Contains(healthText, `"draining"`) {
			t.Errorf("/healthz is %d %s, %v", health, healthText, healthErr)
		}
		if err != nil || !resp.Close {
			t.Errorf("a call while the drain leads: %v", err)
		}
	}

	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server did not end well: %v\n%s", err, p.log)
	}
	// What stays open is cut after three quarters of the time: nothing had to be.
	if took := time.Since(begun); took < lead || took >= lead+drainTime/4*3 {
		t.Errorf("the drain took %v after a lead of %v", took, lead)
	}
	return false
}
