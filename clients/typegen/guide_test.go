package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuideShowsPrograms holds the programs of the guide against the files that the gate runs.
func TestGuideShowsPrograms(t *testing.T) {
	page, err := os.ReadFile("../../docs/CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	code := regexp.MustCompile("(?ms)^\\[(clients/[^\\]]+)\\]\\(\\.\\./[^)]+\\)\n\n```\\w+\n(.*?)^```$")
	for _, match := range code.FindAllStringSubmatch(string(page), -1) {
		shown[match[1]] = match[2]
	}

	found := 0
	for _, pattern := range []string{"go/examples/*/main.go", "python/examples/*.py", "typescript/examples/*.js"} {
		files, err := filepath.Glob("../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		found += len(files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if name := "clients/" + strings.TrimPrefix(file, "../"); shown[name] != string(text) {
				t.Errorf("docs/CLIENTS.md does not show %s as it is", name)
			}
		}
	}
	if found != len(shown) {
		t.Errorf("docs/CLIENTS.md shows %d programs of %d", len(shown), found)
	}
}
