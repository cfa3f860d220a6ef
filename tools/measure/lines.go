package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// codeLines returns the number of lines with code, which include the lines of a raw string.
func (f *file) codeLines() int {
	n := 0
	for _, l := range f.lines {
		if l.code {
			n++
		}
	}
	return n
}

// printClients prints the handwritten lines of code of each client, which are not product code:
// without tests, programs and generated files.
func printClients(root string, out io.Writer) {
	for _, client := range []struct{ language, pattern, comment string }{
		{"Go", "clients/go/*.go", "//"},
		{"Python", "clients/python/ninepocket/*.py", "#"},
		{"TypeScript", "clients/typescript/src/*.ts", "//"},
	} {
		total := 0

		names, _ := filepath.Glob(filepath.Join(root, client.pattern)) // the patterns are valid
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil || strings.HasSuffix(name, "_test.go") || generated.Match(text) {
				continue
			}
			for row := range strings.Lines(string(text)) {
				row = strings.TrimSpace(row)
				if row != "" && !strings.HasPrefix(row, client.comment) && !strings.HasPrefix(row, "*") {
					total++
				}
			}
		}
		if total == 0 {
			continue // it is not there
		}
		_, _ = fmt.Fprintf(out, "client in %s: %d lines by hand\n", client.language, total)
	}
}

// generated finds the line that says that a file is not written by hand.
var generated = regexp.MustCompile(`(?m)^\W+(Code generated|This file was auto-generated)`)

// printLines prints the lines of code of each package and returns the total.
func printLines(files []*file, out io.Writer) int {
	lines := map[string]int{}
	total := 0
	for _, f := range files {
		n := f.codeLines()
		lines[f.folder] += n
		total += n
	}

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, folder := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(table, "%d\t  %s\n", lines[folder], folder)
	}
	fmt.Fprintf(table, "%d\t  total\n", total)
	_ = table.Flush()
	return total
}
