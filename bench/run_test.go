package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/access"
)

// TestMain makes the test binary run tasks, as bench/drive does.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "task" {
		os.Exit(m.Run())
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := OwnTasks().Do(ctx, os.Args[2], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func self(t *testing.T) []string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{name, "task"}
}

// TestRun drives a running server, and bare ones in separate processes.
func TestRun(t *testing.T) {
	w := worlds[1_000]()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	go w.server.Serve(l)
	// One rival needs the store, which is unknown for a running server; the other is the same
	// server again.
	absent := func(task Task) []string {
		if task.Store != "" {
			t.Errorf("the store of a running server is said to be %q", task.Store)
		}
		return nil
	}
	again := func(task Task) []string {
		return []string{
			"sh", "-c", `printf '{"api":"%s"}' "$0" >"$READY_FILE.draft"; mv "$READY_FILE.draft" "$1"; exec sleep 600`,
			"http://" + l.Addr().String(), task.Ready,
		}
	}

	// A short measurement can lack results on a busy machine; a longer one has them.
	var wrong []string
	for _, d := range []time.Duration{50 * time.Millisecond, time.Second, 10 * time.Second} {
		var last []Endpoint
		report, err := Run(t.Context(), Options{
			URL: "http://" + l.Addr().String(), Keys: w.sample.keys, Operations: []string{
				"get_card_pipelined",
				"search_new",
			},
			CompareWith: []string{bareSame, bareBody, inMemory}, Connections: 2, Rounds: 2, Duration: d,
			Rivals:   []Rival{{"absent", absent}, {"again", again}},
			AfterRun: func(servers []Endpoint) error { last = servers; return nil },
			Self:     self(t),
		})
		if err != nil {
			t.Fatal(err)
		}

		// A server with metering in memory would need the store.
		if got := strings.Join(report.Servers, " "); got != "ninepocket bare body again" {
			t.Errorf("servers are %q", got)
		}

		// A bare server supports no other requests.
		key := w.sample.keys.Live
		want := []Endpoint{{full, l.Addr().String(), key}, {"again", l.Addr().String(), key}}
		if !slices.Equal(last, want) {
			t.Errorf("the servers that answer are %v, want %v", last, want)
		}

		wrong = wrongFigures(t, report)
		if len(wrong) == 0 {
			return
		}
		t.Logf("after %v for each server: %s", d, strings.Join(wrong, "; "))
	}
	t.Error(strings.Join(wrong, "\n"))
}

// wrongFigures returns the figures that are impossible for the servers of TestRun.
func wrongFigures(t *testing.T, report *Report) (wrong []string) {
	t.Helper()
	for i := range report.Operations {
		op := &report.Operations[i]
		for _, server := range report.Servers {
			r := op.Results[server]
			if r.Failures != 0 {
				t.Errorf("%s on %s: %+v", op.Name, server, r)
			}
			// Two of the servers are in this process, so their CPU time is unknown.
			here := server == full || server == "again"
			if r.Rate == 0 || r.P50 == 0 || r.Bytes < 100 || (r.CPU == 0) != here {
				wrong = append(wrong, fmt.Sprintf("%s on %s: %+v", op.Name, server, r))
			}
		}

		own := op.Results[full].Bytes
		bare := op.Results[bareBody].Bytes
		if own < bare*0.8 || own > bare*1.2 {
			wrong = append(wrong, fmt.Sprintf("%s: bodies of %g bytes, bare ones of %g", op.Name, own, bare))
		}
	}
	return wrong
}

// TestRunRefuses expects errors for invalid options before anything is started.
func TestRunRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"operation":          {Operations: []string{"nonsense"}},
		"measure the server": {CompareWith: []string{"nonsense"}},
		"--key":              {URL: "http://127.0.0.1:1"},
		"connection,":        {Connections: -1},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q in it", o, err, want)
		}
	}
}

// TestTasks builds a store of two days in one process and loads it in other processes.
func TestTasks(t *testing.T) {
	h := workspace{folder: t.TempDir(), self: self(t)}
	do := func(task Task, into any) {
		t.Helper()
		task.Store = h.path("store")
		text, err := h.exec(t.Context(), task)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	var built BuildFigures
	do(Task{Kind: taskBuild, Cards: 300, Seed: 1, Days: 12, Snapshots: 2}, &built)
	if len(built.Snapshots) != 2 || built.Snapshots[0] == built.Snapshots[1] || built.Counts.Cards != 300 ||
		built.Stored == 0 {
		t.Errorf("built %+v", built)
	}

	var loaded LoadFigures
	do(Task{Kind: taskLoad}, &loaded)
	if loaded.Counts != built.Counts || loaded.Heap <= 0 || loaded.Exact <= 0 || loaded.Cards200 <= 0 ||
		loaded.SearchWords == 0 {
		t.Errorf("loaded %+v", loaded)
	}

	if _, err := h.exec(t.Context(), Task{Kind: "nonsense"}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a task of no kind: %v", err)
	}
	if points, err := Scale(t.Context(), Options{Self: h.self}, []Size{{Cards: 300, Days: 5}}); err != nil ||
		!strings.Contains(ScaleTable(points), "| 300 |") {
		t.Errorf("scale gives %v, %v", points, err)
	}
}

// TestStart expects the reason why a server did not start.
func TestStart(t *testing.T) {
	_, err := start(t.Context(), "broken", []string{"sh", "-c", "echo no luck; exit 3"},
		filepath.Join(t.TempDir(), "ready"))
	if err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("a server that ends at once: %v", err)
	}
}

