// Package mutationtest plants mistakes in the program, one at a time, which a simulation has to find: a test
// that finds none of them tests nothing.
package mutationtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Mistake is one that somebody could make, in one place.
type Mistake struct {
	What string
	File string // relative to the package of the simulation
	// Text occurs once in the file, and Instead takes its place.
	Text, Instead string
}

// Run plants each mistake and runs a simulation, a test of the package that calls, which has to fail
// within a minute and print sign. That takes minutes: without NINEPOCKET_TORTURE Run only sees to it
// that each mistake can still be planted. environ is added to the environment of the simulation.
func Run(t *testing.T, mistakes []Mistake, simulation, sign string, environ ...string) {
	t.Helper()
	for _, mistake := range mistakes {
		t.Run(strings.ReplaceAll(mistake.What, " ", "_"), func(t *testing.T) {
			source, err := os.ReadFile(mistake.File)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte(mistake.Text)); n != 1 {
				t.Fatalf("%s has %q %d times", mistake.File, mistake.Text, n)
			}
			if os.Getenv("NINEPOCKET_TORTURE") == "" {
				return
			}

			binary := build(t, mistake, source)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			run := exec.CommandContext(ctx, binary, "-test.run", "^"+simulation+"$")
			run.Env = append(os.Environ(), environ...)
			out, err := run.CombinedOutput()
			if err == nil || ctx.Err() != nil || !bytes.Contains(out, []byte(sign)) {
				t.Errorf("nobody found it:\n%s", out)
			}
		})
	}
}

// build builds the tests of the package with the mistake in place of what the file has.
func build(t *testing.T, mistake Mistake, source []byte) (binary string) {
	t.Helper()
	path, err := filepath.Abs(mistake.File)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	text := bytes.Replace(source, []byte(mistake.Text), []byte(mistake.Instead), 1)
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	err = errors.Join(os.WriteFile(changed, text, 0o600),
		os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	if err != nil {
		t.Fatal(err)
	}

	binary = filepath.Join(dir, "planted.test")
	compile := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary,
		"-overlay", filepath.Join(dir, "overlay.json"), ".")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("the mistake does not compile: %s", out)
	}
	return binary
}
