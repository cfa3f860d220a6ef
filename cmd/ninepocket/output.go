package main

import (
	"bufio"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/internal/term"
)

// show prints v as JSON, or what text prints for people.
func show(cmd *cobra.Command, asJSON bool, v any, text func(out *bufio.Writer)) error {
	if asJSON {
		return term.JSON(cmd.OutOrStdout(), v)
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
	return show(cmd, asJSON, rows, func(out *bufio.Writer) { term.Table(out, header, rows, cells) })
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWords spells words as they can be pasted into a shell.
func shellWords(words []string) string {
	quoted := slices.Clone(words)
	for i, word := range words {
		if !plainWord.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
