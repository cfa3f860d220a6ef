package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// printJSON prints v as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// show prints v as JSON, or what text prints for people.
func show(cmd *cobra.Command, asJSON bool, v any, text func(out *bufio.Writer)) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}

	// The writer keeps its first error, so that text need not look at any.
	out := bufio.NewWriter(cmd.OutOrStdout())
	text(out)
	return out.Flush()
}

// say prints v as JSON, or a line for people.
func say(cmd *cobra.Command, asJSON bool, v any, format string, args ...any) error {
	return show(cmd, asJSON, v, func(out *bufio.Writer) { fmt.Fprintf(out, format+"\n", args...) })
}

// list prints rows as JSON, or the cells of each under a header.
func list[T any](cmd *cobra.Command, asJSON bool, rows []T, header string, cells func(T) []any) error {
	return show(cmd, asJSON, rows, func(out *bufio.Writer) { table(out, header, rows, cells) })
}

// table prints the cells of rows under a header, in aligned columns.
func table[T any](out *bufio.Writer, header string, rows []T, cells func(T) []any) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)

	for _, row := range rows {
		// Cells are parted by tabs, which the writer turns into columns.
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}

	// out keeps the error.
	_ = t.Flush()
}

// sized spells a number of bytes for people.
func sized(n int64) string {
	value := float64(n)
	exponent := 0
	for value >= 1000 && exponent < 4 {
		value /= 1000
		exponent++
	}

	if exponent == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", value, " kMGT"[exponent])
}

// problems are what is wrong with flags or settings: all of it is told at once.
type problems []error

// add notes an error. A nil error is no problem.
func (wrong *problems) add(err error) { *wrong = append(*wrong, err) }

// when notes a problem where bad is true.
func (wrong *problems) when(bad bool, format string, args ...any) {
	if bad {
		wrong.add(fmt.Errorf(format, args...))
	}
}

// time reads the value of a flag, none when it is not given.
func (wrong *problems) time(flag, given, such string) time.Time {
	if given == "" {
		return time.Time{}
	}

	at, err := time.Parse(time.RFC3339, given)
	wrong.when(err != nil, "cannot read --%s %q: want a time such as %s", flag, given, such)
	return at
}

func (wrong *problems) err() error { return errors.Join(*wrong...) }
