package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ninepocket/internal/manual"
)

// TestEveryCommandHasAGoodPage holds every page against its command, and against mandoc where that
// is installed.
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
		text, err := manual.Page(cmd, version)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			// Older names of a flag work, and are not shown.
			shown := bytes.Contains(text, []byte(strings.ReplaceAll("--"+f.Name, "-", `\-`)))
			if shown == f.Hidden {
				t.Errorf("%s: the page has --%s: %t, hidden: %t", cmd.CommandPath(), f.Name, shown, f.Hidden)
			}
		})
		if mandoc != "" {
			lint := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "error")
			lint.Stdin = bytes.NewReader(text)
			if out, err := lint.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", cmd.CommandPath(), err, out)
			}
		}

		for _, sub := range manual.Documented(cmd) {
			visit(sub)
		}
	}

	visit(root)
	if pages < 20 {
		t.Errorf("only %d pages", pages)
	}
}

// TestPagesOfProgramAndServe wants the sections that only these two pages have, and text that is no
// markup.
func TestPagesOfProgramAndServe(t *testing.T) {
	f := func(args []string, words ...string) {
		t.Helper()
		cmd, _, err := rootCommand().Find(args)
		if err != nil {
			t.Fatal(err)
		}

		page, err := manual.Page(cmd, version)
		if err != nil {
			t.Fatal(err)
		}

		for _, word := range words {
			if !bytes.Contains(page, []byte(word)) {
				t.Errorf("%v: the page lacks %q:\n%s", args, word, page)
			}
		}
		if bytes.Contains(page, []byte("0001")) {
			t.Errorf("%v: the page has a date", args)
		}
	}
	f(nil, ".SH EXIT STATUS\n.TP\n\\fB0\\fP\nsuccess\n", "verification failed or a guard refused")
	f([]string{"serve"}, ".SH CONFIGURATION", "\n.TP\n\\fBstore\\fP\nNINEPOCKET_STORE: ",
		"NINEPOCKET_PLANS__NAME__STATS_WINDOW", `\fBplans.NAME.per_minute\fP`,
		"NINEPOCKET_BASE_URL. Flags win")
}

// TestPagesAreFiles writes all pages, each under the name that man looks for.
func TestPagesAreFiles(t *testing.T) {
	root := rootCommand()
	root.InitDefaultCompletionCmd()
	folder := filepath.Join(t.TempDir(), "man")
	if err := manual.Write(root, version, folder); err != nil {
		t.Fatal(err)
	}

	for name, word := range map[string]string{
		"ninepocket": "guard refused", "ninepocket-serve": "NINEPOCKET_TLS_CERT", "ninepocket-keys-rotate": "overlap",
		"ninepocket-snapshot-build": `keep\-unmatched`, "ninepocket-completion-bash": "autocompletion",
	} {
		page, err := os.ReadFile(filepath.Join(folder, name+".1"))
		title := `.TH "` + strings.ReplaceAll(strings.ToUpper(name), "-", `\-`) + `" "1"`
		if err != nil || !strings.Contains(string(page), word) || !strings.Contains(string(page), title) {
			t.Errorf("%s: %v, without %q or %q:\n%.300s", name, err, title, word, page)
		}
	}
}
