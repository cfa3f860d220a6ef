package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/backup"
	"ninepocket/internal/postgrestest"
	"ninepocket/internal/tombstone"
)

// backupOf is what backup --json prints.
func backupOf(t *testing.T, dir string, flags ...string) (made backup.Result) {
	t.Helper()
	text := command(t, dir, append([]string{"backup", "bk", "--state", "state", "--store", "store", "--json"},
		flags...)...)
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// nextCursor matches what is another one each time, for it has the time at which it ends.
var nextCursor = regexp.MustCompile(`"next_cursor":"[^"]*"`)

// answer returns the bytes of an answer with its validator.
func (p *program) answer(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.API+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", p.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()

	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
	}
	if nextCursor.Match(body) {
		return string(body)
	}
	return resp.Header.Get("ETag") + " " + string(body)
}

// answers has many answers of a server by path: of the API, a whole walk and all cards, and of the pages.
func (p *program) answers(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	ask := func(path string) string {
		body := p.answer(t, path)
		all[path] = nextCursor.ReplaceAllString(body, "")
		return body[strings.Index(body, "{")+1:]
	}
	for _, path := range []string{
		"/v1/games", "/v1/sets", "/v1/cards?sort=price_desc", "/v1/cards?q=charizard", "/", "/sets", "/movers",
		"/search?q=a", "/sitemap.xml", "/openapi.json",
	} {
		ask(path)
	}

	var page struct {
		Data []struct{ ID, URL string }
		Next string `json:"next_cursor"`
	}
	for cursor := ""; ; cursor = "&cursor=" + page.Next {
		page.Next = ""
		if err := json.Unmarshal([]byte("{"+ask("/v1/cards?limit=2"+cursor)), &page); err != nil {
			t.Fatal(err)
		}
		for _, card := range page.Data {
			ask("/v1/cards/" + card.ID)
			ask("/v1/cards/" + card.ID + "/prices")
			ask(strings.TrimPrefix(card.URL, "https://cards.example.com"))
		}
		if page.Next == "" {
			return all
		}
	}
}

// TestRestoredServer backs a server up while clients of both contracts call it and snapshots are published,
// kills it, and restores on an empty machine: every call that was acknowledged before is charged, and the next
// server gives the same bytes.
func TestRestoredServer(t *testing.T) {
	t.Parallel()
	const clients = 4
	p := newProgram(t)
	base := []string{"NINEPOCKET_BASE_URL=https://cards.example.com"}
	p.serve(t, base, "")
	var answered atomic.Int64
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

	before := []int64{}
	ids := []string{}
	for n := range 3 {
		if n == 1 {
			p.anotherSnapshot(t)
		}
		time.Sleep(100 * time.Millisecond)
		before = append(before, answered.Load())
		ids = append(ids, backupOf(t, p.dir).ID)
	}
	after := answered.Load()
	end(p.cmd)
	all.Wait()
	if before[0] == 0 || after == before[2] {
		t.Fatalf("there was no load: %v, %d", before, after)
	}

	charged := func(id string) int64 {
		t.Helper()
		place := *p
		place.dir = filepath.Join(t.TempDir(), "machine")
		command(t, p.dir, "restore", "bk", "--backup", id, "--into", place.dir)
		return place.charged(t)["acme"]
	}
	for i, id := range ids {
		if got := charged(id); got < before[i] || got > answered.Load()+clients {
			t.Errorf("backup %d has %d charges; %d were acknowledged before, %d in all", i, got, before[i],
				answered.Load())
		}
	}
	t.Logf("%v calls were acknowledged before the backups, %d in all", before, after)

	// The first server, the server on the state after the crash, and the restored server.
	p.serve(t, base, "")
	want := p.answers(t)
	end(p.cmd)
	machine := filepath.Join(t.TempDir(), "machine")
	command(t, p.dir, "restore", "bk", "--into", machine)
	p.dir = machine
	p.serve(t, base, "")
	for path, before := range want {
		// Cursors of the server before lead on in this one.
		after := nextCursor.ReplaceAllString(p.answer(t, path), "")
		if diff := cmp.Diff(before, after); diff != "" || len(want) < 30 {
			t.Errorf("%s, one of %d:\n%s", path, len(want), diff)
		}
	}
}

