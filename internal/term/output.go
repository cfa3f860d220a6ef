// Package term is what commands show: JSON for scripts, tables, progress and a log for people.
package term

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// JSON prints v as indented JSON with a line's end; the error is that of w, or of a v that JSON cannot spell.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Table prints the cells of rows under a header, whose columns are parted by tabs, in aligned columns. out keeps the
// first error.
func Table[T any](out *bufio.Writer, header string, rows []T, cells func(T) []any) {
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

// Size spells a number of bytes for people: 12.3 MB.
func Size(n int64) string {
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

// NewLog writes text for people, with times as RFC 3339 has them, or JSON for machines.
func NewLog(w io.Writer, format string, colours bool) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{NoColor: !colours, TimeFormat: time.RFC3339}))
}

// Colourful reports whether what is written is looked at by somebody who did not ask for no colours
// (https://no-color.org).
func Colourful(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// isTerminal reports whether somebody looks at what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
