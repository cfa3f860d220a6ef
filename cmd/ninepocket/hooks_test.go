package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ninepocket/internal/feedtest"
	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// hookMessage is what a receiver of hooks is sent.
type hookMessage struct {
	id   string
	Type string
	Data struct {
		Day        string
		SnapshotID string `json:"snapshot_id"`
		Previous   string
		By, Reason string
		Command    string
		Counts     snapshot.Counts
		Prices     *struct{ Changed int }
		Guards     []snapshot.GuardResult
		Groups     []struct{ Group, Set, Reason string }
		Count      int
		CardsAdded *int   `json:"cards_added"`
		SnapshotAt string `json:"snapshot_at"`
		Overrides  []snapshot.Override
	}
}

// TestHooksOfEvenings goes through evenings of every kind: each leaves its events and its verdict, and
// notify --once sends each event once, whatever the receiver did before.
func TestHooksOfEvenings(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, oddGroups, 4)
	state := t.TempDir()
	var mu sync.Mutex
	var received []hookMessage
	var bad atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if bad.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		one := hookMessage{id: r.Header.Get("Webhook-Id")}
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		mu.Lock()
		received = append(received, one)
		mu.Unlock()
	}))
	defer receiver.Close()
	file := h.configures("[notify]\nurl = '" + receiver.URL + hookPath + "'\nsecret = '" + hookSecret + "'\n")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, slices.Concat([]byte("state = '"+state+"'\n"), text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	all := func() []hookMessage {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(received)
	}
	once := func(code int) string {
		t.Helper()
		var out, errs bytes.Buffer
		args := []string{"notify", "--once", "--config", file}
		if ended := runPlain(t, args, &out, &errs); ended != code {
			t.Fatalf("notify: exit code %d, want %d\n%s%s", ended, code, &out, &errs)
		}
		text := out.String() + errs.String()
		if strings.Contains(text, hookSecret) || strings.Contains(text, hookPath) {
			t.Errorf("a secret is shown: %s", text)
		}
		return text
	}
	// sent runs notify and returns the new messages, of the types. The fake's days are long past.
	sent := func(want ...string) []hookMessage {
		t.Helper()
		before := len(all())
		once(exitOK)
		missing := func(one hookMessage) bool { return one.Type == "day.missing" }
		fresh := slices.DeleteFunc(all()[before:], missing)
		var types []string
		for _, one := range fresh {
			types = append(types, one.Type)
		}
		slices.Sort(types)
		if !slices.Equal(types, want) {
			t.Fatalf("sent %q, want %q", types, want)
		}
		slices.SortFunc(fresh, func(a, b hookMessage) int { return strings.Compare(a.Type, b.Type) })
		return fresh
	}
	ended := func(want string) {
		t.Helper()
		ran, err := snapshot.LastDaily(snapshot.OpenStore(h.store))
		if err != nil || ran.Verdict != want || ran.Seconds <= 0 || ran.At.IsZero() {
			t.Errorf("%+v, %v; want %s", ran, err, want)
		}
	}

	h.days(exitOK, file)
	ended(snapshot.VerdictPublished)
	first := sent("snapshot.published")[0]
	if first.Data.SnapshotID != h.current() || first.Data.Counts.Cards == 0 || first.Data.Prices != nil {
		t.Errorf("%+v", first)
	}
	h.days(exitOK, file)
	ended(snapshot.VerdictNothingNew)
	sent()

	// A group without prices is reported on its first evening.
	empty := feedtest.Faults{Empty: []string{feedtest.Path(5, "prices")}}
	h.evening(1, empty)
	h.days(exitOK, file)
	messages := sent("group.held", "snapshot.published")
	if late := messages[0].Data; late.Count != 1 || len(late.Groups) != 1 || late.Groups[0].Group != "68/106" ||
		late.Groups[0].Set != "Set F" || late.Groups[0].Reason != "empty_file" {
		t.Errorf("%+v", late)
	}
	if second := messages[1].Data; second.Previous != first.Data.SnapshotID || second.Prices == nil ||
		second.Prices.Changed == 0 || *second.CardsAdded != 0 || second.By == "" {
		t.Errorf("%+v", second)
	}
	h.evening(2, empty)
	h.days(exitOK, file)
	published := sent("snapshot.published")[0]

	// A receiver that fails holds nothing up.
	bad.Store(true)
	h.evening(3, feedtest.Faults{Down: true})
	h.days(exitFailure, file)
	ended(snapshot.VerdictFailed)
	h.evening(4, feedtest.Faults{Wrong: []string{"tcgcsv/", "tcgplayer/"}})
	for range 2 {
		h.days(exitRefused, file)
		ended(snapshot.VerdictRefused)
	}
	says(t, once(exitFailure), "0 sent, 1 not taken", "it answered 500", "hint: the next run tries again")
	bad.Store(false)
	once(exitOK)
	if got := all(); got[len(got)-1].Type == "snapshot.refused" {
		t.Error("a try before its time")
	}

	// Its time comes: here the record says that it is now.
	ledger := filepath.Join(state, "hooks.json")
	record, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]map[string]any
	if err := json.Unmarshal(record, &known); err != nil {
		t.Fatal(err)
	}
	for _, one := range known {
		delete(one, "next_at")
	}
	record, err = json.Marshal(known)
	if err == nil {
		err = os.WriteFile(ledger, record, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := sent("snapshot.refused")[0].Data
	if !strings.Contains(refused.Command, refused.SnapshotID) || !strings.Contains(refused.Command,
		"--override prices_moved") || !slices.ContainsFunc(refused.Guards, func(verdict snapshot.GuardResult) bool {
		return verdict.Name == "prices_moved" && verdict.Status == snapshot.Refused
	}) {
		t.Errorf("%+v", refused)
	}

	// The command that it has works.
	words := strings.Fields(strings.Replace(refused.Command, "'WHY'", "tried", 1))[1:]
	if code := runPlain(t, words, io.Discard, io.Discard); code != exitOK {
		t.Fatalf("%q ended with %d", refused.Command, code)
	}
	if over := sent("snapshot.published")[0].Data; len(over.Overrides) == 0 || over.Overrides[0].Reason != "tried" {
		t.Errorf("%+v", over)
	}
	rollback := []string{"snapshot", "rollback", "--store", h.store, "--reason", "wrong prices"}
	if code := runPlain(t, rollback, io.Discard, io.Discard); code != exitOK {
		t.Fatal(code)
	}
	if back := sent("snapshot.rolled_back")[0].Data; back.SnapshotID != published.Data.SnapshotID ||
		back.Previous != refused.SnapshotID || back.Reason != "wrong prices" {
		t.Errorf("%+v", back)
	}
	h.days(exitRefused, file, "--no-pull")
	ended(snapshot.VerdictRolledBack)
	sent()

	// No two messages have one id, and none came twice.
	ids := map[string]bool{}
	for _, one := range all() {
		if ids[one.id] {
			t.Errorf("%s came twice", one.id)
		}
		ids[one.id] = true
	}
}

// TestNotifyMistakes wants notify to name what is wrong, and to leave a running server alone.
func TestNotifyMistakes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ninepocket.toml")
	for more, want := range map[string]string{
		"": "notify.url and notify.command are not given",
		"[notify]\nurl = 'http://example.com" + hookPath + "'\nevents = ['x']\n": "want https",
	} {
		if err := os.WriteFile(file, []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"--once"}, {"--test"}, {}, {"--once", "--test"}} {
			var errs bytes.Buffer
			code := runPlain(t, append([]string{"notify", "--config", file}, args...), io.Discard, &errs)
			named := strings.Contains(errs.String(), want) && !strings.Contains(errs.String(), hookPath)
			if len(args) != 1 {
				named = named && strings.Contains(errs.String(), "either --once or --test")
			}
			if code != exitUsage || !named {
				t.Errorf("%q with %q: %d %s", args, more, code, &errs)
			}
		}
	}

	w := watchedServer(t)
	text := "state = '" + w.state + "'\nstore = '" + w.store + "'\n[notify]\ncommand = ['/bin/true']\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := runPlain(t, []string{"notify", "--once", "--config", file}, &out, &errs); code != exitFailure {
		t.Errorf("beside a server: %d %s", code, &errs)
	}
	says(t, errs.String(), "a server runs on this directory")
	if code := runPlain(t, []string{"notify", "--test", "--config", file}, &out, &errs); code != exitOK ||
		out.String() != "sent to: command\n" {
		t.Errorf("test: %d %s", code, &out)
	}
}

