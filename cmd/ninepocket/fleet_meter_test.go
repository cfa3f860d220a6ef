package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/postgrestest"
	"ninepocket/internal/redistest"
)

// TestRightsOverServers runs two servers on one Redis: a minute holds over both, what is charged is
// billed once, and while Redis is away calls are refused by servers that stay ready.
func TestRightsOverServers(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.publishes()
	c.metering = r.URL()
	tenant := "acme"
	_, key := c.creates(tenant, "live", "free")
	_, other := c.creates("acme", "live", "free")
	c.isOld(r)
	servers := []*fleetServer{c.serves(""), c.serves("")}

	// On a machine that is busy a call may find no answer in time, and its unit is reserved for a minute.
	counts := map[int]int{}
	c.eventually("a course without a late answer", func() bool {
		clear(counts)
		for i := range 40 {
			status, _ := c.asks(servers[i%2].API+"/v1/games", key)
			counts[status]++
		}
		if counts[http.StatusServiceUnavailable] == 0 {
			return true
		}

		tenant += "-again"
		_, key = c.creates(tenant, "live", "free")
		for _, s := range servers {
			c.eventually("the key is known", func() bool {
				status, _ := c.asks(s.API+"/v1/usage", key)
				return status != http.StatusUnauthorized
			})
		}
		return false
	})
	if counts[http.StatusOK] != 30 || counts[http.StatusTooManyRequests] != 10 {
		t.Errorf("40 calls of a plan of 30 a minute: %v", counts)
	}
	_, usage := c.asks(servers[0].API+"/v1/usage", key)
	if !strings.Contains(usage, `"request_credits_used":30`) {
		t.Errorf("usage over both: %s", usage)
	}
	c.eventually("the ledger has it", func() bool { return c.billed(tenant) == 30 })

	// Away.
	r.Kill()
	status, body := c.asks(servers[0].API+"/v1/games", other)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "temporarily_unavailable") {
		t.Errorf("without redis: %d %s", status, body)
	}
	c.eventually("the server says so and is ready", func() bool {
		ready, text := c.asks(servers[0].Admin+"/readyz", "")
		_, metrics := c.asks(servers[0].Admin+"/metrics", "")
		return ready == http.StatusOK && text == "ok\nmetering: unavailable\n" &&
			strings.Contains(metrics, "ninepocket_fleet_redis_up 0") &&
			strings.Contains(metrics, "ninepocket_metering_up 1")
	})
	for path, want := range map[string]int{
		"/readyz?for=api": http.StatusServiceUnavailable, "/readyz?for=pages": http.StatusBadRequest,
	} {
		if status, text := c.asks(servers[0].Admin+path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if !strings.Contains(c.heard.String(), "the limiter is unavailable") {
		t.Errorf("the log does not say it:\n%s", c.heard.String())
	}
}

// TestRightsAreRefused wants a server not to start on a Redis that may not be used, and fleet check to
// say the same.
func TestRightsAreRefused(t *testing.T) {
	r := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	c := newFleetKit(t)
	c.publishes()
	c.creates("acme", "live", "free")

	want := fmt.Sprintf("cannot meter with redis at %s: it evicts keys (maxmemory-policy allkeys-lru): "+
		"set noeviction, or quotas start again when memory is full", r.Address())
	url := strings.Replace(r.URL(), "redis://", "redis://default:secret-word@", 1)
	r.Try("CONFIG", "SET", "requirepass", "secret-word")
	_, said := c.does(exitNotReady, "serve", "--store", c.store, "--state", filepath.Join(t.TempDir(), "state"),
		"--control", c.control, "--metering", url, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	if !strings.Contains(said, want) {
		t.Errorf("%s, want %s", said, want)
	}
	out, _ := c.does(exitRefused, "fleet", "check", "--control", c.control, "--metering", url)
	for _, line := range []string{
		"WRONG  redis: it evicts keys", `WRONG  redis: acks = "replica" needs a replica, it has 0`,
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%s\nlacks %s", out, line)
		}
	}

	// An unavailable one does not prevent the check of the other one.
	out, _ = c.does(exitRefused, "fleet", "check", "--control", "postgres://np@127.0.0.1:1/cards", "--metering", url)
	for _, line := range []string{
		"WRONG  cannot reach PostgreSQL at 127.0.0.1:1/cards", "WRONG  redis: it evicts keys",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%s\nlacks %s", out, line)
		}
	}
	out, _ = c.does(exitRefused, "fleet", "check", "--control", c.control, "--metering", "redis://127.0.0.1:1/0")
	for _, line := range []string{"good   PostgreSQL", "WRONG  cannot look at redis"} {
		if !strings.Contains(out, line) {
			t.Errorf("%s\nlacks %s", out, line)
		}
	}

	// What is full grants nothing, however it is set up.
	full := redistest.Start(t, "--maxmemory", "1mb")
	out, _ = c.does(exitRefused, "fleet", "check", "--control", c.control, "--metering", full.URL(), "--acks", "none")
	for _, line := range []string{
		"WRONG  redis: its memory is full: ", "of 1.0 MB", "       redis-cli -h 127.0.0.1 -p " + full.Port(),
		"WRONG  redis: it grants no right: OOM", "WRONG  redis: " + full.Address() + " answers without a password",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%s\nlacks %s", out, line)
		}
	}
	if strings.Contains(out, "good   redis") {
		t.Errorf("a full Redis is good:\n%s", out)
	}

	// What no server takes is refused before anything is asked, and without its password.
	_, said = c.does(exitUsage, "fleet", "check", "--control", c.control, "--acks", "all", "--replicas", "0",
		"--metering", r.URL()+"?password=secret-word")
	for _, part := range []string{`--acks "all"`, "--replicas 0", "?password=***", "it has no parameter password"} {
		if !strings.Contains(said, part) {
			t.Errorf("%s lacks %s", said, part)
		}
	}
	if strings.Contains(c.heard.String(), "secret-word") {
		t.Error("a password is shown")
	}
}

