package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/postgrestest"
	"ninepocket/internal/redistest"
	"ninepocket/internal/registry"
	"ninepocket/internal/synth"
	"ninepocket/node"
)

// fleetKit is an operator's fleet: one store, one database, servers with state directories of their
// own.
type fleetKit struct {
	t        *testing.T
	store    string
	control  string
	metering string       // "" = each server has its own limits
	heard    lockedBuffer // everything that commands and servers said
}

func newFleetKit(t *testing.T) *fleetKit {
	t.Helper()
	return &fleetKit{t: t, control: postgrestest.Start(t).Database(t)}
}

// does runs a command, which must end with a code.
func (c *fleetKit) does(code int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	var out, errs bytes.Buffer
	if got := runPlain(c.t, args, io.MultiWriter(&out, &c.heard), io.MultiWriter(&errs, &c.heard)); got != code {
		c.t.Fatalf("ninepocket %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

func (c *fleetKit) member(text, name string) string {
	c.t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
	return fmt.Sprint(v[name])
}

// publishes builds and publishes a small catalog.
func (c *fleetKit) publishes() {
	c.t.Helper()
	dir := c.t.TempDir()
	c.store = filepath.Join(dir, "store")
	if _, err := synth.Summarize(filepath.Join(dir, "raw"), synth.Options{Cards: 300, HistoryDays: 30}); err != nil {
		c.t.Fatal(err)
	}
	c.does(exitOK, "snapshot", "build", "--store", c.store, "--source", "native:"+filepath.Join(dir, "raw"),
		"--publish")
}

// creates makes a key of the fleet.
func (c *fleetKit) creates(tenant, surface, plan string) (id, key string) {
	c.t.Helper()
	out, _ := c.does(exitOK, "keys", "create", "--control", c.control, "--tenant", tenant, "--surface", surface,
		"--plan", plan, "--json")
	return c.member(out, "id"), c.member(out, "key")
}

// fleetServer is a server of the fleet.
type fleetServer struct {
	node.ReadyFile
	state string
	stop  func() int
}

// serves starts a server on a state directory, "" for a new one.
func (c *fleetKit) serves(state string) *fleetServer {
	c.t.Helper()
	dir := c.t.TempDir()
	if state == "" {
		state = filepath.Join(dir, "state")
	}
	s := &fleetServer{state: state}

	config := filepath.Join(dir, "ninepocket.toml")
	text := "[fleet]\nexport = \"100ms\"\nacks = \"none\"\ntimeout = \"5s\"\n"
	if c.metering != "" {
		text = "metering = \"" + c.metering + "\"\n" + text
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.begins(s, "--store", c.store, "--control", c.control, "--config", config)
	return s
}

// begins starts a server on its state directory and waits until it is ready.
func (c *fleetKit) begins(s *fleetServer, args ...string) {
	c.t.Helper()
	ready := filepath.Join(c.t.TempDir(), "ready.json")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)

	go func() {
		done <- run(ctx, append([]string{
			"serve", "--state", s.state, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready,
			"--drain-lead", "0s",
		}, args...), &c.heard, &c.heard)
	}()
	ended := false
	s.stop = func() int {
		if ended {
			return exitOK
		}
		ended = true
		cancel()
		return <-done
	}
	c.t.Cleanup(func() {
		if code := s.stop(); code != exitOK {
			c.t.Errorf("serve ended with %d: %s", code, c.heard.String())
		}
	})
	c.eventually("a server is ready", func() bool {
		b, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(b, &s.ReadyFile) == nil
	})
}

func (c *fleetKit) eventually(what string, ok func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("not within a minute: %s\n%s", what, c.heard.String())
		}
	}
}

// asks sends a request.
func (c *fleetKit) asks(url, key string) (status int, body string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}

	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// answered sends a request until its answer is not that Redis was too slow, which costs nothing, and
// wants that to be 200.
func (c *fleetKit) answered(url, key string) (body string) {
	c.t.Helper()
	status := 0
	c.eventually("a call is not refused", func() bool {
		status, body = c.asks(url, key)
		return status != http.StatusServiceUnavailable
	})
	if status != http.StatusOK {
		c.t.Fatalf("%s is answered %d: %s", url, status, body)
	}
	return body
}

// isOld lets a Redis be older than its first minute, in which it grants nothing.
func (c *fleetKit) isOld(r *redistest.Process) {
	c.t.Helper()
	c.eventually("the birth of redis is set", func() bool { return r.Try("SET", "np:born", "1") == "OK" })
}

// leftReports is how often a server has said that PostgreSQL did not take its last report in time.
func leftReports(log string) int {
	return strings.Count(log, "final usage export failed: it will be sent at the next start")
}

// endsReported ends a server of a fleet that has PostgreSQL. When its last report was left all the same, it
// starts and ends again.
func (p *program) endsReported(t *testing.T, starts func()) {
	t.Helper()
	for range 20 {
		before := leftReports(p.log.String())
		p.signal(t, syscall.SIGTERM)
		if err := p.cmd.Wait(); err != nil {
			t.Fatalf("a server ended with %v\n%s", err, p.log)
		}
		if leftReports(p.log.String()) == before {
			return
		}
		starts()
	}
	t.Fatalf("the last report is left each time\n%s", p.log)
}

// billed is what the fleet's ledger charges a tenant. A database that is too slow is asked again.
func (c *fleetKit) billed(tenant string) (charged int64) {
	c.t.Helper()
	var out bytes.Buffer
	c.eventually("usage is told", func() bool {
		out.Reset()
		return run(c.t.Context(), []string{
			"usage", "--control", c.control, "--tenant", tenant, "--totals", "--json",
		}, &out, &c.heard) == exitOK
	})

	var report struct{ Totals []registry.Total }
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		c.t.Fatal(err)
	}
	for _, sum := range report.Totals {
		charged += sum.Charged + sum.Credits
	}
	return charged
}

