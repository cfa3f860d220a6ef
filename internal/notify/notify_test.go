package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/snapshot"
)

// TestSignatures verifies what is sent with the public library of Standard Webhooks.
func TestSignatures(t *testing.T) {
	w := newWorld(t)
	w.add(Published, "1")
	w.add(Refused, "ünï \" \\ \u2028 <&>")
	w.pass()
	if _, err := w.Test(t.Context()); err != nil || len(w.took) != 3 {
		t.Fatalf("%d messages, %v", len(w.took), err)
	}

	verify := func(messages ...message) error {
		var lines bytes.Buffer
		for _, one := range messages {
			if err := json.NewEncoder(&lines).Encode(one); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "go", "-C", "../../tools", "run", "./webhook")
		cmd.Stdin = &lines
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := verify(w.took...); err != nil {
		if strings.Contains(err.Error(), "proxy") || strings.Contains(err.Error(), "dial tcp") {
			t.Skip("skipped: signatures, because the library of Standard Webhooks could not be downloaded")
		}
		t.Fatal(err)
	}

	// The check itself finds a changed message.
	bad := w.took[1]
	bad.Body += " "
	if verify(bad) == nil {
		t.Error("a changed body verifies")
	}
}

// TestBadReceivers sends to receivers that fail in every way, and then to whole ones: nothing is lost, and
// nothing is sent under another id.
func TestBadReceivers(t *testing.T) {
	elsewhere := 0
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer trap.Close()
	var written atomic.Int64
	pour := func(rw http.ResponseWriter, status int) {
		rw.WriteHeader(status)
		n, _ := io.CopyN(rw, zeros{}, 1<<30)
		written.Add(n)
	}

	for name, bad := range map[string]func(w *world){
		"500": func(w *world) {
			w.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
		},
		"redirect": func(w *world) {
			w.answers(func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, trap.URL, http.StatusFound)
			})
		},
		"lasting redirect": func(w *world) {
			w.answers(func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, trap.URL, http.StatusTemporaryRedirect)
			})
		},
		"1 GB of an error": func(w *world) {
			w.answers(func(rw http.ResponseWriter, _ *http.Request) { pour(rw, http.StatusBadGateway) })
		},
		"endless header": func(w *world) {
			w.answers(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X-Long", strings.Repeat("x", 1<<20))
			})
		},
		"no answer": func(w *world) {
			w.Client.Timeout = 50 * time.Millisecond
			w.answers(func(rw http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				rw.WriteHeader(http.StatusInternalServerError)
			})
		},
		"broken off": func(w *world) {
			w.answers(func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusInternalServerError)
				panic(http.ErrAbortHandler)
			})
		},
		"wrong certificate": func(w *world) {
			server := httptest.NewUnstartedServer(w)
			server.Config.ErrorLog = w.server.Config.ErrorLog
			server.StartTLS()
			w.t.Cleanup(server.Close)
			w.URL = server.URL + secretPath
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			good := w.URL
			bad(w)
			first := w.add(Published, "1")
			begun := time.Now()
			w.pass()
			w.now = w.now.Add(time.Minute)
			second := w.add(Refused, "2")
			w.pass()
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("two passes took %s", took)
			}
			if name != "endless header" { // which was read before it was too much
				w.wantIDs("while it is bad")
			}
			if stats := w.Stats(); stats.Sent != 0 || stats.Failed != 3 || !stats.Oldest.Equal(happenedAt(first)) {
				t.Errorf("%+v", stats)
			}

			w.answers(nil)
			w.URL = good
			w.took = nil
			w.now = w.now.Add(time.Hour)
			w.pass()
			w.wantIDs("when it is good again", first, second)
			if stats := w.Stats(); stats.Sent != 2 || !stats.Oldest.IsZero() {
				t.Errorf("%+v", stats)
			}
			w.now = w.now.Add(time.Hour)
			w.pass()
			w.wantIDs("later", first, second)
		})
	}
	if elsewhere != 0 || written.Load() > 64<<20 {
		t.Errorf("%d requests followed a redirect, %d bytes of an answer were read", elsewhere, written.Load())
	}

	// An answer of a GB that takes the event is as good as an empty one.
	w := newWorld(t)
	w.answers(func(rw http.ResponseWriter, _ *http.Request) { pour(rw, http.StatusOK) })
	w.add(Published, "1")
	w.pass()
	w.server.Close() // which waits for the end of the answer
	if stats := w.Stats(); stats.Sent != 1 || written.Load() > 128<<20 {
		t.Errorf("%+v after %d bytes", stats, written.Load())
	}
}

