package ninepocket_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSentences holds all prose to the house rule for sentences (tools/prose). At most one sentence
// in twenty is flagged, and none has a word that the glossary replaces.
func TestSentences(t *testing.T) {
	out, err := exec.Command("go", "-C", "tools", "run", "./prose", "-root", "..", "-check").CombinedOutput()
	if err != nil {
		t.Errorf("sentences to be read twice (go -C tools run ./prose -root .. FILE lists them): %v\n%s", err, out)
	}
}

// ownRun is the shortest run of words that counts as copied.
const ownRun = 9

// leader finds marks of comments and quotations at the start of a line, and line ends within strings.
var leader = regexp.MustCompile(`(?m)^[ \t]*(?://|#|\*|>|--)+|\\n`)

// wordOrBreak finds words, and what ends a run: code spans, names and numbers are facts.
var wordOrBreak = regexp.MustCompile("`[^`\n]*`" +
	"|[A-Za-z0-9_$/.-]*[0-9_$/][A-Za-z0-9_$/.-]*|[|]|[A-Za-z][A-Za-z'’]+|,|\n")

// word is a word of a file with its line, or a break ("").
type word struct {
	text  string
	line  int
	comma bool // a comma follows
}

// TestOwnWords compares every file with the specification: nine words in a row are its text, not ours.
// A run with four commas lists names.
func TestOwnWords(t *testing.T) {
	folder := filepath.Join(cmp.Or(os.Getenv("DATA"), "../shared/data"), "..", "spec")
	specs, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(specs) == 0 {
		t.Skip("skipped: the text of the specification is not there (" + folder + ")")
	}

	theirs := map[string]bool{}
	for _, name := range specs {
		eachRun(t, name, func(run string, _ int) { theirs[run] = true })
	}
	err = filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(madeFolders, entry.Name()) ||
			len(name) > 1 && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".github"):
			return filepath.SkipDir
		case entry.IsDir() || !ownText.MatchString(name):
			return nil
		}

		// A longer copy has many runs: its first line is enough.
		last := -1
		eachRun(t, name, func(run string, line int) {
			if theirs[run] && line > last+1 {
				t.Errorf("%s:%d: the specification has these words: %s", name, line, run)
			}
			if theirs[run] {
				last = line
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// madeFolders have what programs made and no commit has: what is left there may be of an older text.
var madeFolders = []string{"bin", "dist", "node_modules", "generated"}

// ownText matches the files that people write or read.
var ownText = regexp.MustCompile(`\.(?:go|md|json|ya?ml|html|qtpl|txt|py|ts|js|sh|toml|service|lua|sql)$|Makefile$`)

// eachRun calls visit with every run of words of a file and its line.
func eachRun(t *testing.T, name string, visit func(run string, line int)) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > 4<<20 {
		return // a catalog
	}

	var run []word
	line := 1
	for _, found := range wordOrBreak.FindAllString(leader.ReplaceAllString(string(content), " "), -1) {
		switch {
		case found == "\n":
			line++
		case found == ",":
			if len(run) > 0 {
				run[len(run)-1].comma = true
			}
		case !isWord.MatchString(found):
			run = run[:0]
		default:
			run = append(run, word{text: strings.ToLower(found), line: line})
			if len(run) >= ownRun {
				visitRun(run[len(run)-ownRun:], visit)
			}
		}
	}
}

var isWord = regexp.MustCompile(`^[A-Za-z'’]+$`)

func visitRun(run []word, visit func(run string, line int)) {
	commas := 0
	texts := make([]string, len(run))
	for i, w := range run {
		texts[i] = w.text
		if w.comma {
			commas++
		}
	}
	if commas < 4 {
		visit(strings.Join(texts, " "), run[0].line)
	}
}

// TestRunsOfWords tries the runs that are compared.
func TestRunsOfWords(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.md")
	text := "One two three four five six\n// seven eight nine ten.\n" +
		"`code` one two three four five six seven a_b eight\n" +
		"one, two, three, four, five, six, seven, eight, nine\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	eachRun(t, name, func(run string, line int) { got = append(got, fmt.Sprint(line, " ", run)) })
	want := "[1 one two three four five six seven eight nine 1 two three four five six seven eight nine ten]"
	if fmt.Sprint(got) != want {
		t.Errorf("runs %v, want %v", got, want)
	}
}