// TestFleetBills runs two servers on one database, takes that away and gives it back, ends servers and
// starts them again: every answered call is billed once.
func TestFleetBills(t *testing.T) {
	c := newFleetKit(t)
	c.publishes()
	id, key := c.creates("acme", "live", "pro")
	_, preview := c.creates("acme", "preview", "preview")
	inMemory := tmpfsFolder(t)
	servers := []*fleetServer{c.serves(inMemory), c.serves("")}
	warning := "the state directory is on tmpfs: a crash of this machine loses usage that is not billed yet"
	if inMemory != "" && !strings.Contains(c.heard.String(), warning) {
		t.Errorf("nobody is warned of a state directory in memory:\n%s", c.heard.String())
	}

	answered := int64(0)
	calls := func(n int) {
		t.Helper()
		for i := range n {
			for _, s := range servers {
				status, body := c.asks(s.API+fmt.Sprintf("/v1/cards?limit=%d", 1+i%5), key)
				if status != http.StatusOK {
					t.Fatalf("a call is answered %d: %s", status, body)
				}
				if status, body := c.asks(s.API+"/v1/products", preview); status != http.StatusOK {
					t.Fatalf("a preview call is answered %d: %s", status, body)
				}
				answered += 2
			}
		}
	}
	billed := func(what string) {
		t.Helper()
		got := int64(0)
		c.eventually(what, func() bool { got = c.billed("acme"); return got >= answered })
		if got != answered {
			t.Errorf("%s: %d calls were answered, %d are billed", what, answered, got)
		}
	}
	calls(5)
	billed("the first calls are billed")

	// A page of one server goes on at the other.
	_, body := c.asks(servers[0].API+"/v1/cards?limit=2", key)
	answered++
	next := c.member(body, "next_cursor")
	if status, body := c.asks(servers[1].API+"/v1/cards?limit=2&cursor="+next, key); status != http.StatusOK {
		t.Errorf("the other server answers a cursor %d: %s", status, body)
	}
	answered++

	// The database is away: nobody is refused, and nothing is lost, also not by who ends meanwhile.
	server := postgrestest.Start(t)
	server.Kill(t)
	calls(5)
	_, metrics := c.asks(servers[0].Admin+"/metrics", "")
	if rows := sample(metrics, "ninepocket_fleet_ledger_rows_pending"); rows == "" {
		t.Errorf("the metrics do not say how many rows wait")
	}
	c.eventually("the server knows that keys are not heard of", func() bool {
		_, metrics := c.asks(servers[0].Admin+"/metrics", "")
		return sample(metrics, "ninepocket_keys_readable") == "0" &&
			sample(metrics, "ninepocket_fleet_ledger_rows_pending") != "0"
	})
	if status, _ := c.asks(servers[0].Admin+"/readyz", ""); status != http.StatusOK {
		t.Errorf("without the database a server is not ready: %d", status)
	}
	if code := servers[1].stop(); code != exitOK {
		t.Errorf("without the database a server ends with %d", code)
	}
	server.Resume(t)
	servers[1] = c.serves(servers[1].state)
	billed("what was charged without the database is billed")
	calls(2)
	billed("calls after a restart are billed")

	// A key that is revoked is refused everywhere, a new one is taken.
	other, revoked := c.creates("other", "live", "free")
	everywhere := func(what, key string, want int) {
		t.Helper()
		for _, s := range servers {
			c.eventually(what, func() bool {
				status, _ := c.asks(s.API+"/v1/games", key)
				return status == want
			})
		}
	}
	everywhere("a new key is taken", revoked, http.StatusOK)
	c.does(exitOK, "keys", "revoke", other, "--control", c.control)
	everywhere("a revoked key is refused", revoked, http.StatusUnauthorized)

	// The last calls of a server are reported when it ends, or when the next server starts.
	calls(1)
	for i := range servers {
		left := leftReports(c.heard.String())
		servers[i].stop()
		if leftReports(c.heard.String()) > left {
			servers[i] = c.serves(servers[i].state)
			billed("what was left is billed")
			servers[i].stop()
		}
	}
	if got := c.billed("acme"); got != answered {
		t.Errorf("when all servers have ended %d of %d calls are billed", got, answered)
	}

	// Their own directories have equal rows.
	local := int64(0)
	for _, s := range servers {
		rows, err := access.ReadLedger(s.state, "acme", 0, lastDay)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			local += row.Charged
		}
	}
	if local != answered {
		t.Errorf("the state directories have %d calls, %d were answered", local, answered)
	}

	out, _ := c.does(exitOK, "keys", "list", "--control", c.control)
	if !strings.Contains(out, id) || strings.Contains(out, "never  web") {
		t.Errorf("keys list says %s", out)
	}
	out, _ = c.does(exitOK, "fleet", "status", "--control", c.control)
	if strings.Count(out, "reports") != 2 {
		t.Errorf("fleet status says %s", out)
	}
	for _, secret := range []string{postgrestest.Password, key, preview} {
		if strings.Contains(strings.ReplaceAll(c.heard.String(), `"key": "`+secret, ""), secret) {
			t.Errorf("a secret was said:\n%s", c.heard.String())
		}
	}
}

