package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/postgrestest"
	"ninepocket/internal/redistest"
)

// plannedServer is a server with a configuration of its own.
type plannedServer struct {
	*fleetServer
	config string
}

const tinyPlan = "[plans.tiny]\nper_day = 100000\nper_minute = "

// servesPlans starts a server whose file gives the plan tiny a limit, with a database at an address.
func (c *fleetKit) servesPlans(control, perMinute string) *plannedServer {
	c.t.Helper()
	dir := c.t.TempDir()
	s := &plannedServer{&fleetServer{state: filepath.Join(dir, "state")}, filepath.Join(dir, "own.toml")}
	s.plans(c, perMinute)
	c.begins(s.fleetServer, "--store", c.store, "--control", control, "--config", s.config)
	return s
}

// plans writes the file of a server.
func (s *plannedServer) plans(c *fleetKit, perMinute string) {
	c.t.Helper()
	text := "[fleet]\nexport = \"100ms\"\nacks = \"none\"\ntimeout = \"5s\"\n" + tinyPlan + perMinute + "\n"
	if c.metering != "" {
		text = "metering = \"" + c.metering + "\"\n" + text
	}
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// reloads makes a server read its file again.
func (s *plannedServer) reloads(c *fleetKit) {
	c.t.Helper()
	resp, err := http.Post(s.Admin+"/-/reload", "", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("reload: %d", resp.StatusCode)
	}
}

// limit returns the limit of a minute that a server gives a key.
func (c *fleetKit) limit(s *fleetServer, key string) string {
	c.t.Helper()
	_, body := c.asks(s.API+"/v1/usage", key)
	found := regexp.MustCompile(`"minute":\{"limit":(\d+)`).FindStringSubmatch(body)
	if found == nil {
		return body
	}
	return found[1]
}

// TestPlansThatDiffer gives one of three servers another file: the tenant never gets more than the lower limit,
// and the check of the fleet says so. Plans in the database win, follow at once and can be removed when no key has
// them.
func TestPlansThatDiffer(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.publishes()
	c.metering = r.URL()
	c.isOld(r)
	servers := []*plannedServer{}
	file := filepath.Join(t.TempDir(), "admin.toml")
	if err := os.WriteFile(file, []byte(tinyPlan+"60\nprice = \"5\"\ncurrency = \"USD\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := c.does(exitOK, "keys", "create", "--control", c.control, "--tenant", "acme", "--surface", "live",
		"--plan", "tiny", "--config", file, "--json")
	key := c.member(out, "key")
	for range 3 {
		servers = append(servers, c.servesPlans(c.control, "60"))
	}

	servers[2].plans(c, "600")
	servers[2].reloads(c)
	counts := map[int]int{}
	for i := range 120 {
		status, _ := c.asks(servers[i%3].API+"/v1/games", key)
		counts[status]++
	}
	if counts[http.StatusOK] > 60 || counts[http.StatusOK]+counts[http.StatusServiceUnavailable] < 60 {
		t.Errorf("120 calls of 60 a minute at two servers and 600 at the third: %v", counts)
	}
	out, _ = c.does(exitRefused, "fleet", "check", "--control", c.control)
	for _, want := range []string{
		"different limits of plan tiny, and the lower ones hold", "600 a minute",
		"WRONG  plans of keys that are not in the database",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nlacks %q", out, want)
		}
	}

	// The seed: a dry run writes nothing, and the second one changes nothing.
	c.does(exitOK, "plans", "import", "--control", c.control, "--config", file, "--dry-run")
	if out, _ := c.does(exitOK, "plans", "list", "--control", c.control, "--json"); out != "[]\n" {
		t.Errorf("after a dry run: %s", out)
	}
	c.does(exitOK, "plans", "import", "--control", c.control, "--config", file)
	out, _ = c.does(exitOK, "plans", "import", "--control", c.control, "--config", servers[2].config)
	if heard := c.heard.String(); !strings.Contains(out, "plans import: nothing") ||
		!strings.Contains(heard, "note: plan tiny is there and differs") {
		t.Errorf("a second import: %s\n%s", out, heard)
	}
	same := func(want string) {
		t.Helper()
		begun := time.Now()
		c.eventually("all servers have "+want, func() bool {
			for _, s := range servers {
				if c.limit(s.fleetServer, key) != want {
					return false
				}
			}
			return true
		})
		t.Logf("%s a minute after %s", want, time.Since(begun))
	}
	c.eventually("the check is content with plans", func() bool {
		var heard strings.Builder
		runPlain(t, []string{"fleet", "check", "--control", c.control}, &heard, &heard)
		return strings.Contains(heard.String(), "good   plans")
	})
	c.does(exitOK, "plans", "set", "tiny", "--per-minute", "90", "--control", c.control)
	same("90")
	c.does(exitOK, "plans", "set", "tiny", "--per-minute", "30", "--control", c.control)
	same("30")

	// A server grants the lower limit until every other server has read the higher one. One that is
	// forgotten or silent holds nobody back.
	sql := func(text string) { postgrestest.Start(t).SQL(t, c.control, text) }
	sql(`insert into ninepocket.server_plans values ('gone', '{"tiny": {"per_minute": 20, "per_day": 5}}')`)
	same("20")
	sql(`update ninepocket.server_plans set reported_at = now() - interval '11 minutes' where incarnation = 'gone'`)
	same("30")

	_, said := c.does(exitFailure, "plans", "remove", "tiny", "--control", c.control)
	if !strings.Contains(said, "keys of these tenants have it: acme") {
		t.Error(said)
	}
	_, said = c.does(exitUsage, "plans", "set", "tiny", "--per-day", "0", "--max-cards", "201", "--control", c.control)
	if !strings.Contains(said, "no limit that is 0") || !strings.Contains(said, "max_cards is 201") {
		t.Error(said)
	}
	c.does(exitUsage, "plans", "set", "tiny", "--control", c.control)
	c.does(exitOK, "plans", "set", "gold", "--per-minute", "7", "--control", c.control)
	c.does(exitOK, "tenants", "set-plan", "acme", "--plan", "gold", "--control", c.control)
	same("7")
	c.does(exitOK, "plans", "remove", "tiny", "--control", c.control)
	c.does(exitFailure, "plans", "remove", "tiny", "--control", c.control)
	out, _ = c.does(exitOK, "plans", "list", "--control", c.control)
	if strings.Contains(out, "tiny") || !regexp.MustCompile(`gold +7 `).MatchString(out) {
		t.Error(out)
	}
}

// TestStartInAnOutage starts a server while PostgreSQL takes connections and answers nothing: it
// serves with the keys and plans that it read last, and follows the database again without a
// restart.
func TestStartInAnOutage(t *testing.T) {
	c := newFleetKit(t)
	c.publishes()
	database, err := url.Parse(c.control)
	if err != nil {
		t.Fatal(err)
	}
	network := newTCPProxy(t, database.Host)
	database.Host = network.address()
	c.does(exitOK, "plans", "set", "gold", "--per-minute", "77", "--control", c.control)
	_, key := c.creates("acme", "live", "gold")
	id, revoked := c.creates("acme", "live", "gold")

	server := c.servesPlans(database.String(), "60")
	c.answered(server.API+"/v1/games", key)
	_, body := c.asks(server.API+"/v1/cards?limit=1", key)
	next := c.member(body, "next_cursor")
	c.does(exitOK, "keys", "revoke", id, "--control", c.control)
	charged := int64(4) // calls of the other key
	c.eventually("the revocation is heard", func() bool {
		status, _ := c.asks(server.API+"/v1/games", revoked)
		if status == http.StatusOK {
			charged++
		}
		return status == http.StatusUnauthorized
	})
	server.stop()

	network.becomes(proxyState{deaf: true})
	begun := time.Now()
	c.begins(server.fleetServer, "--store", c.store, "--control", database.String(), "--config", server.config)
	t.Logf("ready after %s", time.Since(begun))
	c.answered(server.API+"/v1/games", key)
	c.answered(server.API+"/v1/cards?limit=1&cursor="+next, key)
	if got := c.limit(server.fleetServer, key); got != "77" {
		t.Errorf("the plan of the database: %s", got)
	}
	if status, _ := c.asks(server.API+"/v1/games", revoked); status != http.StatusUnauthorized {
		t.Errorf("a revoked key: %d", status)
	}
	_, ready := c.asks(server.Admin+"/readyz", "")
	_, metrics := c.asks(server.Admin+"/metrics", "")
	if !strings.HasPrefix(ready, "ok\nkeys: of 20") ||
		!strings.Contains(metrics, "ninepocket_fleet_keys_age_seconds ") {
		t.Error(ready, metrics)
	}
	if !strings.Contains(c.heard.String(), "serving with the last keys and plans") {
		t.Error(c.heard.String())
	}

	_, fresh := c.creates("late", "live", "free")
	network.becomes(proxyState{})
	c.eventually("the database is followed again", func() bool {
		status, _ := c.asks(server.API+"/v1/games", fresh)
		_, ready := c.asks(server.Admin+"/readyz", "")
		return status == http.StatusOK && ready == "ok\n"
	})
	c.eventually("all is billed", func() bool { return c.billed("acme") == charged })
	server.stop()

	// Too old, damaged, of another database, without a copy, or not wanted: as before, with the reason.
	network.becomes(proxyState{cut: true})
	file := filepath.Join(server.state, statedir.FleetKeysName)
	refused := func(want string, more ...string) {
		t.Helper()
		_, said := c.does(exitNotReady, append([]string{
			"serve", "--state", server.state, "--store", c.store, "--control", database.String(),
			"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		}, more...)...)
		if !strings.Contains(said, "it does not answer") || !strings.Contains(said, want) ||
			!strings.Contains(said, "hint: look at --control") {
			t.Errorf("%s\nlacks %q", said, want)
		}
	}
	t.Setenv("NINEPOCKET_FLEET__KEYS_MAX_AGE", "1ms")
	refused("and fleet.keys_max_age is 1ms")
	t.Setenv("NINEPOCKET_FLEET__KEYS_MAX_AGE", "0s")
	refused("it does not answer")
	t.Setenv("NINEPOCKET_FLEET__KEYS_MAX_AGE", "24h")
	text, err := os.ReadFile(file)
	if err == nil {
		text[len(text)/2] ^= 1
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused("is damaged")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	refused("this server has no earlier keys")
}
