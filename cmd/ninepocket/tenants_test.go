package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/redistest"
	"ninepocket/internal/registry"
	"ninepocket/internal/tombstone"
)

// customer is a tenant that the tests suspend and delete, and everything that must not be left of it.
const (
	customer        = "customer-of-the-test"
	customerContact = "Ada Byron, ada@example.com"
	customerKey     = "laptop of Ada"
)

// namesOf are the texts that nothing may hold after a deletion: names, contact, keys, and hashes of these.
func namesOf(keys ...string) []string {
	words := []string{customer, "Ada", "ada@example.com"}
	for _, key := range keys {
		sum := sha256.Sum256([]byte(key))
		words = append(words, key, key[:20], hex.EncodeToString(sum[:]), string(sum[:]))
	}
	return words
}

// wantNoneIn wants no file below a folder to hold one of some texts.
func wantNoneIn(t *testing.T, folder string, words []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		text, err := os.ReadFile(path)
		for _, word := range words {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s has %q", path, word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// monthOf returns the bills of this month without names, and without amounts: a deletion ends its days.
func monthOf(t *testing.T, text string) (bills []registry.MonthBill) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &bills); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for i := range bills {
		bills[i].Tenant = ""
		bills[i].Amount = nil
	}
	return bills
}

// TestTenantOfOneMachine suspends, resumes and deletes a tenant while a server runs. The tenant is
// refused within a second, its counters stay, and a resume restores all. After the deletion its
// name is in no file.
func TestTenantOfOneMachine(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	create := func(surface, plan string) string {
		t.Helper()
		return strings.TrimSpace(command(t, p.dir, "keys", "create", "--state", "state", "--tenant", customer,
			"--surface", surface, "--plan", plan, "--name", customerKey))
	}
	live := create("live", "starter")
	preview := create("preview", "preview")
	config := "[backup]\ninto = \"backups\"\n" +
		"[plans.starter]\nprice = \"9.00\"\nincluded = 1\noverage_price = \"1.50\"\ncurrency = \"USD\"\n"
	if err := os.WriteFile(filepath.Join(p.dir, "bills.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p.serve(t, nil, "")

	ask := func(path, key string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.API+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", key)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, body.String()
	}
	// within wants the keys to be answered so within a second after a command.
	within := func(status int) {
		t.Helper()
		begun := time.Now()
		for {
			got, body := ask("/v1/usage", live)
			if got == status {
				break
			}
			if time.Since(begun) > time.Second {
				t.Fatalf("after a second: %d, want %d: %s", got, status, body)
			}
		}
		// The usage of preview has a window of few calls.
		if got, body := ask("/v1/usage", preview); got != status {
			t.Fatalf("preview: %d, want %d: %s", got, status, body)
		}
	}
	usage := func() string {
		t.Helper()
		_, one := ask("/v1/usage", live)
		_, other := ask("/v1/usage", preview)
		return usedFigure(t, one) + " and " + usedFigure(t, other)
	}
	for range 7 {
		ask("/v1/games", live)
		ask("/v1/products", preview)
	}
	command(t, p.dir, "tenants", "set-plan", customer, "--contact", customerContact, "--state", "state")
	if got := usage(); got != "7 and 7" {
		t.Fatalf("used %s", got)
	}

	const reason = "Ada has not paid"
	command(t, p.dir, "tenants", "suspend", customer, "--reason", reason, "--state", "state")
	within(http.StatusForbidden)
	if status, body := ask("/v1/games", live); status != http.StatusForbidden || !strings.Contains(body, "suspended") {
		t.Errorf("%d %s", status, body)
	}
	command(t, p.dir, "tenants", "resume", customer, "--reason", "paid", "--state", "state")
	within(http.StatusOK)
	if got := usage(); got != "7 and 7" {
		t.Errorf("after a suspension: used %s", got)
	}
	if log := command(t, p.dir, "keys", "log", "--state", "state"); !strings.Contains(log, reason) {
		t.Errorf("the reason is not in\n%s", log)
	}
	export := command(t, p.dir, "tenants", "export", customer, "--state", "state")
	for _, word := range []string{customer, customerContact, customerKey, reason, `"calls": 7`} {
		if !strings.Contains(export, word) {
			t.Errorf("%q is not in the export\n%s", word, export)
		}
	}

	month := []string{
		"usage", "--month", time.Now().UTC().Format("2006-01"), "--priced", "--json", "--state", "state", "--config",
		"bills.toml",
	}
	before := monthOf(t, command(t, p.dir, append(month, "--tenant", customer)...))
	if len(before) != 2 || before[0].Used+before[1].Used != 14 {
		t.Fatalf("before: %+v", before)
	}
	var deleted deletedTenant
	out := command(t, p.dir, "tenants", "delete", customer, "--reason", "asked for it", "--yes", "--state", "state",
		"--config", "bills.toml", "--json")
	if err := json.Unmarshal([]byte(out), &deleted); err != nil {
		t.Fatal(err)
	}
	words := namesOf(live, preview)
	wantNoneIn(t, filepath.Join(p.dir, "state"), words)
	wantNoneIn(t, filepath.Join(p.dir, "backups"), words)
	marks, err := tombstone.Read(filepath.Join(p.dir, "backups"))
	if err != nil || len(marks) != 1 || !marks[0].Of(customer) || marks[0].Opaque != deleted.Opaque {
		t.Errorf("%v, %v", marks, err)
	}
	after := monthOf(t, command(t, p.dir, append(month, "--tenant", deleted.Opaque)...))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("bills (- before, + after): %s", diff)
	}
	within(http.StatusUnauthorized)

	// The end of the server, and the next start, bring nothing back.
	p.signal(t, syscall.SIGTERM)
	p.ends(t, exitOK)
	wantNoneIn(t, filepath.Join(p.dir, "state"), words)
	p.serve(t, nil, "")
	wantNoneIn(t, filepath.Join(p.dir, "state"), words)
	command(t, p.dir, "state", "verify", "--state", "state")
}

// usedFigure returns what a usage report says was used.
func usedFigure(t *testing.T, body string) string {
	t.Helper()
	_, rest, _ := strings.Cut(body, `"request_credits_used":`)
	figure, _, found := strings.Cut(rest, ",")
	if !found {
		t.Fatalf("no usage in %s", body)
	}
	return figure
}

// TestTenantOfAFleet does the same with two servers and shared limits. Each follows within the
// interval of keys, and bills continue under the opaque id. Neither the database nor a state
// directory has the name.
func TestTenantOfAFleet(t *testing.T) {
	r := redistest.Start(t)
	c := newFleetKit(t)
	c.metering = r.URL()
	c.publishes()
	c.isOld(r)
	_, live := c.creates(customer, "live", "starter")
	_, preview := c.creates(customer, "preview", "preview")
	servers := []*fleetServer{c.serves(""), c.serves("")}
	everywhere := func(what string, want int) {
		t.Helper()
		begun := time.Now()
		for _, s := range servers {
			for _, key := range []string{live, preview} {
				c.eventually(what, func() bool { status, _ := c.asks(s.API+"/v1/usage", key); return status == want })
			}
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("%s: after %s", what, took)
		}
	}
	tenants := func(args ...string) string {
		t.Helper()
		out, _ := c.does(exitOK, append([]string{"tenants"}, append(args, "--control", c.control)...)...)
		return out
	}

	for _, s := range servers {
		for range 3 {
			c.answered(s.API+"/v1/games", live)
			c.answered(s.API+"/v1/products", preview)
		}
	}
	tenants("set-plan", customer, "--contact", customerContact)
	tenants("suspend", customer, "--reason", "Ada has not paid")
	everywhere("a suspended tenant is refused", http.StatusForbidden)
	for _, s := range servers {
		if status, body := c.asks(s.API+"/v1/games", live); status != http.StatusForbidden ||
			!strings.Contains(body, "suspended") {
			t.Errorf("%d %s", status, body)
		}
	}
	tenants("resume", customer, "--reason", "paid")
	everywhere("a resumed tenant goes on", http.StatusOK)
	for _, key := range []string{live, preview} {
		if got := usedFigure(t, c.answered(servers[0].API+"/v1/usage", key)); got != "6" {
			t.Errorf("after a suspension: used %s", got)
		}
	}

	// Calls go on while the tenant is deleted: some are reported after it.
	c.answered(servers[0].API+"/v1/games", live)
	c.answered(servers[1].API+"/v1/products", preview)
	out := tenants("delete", customer, "--reason", "asked for it", "--yes", "--json")
	var deleted deletedTenant
	if err := json.Unmarshal([]byte(out), &deleted); err != nil {
		t.Fatal(err)
	}
	everywhere("a deleted tenant is refused", http.StatusUnauthorized)
	c.eventually("all is billed", func() bool { return c.billed(deleted.Opaque) == 14 })

	words := namesOf(live, preview)
	for _, s := range servers {
		c.eventually("a server has dropped the name", func() bool {
			text, err := os.ReadFile(filepath.Join(s.state, "meter.db"))
			return err == nil && !bytes.Contains(text, []byte(customer))
		})
		if code := s.stop(); code != exitOK {
			t.Errorf("a server ended with %d", code)
		}
		wantNoneIn(t, s.state, words)
	}
	if got := c.billed(deleted.Opaque); got != 14 {
		t.Errorf("%d calls are billed", got)
	}
	if _, err := exec.LookPath("pg_dump"); err == nil {
		dump, err := exec.CommandContext(t.Context(), "pg_dump", c.control).Output()
		if err != nil || len(dump) == 0 {
			t.Fatalf("cannot dump the database: %v", err)
		}
		for _, word := range words {
			if bytes.Contains(dump, []byte(word)) {
				t.Errorf("the dump has %q", word)
			}
		}
	}

	again := c.serves(servers[0].state)
	c.eventually("a server has reported again", func() bool {
		_, metrics := c.asks(again.Admin+"/metrics", "")
		return sample(metrics, "ninepocket_fleet_ledger_rows_pending") == "0"
	})
	if got := c.billed(deleted.Opaque); got != 14 {
		t.Errorf("after another start %d calls are billed", got)
	}
}
