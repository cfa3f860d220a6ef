// Package term formats the output of commands: JSON for scripts, tables, progress and a log for
// people.
package term

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// JSON prints v as indented JSON with a line end. The error is that of w, or of a v that JSON
// cannot encode.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Table prints the cells of rows under a header in aligned columns; tabs separate the columns of
// header. out stores the first error.
func Table[T any](out *bufio.Writer, header string, rows []T, cells func(T) []any) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)

	for _, row := range rows {
		// Tabs separate cells; the writer aligns them.
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}

	// out stores the error.
	_ = t.Flush()
}

// Size formats a number of bytes: 12.3 MB.
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

// NewLog returns a logger of text for people, with RFC 3339 times, or of JSON.
func NewLog(w io.Writer, format string, colours bool) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{NoColor: !colours, TimeFormat: time.RFC3339}))
}

// Colourful reports whether w is a terminal and colours are not disabled (https://no-color.org).
func Colourful(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// Confirm asks a question, and reports whether the answer is yes. It is false if in or out is no
// terminal.
func Confirm(in io.Reader, out io.Writer, question string) bool {
	if !isTerminal(in) || !isTerminal(out) {
		return false
	}
	_, _ = fmt.Fprintf(out, "%s [y/N] ", question) // without the question nobody says yes
	line, _ := bufio.NewReader(in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
