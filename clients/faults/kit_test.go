//go:build clients

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/internal/synth"
)

// order is a job for the program of a language.
type order struct {
	Job         string           `json:"job"`
	BaseURL     string           `json:"base_url"`
	Key         string           `json:"key"`
	JobID       string           `json:"job_id"`
	Deadline    float64          `json:"deadline_seconds"`
	TryTimeout  float64          `json:"try_timeout_seconds"`
	MaxTries    int              `json:"max_tries"`
	Path        string           `json:"path"`
	IDs         []string         `json:"ids"`
	Identifiers []string         `json:"identifiers"`
	Selections  []map[string]any `json:"selections"`
	Items       []map[string]any `json:"items"`
	Pause       float64          `json:"pause"`
}

// outcome is the result that a program reports.
type outcome struct {
	Rows     []string `json:"rows"`
	NotFound []string `json:"not_found"`
	Error    *struct {
		Kind      string `json:"kind"`
		Status    int    `json:"status"`
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
		Message   string `json:"message"`
	} `json:"error"`
}

// language is a client, with the commands for its program of this table and for its examples.
type language struct {
	name    string
	program func(t *testing.T) []string
	example func(t *testing.T, name string) []string
}

var languages = []language{
	{
		"go",
		func(t *testing.T) []string {
			t.Helper()
			return built(t, "./conformance")
		},
		func(t *testing.T, name string) []string {
			t.Helper()
			return built(t, "./examples/"+name)
		},
	},
	{
		"python",
		func(t *testing.T) []string {
			t.Helper()
			return interpreted(t, "python3", "../python/conformance.py")
		},
		func(t *testing.T, name string) []string {
			t.Helper()
			return interpreted(t, "python3", "../python/examples/"+name+".py")
		},
	},
	{
		"typescript",
		func(t *testing.T) []string {
			t.Helper()
			if _, err := os.Stat("../typescript/node_modules/openapi-fetch"); err != nil {
				t.Skip("skipped: the client in TypeScript, because its modules are not installed: npm ci there")
			}
			return interpreted(t, "node", "../typescript/conformance.js")
		},
		func(t *testing.T, name string) []string {
			t.Helper()
			return interpreted(t, "node", "../typescript/examples/"+name+".js")
		},
	},
}

// built builds a command of the Go client.
func built(t *testing.T, folder string) []string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	command(t, "../go", "go", "build", "-o", program, folder)
	return []string{program}
}

// interpreted returns how a script is run, and skips where its runtime is absent.
func interpreted(t *testing.T, runtime, script string) []string {
	t.Helper()
	if _, err := exec.LookPath(runtime); err != nil {
		t.Skipf("skipped: the table of faults with %s, because there is none", runtime)
	}
	return []string{runtime, absolute(t, script)}
}

// command runs a program in a folder, and fails the test if it fails.
func command(t *testing.T, folder string, words ...string) {
	t.Helper()
	made := exec.Command(words[0], words[1:]...)
	made.Dir = folder
	if text, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, text)
	}
}

// run runs the program of a language.
func run(t *testing.T, program []string, o order) outcome {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	made := exec.Command(program[0], program[1:]...)
	made.Stdin = bytes.NewReader(text)
	var problems bytes.Buffer
	made.Stderr = &problems
	said, err := made.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", program, err, problems.String())
	}

	var got outcome
	if err := json.Unmarshal(said, &got); err != nil {
		t.Fatalf("%v printed %q: %v", program, said, err)
	}
	return got
}

// demo is a running `ninepocket demo`.
type demo struct {
	API  string
	Keys map[string]string

	store     string
	day       time.Time
	published int    // how many days were published after the first
	mapping   string // a folder with the operator's files, "" for none
	publish   func()
	lists     map[string][]string // requests without faults: their result, by path
	jobs      map[string]outcome  // jobs without faults: their result, by job
	usage     map[string]int      // the last charge, by key
}

const demoCards = 600

// ninepocket builds the program once.
var ninepocket = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "ninepocket-faults-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "ninepocket")
	made := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "ninepocket/cmd/ninepocket")
	made.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build, whose packages are compiled already
	text, err := made.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return program, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := ninepocket(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program)) // in the temporary folder
	}
	os.Exit(code)
}

// startDemo starts a demo whose catalog is older than the newest possible by a number of days, so that as
// many can be published. The demo's store is known.
func startDemo(t *testing.T, days int) *demo {
	t.Helper()
	program, err := ninepocket()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	ready := filepath.Join(folder, "ready.json")
	// A day's prices are of 02:00 UTC.
	day := time.Now().UTC().Add(-2*time.Hour).AddDate(0, 0, -days).Truncate(24 * time.Hour)
	server := exec.Command(program, "demo", "--cards", fmt.Sprint(demoCards), "--date", day.Format(time.DateOnly),
		"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", ready)
	server.Env = append(os.Environ(), "TMPDIR="+folder)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt) // or it has ended
		_ = server.Wait()
	})

	d := &demo{
		day: day, lists: map[string][]string{}, jobs: map[string]outcome{}, usage: map[string]int{},
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(ready)
		if err == nil {
			err = json.Unmarshal(text, d)
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the demo does not begin: %v", err)
		}
	}
	stores, err := filepath.Glob(filepath.Join(folder, "ninepocket-demo-*", "store"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("the demo has the stores %v: %v", stores, err)
	}
	d.store = stores[0]
	d.publish = func() { d.publishNext(t, program, folder) }
	return d
}