// TestKilledBackup kills backups at random moments: the earlier ones are good, and the next works.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	begun := time.Now()
	first := backupOf(t, p.dir)
	whole := time.Since(begun)
	rounds := 8
	if long() {
		rounds = 100
	}

	killed := 0
	for n := range rounds {
		name := filepath.Join(p.dir, "store", "REFUSALS")
		if err := os.WriteFile(name, fmt.Appendln(nil, n), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := plainProcess(t, "backup", "bk", "--state", "state", "--store", "store", "--keep", "2")
		cmd.Dir = p.dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole * 3 / 2))))
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		if text := command(t, p.dir, "restore", "bk", "--check"); !strings.Contains(text, "everything is whole") {
			t.Fatal(text)
		}
	}

	if last := backupOf(t, p.dir, "--keep", "1"); last.Count != first.Count+1 {
		t.Errorf("%+v", last)
	}
	_, err := os.Stat(filepath.Join(p.dir, "bk", "tmp"))
	listed := command(t, p.dir, "backup", "bk", "--list")
	if err == nil || strings.Count(listed, "\n") != 3 || strings.Count(listed, "good at") != 1 {
		t.Errorf("%v\n%s", err, listed)
	}
	t.Logf("%d of %d were killed", killed, rounds)
}

// TestRestoreDeletesAgain deletes a tenant after a backup: a restore deletes it again, under the same opaque
// name, and says so; one that came back under the name stays.
func TestRestoreDeletesAgain(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	into := []string{"NINEPOCKET_BACKUP__INTO=bk", "NINEPOCKET_STATE=state", "NINEPOCKET_STORE=store"}
	run := func(args ...string) string {
		t.Helper()
		cmd := plainProcess(t, args...)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), into...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("backup")
	run("tenants", "delete", "acme", "--reason", "asked for it", "--yes")
	if said := run("restore", "--into", "one"); !strings.Contains(said, "deleted again: 1") {
		t.Error(said)
	}
	stones, err := tombstone.Read(filepath.Join(p.dir, "bk"))
	if err != nil || len(stones) != 1 {
		t.Fatal(stones, err)
	}
	state := filepath.Join(p.dir, "one", "state")
	err = filepath.WalkDir(state, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "acme") {
			t.Errorf("%s still has the name", name)
		}
		return err
	})
	text, readErr := os.ReadFile(filepath.Join(state, "keys.json"))
	if err := errors.Join(err, readErr); err != nil || !strings.Contains(string(text), stones[0].Opaque) {
		t.Errorf("%v, the keys lack %s", err, stones[0].Opaque)
	}

	time.Sleep(1100 * time.Millisecond) // times are in seconds
	run("keys", "create", "--tenant", "acme", "--surface", "live", "--plan", "free")
	run("backup")
	backups, err := backup.List(filepath.Join(p.dir, "bk"))
	if err != nil || len(backups) != 2 {
		t.Fatal(backups, err)
	}
	if said := run("restore", "--into", "two"); !strings.Contains(said, "deleted again: 0") {
		t.Error(said)
	}

	// The name has two tombstones: each backup has one tenant of it.
	run("tenants", "delete", "acme", "--reason", "asked for it again", "--yes")
	for i, b := range backups {
		said := run("restore", "--backup", b.ID, "--into", fmt.Sprint("more", i))
		if !strings.Contains(said, "deleted again: 1") {
			t.Errorf("backup %s: %s", b.ID, said)
		}
	}

	// A drill misses tombstones.
	run("backup")
	if err := os.Remove(filepath.Join(p.dir, "bk", tombstone.Name)); err != nil {
		t.Fatal(err)
	}
	cmd := plainProcess(t, "restore", "--check")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), into...)
	out, _ := cmd.CombinedOutput() // an exit code is wanted
	if code := cmd.ProcessState.ExitCode(); code != exitRefused || !strings.Contains(string(out), "has 0 tombstones") {
		t.Errorf("without tombstones: exit code %d\n%s", code, out)
	}
}