// TestDownForADay runs a sender with a receiver that is away for a day, and with one that stays
// away.
func TestDownForADay(t *testing.T) {
	for _, away := range []time.Duration{24 * time.Hour, 71 * time.Hour, 74 * time.Hour} {
		w := newWorld(t)
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			w.now = begun // of the events
			var tries atomic.Int64
			received := func() []string { return slices.Sorted(slices.Values(w.ids())) } // each waits for its own time
			w.Sender.Now = time.Now
			w.Interval = 5 * time.Minute // more often would only cost time
			w.Client = &http.Client{Transport: answering(func(r *http.Request) (int, error) {
				tries.Add(1)
				if time.Since(begun) < away {
					return 0, errors.New("connection refused")
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				w.took = append(w.took, message{Headers: r.Header.Clone()})
				return http.StatusNoContent, nil
			})}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); w.Run(ctx) }()

			// The first event has less than its whole time left at the end of the longest absence.
			want := []string{w.add(Published, "1")}
			time.Sleep(10 * time.Hour)
			w.now = time.Now()
			want = append(want, w.add(Refused, "2"))
			time.Sleep(away - 10*time.Hour - time.Second)
			if w.Stats().Sent != 0 || w.Stats().Oldest.Sub(begun).Abs() > time.Second && away < retryFor {
				t.Errorf("away for %s: %+v", away, w.Stats())
			}
			if limit := 2*(7+int(away/time.Hour)) + 2; tries.Load() > int64(limit) {
				t.Errorf("away for %s: %d tries, want %d at most", away, tries.Load(), limit)
			}

			time.Sleep(2 * time.Hour)
			if away > retryFor {
				want = want[1:]
			}
			stats := w.Stats()
			took := received()
			if !slices.Equal(took, want) || stats.Sent != uint64(len(want)) || stats.Lost != uint64(2-len(want)) {
				t.Errorf("away for %s: taken %q, want %q; %+v", away, took, want, stats)
			}
			time.Sleep(200 * time.Hour)
			if took := received(); len(took) != len(want) {
				t.Errorf("away for %s: later taken %q", away, took)
			}

			// Old events are forgotten.
			w.now = time.Now()
			w.add(Published, "new")
			time.Sleep(10 * time.Minute)
			record, err := w.Ledger.Load(ctx)
			if err != nil || strings.Contains(string(record), want[0]) {
				t.Errorf("%v: %s", err, record)
			}
			stop()
			<-done
		})
	}
}

// TestRandomWeather restarts senders, lets receivers and ledgers fail at random, and wants each event
// taken, with one body under one id.
func TestRandomWeather(t *testing.T) {
	for seed := range uint64(5) {
		dice := rand.New(rand.NewPCG(seed, 39))
		w := newWorld(t)
		w.answers(func(rw http.ResponseWriter, _ *http.Request) {
			if dice.IntN(3) > 0 {
				rw.WriteHeader(http.StatusInternalServerError)
			}
		})

		var want []string
		for step := range 150 {
			if step < 60 && dice.IntN(6) == 0 {
				want = append(want, w.add(Types[dice.IntN(len(Types))], fmt.Sprint(step)))
			}
			if dice.IntN(10) == 0 {
				// Another process: only the ledger stays.
				old := w.Sender
				w.Sender = &Sender{
					Options: old.Options, Store: old.Store, Source: old.Source, Ledger: old.Ledger, Client: NewClient(),
					Now: old.Now, Log: old.Log,
				}
			}
			ctx := t.Context()
			if dice.IntN(10) == 0 {
				cancelled, cancel := context.WithCancel(ctx)
				cancel()
				ctx = cancelled
			}
			if err := w.Pass(ctx); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			w.now = w.now.Add(time.Duration(dice.IntN(1800)) * time.Second)
		}

		bodies := map[string]string{}
		for _, one := range w.took {
			if old, again := bodies[one.id()]; again {
				t.Errorf("seed %d: %s came again, with %q and %q", seed, one.id(), old, one.Body)
			}
			bodies[one.id()] = one.Body
			stored, err := w.Store.Events().Event(t.Context(), one.id())
			if err != nil || string(stored) != one.Body {
				t.Errorf("seed %d: %s has %q, sent %q: %v", seed, one.id(), stored, one.Body, err)
			}
		}
		for _, id := range want {
			if bodies[id] == "" {
				t.Errorf("seed %d: %s never came", seed, id)
			}
		}
	}
}

