package server

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/site"
)

// TestPageLimit wants an address to be limited after its burst, and not others or the API.
func TestPageLimit(t *testing.T) {
	w := siteWorld(t, func(s *setup) { s.still = true })
	from := func(addr, target string, header ...string) reply {
		r, err := w.send(request{method: "GET", target: target, header: append([]string{"X-Forwarded-For: 6.6.6.6, " +
			addr}, header...)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	refused := reply{}
	for range addressBurst + 1 {
		refused = from("203.0.113.7", "/errors")
		if refused.status != http.StatusOK {
			break
		}
	}

	if refused.status != http.StatusTooManyRequests || refused.header.Get("Retry-After") != "1" ||
		refused.header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(string(refused.body), "Try again in 1 second.") {
		t.Errorf("status %d, Retry-After %q", refused.status, refused.header.Get("Retry-After"))
	}

	// A program gets a problem, and no key is refused.
	if r := from("203.0.113.7", "/errors", "Accept: application/json"); r.status != http.StatusTooManyRequests ||
		r.header.Get("Retry-After") != "1" ||
		!strings.Contains(string(r.body), `"code":"rate_limit_exceeded"`) ||
		!strings.Contains(string(r.body), `"retry_after_seconds":1`) {
		t.Errorf("a program gets %d: %s", r.status, r.body)
	}
	if n := w.Stats().Denials; len(n) != 0 {
		t.Errorf("the limit of pages counts as %v", n)
	}
	if r := from("203.0.113.8", "/errors"); r.status != http.StatusOK {
		t.Errorf("another address gets %d", r.status)
	}
	if style := regexp.MustCompile(`/assets/style-[^"]*`).FindString(string(refused.body)); from("203.0.113.7",
		style).status != http.StatusOK {
		t.Error("the page that says wait has no style")
	}
	w.get(t, "/v1/games", "X-Forwarded-For: 203.0.113.7")
}

// TestSuggestionsHaveTheirOwnLimit wants suggestions to take nothing from a visitor's pages, and to be
// limited too.
func TestSuggestionsHaveTheirOwnLimit(t *testing.T) {
	w := siteWorld(t, func(s *setup) { s.still = true })
	status := func(target string) int {
		r, err := w.send(request{method: "GET", target: target, header: []string{"X-Forwarded-For: 203.0.113.9"}})
		if err != nil {
			t.Fatal(err)
		}
		return r.status
	}

	for i := range addressBurst {
		if got := status(suggestPath + "?q=pika"); got != http.StatusOK {
			t.Fatalf("suggestion %d: status %d", i+1, got)
		}
	}
	if got := status(suggestPath + "?q=pika"); got != http.StatusTooManyRequests {
		t.Errorf("suggestions after the burst: status %d", got)
	}
	for i := range addressBurst {
		if got := status("/errors"); got != http.StatusOK {
			t.Fatalf("page %d after suggestions: status %d", i+1, got)
		}
	}
	if got := status("/errors"); got != http.StatusTooManyRequests {
		t.Errorf("pages after the burst: status %d", got)
	}
}

// TestVisitors checks the arithmetic of the limit.
func TestVisitors(t *testing.T) {
	vs := newAddressLimiter(refillInterval)
	at := access.Instant{Mono: time.Hour.Milliseconds(), Wall: 1_800_000_000_000}
	later := access.Instant{Mono: at.Mono + refillInterval.Milliseconds(), Wall: at.Wall}
	a := netip.MustParseAddr("2001:db8:1:2::1")
	for i := range addressBurst {
		if wait := vs.allow(a, at, 1); wait != 0 {
			t.Fatalf("request %d waits %d s", i+1, wait)
		}
	}

	if wait := vs.allow(netip.MustParseAddr("2001:db8:1:2:ffff::9"), at, 1); wait != 1 {
		t.Errorf("the network's next request waits %d s, want 1", wait)
	}
	if wait := vs.allow(netip.MustParseAddr("2001:db8:1:3::1"), at, 1); wait != 0 {
		t.Error("another network waits")
	}
	if wait := vs.allow(a, later, 1); wait != 0 {
		t.Error("it waits after its interval")
	}
	if wait := vs.allow(a, later, 1); wait == 0 {
		t.Error("an interval gives more than one page")
	}

	// The wall clock may step as it likes.
	for _, step := range []time.Duration{-time.Hour, -366 * 24 * time.Hour, 366 * 24 * time.Hour} {
		stepped := access.Instant{Mono: later.Mono, Wall: at.Wall + step.Milliseconds()}
		if wait := vs.allow(a, stepped, 1); wait != 1 {
			t.Errorf("after a step of %v the next request waits %d s, want 1", step, wait)
		}
	}

	for range 2 * loopbackWeight * addressBurst {
		if vs.allow(netip.Addr{}, at, 1) != 0 {
			t.Fatal("an unknown address is limited")
		}
	}

	machine := []netip.Addr{
		netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.8.8.8"),
		netip.MustParseAddr("::1"), netip.MustParseAddr("::ffff:127.0.0.1"),
	}
	for i := range loopbackWeight * addressBurst {
		if wait := vs.allow(machine[i%len(machine)], at, 1); wait != 0 {
			t.Fatalf("request %d of this machine waits %d s", i+1, wait)
		}
	}

	for _, a := range machine {
		if wait := vs.allow(a, at, 1); wait != 1 {
			t.Errorf("the next request of this machine, from %s, waits %d s", a, wait)
		}
	}
}

// TestHops reads entries of X-Forwarded-For as proxies write them.
func TestHops(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := readHop(text)
		if want == "" && err == nil || want != "" && (err != nil || got.String() != want) {
			t.Errorf("readHop(%q) = %v, %v; want %q", text, got, err, want)
		}
	}

	f("203.0.113.7", "203.0.113.7")
	f(" 203.0.113.7\t", "203.0.113.7")
	f("203.0.113.7:4711", "203.0.113.7")
	f(`"203.0.113.7:4711"`, "203.0.113.7")
	f(`"203.0.113.7"`, "203.0.113.7")
	f("2001:db8::7", "2001:db8::7")
	f("[2001:db8::7]", "2001:db8::7")
	f("[2001:db8::7]:4711", "2001:db8::7")
	f(` "[2001:db8::7]:4711"`, "2001:db8::7")
	f(`"[2001:db8::7]"`, "2001:db8::7")
	f("::ffff:203.0.113.7", "203.0.113.7")
	f("[::ffff:203.0.113.7]:80", "203.0.113.7")
	for _, bad := range []string{
		"", " ", "unknown", "_hidden", "203.0.113.7:", "203.0.113.7:99999", "203.0.113", "[203.0.113.7", "[]", `""`,
		`"`, "[", "203.0.113.7 203.0.113.8", "[2001:db8::7]4711", "for=203.0.113.7",
	} {
		f(bad, "")
	}
}

// TestWrittenHops wants visitors behind a proxy that writes ports or brackets to have a limit
// each, and one line of log when it writes what is no address.
func TestWrittenHops(t *testing.T) {
	pages, err := site.New(site.Options{BaseURL: baseURL})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	l := newLoopback(t, setup{still: true, options: func(o *Options) {
		o.Pages = pages
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		o.Log = slog.New(slog.NewTextHandler(&lines, nil))
	}})

	c := l.dial(t)
	defer c.Close()
	from := func(hop string) int {
		t.Helper()
		const begin = "GET /errors HTTP/1.1\r\nHost: cards.test\r\nX-Forwarded-For: 6.6.6.6, "
		if _, err := io.WriteString(c, begin+hop+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		return r.status
	}

	for port := range addressBurst + 20 {
		if port < addressBurst {
			if status := from(fmt.Sprintf("203.0.113.7:%d", 1000+port)); status != 200 {
				t.Fatalf("page %d of one visitor: %d", port, status)
			}
		}
		if status := from(fmt.Sprintf("203.0.113.%d:80", 10+port)); status != 200 {
			t.Fatalf("page %d of as many visitors: %d", port, status)
		}
	}
	refused := 0
	for port := range 20 {
		if from(fmt.Sprintf(`"203.0.113.7:%d"`, port)) == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 20 || strings.Contains(lines.String(), "X-Forwarded-For") {
		t.Errorf("one visitor was held back %d times of 20: %s", refused, &lines)
	}
	for range 3 {
		from("unknown")
	}
	if n := strings.Count(lines.String(), "X-Forwarded-For"); n != 1 {
		t.Errorf("%d lines about a hop that is no address", n)
	}
}

// TestUnnamedProxy wants one warning of a proxy on this machine that is not trusted, and none of a visitor here.
func TestUnnamedProxy(t *testing.T) {
	pages, err := site.New(site.Options{BaseURL: baseURL})
	if err != nil {
		t.Fatal(err)
	}

	var lines bytes.Buffer
	l := newLoopback(t, setup{options: func(o *Options) {
		o.Pages = pages
		o.Log = slog.New(slog.NewTextHandler(&lines, nil))
	}})

	f := func(header string, trusted []netip.Prefix, want int) {
		t.Helper()
		lines.Reset()
		l.TrustedProxies = trusted
		l.warnedProxy.Store(false)
		c := l.dial(t)
		defer c.Close()
		for range 3 {
			if _, err := io.WriteString(c, "GET /errors HTTP/1.1\r\nHost: cards.test\r\n"+header+"\r\n"); err != nil {
				t.Fatal(err)
			}
			if r, err := c.next(); err != nil || r.status != http.StatusOK {
				t.Fatalf("%q: status %d, %v", header, r.status, err)
			}
		}
		if got := strings.Count(lines.String(), "trusted_proxies"); got != want {
			t.Errorf("%q with %v trusted: %d warnings, want %d\n%s", header, trusted, got, want, &lines)
		}
	}

	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	f("", nil, 0)
	for _, header := range []string{
		"X-Forwarded-For: 203.0.113.7\r\n", "Forwarded: for=203.0.113.7\r\n",
		"X-Real-IP: 203.0.113.7\r\n", "Via: 1.1 proxy\r\n",
	} {
		f(header, nil, 1)
		f(header, here, 0)
	}
	f("X-Forwarded-For: 203.0.113.7\r\n", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, 1)
}
