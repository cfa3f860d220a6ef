package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFleetRestored restores the database of two serving servers from a copy that lacks a
// revocation and calls. Without a restart the key stays refused and is named, and the bill is
// whole.
func TestFleetRestored(t *testing.T) {
	c := newFleetKit(t)
	if _, err := exec.LookPath("pg_dump"); err != nil {
		t.Skip("skipped: a restored database, because there is no pg_dump")
	}
	c.publishes()
	id, revoked := c.creates("acme", "live", "pro")
	_, good := c.creates("other", "live", "pro")
	servers := []*fleetServer{c.serves(""), c.serves("")}
	status := func(s *fleetServer, key string) int {
		code, _ := c.asks(s.API+"/v1/games", key)
		return code
	}
	copied, err := exec.CommandContext(t.Context(), "pg_dump", "--schema=ninepocket", c.control).Output()
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range servers {
		for range 5 {
			c.answered(s.API+"/v1/games", good)
		}
	}
	c.does(exitOK, "keys", "revoke", id, "--control", c.control)
	for _, s := range servers {
		c.eventually("a revoked key is refused", func() bool { return status(s, revoked) == http.StatusUnauthorized })
	}
	c.eventually("all is billed", func() bool { return c.billed("other") == 10 })

	path := filepath.Join(t.TempDir(), "copy.sql")
	if err := os.WriteFile(path, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	c.eventually("the copy is restored", func() bool {
		out, err := exec.CommandContext(t.Context(), "psql", "-qX1", "-v", "ON_ERROR_STOP=1",
			"-c", "drop schema ninepocket cascade", "-f", path, c.control).CombinedOutput()
		if err == nil {
			return true
		}

		// docs/BACKUP.md: servers are reading, and the command is run again.
		if !strings.Contains(string(out), "deadlock detected") {
			t.Fatalf("psql: %v: %s", err, out)
		}
		return false
	})
	c.eventually("the bill is whole", func() bool { return c.billed("other") == 10 })
	c.eventually("the key is revoked in the database again", func() bool {
		_, said := c.does(exitOK, "fleet", "status", "--control", c.control)
		return strings.Contains(said, "keys revoked again") && strings.Contains(said, id) &&
			strings.Contains(said, "the ledger was an older copy")
	})
	for _, s := range servers {
		if code := status(s, revoked); code != http.StatusUnauthorized {
			t.Errorf("a key that was revoked before the restore: %d", code)
		}
	}

	c.does(exitOK, "fleet", "revive", id, "--reason", "a trial", "--control", c.control)
	for _, s := range servers {
		c.eventually("a revived key works", func() bool { return status(s, revoked) == http.StatusOK })
	}
	log, _ := c.does(exitOK, "keys", "log", "--control", c.control)
	if !strings.Contains(log, "revive") || !strings.Contains(log, "revoke-again") {
		t.Errorf("the log of keys lacks a revival:\n%s", log)
	}
	_, said := c.does(exitFailure, "fleet", "revive", "key_nobody", "--reason", "x", "--control", c.control)
	if !strings.Contains(said, "key_nobody") {
		t.Errorf("a key that there is not: %s", said)
	}
}