// TestBackupCommands goes through the outputs for an operator: lists, dry runs, refusals with
// hints, and a drill of a damaged folder. None has a secret.
func TestBackupCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	config := filepath.Join(p.dir, "ninepocket.toml")
	text := "store = \"store\"\nstate = \"state\"\nmetering = \"redis://np:hunter2@127.0.0.1:1/0\"\n" +
		"control = \"postgres://np:hunter2@127.0.0.1:1/cards\"\n[backup]\ninto = \"bk\"\nkeep = 2\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(code int, want string, args ...string) string {
		t.Helper()
		cmd := plainProcess(t, append(args, "--config", config)...)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), "PATH="+t.TempDir(), "NINEPOCKET_CONTROL=", "NINEPOCKET_METERING=")
		if code == exitFailure {
			cmd.Env = append(os.Environ(), "PATH="+t.TempDir())
		}
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) ||
			strings.Contains(string(out), "hunter2") {
			t.Errorf("%v ends with %d and\n%s\nwant %d and %q", args, cmd.ProcessState.ExitCode(), out, code, want)
		}
		return string(out)
	}

	f(exitFailure, "hint: install the client programs of PostgreSQL", "backup")
	f(exitUsage, "cannot use --keep -1", "backup", "--keep", "-1")
	f(exitOK, "which changed nothing", "backup", "--dry-run", "other")
	for range 3 {
		f(exitOK, " files, ", "backup")
	}
	if listed := f(exitOK, "never", "backup", "--list"); strings.Count(listed, "never") != 2 {
		t.Errorf("keep is not read:\n%s", listed)
	}
	f(exitOK, "everything is whole", "restore", "--check")
	f(exitOK, "good at ", "backup", "--list")
	f(exitOK, `"drill_good": true`, "backup", "--list", "--json")
	f(exitFailure, "is not empty", "restore", "--into", ".")
	f(exitOK, "which changed nothing", "restore", "--into", "new", "--dry-run")
	for _, name := range []string{"other", "new"} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a dry run made %s: %v", name, err)
		}
	}
	f(exitOK, "configuration  new/configuration", "restore", "--into", "new")
	restored, err := os.ReadFile(filepath.Join(p.dir, "new", "configuration", "ninepocket.toml"))
	if err != nil || strings.Contains(string(restored), "hunter2") || !strings.Contains(string(restored), `"bk"`) {
		t.Errorf("%v:\n%s", err, restored)
	}

	content, err := filepath.Glob(filepath.Join(p.dir, "bk", "content", "*"))
	if err == nil {
		err = os.WriteFile(content[0], []byte("nothing"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f(exitRefused, "hint: run: ninepocket backup bk", "restore", "--check")
	f(exitOK, "bad at ", "backup", "--list")
	f(exitRefused, "the last drill found damage: ninepocket backup --config ", "status")
	f(exitOK, " files, ", "backup")
	if err := os.Chmod(filepath.Join(p.dir, "bk"), 0o755); err != nil {
		t.Fatal(err)
	}
	f(exitFailure, "hint: only its owner may read it: chmod 700 bk", "backup", "--list")
	f(exitFailure, "hint: look at the paths", "restore", "nowhere", "--check")
}

// TestBackupOfADatabase dumps the database of a fleet, without its password in the arguments, and restores it
// with PostgreSQL's own program.
func TestBackupOfADatabase(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		t.Skip("skipped: the dump of a database, because there is no pg_dump")
	}
	server := postgrestest.Start(t)
	from := server.Database(t)
	server.SQL(t, from, "create table bills (tenant text); insert into bills values ('acme')")

	p := newProgram(t)
	spy := filepath.Join(t.TempDir(), "pg_dump")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >args\nexec " + program + " \"$@\"\n"
	if err := os.WriteFile(spy, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := plainProcess(t, "backup", "bk", "--state", "state", "--store", "store", "--control", from)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(spy)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	args, readErr := os.ReadFile(filepath.Join(p.dir, "args"))
	err = errors.Join(err, readErr)
	if err != nil || !strings.Contains(string(out), "Redis is not in the backup") ||
		strings.Contains(string(args), postgrestest.Password) {
		t.Fatalf("%v\n%s\n%s", err, out, args)
	}

	said := command(t, p.dir, "restore", "bk", "--into", "new")
	_, dump, found := strings.Cut(strings.TrimSpace(said), "pg_restore --dbname URL ")
	into := server.Database(t)
	restore := exec.CommandContext(t.Context(), "pg_restore", "--no-owner", "--dbname", into, dump)
	restore.Dir = p.dir
	if out, err := restore.CombinedOutput(); err != nil || !found {
		t.Fatalf("%v\n%s\n%s", err, out, said)
	}
	if got := server.SQL(t, into, "select tenant from bills"); !strings.Contains(got, "acme") {
		t.Errorf("the restored database has %q", got)
	}
}
