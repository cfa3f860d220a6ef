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

// TestInstalledGo follows the page of the Go client word for word, with the packed client in an empty
// folder.
func TestInstalledGo(t *testing.T) {
	t.Parallel()
	d := startDemo(t, 0)
	top := t.TempDir()
	command(t, "..", "./pack.sh", top)
	archives, err := filepath.Glob(filepath.Join(top, "ninepocket-go-*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("packed are %v: %v", archives, err)
	}
	unpacked := t.TempDir()
	command(t, unpacked, "tar", "-xf", archives[0])
	program := filepath.Join(unpacked, "cards")
	if err := os.Mkdir(program, 0o700); err != nil {
		t.Fatal(err)
	}

	page, err := os.ReadFile("../go/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "`"+filepath.Base(archives[0])+"`") {
		t.Errorf("the page does not name %s", filepath.Base(archives[0]))
	}
	command(t, program, "bash", "-euc", block(t, page, "sh"))
	if err := os.WriteFile(filepath.Join(program, "main.go"), []byte(block(t, page, "go")), 0o600); err != nil {
		t.Fatal(err)
	}
	said := d.program(t, program, "pro", "", "go", "run", ".")
	if !regexp.MustCompile(`^(Charizard.* \d+\n){1,3}[1-3] prices\n$`).MatchString(said) {
		t.Errorf("the program of the page says %q", said)
	}
}

// block returns the first block of code of a language on a page.
func block(t *testing.T, page []byte, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(page), "\n```"+language+"\n")
	if !found {
		t.Fatalf("the page has no block of %s", language)
	}
	code, _, _ := strings.Cut(rest, "\n```\n")
	return code + "\n"
}

// program runs a program in a folder, with the address and a key as on the pages, and returns its
// output.
func (d *demo) program(t *testing.T, folder, key, input string, words ...string) string {
	t.Helper()
	made := exec.Command(words[0], words[1:]...)
	made.Dir = folder
	made.Env = append(os.Environ(), "API="+d.API, "KEY="+d.Keys[key], "ROUNDS=2", "PAUSE=0", "GOPROXY=off",
		"PYTHONPATH="+absolute(t, "../python"))
	made.Stdin = strings.NewReader(input)
	var problems strings.Builder
	made.Stderr = &problems
	said, err := made.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, problems.String())
	}
	return strings.ReplaceAll(string(said), "\r\n", "\n")
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// programs are the five programs of each client, and their output for the demo's catalog.
var programs = []struct {
	name, key, input string
	arguments        []string
	prints           []string // regular expressions
}{
	{
		name: "collection", key: "pro", arguments: []string{"collection.csv"},
		prints: []string{
			`^ +900\.00  2 x Charizard 4/102, unlimited_holofoil\n`, `\nrow 2: ambiguous: `,
			`\n +900\.00  in all, at 20\d\d-`,
		},
	},
	// Requested twice, each card stands once.
	{name: "movers", key: "pro", prints: []string{`^( *\+[\d.]+ %  \S.*  http\S+/cards/\S+\n)+$`}},
	{
		name: "nightly", key: preview, arguments: []string{"nightly.csv", "night"},
		prints: []string{`^\d{4} prices in nightly\.csv\n$`},
	},
	{
		name: "mirror", key: "pro", arguments: []string{"mirror"},
		prints: []string{`^something was new in 20\w+-\w+\n`, `\nPikachu Illustrator `},
	},
	{
		name: "scanner", key: "pro", input: "? chari\ncharizard;4/102;\nqqqq\n",
		prints: []string{
			`^  name: Charizard \(\d+ cards\)\n`, `\nCharizard 4/102 / .*450\.00, `, `\nno such card: qqqq\n$`,
		},
	},
}

// TestPrograms runs the five programs of each language against a demo, and the nightly one again.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, language := range languages {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			language.program(t) // or there is no such runtime
			d := startDemo(t, 0)
			folder := t.TempDir()
			table := "Name,Set,Number,Qty\r\nCharizard,Kanto Classic,4/102,2\r\nPikachu,,,1\r\n"
			if err := os.WriteFile(filepath.Join(folder, "collection.csv"), []byte(table), 0o600); err != nil {
				t.Fatal(err)
			}

			for _, p := range programs {
				words := append(language.example(t, p.name), p.arguments...)
				said := d.program(t, folder, p.key, p.input, words...)
				for _, pattern := range p.prints {
					if !regexp.MustCompile(pattern).MatchString(said) {
						t.Errorf("%s prints %q, without %s", p.name, said, pattern)
					}
				}
				seen := map[string]bool{}
				for row := range strings.Lines(said) {
					if seen[row] {
						t.Errorf("%s prints %q twice", p.name, row)
					}
					seen[row] = true
				}
			}
			d.resumes(t, folder, language.example(t, "nightly"))
		})
	}
}

// resumes runs the nightly program once more after its last part was lost: that part is a replay.
func (d *demo) resumes(t *testing.T, folder string, words []string) {
	t.Helper()
	before := d.used(t, d.Keys[preview])
	want, err := os.ReadFile(filepath.Join(folder, "nightly.csv"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob(filepath.Join(folder, "nightly.night", "0*.json"))
	if err != nil || len(parts) < 10 {
		t.Fatalf("the parts are %v: %v", parts, err)
	}
	for _, part := range parts[len(parts)-2:] {
		if err := os.Remove(part); err != nil {
			t.Fatal(err)
		}
	}

	d.program(t, folder, preview, "", append(words, "nightly.csv", "night")...)
	if charged := d.used(t, d.Keys[preview]) - before; charged != 0 {
		t.Errorf("the job again was charged %d credits", charged)
	}
	again, err := os.ReadFile(filepath.Join(folder, "nightly.csv"))
	if err != nil || string(again) != string(want) {
		t.Errorf("the job again wrote another table: %v", err)
	}
}