// TestFleetHooks has one of two servers send the hooks, the other after it, and then a command from a
// bucket: each event comes once.
func TestFleetHooks(t *testing.T) {
	c := newFleetKit(t)
	model := s3test.Start(t)
	c.publishes()
	c.creates("acme", "live", "pro")
	var mu sync.Mutex
	got := map[string]int{} // by type, without days that are missing
	ids := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var one hookMessage
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[one.Type]++
		ids[r.Header.Get("Webhook-Id")]++
	}))
	defer receiver.Close()
	published := func() int {
		mu.Lock()
		defer mu.Unlock()
		return got["snapshot.published"]
	}

	dir := t.TempDir()
	out, _ := c.does(exitOK, "snapshot", "trust", "init", "ops", "--key", filepath.Join(dir, "key"), "--to",
		model.Place("prod"), "--json")
	hooks := "[notify]\nurl = '" + receiver.URL + hookPath + "'\nsecret = '" + hookSecret + "'\n"
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := write("folder.toml", "control = '"+c.control+"'\nstore = '"+c.store+"'\nstate = '"+dir+"/state'\n"+hooks)
	var servers []*fleetServer
	for range 2 {
		s := &fleetServer{state: filepath.Join(t.TempDir(), "state")}
		c.begins(s, "--config", folder)
		servers = append(servers, s)
	}
	c.eventually("one of them sends", func() bool { return published() == 1 })
	_, stderr := c.does(exitFailure, "notify", "--once", "--config", folder)
	says(t, stderr, "another server of the fleet sends them")

	// The sending server ends, and the other one continues. A server that ends before it has the
	// receiver's answer leaves the event to be sent again, so its count is waited for.
	sent := func(s *fleetServer) bool {
		_, text := c.asks(s.Admin+"/metrics", "")
		return sample(text, `ninepocket_hook_deliveries_total{result="sent"}`) != "0"
	}
	c.eventually("it knows that", func() bool { return sent(servers[0]) || sent(servers[1]) })
	sender := 1
	if sent(servers[0]) {
		sender = 0
	}
	servers[sender].stop()
	c.builds(1)
	c.eventually("the other one sends", func() bool { return published() == 2 && sent(servers[1-sender]) })
	servers[1-sender].stop()

	// From the bucket the same events are known, and a new one is not.
	bucket := write("bucket.toml", "control = '"+c.control+"'\nstore = '"+model.Place("prod")+"'\nstore_cache = '"+dir+
		"/cache'\nstate = '"+dir+"/state'\npublishers = ['"+c.member(out, "publisher")+"']\n"+hooks)
	push := []string{
		"snapshot", "push", "--store", c.store, "--to", model.Place("prod"), "--key", filepath.Join(dir, "key"),
	}
	c.does(exitOK, push...)
	out, _ = c.does(exitOK, "notify", "--once", "--config", bucket)
	says(t, out, "0 sent")
	c.builds(2)

	// A push is done without its events, which the next one takes along.
	model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Query().Get("prefix"), "events/") {
			http.Error(rw, "no", http.StatusForbidden)
			return
		}
		next.ServeHTTP(rw, r)
	})
	_, stderr = c.does(exitOK, push...)
	says(t, stderr, "hooks get the event with the next push")
	model.Set(nil)
	c.does(exitOK, push...)
	out, _ = c.does(exitOK, "notify", "--once", "--config", bucket)
	says(t, out, "1 sent")
	if published() != 3 {
		t.Errorf("sent %v", got)
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}
