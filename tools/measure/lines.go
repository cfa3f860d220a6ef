package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
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
