package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/settings"
)

// TestDrainIsAnnounced wants /readyz and /healthz to report the drain from the first moment, while
// the server still answers. Connections that are idle, never sent anything, or belong to the admin
// listener must not delay its end.
func TestDrainIsAnnounced(t *testing.T) {
	t.Parallel()
	inTime(t, 1200*time.Millisecond, drainIsAnnounced)
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
		lead = min(2*lead, settings.MaxLead)
	}
	t.Fatal("the test is too late each time")
}

func drainIsAnnounced(t *testing.T, lead time.Duration) (late bool) {
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
	// Open connections are cut after three quarters of the time: here none was open.
	if took := time.Since(begun); took < lead || took >= lead+11*time.Second {
		t.Errorf("the drain took %v after a lead of %v", took, lead)
	}
	return false
}
