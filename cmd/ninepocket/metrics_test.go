package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"ninepocket/internal/synth"
	"ninepocket/node"
	"ninepocket/snapshot"
)

// lockedBuffer is a log that a running server writes and a test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watched is a server over a real store and state directory, as an operator runs it.
type watched struct {
	t             *testing.T
	store, state  string
	api, admin    string
	live, preview string // keys
	all           []string
	log           lockedBuffer
	ids           []string // snapshots, the first one published
	heard         bytes.Buffer
	hooked        atomic.Int64 // messages
}

// hookSecret signs, and hookPath is secret too.
const hookSecret, hookPath = "whsec_aGVhcmQgYnkgdGhlIHJlY2VpdmVyIGFsb25l", "/hook_qLw5u8Zb3nXk"

func (w *watched) command(args ...string) string {
	w.t.Helper()
	var out, errs bytes.Buffer
	if code := runPlain(w.t, args, &out, &errs); code != exitOK {
		w.t.Fatalf("ninepocket %s: exit code %d: %s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}

// member reads a member of a JSON object.
func (w *watched) member(text, name string) string {
	w.t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.t.Fatalf("%v in %s", err, text)
	}
	return fmt.Sprint(v[name])
}

// watchedServer builds and publishes a small catalog and serves it.
func watchedServer(t *testing.T) *watched {
	t.Helper()
	dir := t.TempDir()
	w := &watched{t: t, store: filepath.Join(dir, "store"), state: filepath.Join(dir, "state")}
	for day := range 2 {
		raw := filepath.Join(dir, fmt.Sprint("day", day))
		options := synth.Options{Cards: 300, HistoryDays: 30, Day: day, PlantQuarantine: true}
		if _, err := synth.Summarize(raw, options); err != nil {
			t.Fatal(err)
		}
		w.ids = append(w.ids, w.member(w.command("snapshot", "build", "--store", w.store, "--source", "native:"+raw,
			"--json"), "id"))
	}

	w.command("snapshot", "publish", w.ids[0], "--store", w.store)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == hookPath && r.Header.Get("Webhook-Signature") != "" {
			w.hooked.Add(1)
		}
	}))
	t.Cleanup(receiver.Close)
	config := filepath.Join(dir, "ninepocket.toml")
	text := "[notify]\nurl = '" + receiver.URL + hookPath + "'\nsecret = '" + hookSecret +
		"'\n[metrics]\ntenants = true\n[guards]\nminimum_cards = 1000\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.all = append(w.all, hookSecret, hookPath)

	// The files of a refused evening.
	refused := []string{"snapshot", "publish", w.ids[1], "--store", w.store, "--config", config}
	if code := runPlain(t, refused, io.Discard, io.Discard); code != exitRefused {
		t.Fatalf("publish: exit code %d", code)
	}
	ran := snapshot.DailyRun{At: time.Unix(1_795_000_000, 0), Seconds: 12.5, Verdict: snapshot.VerdictRefused}
	if err := snapshot.RecordDaily(snapshot.OpenStore(w.store), ran); err != nil {
		t.Fatal(err)
	}
	for surface, key := range map[string]*string{"live": &w.live, "preview": &w.preview} {
		*key = w.member(w.command("keys", "create", "--state", w.state, "--tenant", surface, "--surface", surface,
			"--plan",
			map[string]string{"live": "free", "preview": "preview"}[surface], "--json"), "key")
		w.all = append(w.all, *key)
	}

	ready := filepath.Join(dir, "ready.json")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{
			"serve", "--config", config, "--store", w.store, "--state", w.state, "--listen", "127.0.0.1:0",
			"--admin", "127.0.0.1:0", "--ready-file", ready,
		}, io.Discard, &w.log)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != exitOK {
			t.Errorf("serve ended with %d: %s", code, w.log.String())
		}
	})

	var file node.ReadyFile
	w.eventually("the server is ready", func() bool {
		b, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(b, &file) == nil
	})
	w.api = file.API
	w.admin = file.Admin
	return w
}

func (w *watched) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within a minute: %s\n%s", what, w.log.String())
		}
	}
}

// ask sends a request and records the whole answer for the search for secrets.
func (w *watched) ask(method, url, body string, header ...string) (status int, text string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}

	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}

	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Header.Write(&w.heard)
	w.heard.Write(b)
	return resp.StatusCode, string(b)
}

func (w *watched) scrape() string {
	w.t.Helper()
	status, text := w.ask("GET", w.admin+"/metrics", "")
	if status != http.StatusOK {
		w.t.Fatalf("/metrics: %d %s", status, text)
	}
	return text
}

