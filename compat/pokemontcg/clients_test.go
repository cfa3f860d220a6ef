package pokemontcg_test

import (
	"os"
	"os/exec"
	"testing"

	"ninepocket/internal/settings"
)

// TestClients calls a server with the clients that programs use, unchanged but for the host.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: clients of the API, because there is no %s", program)
		}
	}
	if _, err := os.Stat("clients/node_modules/.package-lock.json"); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
			"--loglevel=error")
		install.Dir = "clients"
		if out, err := install.CombinedOutput(); err != nil {
			t.Skipf("skipped: clients of the API, because npm cannot install them: %v\n%s", err, out)
		}
	}

	s := serves(t, func(*settings.Config) {}, madeSources(t)[1:]...)
	calls := exec.CommandContext(t.Context(), "node", "calls.cjs", s.url+"/v2", s.key)
	calls.Dir = "clients"
	if out, err := calls.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
