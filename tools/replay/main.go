// Command replay sends equal requests to two builds of ninepocket and prints the differences of
// their responses. It compares status, headers and every byte of the body, except texts that are
// unique in each run (request ids, dates, rate headers, keys, signed cursors).
//
// Each program serves its demo with one seed and date, one after the other on one port, so that
// the two catalogs and all URLs in responses are equal. The requests cover all operations, both
// surfaces, errors, the versions of MCP, and the pages. Requests that depend on a response
// (cursors, validators, replays) are made from the response of the same program.
//
//	go -C tools run ./replay -old OLD -new NEW
//
// It exits with 1 if a response differs that -expected does not name.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// startTimeout bounds the start of a demo, which takes a few seconds on a busy machine.
const startTimeout = 2 * time.Minute

// demo is a running program and its keys.
type demo struct {
	command *exec.Cmd
	API     string            `json:"api"`
	Keys    map[string]string `json:"keys"`
}

func main() {
	before := flag.String("old", "", "the program whose answers hold")
	after := flag.String("new", "../bin/ninepocket", "the program that is compared with it")
	cards := flag.Int("cards", 3000, "cards of the catalog")
	listen := flag.String("listen", "127.0.0.1:18090", "where both programs listen, one after the other")
	expected := flag.String("expected", "", "a regular expression: requests whose answers may differ")
	shown := flag.Int("show", 40, "how many differences are shown")
	flag.Parse()
	if *before == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "replay: -old names the program whose answers hold")
		os.Exit(2)
	}

	first, err := record(*before, *listen, *cards)
	if err != nil {
		fmt.Fprintf(os.Stderr, "replay: cannot record %q: %v\n", *before, err)
		os.Exit(1)
	}
	second, err := record(*after, *listen, *cards)
	if err != nil {
		fmt.Fprintf(os.Stderr, "replay: cannot record %q: %v\n", *after, err)
		os.Exit(1)
	}
	if compare(first, second, *expected, *shown) > 0 {
		os.Exit(1)
	}
}

// record starts a program, sends it all requests, and stops it.
func record(program, listen string, cards int) ([]exchange, error) {
	d, err := start(program, listen, cards)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = d.command.Process.Signal(os.Interrupt)
		_ = d.command.Wait()
	}()
	return ask(d)
}

// start starts the demo of a program and waits for its ready file.
func start(program, listen string, cards int) (*demo, error) {
	folder, err := os.MkdirTemp("", "replay")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()

	ready := filepath.Join(folder, "ready.json")
	//nolint:gosec // the two programs that the caller names
	d := &demo{command: exec.Command(program, "demo", "--cards", fmt.Sprint(cards), "--seed", "1", "--date",
		"2026-08-22",
		"--listen", listen, "--admin", "127.0.0.1:0", "--ready-file", ready)}
	d.command.Stderr = os.Stderr
	if err := d.command.Start(); err != nil {
		return nil, err
	}

	for begun := time.Now(); time.Since(begun) < startTimeout; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(ready)
		if err == nil {
			return d, json.Unmarshal(text, d)
		}
	}
	_ = d.command.Process.Kill()
	return nil, fmt.Errorf("not ready within %s", startTimeout)
}

// compare prints the responses that differ and returns how many of them are unexpected.
func compare(before, after []exchange, expected string, shown int) int {
	may := regexp.MustCompile(expected)
	unexpected := 0
	named := 0
	if len(before) != len(after) {
		fmt.Fprintf(os.Stdout, "%d requests were made of the old program, %d of the new one\n", len(before),
			len(after))
		unexpected++
	}

	statuses := map[int]int{}
	for i := range min(len(before), len(after)) {
		statuses[before[i].status]++
		what := difference(before[i], after[i])
		if what == "" {
			continue
		}
		if expected != "" && may.MatchString(before[i].name) {
			named++
			continue
		}
		unexpected++
		if unexpected <= shown {
			fmt.Fprintf(os.Stdout, "%s\n%s\n", before[i].name, what)
		}
	}
	fmt.Fprintf(os.Stdout, "%d requests, by status %v: %d answers differ as expected, %d otherwise\n",
		len(before), statuses, named,
		unexpected)
	return unexpected
}

// difference returns a few lines with the first difference of two responses, "" if they are equal.
func difference(a, b exchange) string {
	switch {
	case a.name != b.name:
		return "  the new program was asked " + b.name
	case a.status != b.status:
		return fmt.Sprintf("  status %d, now %d\n  %s", a.status, b.status, around(b.body, 0))
	case a.header != b.header:
		return "  header " + a.header + "\n     now " + b.header
	case a.body == b.body:
		return ""
	}

	at := 0
	for at < min(len(a.body), len(b.body)) && a.body[at] == b.body[at] {
		at++
	}
	return fmt.Sprintf("  byte %d of %d, now of %d\n  %s\n  %s", at, len(a.body), len(b.body),
		around(a.body, at), around(b.body, at))
}

// around returns the text near an offset, on one line.
func around(text string, at int) string {
	const width = 160
	from := max(0, at-width/2)
	return strings.ReplaceAll(text[from:min(len(text), from+width)], "\n", "⏎")
}