// TestControlSaysTheSame takes a machine into a fleet: every command says the same of both, to the
// byte.
func TestControlSaysTheSame(t *testing.T) {
	c := newFleetKit(t)
	state := filepath.Join(t.TempDir(), "state")
	out, _ := c.does(exitOK, "keys", "create", "--state", state, "--tenant", "acme", "--plan", "pro", "--name", "web",
		"--json")
	id := c.member(out, "id")
	c.does(exitOK, "keys", "create", "--state", state, "--tenant", "zeta", "--surface", "preview", "--plan", "preview",
		"--credits", "70", "--expires", "2999-01-01T00:00:00Z")
	c.does(exitOK, "keys", "rotate", id, "--state", state, "--overlap", "2h")
	charge(t, state)

	for range 2 {
		c.does(exitOK, "fleet", "import", "--state", state, "--control", c.control)
	}
	same := func(args ...string) {
		t.Helper()
		one, _ := c.does(exitOK, append(args, "--state", state)...)
		many, _ := c.does(exitOK, append(args, "--control", c.control)...)
		if diff := cmp.Diff(one, many); diff != "" || one == "" {
			t.Errorf("ninepocket %s (- one machine, + fleet)\n%s", strings.Join(args, " "), diff)
		}
	}
	same("keys", "list")
	same("keys", "list", "--json")
	for _, format := range []string{"table", "csv", "json"} {
		same("usage", "--format", format)
		same("usage", "--format", format, "--totals")
		same("usage", "--format", format, "--tenant", "zeta", "--since", "2026-01-01", "--until", "2026-12-31")
	}

	// Changes, too: revoke and reset-day print the same text, and leave the same state.
	both := func(args ...string) {
		t.Helper()
		one, _ := c.does(exitOK, append(args, "--state", state)...)
		many, _ := c.does(exitOK, append(args, "--control", c.control)...)
		if one != many {
			t.Errorf("ninepocket %s says %q of one machine and %q of a fleet", strings.Join(args, " "), one, many)
		}
	}
	both("keys", "revoke", id)
	both("keys", "tenant", "reset-day", "acme")
	same("keys", "list")
	_, text := c.does(exitFailure, "keys", "revoke", "key_none", "--control", c.control)
	if !strings.Contains(text, "no such key") || !strings.Contains(text, "keys list --control postgres://np:***@") {
		t.Errorf("a key that is none: %s", text)
	}

	log, _ := c.does(exitOK, "keys", "log", "--control", c.control)
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], "reset-day of day") || !strings.Contains(lines[2], "revoke") {
		t.Errorf("the record of the fleet is\n%s", log)
	}
}

