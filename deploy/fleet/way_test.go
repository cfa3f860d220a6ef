package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ninepocket/deploy/fleet"
)

// network is how a way treats bytes.
type network string

// The states of a way.
const (
	whole     network = ""
	blackHole network = "a black hole"
	refuses   network = "refuse"
	slow      network = "slow"
)

// way leads one server to one engine.
type way struct {
	listener net.Listener
	target   string
	ways     *ways
	server   string

	mu    sync.Mutex
	state network
	conns map[net.Conn]bool
}

// ways are the ways of all servers, by server and engine.
type ways struct {
	mu  sync.Mutex
	all map[string]map[string]*way
}

// lead opens the way of a server to an engine, or returns the existing way.
func (ws *ways) lead(server, name, address string) string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all[server] == nil {
		ws.all[server] = map[string]*way{}
	}

	// A restarted server uses its previous way.
	w := ws.all[server][name]
	if w == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
		if err != nil {
			panic(err)
		}
		w = &way{listener: l, target: address, ways: ws, server: server, conns: map[net.Conn]bool{}}
		ws.all[server][name] = w
		go w.accept()
	}
	return w.listener.Addr().String()
}

// set changes the ways of a server to engines, and ends their connections if the way is cut.
func (ws *ways) set(server string, state network, names ...string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, name := range names {
		w := ws.all[server][name]
		w.mu.Lock()
		before := w.state
		w.state = state
		for conn := range w.conns {
			// Swallowed bytes are gone: TCP would have sent them again.
			if state == refuses || before == blackHole {
				_ = conn.Close()
			}
		}
		w.mu.Unlock()
	}
}

// ports are the ports of the Redis nodes, and those of the ways to them.
func (ws *ways) ports(server string) (from, to [][]byte) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	bulk := func(address string) []byte {
		_, port, _ := net.SplitHostPort(address)
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(port), port)
	}
	for _, name := range fleet.Redis {
		if w := ws.all[server][name]; w != nil {
			from = append(from, bulk(w.target))
			to = append(to, bulk(w.listener.Addr().String()))
		}
	}
	return from, to
}

func (w *way) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.serve(conn)
	}
}

func (w *way) now() network {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

func (w *way) serve(conn net.Conn) {
	defer conn.Close()
	w.mu.Lock()
	refused := w.state == refuses
	w.conns[conn] = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.conns, conn)
		w.mu.Unlock()
	}()
	if refused {
		return
	}

	out, err := net.Dial("tcp", w.target) //nolint:noctx // it ends with the process
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		defer out.Close()
		defer conn.Close()
		w.pass(conn, out, false)
	}()
	w.pass(out, conn, true)
}

// pass copies the bytes of one side. Sentinels name the Redis nodes: a server reaches these by its own ways, too.
func (w *way) pass(from, to net.Conn, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}

		said := buffer[:n]
		if answers {
			ports, own := w.ways.ports(w.server)
			for i := range ports {
				said = bytes.ReplaceAll(said, ports[i], own[i])
			}
		}

		switch w.now() {
		case blackHole:
			continue
		case slow:
			time.Sleep(30 * time.Millisecond)
		}
		if _, err := to.Write(said); err != nil {
			return
		}
	}
}

// engines are the engines of a server, in groups that are cut off together.
var engines = map[string][]string{
	"redis":    slices.Concat(fleet.Redis, fleet.Sentinels),
	"postgres": {fleet.Postgres},
	"store":    {fleet.Store},
}

// cutOff makes one server's way to an engine bad for a while, and checks that everything recovers.
func (w *torture) cutOff(server, engine string, state network) {
	w.Helper()
	w.ways.set(server, state, engines[engine]...)
	pause(w.Context(), 4*time.Second)
	began := time.Now()
	w.ways.set(server, whole, engines[engine]...)
	w.healed(fmt.Sprintf("the way of %s to %s was %s", server, engine, state), began)
}