// TestFleetForget forgets a server that is gone: the units that it held are free again, those that it
// charged are not, and one that may live is refused.
func TestFleetForget(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.publishes()
	c.metering = r.URL()
	_, key := c.creates("acme", "live", "free")
	c.isOld(r)
	server := c.serves("")
	for range 3 {
		c.answered(server.API+"/v1/games", key)
	}
	name, err := statedir.Incarnation(server.state)
	if err != nil {
		t.Fatal(err)
	}
	forget := []string{"fleet", "forget", name, "--control", c.control, "--metering", r.URL(), "--yes"}
	refused := func(want string) {
		t.Helper()
		if _, said := c.does(exitFailure, forget...); !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("%s, want %q", said, want)
		}
	}
	refused(`it asks redis still: \d+ s ago`)

	// It ends with five units in hand, as a server that was killed would. What a call held that Redis
	// answered too late was given back.
	day := "np:{acme}:q:d" + strconv.Itoa(int(calendar.DayOf(time.Now().UnixMilli())))
	var claim []string
	claims := func() bool {
		claim = strings.Fields(r.Try("HGET", day, "s:"+name))
		return len(claim) >= 5 && claim[1] == "3"
	}
	c.eventually("the server claims what it charged", claims)
	server.stop()
	c.eventually("the server claims what it charged", claims)
	claim[1] = "8"
	r.Try("HSET", day, "t", "8", "s:"+name, strings.Join(claim, " "))
	refused("it asks redis still")
	r.Try("DEL", "np:lives:"+name)
	refused("it reports")
	postgrestest.Start(t).SQL(t, c.control, "update ninepocket.servers set seen_at = now() - interval '1 hour'")
	_, said := c.does(exitOK, "fleet", "status", "--control", c.control, "--metering", r.URL())
	if want := "has not reported for 60 min and holds 5 units of 1 tenants: start it"; !strings.Contains(said, want) {
		t.Errorf("%s, want %q", said, want)
	}
	for _, want := range []string{"5 units of 1 tenants are free again", "0 units of 0 tenants are free again"} {
		if out, _ := c.does(exitOK, forget...); !strings.Contains(out, want) {
			t.Errorf("%s, want %q", out, want)
		}
	}
	if left := r.Try("HGET", day, "t"); left != "3" {
		t.Errorf("%s units are claimed, 3 were charged", left)
	}

	// It comes back all the same.
	server = c.serves(server.state)
	c.eventually("usage is what was charged", func() bool {
		_, usage := c.asks(server.API+"/v1/usage", key)
		return strings.Contains(usage, `"request_credits_used":3`)
	})
}

// TestFleetRowsAreShown wants every test of a fleet that the page of faults names.
func TestFleetRowsAreShown(t *testing.T) {
	page, err := os.ReadFile("../../docs/dev/FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, pattern := range []string{"../../fleet/*/*_test.go", "../../deploy/*_test.go", "*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}

	names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(page), -1)
	for _, name := range names {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("there is no %s", name)
		}
	}
	if len(names) < 15 {
		t.Errorf("the page names %d tests", len(names))
	}
}

// TestFirstStart starts the first server of a fleet: its log has no error. Then the password of Redis is changed
// under it, and a reload says whether the new one is right.
func TestFirstStart(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.publishes()
	c.creates("acme", "live", "free")
	file := filepath.Join(t.TempDir(), "password")
	password := func(word string) {
		if err := os.WriteFile(file, []byte(word+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.Try("ACL", "SETUSER", "np", "on", ">first-word", "~*", "&*", "+@all")
	password("first-word")
	c.metering = strings.Replace(r.URL(), "redis://", "redis://np@", 1) + "?password_file=" + file
	s := c.serves("")
	c.eventually("the log says that Redis is new", func() bool {
		return strings.Contains(c.heard.String(), "it is new to this fleet")
	})
	if text := c.heard.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("a correct start has errors:\n%s", text)
	}

	reload := func(want int, has string) {
		t.Helper()
		resp, err := http.Post(s.Admin+"/-/reload", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want || !strings.Contains(string(text), has) || strings.Contains(string(text), "-word") {
			t.Errorf("a reload: %d %s", resp.StatusCode, text)
		}
	}
	r.Try("ACL", "SETUSER", "np", ">second-word", "<first-word")
	reload(http.StatusInternalServerError, "WRONGPASS")
	password("second-word")
	reload(http.StatusOK, "reloaded")
	if text := c.heard.String(); strings.Contains(text, "-word") {
		t.Errorf("the log has a password:\n%s", text)
	}
}
