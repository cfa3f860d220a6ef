//go:build clients

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInstalledPackages follows the pages of the Python and the TypeScript client word for word, with the
// packed client in an empty folder and without a network.
func TestInstalledPackages(t *testing.T) {
	top := t.TempDir()
	command(t, "..", "./pack.sh", top)
	for _, c := range []struct {
		language, archive, code, file string
		run                           []string
	}{
		{"python", "ninepocket-0.1.0-py3-none-any.whl", "python", "cards.py", []string{"venv/bin/python", "cards.py"}},
		{"typescript", "ninepocket-0.1.0.tgz", "js", "cards.mjs", []string{"node", "cards.mjs"}},
	} {
		t.Run(c.language, func(t *testing.T) {
			for _, tool := range map[string][]string{"python": {"python3"}, "typescript": {"node", "npm"}}[c.language] {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("skipped: the installation of the %s client, because there is no %s", c.language, tool)
				}
			}
			d := startDemo(t, 0)
			folder := t.TempDir()
			packed, err := os.ReadFile(filepath.Join(top, c.archive))
			if err != nil {
				t.Skipf("skipped: the installation of the %s client, which is not packed: %v", c.language, err)
			}
			if err := os.WriteFile(filepath.Join(folder, c.archive), packed, 0o600); err != nil {
				t.Fatal(err)
			}

			page, err := os.ReadFile("../" + c.language + "/README.md")
			if err != nil {
				t.Fatal(err)
			}
			for _, words := range []string{
				"`" + c.archive + "`", "`" + c.file + "`", "`" + strings.Join(c.run, " ") + "`",
			} {
				if !strings.Contains(string(page), words) {
					t.Errorf("the page does not say %s", words)
				}
			}
			if err := os.WriteFile(filepath.Join(folder, c.file), []byte(block(t, page, c.code)), 0o600); err != nil {
				t.Fatal(err)
			}

			// Both tools are set to have no network, so that any use of it fails at once.
			t.Setenv("npm_config_offline", "true")
			t.Setenv("PIP_NO_INDEX", "1")
			command(t, folder, "bash", "-euc", block(t, page, "sh"))
			program := exec.Command("bash", "-euc", strings.Join(c.run, " "))
			program.Dir = folder
			program.Env = append(os.Environ(), "API="+d.API, "KEY="+d.Keys["pro"])
			said, err := program.CombinedOutput()
			if err != nil {
				t.Fatalf("the program of the page: %v\n%s", err, said)
			}
			if !regexp.MustCompile(`^(Charizard.* \S+ \d+\n){3}3 prices\n$`).Match(said) {
				t.Errorf("the program of the page says %q", said)
			}
		})
	}
}
