package release_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"ninepocket/wire/openapi"
)

// TestOneVersion holds the OpenAPI document, the clients and the pages against the newest heading of the changelog, and
// wants no line of the changelog twice.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	run(t, top, nil, "tools/release/version.sh", "check")
	var document struct{ Info struct{ Version string } }
	if err := json.Unmarshal(openapi.Document(), &document); err != nil || document.Info.Version != newest() {
		t.Errorf("info.version is %q, and the newest heading %q: %v", document.Info.Version, newest(), err)
	}

	text, err := os.ReadFile(top + "/CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if seen[line] && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "### ") {
			t.Errorf("the changelog has a line twice: %s", line)
		}
		seen[line] = true
	}
	// From the first release on each version has notes for operators.
	versions := regexp.MustCompile(`(?m)^## \[[0-9]`).FindAll(text, -1)
	sections := regexp.MustCompile(`(?m)^### Upgrade notes$`).FindAll(text, -1)
	if len(versions) != len(sections) {
		t.Errorf("%d versions have %d upgrade notes", len(versions), len(sections))
	}
}

// TestOneVersionIsChecked plants another version, which must be found.
func TestOneVersionIsChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, top, nil, "bash", "-e", "-c", "git ls-files -z CHANGELOG.md README.md Dockerfile wire/openapi clients "+
		"docs deploy tools/release | xargs -0 cp --parents -t "+dir)
	run(t, dir, nil, "tools/release/version.sh", "check")

	for file, change := range map[string]string{
		"clients/go/client.go":      `s,^const Version = ".*",const Version = "9.9.9",`,
		"wire/openapi/openapi.json": "1,9s,0.1.0,9.9.9,",
		"CHANGELOG.md":              `s,^## \[0.1.0\],## [9.9.9],`,
		"docs/INSTALL.md":           "s,ninepocket-0.1.0,ninepocket-9.9.9,",
	} {
		change = strings.ReplaceAll(change, "0.1.0", newest())
		run(t, dir, nil, "sed", "-i.was", change, file)
		check := "! tools/release/version.sh check"
		run(t, dir, nil, "bash", "-e", "-c", check)
		run(t, dir, nil, "mv", file+".was", file)
	}
	run(t, dir, nil, "tools/release/version.sh", "check")
}

// TestHelp wants make help in groups, no line wider than a terminal, and every documented target in it.
func TestHelp(t *testing.T) {
	t.Parallel()
	said := run(t, top, nil, "make", "-s", "help")
	groups := 0
	for line := range strings.Lines(said) {
		line = strings.TrimSuffix(line, "\n")
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			groups++
		}
	}
	if groups < 6 {
		t.Errorf("the targets are in %d groups", groups)
	}

	text, err := os.ReadFile(top + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(said, "\n  "+target[1]+" ") {
			t.Errorf("make help lacks %s", target[1])
		}
	}
}
