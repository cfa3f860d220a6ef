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
	"testing"

	"ninepocket/internal/feedtest"
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
	var got []hookMessage
	bad := false
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if bad {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		one := hookMessage{id: r.Header.Get("Webhook-Id")}
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		got = append(got, one)
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
		before := len(got)
		once(exitOK)
		missing := func(one hookMessage) bool { return one.Type == "day.missing" }
		fresh := slices.DeleteFunc(slices.Clone(got[before:]), missing)
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

	// A group without prices is told of on its first evening.
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
	bad = true
	h.evening(3, feedtest.Faults{Down: true})
	h.days(exitFailure, file)
	ended(snapshot.VerdictFailed)
	h.evening(4, feedtest.Faults{Wrong: []string{"tcgcsv/", "tcgplayer/"}})
	for range 2 {
		h.days(exitRefused, file)
		ended(snapshot.VerdictRefused)
	}
	says(t, once(exitFailure), "0 sent, 1 not taken", "it answered 500", "hint: the next run tries again")
	bad = false
	once(exitOK)
	if n := len(got); got[n-1].Type == "snapshot.refused" {
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
	for _, one := range got {
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