// TestLedger finds an event twice only where the ledger could not be written, and under its id.
func TestLedger(t *testing.T) {
	w := newWorld(t)
	id := w.add(Published, "1")
	w.Ledger = FileLedger(filepath.Join(t.TempDir(), "gone"))
	if err := w.Pass(t.Context()); err == nil {
		t.Error("a ledger that cannot be written is no error")
	}
	w.Ledger = FileLedger(t.TempDir())
	w.pass()
	w.pass()
	w.wantIDs("after a lost record", id, id)

	path := filepath.Join(string(w.Ledger.(FileLedger)), statedir.HooksName)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Pass(t.Context()); err == nil {
		t.Error("a damaged ledger is no error")
	}
	w.wantIDs("with a damaged record", id, id)
}

// TestTypes sends only what is asked for.
func TestTypes(t *testing.T) {
	w := newWorld(t)
	w.Events = []string{Refused}
	w.add(Published, "1")
	id := w.add(Refused, "1")
	w.pass()
	w.wantIDs("of two types", id)
	if stats := w.Stats(); stats.Sent != 1 || !stats.Oldest.IsZero() {
		t.Errorf("%+v", stats)
	}
	if took, err := w.Test(t.Context()); err != nil || !slices.Equal(took, []string{"url"}) {
		t.Errorf("test: %q, %v", took, err)
	}
}

// TestAdd stores the same event once, and drops old ones.
func TestAdd(t *testing.T) {
	w := newWorld(t)
	first := w.add(Refused, "a refusal")
	w.now = w.now.Add(time.Hour)
	w.add(Published, "a refusal") // another type
	if err := Add(w.Store, Refused, "a refusal", w.now, nil); err != nil {
		t.Fatal(err)
	}
	ids, _ := w.Store.Events().EventIDs(t.Context())
	if len(ids) != 2 || ids[0] != first || !happenedAt(first).Equal(w.now.Add(-time.Hour)) {
		t.Errorf("%q", ids)
	}

	w.now = w.now.Add(fileFor)
	last := w.add(Refused, "another")
	ids, _ = w.Store.Events().EventIDs(t.Context())
	if len(ids) != 2 || slices.Contains(ids, first) || ids[1] != last {
		t.Errorf("later %q", ids)
	}
	if _, err := w.Store.Events().Event(t.Context(), first); err == nil {
		t.Error("an old event is still there")
	}
	if fileFor <= retryFor || recordFor <= fileFor {
		t.Error("an event is forgotten before its file is gone")
	}
}

