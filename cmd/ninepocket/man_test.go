package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestEveryCommandHasAGoodPage holds every page against its command, and against mandoc where that is installed.
func TestEveryCommandHasAGoodPage(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Log("skipped: the lint of manual pages, because there is no mandoc")
	}
	root := rootCommand()
	root.InitDefaultCompletionCmd()
	pages := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		text := manPage(cmd)
		pages++
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !bytes.Contains(text, []byte(roff("--"+f.Name))) {
				t.Errorf("%s: the page does not have --%s", cmd.CommandPath(), f.Name)
			}
		})
		if mandoc != "" {
			lint := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "error")
			lint.Stdin = bytes.NewReader(text)
			if out, err := lint.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", cmd.CommandPath(), err, out)
			}
		}
		for _, sub := range documented(cmd) {
			visit(sub)
		}
	}
	visit(root)
	if pages < 20 {
		t.Errorf("only %d pages", pages)
	}
}

func TestRoff(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := roff(in); got != want {
			t.Errorf("roff(%q) = %q, want %q", in, got, want)
		}
	}
	f("plain", "plain")
	f("--flag", `\-\-flag`)
	f(`a\b`, `a\eb`)
	f(".SH\n'x\n a", "\\&.SH\n\\&'x\n a")
	if got, want := quoted(`a "b"`), `"a \(dqb\(dq"`; got != want {
		t.Errorf("quoted: %s, want %s", got, want)
	}
	var p page
	p.text("one\ntwo\n\n  kept\n  lines\n\nlast")
	if got := p.String(); strings.Count(got, ".PP") != 2 || !strings.Contains(got, ".nf\n  kept\n  lines\n.fi") {
		t.Errorf("paragraphs: %q", got)
	}
}