// revoked revokes a new key that all servers accepted. No server may accept it two seconds later.
func (w *torture) revoked(n int) (denied func(after string)) {
	w.Helper()
	tenant := fmt.Sprintf("gone-%d", n)
	out, err := w.Ninepocket(w.Context(), "keys", "create", "--control", w.Control(), "--tenant", tenant, "--surface",
		"live", "--plan", "free", "--json")
	if err != nil {
		w.Fatal(err)
	}
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		w.Fatal(err)
	}
	pause(w.Context(), 3*time.Second)
	asked := func(name string) int {
		req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+w.Places[name]+"/v1/games",
			http.NoBody)
		if err != nil {
			w.Fatal(err)
		}
		req.Header.Set("X-API-Key", made.Key)
		resp, err := w.http.Do(req)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, name := range fleet.Servers {
		if got := asked(name); got == http.StatusUnauthorized || got == 0 {
			w.Errorf("%s answers a new key %d", name, got)
		}
	}

	if _, err := w.Ninepocket(w.Context(), "keys", "revoke", made.ID, "--control", w.Control()); err != nil {
		w.Fatal(err)
	}
	denied = func(after string) {
		began := time.Now()
		for _, name := range fleet.Servers {
			for asked(name) != http.StatusUnauthorized {
				if time.Since(began) > 2*time.Second {
					w.Errorf("%s answers a revoked key 2 s after %s", name, after)
					break
				}
				pause(w.Context(), 20*time.Millisecond)
			}
		}
	}
	denied("its revocation")
	w.revocations++
	return denied
}

// restored copies the database, lets the servers charge for a while, revokes a key, and restores the copy.
// The key stays revoked, and bills are correct without any restart.
func (w *torture) restored(ctx context.Context, n int) {
	w.Helper()
	dump := filepath.Join(w.folder, "dump.sql")
	run := func(name string, args ...string) {
		path, err := postgresProgram(name)
		if err != nil {
			w.Fatal(err)
		}
		if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
			w.Fatalf("%s: %v: %s", name, err, out)
		}
	}

	// The servers report on meanwhile: the copy lacks it.
	run("pg_dump", "--clean", "--if-exists", "--schema", "ninepocket", "--file", dump, w.Control())
	pause(ctx, 10*time.Second)
	denied := w.revoked(n)
	began := time.Now()
	run("psql", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", dump, w.Control())
	w.healed("PostgreSQL was restored from a copy of 15 s ago", began)
	denied("an older copy of the database was restored")
}

// postgresProgram finds a program of PostgreSQL.
func postgresProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", errors.Join(err, os.ErrNotExist)
	}
	return found[len(found)-1], nil
}

// higherPlan restarts a server with its own file, whose free plan has ten times the limit. Until plans
// stand in the database, the limit of the others applies there too.
func (w *torture) higherPlan(name string) {
	w.Helper()
	file := filepath.Join(w.folder, "higher.toml")
	text := fmt.Sprintf("[plans.free]\nper_minute = %d\n", 10*tenants[0].perMinute)
	err := os.WriteFile(file, []byte(text), 0o600)

	if err == nil {
		err = os.Setenv("NINEPOCKET_CONFIG", file)
	}
	if err == nil {
		w.Kill(name)
		err = w.Restart(w.Context(), name)
		_ = os.Unsetenv("NINEPOCKET_CONFIG")
	}
	if err != nil {
		w.Fatal(err)
	}

	w.healed("a start of "+name+" with a higher plan", time.Now())
	if _, err := w.Ninepocket(w.Context(), "fleet", "check", "--control", w.Control()); err == nil {
		w.Error("fleet check finds nothing wrong with plans that differ")
	}
}

// importPlans takes plans as they are built in into the database.
func (w *torture) importPlans() {
	w.Helper()
	file := filepath.Join(w.folder, "plans.toml")
	err := os.WriteFile(file, nil, 0o600)
	if err == nil {
		_, err = w.Ninepocket(w.Context(), "plans", "import", "--control", w.Control(), "--config", file)
	}
	if err != nil {
		w.Fatal(err)
	}
}
