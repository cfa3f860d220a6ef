package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/feedtest"
	"ninepocket/internal/settings"
	"ninepocket/snapshot"
)

// statusAt is the status of a configuration at a time, without a server.
func (h *feedStore) statusAt(file string, now time.Time) *status {
	h.t.Helper()
	config, err := settings.ReadWithEnv(file)
	if err != nil {
		h.t.Fatal(err)
	}
	config.Admin = "127.0.0.1:1"
	s := &status{facts: map[string]any{}, config: config, file: file, with: " --config " + file}
	s.look(h.t.Context(), now)
	return s
}

// TestStatusOfDays goes through evenings of a feed: a day without a source, a group without prices,
// a refused day, its override and a rollback. Each must be in the status of its evening.
func TestStatusOfDays(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, oddGroups, oddCards)
	file := h.configures("")
	evening := func(day int) time.Time { return firstEvening.AddDate(0, 0, day).Add(time.Hour) }
	is := func(s *status, name string, want any) {
		t.Helper()
		got, err := json.Marshal(s.facts[name])
		wanted, _ := json.Marshal(want)
		if err != nil || !bytes.Equal(got, wanted) {
			t.Errorf("%s is %s, want %s, %v", name, got, wanted, err)
		}
	}

	s := h.statusAt(file, evening(0))
	if is(s, "verdict", "unknown"); !strings.Contains(s.next[1], "snapshot build --store "+h.store) {
		t.Errorf("without a store: %q, %q", s.unknown, s.next)
	}
	h.evening(0, feedtest.Faults{})
	h.days(exitOK, file)
	s = h.statusAt(file, evening(0))
	is(s, "verdict", "unknown") // whether it is served
	is(s, "held_groups", []string{})
	is(s, "missing_days", []string{})
	is(s, "last_refusal", nil)
	if len(s.next) != 1 || !strings.HasPrefix(s.next[0], "start the server: ninepocket serve --config ") {
		t.Errorf("after a good evening: %q", s.next)
	}
	s = h.statusAt(file, evening(2))
	if s.urgent != 1 || !strings.Contains(s.next[0],
		"the prices are 49 hours old: ninepocket daily --store "+h.store) {
		t.Errorf("two days later: %q", s.next)
	}

	h.evening(2, feedtest.Faults{Change: unlisting(5)})
	h.days(exitOK, file)
	s = h.statusAt(file, evening(2))
	is(s, "held_groups", []string{"68/106 Set F (unlisted)"})
	is(s, "missing_days", []string{dayName(1)})
	is(s, "unlisted", oddCards)
	if !slices.ContainsFunc(s.next, func(what string) bool { return strings.Contains(what, h.into+"/days") }) {
		t.Errorf("where the missing day goes is not said: %q", s.next)
	}

	// The command is the one that the evening itself gave.
	h.evening(3, feedtest.Faults{Empty: []string{feedtest.Path(1, "prices"), feedtest.Path(2, "prices")}})
	_, stderr := h.days(exitRefused, file)
	s = h.statusAt(file, evening(3))
	is(s, "verdict", "attention")
	_, command, _ := strings.Cut(s.next[0], "if it is right: ")
	if command == "" || !strings.Contains(stderr, command) {
		t.Errorf("status says %q, and the evening said\n%s", s.next[0], stderr)
	}
	h.hinted(exitOK, "run: "+command)
	s = h.statusAt(file, evening(3))
	is(s, "verdict", "unknown")
	if last, is := s.facts["last_refusal"].(logRow); !is || last.Action != actionRefuse {
		t.Errorf("the last refusal is %v", s.facts["last_refusal"])
	}

	h.does(exitOK, "snapshot", "rollback", "--reason", "customers complain", "--config", file)
	last, _ := h.statusAt(file, evening(3)).facts["last_day"].(logRow)
	if last.Action != snapshot.ActionRollback || !slices.Equal(last.Why, []string{"customers complain"}) {
		t.Errorf("the last day is %v", last)
	}
	s = &status{facts: map[string]any{}}
	s.measureDisk("store", h.store, 1<<62)
	if s.urgent != 1 || !strings.Contains(s.next[0], "make room") {
		t.Errorf("without room: %q", s.next)
	}
}

// TestStatusOfServer runs with a server that serves, with one that hangs, and without a server.
// Each time the answer comes within two seconds.
func TestStatusOfServer(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	native, err := filepath.Abs("../../docs/examples/native")
	if err != nil {
		t.Fatal(err)
	}
	command(t, p.dir, "snapshot", "build", "--store", "store", "--source", "native:"+native, "--publish",
		"--snapshot-at", time.Now().UTC().Format(time.RFC3339), "--override", "repeated_feed", "--reason", "a test")
	p.serve(t, nil, "")

	asks := func(admin string, code int) (said map[string]any) {
		t.Helper()
		cmd := plainProcess(t, "status", "--store", "store", "--state", "state", "--admin", admin, "--json")
		cmd.Dir = p.dir
		begun := time.Now()
		out, err := cmd.Output() // an exit code may be wanted
		if exit := cmd.ProcessState.ExitCode(); exit != code || json.Unmarshal(out, &said) != nil ||
			time.Since(begun) > 2*time.Second {
			t.Fatalf("exit code %d after %s, %v\n%s", exit, time.Since(begun), err, out)
		}
		return said
	}

	admin := strings.TrimPrefix(p.Admin, "http://")
	said := asks(admin, exitOK)
	if served, _ := said["served"].(map[string]any); served["snapshot_id"] != p.SnapshotID || said["ready"] != "ok" ||
		said["verdict"] != "well" {
		t.Errorf("of a server that serves: %v", said)
	}

	// A word stands for a day of usage.
	if _, err := p.get(t.Context(), http.DefaultClient, "/v1/games"); err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "have the call in today's usage", func() bool {
		return strings.Contains(command(t, p.dir, "usage", "--state", "state", "--day", "today"), "games_list")
	})
	if said := command(t, p.dir, "usage", "--state", "state", "--day", "yesterday"); strings.Contains(said, "acme") {
		t.Errorf("yesterday's usage has today's calls:\n%s", said)
	}

	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	if said := asks(hangs.Addr().String(), exitFailure); said["verdict"] != "unknown" {
		t.Errorf("of a server that hangs: %v", said)
	}
	p.signal(t, syscall.SIGTERM)
	_ = p.cmd.Wait()
	if said := asks(admin, exitFailure); said["served"] != nil || said["published"] == nil {
		t.Errorf("of no server: %v", said)
	}
}

// TestStatusOfKeys counts keys, and names the tenant of those that get 503.
func TestStatusOfKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := settings.Default()
	config.State = filepath.Join(dir, "state")
	config.Plans = map[string]*settings.Plan{"gold": {PerMinute: 5}}
	file := filepath.Join(dir, "np.toml")
	if err := os.WriteFile(file, []byte("[plans.gold]\nper_minute = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	for _, plan := range []string{"free", "gold"} {
		args := []string{
			"keys", "create", "--state", config.State, "--tenant", "of-" + plan, "--plan", plan, "--config", file,
		}
		if code := run(t.Context(), args, &out, &errs); code != exitOK {
			t.Fatal(errs.String())
		}
	}

	for _, unusable := range []int{0, 1} {
		s := &status{facts: map[string]any{}, config: settings.Merged{Config: config}}
		if err := s.readKeys(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		counts, _ := s.facts["keys"].(map[string]int)
		if counts["all"] != 2 || counts["unusable"] != unusable || s.urgent != unusable {
			t.Errorf("%v, %q; want %d unusable", counts, s.next, unusable)
		}
		config.Plans = nil
	}
}
