// Package manual makes the manual pages of a program from the help of its commands.
package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"ninepocket/internal/settings"
)

// Write writes the pages of a command and of its sub-commands into dir, a file each.
func Write(cmd *cobra.Command, version, dir string) error {
	page, err := Page(cmd, version)
	if err == nil {
		err = os.MkdirAll(dir, 0o755) //nolint:gosec // manual pages are public
	}
	if err == nil {
		// Pages are named as man looks for them: ninepocket-keys-create.1.
		path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		err = os.WriteFile(path, page, 0o644) //nolint:gosec // manual pages are public
	}
	if err != nil {
		return fmt.Errorf("cannot write manual pages: %w", err)
	}

	for _, sub := range Documented(cmd) {
		if err := Write(sub, version, dir); err != nil {
			return err
		}
	}
	return nil
}

// Documented returns the sub-commands of cmd that have a page.
func Documented(cmd *cobra.Command) (subs []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			subs = append(subs, sub)
		}
	}
	return subs
}

// Page returns the manual page of a command in roff, made from the text of its --help.
func Page(cmd *cobra.Command, version string) ([]byte, error) {
	// The library makes the page from a description in Markdown, so the command has that
	// description meanwhile.
	long := cmd.Long
	cmd.Long = description(cmd)
	cmd.DisableAutoGenTag = true
	defer func() { cmd.Long = long }()

	var page bytes.Buffer
	header := doc.GenManHeader{Date: &time.Time{}, Source: "ninepocket " + version}
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		return nil, err
	}

	// Equal programs have equal pages, so a page has no date. A hyphen is to be shown as it is
	// typed.
	undated := strings.Replace(page.String(), time.Time{}.Format("Jan 2006"), "", 1)
	return []byte(strings.ReplaceAll(undated, "-", `\-`)), nil
}

// description returns a command's description in Markdown, with the sections that only manual pages
// have.
func description(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(markdown.Replace(cmp.Or(cmd.Long, cmd.Short+".")))

	switch cmd.Name() {
	case "ninepocket":
		b.WriteString("\n\n# EXIT STATUS\n")
		for code, meaning := range []string{
			"success", "failure", "a mistake in the command line or the configuration",
			"verification failed or a guard refused", "serve lacks keys or a snapshot that loads",
		} {
			fmt.Fprintf(&b, "**%d**\n: %s\n\n", code, meaning)
		}
	case "serve":
		b.WriteString("\n\n# CONFIGURATION\nKeys of the file that --config names, and the environment variables " +
			"that win over them:\n\n")
		for _, setting := range settings.Settings {
			help := strings.ReplaceAll(setting.Help, "`", "")
			fmt.Fprintf(&b, "**%s**\n: %s: %s\n\n",
				markdown.Replace(setting.Key), markdown.Replace(setting.EnvName()), markdown.Replace(help))
		}
	}
	return b.String()
}

// markdown escapes the characters that are markup in Markdown.
var markdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "#", `\#`, "|", `\|`)