// charge makes some calls by the keys of a state directory.
func charge(t *testing.T, state string) {
	t.Helper()
	clock := access.StartClock(time.Now())
	now := clock.At(time.Now())
	store, err := access.OpenLocal(state, access.LocalOptions{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	file, err := keys.Read(state)
	if err != nil {
		t.Fatal(err)
	}
	plans := keys.DefaultPlans()
	for i, key := range file.Keys {
		kind, _ := keys.ParseSurface(key.Surface)
		p := &keys.Principal{
			KeyID: key.ID, Tenant: key.Tenant, Surface: kind, Credits: 70,
			Plan: plans[file.Tenants[key.Tenant].PlanOf(key.Surface)],
		}

		op := access.CardsGet
		if kind == keys.Preview {
			op = access.ProductsList
		}
		for range 3 + i {
			decision := store.Admit(p, access.SpecFor(p, op), now)
			if _, err := store.Finish(decision.Reservation, true); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFleetMessages provokes the messages that operators see.
func TestFleetMessages(t *testing.T) {
	c := newFleetKit(t)
	c.store = "store" // keys are looked at before it is
	state := filepath.Join(t.TempDir(), "state")
	f := func(code int, want string, args ...string) {
		t.Helper()
		_, text := c.does(code, args...)
		if !strings.Contains(text, want) {
			t.Errorf("ninepocket %s says %s, want %q", strings.Join(args, " "), text, want)
		}
	}
	serve := []string{
		"serve", "--store", c.store, "--state", state, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
	}
	f(exitUsage, "cannot serve without --control: a fleet bills from one ledger",
		append(serve, "--metering", "redis://cache")...)
	f(exitNotReady, "it has none yet\nhint: create one: ninepocket keys create --control postgres://np:***@127.0.0.1",
		append(serve, "--control", c.control)...)
	away := "postgres://np:" + postgrestest.Password + "@127.0.0.1:1/cards"
	f(exitNotReady, "cannot serve without keys: cannot reach PostgreSQL at 127.0.0.1:1/cards",
		append(serve, "--control", away)...)
	f(exitFailure, "hint: look at --control, and whether PostgreSQL runs there", "keys", "list", "--control", away)
	f(exitFailure, "look at the password of --control", "fleet", "status", "--control",
		strings.Replace(c.control, postgrestest.Password, "wrong-word", 1))
	f(exitFailure, "it has none yet", "keys", "list", "--control", c.control)
	f(exitUsage, "cannot use --state and --control", "keys", "list", "--control", c.control, "--state", state)
	f(exitUsage, "want postgres://USER@HOST/DATABASE", "usage", "--control", "mysql://u:"+postgrestest.Password+"@h/d")
	f(exitUsage, "control is not given\nhint: give --control, or write control into", "fleet", "status")
	f(exitUsage, "without --yes", "fleet", "forget", "f3", "--control", c.control)
	f(exitFailure, "no such server id", "fleet", "forget", "f3", "--control", c.control, "--yes")
	f(exitOK, "hint: control is given and metering is not", "config", "check", "--store", c.store, "--state", state,
		"--control", c.control)
	out, text := c.does(exitRefused, "fleet", "check", "--control", c.control)
	if !strings.Contains(out, "WRONG") || !strings.Contains(text, "1 of 5 findings are wrong") {
		t.Errorf("fleet check says %s%s", out, text)
	}

	if strings.Contains(c.heard.String(), postgrestest.Password) || strings.Contains(c.heard.String(), "wrong-word") {
		t.Errorf("a password was said:\n%s", c.heard.String())
	}
}

// tmpfsFolder is a new folder in memory, "" where there is no such file system.
func tmpfsFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "ninepocket-") //nolint:usetesting // folders of a test are on a disk
	if err != nil {
		return ""
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, "state")
}

// TestFleetKilled kills a server at random moments under clients, once without a database. All
// answered calls are billed, otherwise at most those in flight, and the bill equals the server's
// own log.
func TestFleetKilled(t *testing.T) {
	const clients = 4
	rounds := 3
	if long() {
		rounds = 60
	}

	c := newFleetKit(t)
	p := newProgram(t)
	p.path = scriptPath(t)
	state := filepath.Join(p.dir, "state")
	c.does(exitOK, "fleet", "import", "--state", state, "--control", c.control)
	environ := []string{"NINEPOCKET_CONTROL=" + c.control, "NINEPOCKET_FLEET__EXPORT=100ms"}
	before := c.billed("acme")

	var answered atomic.Int64
	for round := range rounds {
		p.serve(t, environ, "")
		if round%3 == 1 {
			postgrestest.Start(t).Kill(t)
		}

		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				one := &visitor{address: p.address(), key: p.key}
				defer one.leave()
				for one.ask() == nil { // until the server dies
					answered.Add(1)
				}
			})
		}
		time.Sleep(time.Duration(50+rand.IntN(250)) * time.Millisecond)
		acked := answered.Load()
		c.eventually("one more call is answered", func() bool { return answered.Load() > acked })
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // it was killed
		all.Wait()
		if round%3 == 1 {
			postgrestest.Start(t).Resume(t)
		}
	}

	// The next start sends what was not sent, and its end waits for that.
	p.serve(t, environ, "")
	p.endsReported(t, func() { p.serve(t, environ, "") })
	local := int64(0)
	rows, err := access.ReadLedger(state, "acme", 0, lastDay)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		local += row.Charged
	}
	billed := c.billed("acme")
	acked := answered.Load()
	if billed != local || billed-before < acked || billed-before > acked+int64(clients*rounds) {
		t.Errorf("%d calls were answered, %d are billed, %d are in the log", acked, billed-before, local-before)
	}
	if acked == 0 || strings.Contains(p.log.String(), postgrestest.Password) {
		t.Errorf("%d calls were answered:\n%s", acked, p.log)
	}
}