// TestCommand runs a command with events, without a shell and without the settings of this process.
func TestCommand(t *testing.T) {
	t.Setenv("NINEPOCKET_NOTIFY__SECRET", testSecret)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
	w := newWorld(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "tell")
	text := "#!/bin/sh\n[ -e " + dir + "/broken ] && exit 3\ncat >>" + dir + "/events\nenv >>" + dir + "/env\n" +
		"printf '%s\\n' \"$@\" >>" + dir + "/args\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	w.URL = ""
	w.Command = []string{script, "$HOME; touch " + dir + "/shell", "b"}
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(dir+"/broken", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := w.add(Published, "1")
	w.pass()
	if stats := w.Stats(); stats.Failed != 1 || !strings.Contains(w.log.String(), "exit status 3") {
		t.Errorf("%+v\n%s", stats, w.log.String())
	}
	if err := os.Remove(dir + "/broken"); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	w.pass()
	w.pass()

	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	body, _ := w.Store.Events().Event(t.Context(), id)
	if got := read("events"); got != string(body) {
		t.Errorf("it read %q", got)
	}
	if env := read("env"); strings.Contains(env, "NINEPOCKET") || strings.Contains(env, "aws-secret") ||
		!strings.Contains(env, "WEBHOOK_ID="+id) {
		t.Errorf("its environment is %s", env)
	}
	if got := read("args"); got != strings.Join(w.Command[1:], "\n")+"\n" {
		t.Errorf("its arguments are %q", got)
	}

	// The end of a server ends the command, and the try does not count.
	w.Command = []string{"/bin/sleep", "60"}
	w.add(Published, "2")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := w.Pass(ctx); err != nil || time.Since(begun) > 10*time.Second || w.Stats().Failed != 1 {
		t.Errorf("%v after %s: %+v", err, time.Since(begun), w.Stats())
	}
}

// TestValidate names every problem, and shows no secret.
func TestValidate(t *testing.T) {
	for _, good := range []Options{
		{},
		{URL: "https://example.com/x", Secret: testSecret, Events: Types},
		{URL: "http://127.0.0.1:1/x", Secret: testSecret},
		{URL: "http://[::1]/x", Secret: testSecret},
		{URL: "http://localhost:1/x", Secret: testSecret},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}

	for _, c := range []struct {
		given Options
		want  []string
	}{
		{Options{URL: "http://example.com/T0PSECRET", Secret: testSecret}, []string{"notify.url"}},
		{Options{URL: "http://127.0.0.1.example.com/T0PSECRET", Secret: testSecret}, []string{"notify.url"}},
		{Options{URL: "https://u:T0PSECRET@example.com/", Secret: testSecret}, []string{"notify.url"}},
		{Options{URL: "https:///T0PSECRET", Secret: testSecret}, []string{"notify.url"}},
		{Options{URL: "ftp://T0PSECRET/", Secret: testSecret}, []string{"notify.url"}},
		{
			Options{URL: "https://example.com/T0PSECRET%zz", Secret: "T0PSECRET", Events: []string{"x", "y"}},
			[]string{"notify.url", "notify.secret", `"x"`, `"y"`},
		},
		{Options{URL: "https://example.com/T0PSECRET", Secret: "whsec_T0PSECRET"}, []string{"notify.secret"}},
	} {
		err := fmt.Sprint(c.given.Validate())
		for _, want := range c.want {
			if !strings.Contains(err, want) {
				t.Errorf("%+v: %s lacks %s", c.given, err, want)
			}
		}
		if strings.Contains(err, "T0PSECRET") {
			t.Errorf("%+v: %s", c.given, err)
		}
	}
}

// TestDayMissing holds when a day is missing against the rules, hour by hour.
func TestDayMissing(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		read, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	for _, c := range []struct{ snapshotAt, publishes, due string }{
		{"2026-11-20 20:05", "", "2026-11-22 02:00"},
		{"2026-11-20 00:00", "", "2026-11-22 02:00"},
		{"2026-11-20 23:59", "", "2026-11-22 02:00"},
		{"2026-11-20 20:05", "2026-01-01 20:30", "2026-11-21 22:30"},
		{"2026-11-20 20:05", "2026-01-01 00:30", "2026-11-22 02:30"},
		{"2026-11-20 20:05", "2026-01-01 20:00", "2026-11-21 22:00"},
		{"2026-11-20 03:00", "2026-01-01 04:00", "2026-11-21 06:00"},
	} {
		schedule := Schedule{Timed: c.publishes != ""}
		if schedule.Timed {
			schedule.PublishesAt = at(c.publishes).Sub(at("2026-01-01 00:00"))
		}
		served := &snapshot.Manifest{ID: "x", SnapshotAt: at(c.snapshotAt)}
		due := at(c.due)
		ids := map[string]string{}
		for hour := range 24 * 5 {
			for _, minute := range []time.Duration{0, 59 * time.Minute, 30*time.Minute - time.Second} {
				now := served.SnapshotAt.Truncate(time.Hour).Add(time.Duration(hour)*time.Hour + minute)
				made, missing := schedule.missing(served, now)
				if missing == now.Before(due) {
					t.Fatalf("%v at %s: missing %t", c, now, missing)
				}
				if missing {
					ids[made.id] = string(made.body)
				}
			}
		}

		// One a day, named by the day that is missing.
		for _, day := range []string{"2026-11-21", "2026-11-22", "2026-11-23"} {
			has := func(id string) bool { return strings.Contains(ids[id], `"day":"`+day+`"`) }
			n := 0
			for id := range ids {
				if has(id) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%v: %d events of %s: %v", c, n, day, ids)
			}
		}
	}
}
