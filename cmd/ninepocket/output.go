package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

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
func show(cmd *cobra.Command, asJSON bool, v any, text func(out io.Writer) error) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}
	return text(cmd.OutOrStdout())
}

// say prints v as JSON, or a line for people.
func say(cmd *cobra.Command, asJSON bool, v any, format string, args ...any) error {
	return show(cmd, asJSON, v, func(out io.Writer) error {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		return err
	})
}

// list prints v as JSON, or rows under a header.
func list(cmd *cobra.Command, asJSON bool, v any, header string, rows [][]any) error {
	return show(cmd, asJSON, v, func(out io.Writer) error { return table(out, header, rows) })
}

// table prints rows under a header in aligned columns.
func table(w io.Writer, header string, rows [][]any) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, header)

	for _, row := range rows {
		// Cells are parted by tabs, which the writer turns into columns.
		for i, cell := range row {
			if i > 0 {
				_, _ = fmt.Fprint(t, "\t")
			}
			_, _ = fmt.Fprint(t, cell)
		}
		_, _ = fmt.Fprintln(t)
	}
	return t.Flush()
}

// sized spells a number of bytes for people.
func sized(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}

	value := float64(n) / unit
	exponent := 0
	for value >= unit && exponent < 3 {
		value /= unit
		exponent++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGT"[exponent])
}