// TestServersAdoptBulkFiles expects the bulk files that build has made to be those that a server wants, so that it
// does not make them again.
func TestServersAdoptBulkFiles(t *testing.T) {
	h := workspace{folder: t.TempDir(), self: self(t), log: t.Output()}
	if err := h.setUp(t.Context(), &Options{Cards: 300, Days: 5}, 2); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(h.path("bench.toml"))
	if err != nil || !strings.Contains(string(config), `site_url = "`+siteURL+`"`) {
		t.Errorf("the configuration of serve is %q: %v", config, err)
	}

	for i, id := range h.built.Snapshots {
		manifest := filepath.Join(h.path("state"), "bulk", id, "manifest.json")
		before, err := os.Stat(manifest)
		if err != nil {
			t.Fatal(err)
		}
		task := Task{Kind: taskPublish, Store: h.path("store"), Snapshot: id}
		if i > 0 {
			if _, err := h.exec(t.Context(), task); err != nil {
				t.Fatal(err)
			}
		}

		task.Kind = taskMemory
		task.State = h.path("state")
		c, err := h.startTask(t.Context(), id, task)
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.metric("ninepocket_bulk_ready")
		c.stop()
		if err != nil || made != 1 {
			t.Errorf("%s: bulk files are ready: %v, %v", id, made, err)
		}
		if after, err := os.Stat(manifest); err != nil || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("%s: the server made the bulk files again: %v", id, err)
		}
	}
}

// TestAwaitBulk waits for a server that makes bulk files, and for no other.
func TestAwaitBulk(t *testing.T) {
	asked := 0
	ended := make(chan struct{})
	answer := func() string { return "ninepocket_bulk_failures_total 0\nninepocket_bulk_ready 0\n" }
	metrics := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(out, answer())
		asked++
	}))
	defer metrics.Close()
	await := func(soon time.Duration, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeoutCause(t.Context(), soon, errors.New("too slow"))
		defer cancel()
		c := contestant{name: full, admin: metrics.Listener.Addr().String(), ended: ended}
		if err := c.awaitBulk(ctx); fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %q", answer(), err, want)
		}
	}

	await(time.Millisecond, "too slow")
	close(ended)
	await(time.Minute, "cannot measure ninepocket: it ended before its bulk files were made")
	ended = nil
	answer = func() string { return "ninepocket_bulk_failures_total 1\nninepocket_bulk_ready 0\n" }
	await(time.Minute, "cannot measure ninepocket: it cannot make its bulk files, and tries again")
	answer = func() string { return "another_metric 0\n" }
	await(time.Minute, "<nil>")

	asked = 0
	answer = func() string {
		return fmt.Sprintf("ninepocket_bulk_failures_total 0\nninepocket_bulk_ready %d\n", asked/4)
	}
	await(time.Minute, "<nil>")
	if asked != 5 {
		t.Errorf("asked %d times, want 5", asked)
	}
	none := contestant{}
	if err := none.awaitBulk(t.Context()); err != nil {
		t.Errorf("a server without metrics: %v", err)
	}
	gone := contestant{admin: "127.0.0.1:1"}
	if err := gone.awaitBulk(t.Context()); err == nil {
		t.Error("no error although the server is gone")
	}
}

// TestSwapCheck expects bodies of another snapshot to be found.
func TestSwapCheck(t *testing.T) {
	l := openLoop{bodies: map[served]uint64{}}
	ask := func(request int, snapshot, body string) {
		l.check(request, &response{
			200, []byte("HTTP/1.1 200 OK\r\nX-Snapshot-Id: " + snapshot + "\r\n\r\n"),
			[]byte(body),
		})
	}

	ask(0, "a", `{"x":1,"next_cursor":"p"}`)
	ask(0, "a", `{"x":1,"next_cursor":"q"}`)
	ask(1, "a", `{"x":2}`)
	ask(0, "b", `{"x":3}`)
	if l.mixed != 0 || l.failures != 0 || l.seen != 2 {
		t.Errorf("%d mixed, %d failed, %d snapshots", l.mixed, l.failures, l.seen)
	}

	ask(0, "b", `{"x":1}`)
	l.check(0, &response{status: 503})
	if l.mixed != 1 || l.failures != 1 {
		t.Errorf("%d mixed, %d failed", l.mixed, l.failures)
	}
}

// TestKeys loads the keys of a measurement.
func TestKeys(t *testing.T) {
	folder := t.TempDir()
	keys, err := writeKeys(filepath.Join(folder, "state"), filepath.Join(folder, "bench.toml"))
	if err != nil {
		t.Fatal(err)
	}

	ring, err := LoadKeys(filepath.Join(folder, "state"))
	if err != nil {
		t.Fatal(err)
	}

	now := time.Now()
	gate := access.NewGate(ring, access.NewMemory(access.MemoryOptions{}))
	for _, key := range []string{keys.Live, keys.Preview} {
		p, err := gate.Authenticate([]byte(key), access.StartClock(now).At(now))
		if err != nil || p.Plan.PerMinute < 1_000_000 {
			t.Errorf("key %q: %+v, %v", key, p, err)
		}
	}
}