// traffic sends something of every kind that is counted, most of it with keys where they do not
// belong.
func (w *watched) traffic() {
	w.t.Helper()
	live := "X-API-Key: " + w.live
	preview := "X-API-Key: " + w.preview
	jsonBody := "Content-Type: application/json"
	w.ask("GET", w.api+"/v1/cards?limit=50", "", live, "Accept-Encoding: gzip")
	w.ask("GET", w.api+"/v1/cards?limit=50&q=a", "", live)
	w.ask("GET", w.api+"/v1/games", "", "Authorization: Bearer "+w.live)
	w.ask("GET", w.api+"/v1/games?api_key="+w.live, "")
	w.ask("GET", w.api+"/v1/cards/"+w.live, "", live)
	w.ask("GET", w.api+"/"+w.live, "", live)
	w.ask("GET", w.api+"/v1/products?key="+w.preview, "", preview)
	w.ask("GET", w.api+"/v1/games", "", preview)
	w.ask("GET", w.api+"/v1/games", "", "X-API-Key: "+w.live+"x")
	w.ask("GET", w.api+"/v1/games", "", "Authorization: Basic "+w.live)
	w.ask("POST", w.api+"/v1/prices/batch", `{"items":[{"kind":"sealed","product_id":"prd_nothing"}]}`, preview,
		jsonBody, "Idempotency-Key: first")
	w.ask("POST", w.api+"/v1/prices/batch", `{"items":["`+w.preview+`"]}`, preview, jsonBody, "Idempotency-Key: second")
	w.ask("POST", w.api+"/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"catalog_search_cards","arguments":{"query":"`+w.live+`"}}}`, live, jsonBody) // air: one text

	// The free plan has 30 a minute.
	for range 40 {
		w.ask("GET", w.api+"/v1/games", "", live)
	}

	conn, err := net.Dial("tcp", strings.TrimPrefix(w.api, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()

	_, _ = io.WriteString(conn, "NONSENSE "+w.live+"\r\nX-API-Key: "+w.live+"\r\n\r\n")
	_, _ = io.Copy(&w.heard, conn)
}

// sample is the value of a metric's line in a scrape, "" when it is not there.
func sample(scrape, line string) string {
	for l := range strings.Lines(scrape) {
		if rest, ok := strings.CutPrefix(l, line+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

var metricName = regexp.MustCompile(`\bninepocket_[a-z0-9_]+`)

// baseName is the metric that a series of a histogram belongs to.
func baseName(name string, known map[string]bool) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && known[base] {
			return base
		}
	}
	return name
}

// metricsOf are the metrics that a scrape declares.
func metricsOf(scrape string) map[string]bool {
	known := map[string]bool{}
	for l := range strings.Lines(scrape) {
		if rest, ok := strings.CutPrefix(l, "# TYPE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			known[name] = true
		}
	}
	return known
}

// TestWatching runs a server with keys, publishes, breaks a release, and reads what the admin
// listener says.
func TestWatching(t *testing.T) {
	t.Parallel()
	w := watchedServer(t)
	w.traffic()
	// A release and a refusal happened; the day after the synthetic one is missing.
	w.eventually("the hook is told", func() bool {
		return w.hooked.Load() == 3 && sample(w.scrape(), `ninepocket_hook_deliveries_total{result="sent"}`) == "3"
	})
	first := w.scrape()
	for line, want := range map[string]string{
		`ninepocket_snapshot_info{snapshot_id="` + w.ids[0] + `"}`:    "1",
		`ninepocket_snapshot_epoch`:                                   "1",
		`ninepocket_snapshot_swaps_total`:                             "1",
		`ninepocket_snapshot_behind`:                                  "0",
		`ninepocket_degraded`:                                         "0",
		`ninepocket_metering_up`:                                      "1",
		`ninepocket_keys`:                                             "2",
		`ninepocket_http_requests_in_flight`:                          "0",
		`ninepocket_http_parse_errors_total{code="400"}`:              "1",
		`ninepocket_http_compressed_responses_total{encoding="gzip"}`: "1",
		`ninepocket_http_requests_total{code="401",operation="games_list",surface="live"}`:    "4",
		`ninepocket_http_requests_total{code="404",operation="unknown",surface="none"}`:       "1",
		`ninepocket_http_requests_total{code="200",operation="products_list",surface="none"}`: "",
		`ninepocket_search_cache_requests_total{result="miss"}`:                               "2",
		`ninepocket_idempotency_records`:                                                      "1",
		`ninepocket_metering_duration_seconds_count{call="commit"}`:                           "1",
		`ninepocket_wal_fsync_errors_total`:                                                   "0",
		`ninepocket_hook_oldest_waiting_seconds`:                                              "0",
		`ninepocket_daily_last_run_timestamp_seconds`:                                         "1.795e+09",
		`ninepocket_daily_last_run_duration_seconds`:                                          "12.5",
		`ninepocket_daily_last_run_verdict{verdict="refused"}`:                                "1",
		`ninepocket_tenant_calls_total{tenant="preview"}`:                                     "3",
	} {
		if got := sample(first, line); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}

	if n := sample(first, `ninepocket_snapshot_refusal_timestamp_seconds{guard="minimum_cards"}`); n == "" {
		t.Error("no refusal is told")
	}
	if n := sample(first, `ninepocket_denied_requests_total{reason="rate_limit_exceeded",surface="live"}`); n == "" ||
		n == "0" {
		t.Error("no rate limit is counted")
	}
	if problems, err := promlint.New(strings.NewReader(first)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}

	w.command("snapshot", "publish", w.ids[1], "--store", w.store)
	w.eventually("the publication is live", func() bool {
		_, text := w.ask("GET", w.admin+"/-/snapshot", "")
		return w.member(text, "snapshot_id") == w.ids[1]
	})

	_, text := w.ask("GET", w.admin+"/-/snapshot", "")
	if w.member(text, "epoch") != "2" || w.member(text, "previous") != w.ids[0] ||
		w.member(text, "last_failure") != "<nil>" {
		t.Errorf("/-/snapshot is %s", text)
	}

	// A byte of the first snapshot changes; publishing it back is refused by the publisher, so the
	// pointer is moved by hand.
	w.publishDamaged()
	w.eventually("the damage is told", func() bool {
		return sample(w.scrape(), `ninepocket_snapshot_swap_failures_total{reason="damaged"}`) == "1"
	})
	if s := w.scrape(); sample(s, "ninepocket_snapshot_behind") != "1" ||
		sample(s, "ninepocket_snapshot_epoch") != "4" {
		t.Errorf("with a damaged publication behind is %s, epoch %s", sample(s, "ninepocket_snapshot_behind"),
			sample(s, "ninepocket_snapshot_epoch"))
	}
	_, text = w.ask("GET", w.admin+"/-/snapshot", "")
	if !strings.Contains(text, `"reason": "damaged"`) || !strings.Contains(text, `section \"cards\"`) {
		t.Errorf("/-/snapshot does not tell the failure: %s", text)
	}
	if status, text := w.ask("GET", w.admin+"/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz is %d %s although requests are answered", status, text)
	}
	w.ask("POST", w.admin+"/-/reload", "")

	log := w.log.String()
	if n := strings.Count(log, "snapshot is live"); n != 4 {
		t.Errorf("four swaps are logged in %d lines:\n%s", n, log)
	}

	for _, part := range []string{"read=", "index=", "fragments=", "total=", "epoch=2"} {
		if !strings.Contains(log, part) {
			t.Errorf("the line of a swap lacks %s:\n%s", part, log)
		}
	}

	if n := strings.Count(log, "cannot follow the store"); n != 1 || !strings.Contains(log, "reason=damaged") {
		t.Errorf("one refusal is logged in %d lines:\n%s", n, log)
	}
	w.noSecrets()
}

// publishDamaged changes a byte of the first snapshot and makes the pointer name it, as a publisher
// without checks would.
func (w *watched) publishDamaged() {
	w.t.Helper()
	w.command("snapshot", "rollback", "--store", w.store)
	w.eventually("the way back is live", func() bool { return sample(w.scrape(), "ninepocket_snapshot_epoch") == "3" })
	pointer, err := os.ReadFile(filepath.Join(w.store, "CURRENT"))
	if err != nil {
		w.t.Fatal(err)
	}

	w.command("snapshot", "publish", w.ids[1], "--store", w.store)
	w.eventually("forward again", func() bool { return sample(w.scrape(), "ninepocket_snapshot_epoch") == "4" })
	path := filepath.Join(w.store, "snapshots", w.ids[0], "cards.msgpack.zst")
	b, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}

	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.store, "CURRENT"), pointer, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// noSecrets searches everything that was logged or answered, metrics included, for what a key is
// made of.
func (w *watched) noSecrets() {
	w.t.Helper()
	for where, text := range map[string]string{"the log": w.log.String(), "an answer or /metrics": w.heard.String()} {
		for _, key := range w.all {
			random := key[strings.LastIndexByte(key, '_')+1:]
			for from := 0; from+12 <= len(random); from++ {
				if at := strings.Index(text, random[from:from+12]); at >= 0 {
					w.t.Fatalf("%s holds a part of a key: …%s…", where, text[max(0, at-100):min(len(text), at+100)])
				}
			}
		}
	}
}

// comparesMetrics wants the page to say of each metric its type, its labels and its help, as /metrics does.
func (w *watched) comparesMetrics(docs string) {
	w.t.Helper()
	page, err := os.ReadFile(docs)
	if err != nil {
		w.t.Fatal(err)
	}

	scrape := w.scrape()
	n := 0
	for _, found := range regexp.MustCompile(`(?m)^# HELP (ninepocket_\S+) (.*)\n# TYPE \S+ (\w+)\n(.*)`).
		FindAllStringSubmatch(scrape, -1) {
		n++
		var labels []string
		for _, label := range regexp.MustCompile(`[{,](\w+)="`).FindAllStringSubmatch(found[4], -1) {
			if label[1] != "le" {
				labels = append(labels, label[1])
			}
		}

		// A scrape has labels in the order of their names, and a number that the program computes.
		row := regexp.MustCompile("(?m)^\\| `" + found[1] + "` \\| (\\w+) \\| ([^|]*) \\| (.*) \\|$").
			FindStringSubmatch(string(page))
		if row == nil {
			w.t.Errorf("%s has no row of %s", docs, found[1])
			continue
		}

		shown := strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(shown)
		slices.Sort(labels)
		help := regexp.MustCompile(`\bone in \d+`).ReplaceAllString(found[2], "one in N")
		if row[1] != found[3] || row[3] != help || !slices.Equal(shown, labels) {
			w.t.Errorf("%s has %q, /metrics has %s, %v, %s", docs, row[1:], found[3], labels, help)
		}
	}
	if n < 60 {
		w.t.Errorf("only %d metrics were compared", n)
	}
}

// shown are the metrics that a file names.
func shown(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	names := metricName.FindAllString(string(b), -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// TestMetricsAreDocumented holds /metrics, the dashboard, the alert rules and the table in
// docs/METRICS.md against each other. Panels and rules use existing metrics only, and the table
// explains all of these.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	w := watchedServer(t)
	w.traffic()
	known := metricsOf(w.scrape())
	for name := range known {
		if !strings.HasPrefix(name, "ninepocket_") {
			delete(known, name)
		}
	}

	const docs, dashboard, alerts = "../../docs/METRICS.md", "../../deploy/grafana/ninepocket.json", "../../deploy/prometheus/alerts.yml" // air: one text
	named := map[string]map[string]bool{}
	for _, path := range []string{docs, dashboard, alerts} {
		named[path] = map[string]bool{}
		for _, name := range shown(t, path) {
			// Package node compares those of a fleet.
			if strings.HasPrefix(name, "ninepocket_fleet_") {
				continue
			}
			base := baseName(name, known)
			named[path][base] = true
			if !known[base] {
				t.Errorf("%s names %s, which is not in /metrics", path, name)
			}
		}
	}

	for name := range known {
		if !named[docs][name] {
			t.Errorf("%s does not explain %s", docs, name)
		}
	}
	w.comparesMetrics(docs)

	for _, name := range []string{
		"http_requests_total", "http_request_duration_seconds", "http_requests_in_flight", "denied_requests_total",
		"http_panics_total",
		"snapshot_info", "snapshot_age_seconds", "snapshot_behind", "degraded", "snapshot_swap_failures_total",
		"snapshot_load_duration_seconds",
		"snapshot_quarantined_records", "snapshot_cards", "metering_up", "metering_duration_seconds",
		"wal_fsync_duration_seconds",
		"checkpoint_age_seconds", "search_cache_requests_total", "retired_snapshot_bytes",
		"daily_last_run_timestamp_seconds", "daily_last_run_duration_seconds", "daily_last_run_verdict",
		"snapshot_held_groups", "snapshot_unlisted_items", "snapshot_refusal_timestamp_seconds",
		"snapshot_missing_dates", "tenant_calls_total", "hook_deliveries_total", "hook_oldest_waiting_seconds",
	} {
		if !named[dashboard]["ninepocket_"+name] {
			t.Errorf("the dashboard does not show ninepocket_%s", name)
		}
	}

	for _, name := range []string{
		"http_requests_total", "http_panics_total", "snapshot_age_seconds", "snapshot_behind", "degraded",
		"snapshot_swap_failures_total",
		"metering_up", "store_check_age_seconds", "checkpoint_age_seconds", "keys_readable",
		"daily_last_run_timestamp_seconds", "daily_last_run_duration_seconds", "daily_last_run_verdict",
		"snapshot_held_groups", "snapshot_unlisted_items", "snapshot_refusal_timestamp_seconds",
		"snapshot_newest_missing_date_timestamp_seconds", "tenant_calls_total", "hook_deliveries_total",
		"hook_oldest_waiting_seconds",
	} {
		if !named[alerts]["ninepocket_"+name] {
			t.Errorf("no alert watches ninepocket_%s", name)
		}
	}

	var panels map[string]any
	b, err := os.ReadFile(dashboard)
	if err == nil {
		err = json.Unmarshal(b, &panels)
	}
	if err != nil {
		t.Errorf("%s: %v", dashboard, err)
	}
}