// publishNext builds and publishes the catalog of the next day, and waits until it is served.
func (d *demo) publishNext(t *testing.T, program, folder string) {
	d.published++
	raw := filepath.Join(folder, fmt.Sprint("day", d.published))
	at := d.day.Add(2 * time.Hour)
	if err := synth.Write(raw, synth.Options{Cards: demoCards, Seed: 1, SnapshotAt: at, Day: d.published}); err != nil {
		t.Error(err)
		return
	}
	// The stored results are of the previous day.
	clear(d.lists)
	clear(d.jobs)

	before := d.snapshot(t)
	made := exec.Command(program, "snapshot", "build", "--store", d.store, "--source", "native:"+raw,
		"--base", "current", "--publish", "--override", "prices_moved", "--reason", "a demo", "--mapping="+d.mapping)
	if text, err := made.CombinedOutput(); err != nil {
		t.Errorf("cannot publish: %v\n%s", err, text)
		return
	}
	for deadline := time.Now().Add(20 * time.Second); d.snapshot(t) == before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the new snapshot is not served")
			return
		}
	}
}

// snapshot returns the id of the served snapshot.
func (d *demo) snapshot(t *testing.T) string {
	var health struct {
		Snapshot string `json:"snapshot_id"`
	}
	d.get(t, "/healthz", "", &health)
	return health.Snapshot
}

// get reads a response of the server itself.
func (d *demo) get(t *testing.T, path, key string, into any) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, d.API+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(readString(t, response)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readString(t *testing.T, response *http.Response) string {
	t.Helper()
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// used returns the charges of a key's account so far.
func (d *demo) used(t *testing.T, key string) int {
	t.Helper()
	var usage struct {
		Data struct {
			Used int `json:"request_credits_used"`
		} `json:"data"`
	}
	d.get(t, "/v1/usage", key, &usage)
	d.usage[key] = usage.Data.Used
	return usage.Data.Used
}

// usedBefore returns the charges without a request, if nothing was charged since. A preview key may
// send ten requests a minute.
func (d *demo) usedBefore(t *testing.T, key string) int {
	t.Helper()
	if used, known := d.usage[key]; known {
		return used
	}
	return d.used(t, key)
}

// page is a page of ids.
type page struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
	Next       *string `json:"next_cursor"`
	Pagination struct {
		Next *string `json:"next_cursor"`
	} `json:"pagination"`
}

// list reads the ids of all pages with plain requests, once.
func (d *demo) list(t *testing.T, path, key string) []string {
	t.Helper()
	if have := d.lists[path]; have != nil {
		return have
	}

	var ids []string
	for cursor := ""; ; {
		var got page
		d.get(t, path+cursor, key, &got)
		delete(d.usage, key)
		for _, row := range got.Data {
			ids = append(ids, row.ID)
		}
		next := got.Next
		if next == nil {
			next = got.Pagination.Next
		}
		if next == nil {
			d.lists[path] = ids
			return ids
		}
		cursor = "&cursor=" + *next
	}
}

const (
	walkPath     = "/v1/cards?game=pokemon&sort=name&limit=50"
	setsPath     = "/v1/sets?limit=50"
	productsPath = "/v1/products?limit=50"
)

// order returns a job about things in the catalog and one missing thing.
func (d *demo) order(t *testing.T, job string) order {
	t.Helper()
	o := order{
		Job: job, BaseURL: d.API, Key: d.Keys["bench"], Deadline: 20, TryTimeout: 1.5, MaxTries: 8, Path: t.TempDir(),
		IDs: []string{}, Identifiers: []string{}, Selections: []map[string]any{}, Items: []map[string]any{},
	}
	ids := d.list(t, walkPath, d.Keys["bench"])

	switch job {
	case "card", "histories", "cards", "prices":
		o.IDs = slices.Concat(ids[:430], []string{"nope", ids[3]})
		o.Identifiers = []string{"partner:100012", "partner:0"}
	case "value":
		for n := range 230 {
			o.Items = append(o.Items, map[string]any{"id": ids[n%len(ids)], "quantity": n%3 + 1})
		}
	case "partner":
		products := d.list(t, productsPath, d.Keys[preview])
		for n := range 130 {
			o.Selections = append(o.Selections, map[string]any{
				"kind": "card", "product_id": products[n], "variant": "normal", "condition": "near_mint",
			})
		}
		// One stands twice, which the API would reject.
		o.Selections = append(o.Selections, o.Selections[7])
	}
	return o
}

// read returns a job's result without faults: pages from plain requests, all else from the program
// itself.
func (d *demo) read(t *testing.T, program []string, o order, isUsual bool) outcome {
	t.Helper()
	switch o.Job {
	case "walk":
		return outcome{Rows: d.list(t, walkPath, d.Keys["bench"])}
	case "sets":
		return outcome{Rows: d.list(t, setsPath, d.Keys["bench"])}
	case "products":
		return outcome{Rows: d.list(t, productsPath, o.Key)}
	}
	if known, is := d.jobs[o.Job]; is && isUsual {
		return known
	}
	d.jobs[o.Job] = run(t, program, o)
	delete(d.usage, o.Key)
	return d.jobs[o.Job]
}

// compareRows reports rows that are lost, doubled or different.
func compareRows(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}

	count := map[string]int{}
	for _, row := range want {
		count[row]++
	}
	for _, row := range got {
		count[row]--
	}
	var lost, more []string
	for row, n := range count {
		if n > 0 {
			lost = append(lost, row)
		} else if n < 0 {
			more = append(more, row)
		}
	}
	// A few are enough.
	t.Errorf("%d rows, not %d; lost: %s; too many: %s", len(got), len(want),
		strings.Join(lost[:min(5, len(lost))], ", "), strings.Join(more[:min(5, len(more))], ", "))
}
