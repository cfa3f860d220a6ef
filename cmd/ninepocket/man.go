package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "man [COMMAND…]", Short: "Print the manual page of a command, or write all of them",
		Example: "  ninepocket man serve | man -l -\n" +
			"  ninepocket man --dir /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.InitDefaultCompletionCmd()
			if dir != "" {
				if len(args) > 0 {
					return fail(exitUsage, "", fmt.Errorf("cannot write the page of %q alone: --dir writes all", strings.Join(args, " ")))
				}
				return writePages(root, dir)
			}
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return fail(exitUsage, "run: ninepocket --help", fmt.Errorf("cannot find the command %q", strings.Join(args, " ")))
			}
			_, err = cmd.OutOrStdout().Write(manPage(of))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands into this `DIR`")
	return cmd
}

// writePages writes the page of a command and of those below it, each under its name.
func writePages(cmd *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are public
		return fail(exitFailure, "", fmt.Errorf("cannot write manual pages: %w", err))
	}
	path := filepath.Join(dir, pageName(cmd)+".1")
	if err := os.WriteFile(path, manPage(cmd), 0o644); err != nil { //nolint:gosec // manual pages are public
		return fail(exitFailure, "", fmt.Errorf("cannot write manual page: %w", err))
	}
	for _, sub := range documented(cmd) {
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// documented are the commands below cmd that have a page.
func documented(cmd *cobra.Command) (subs []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			subs = append(subs, sub)
		}
	}
	return subs
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the manual page of a command in roff, from what --help knows of it. It has no date, so that equal programs
// have equal pages.
func manPage(cmd *cobra.Command) []byte {
	cmd.InitDefaultHelpFlag()
	var p page
	name := pageName(cmd)
	p.raw(".TH %s 1 \"\" %s", quoted(strings.ToUpper(name)), quoted("ninepocket "+version))
	p.section("NAME")
	p.line(name + " - " + strings.ToLower(cmd.Short[:1]) + cmd.Short[1:])
	p.section("SYNOPSIS")
	p.raw(".B %s", roff(cmd.UseLine()))
	p.section("DESCRIPTION")
	p.text(description(cmd))
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("INHERITED OPTIONS", cmd.InheritedFlags())
	switch cmd.Name() {
	case "ninepocket":
		p.section("EXIT STATUS")
		for code, meaning := range []string{
			"success", "failure", "a mistake in the command line or the configuration", "verification failed or a guard refused",
			"serve lacks keys or a snapshot that loads",
		} {
			p.item(strconv.Itoa(code), meaning)
		}
	case "serve":
		p.configuration()
	}
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.raw(".nf\n%s\n.fi", roff(cmd.Example))
	}
	p.seeAlso(cmd)
	return p.Bytes()
}

func description(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// page is a manual page as it is written.
type page struct{ bytes.Buffer }

// raw writes a line of roff.
func (p *page) raw(format string, args ...any) { _, _ = fmt.Fprintf(p, format+"\n", args...) }

func (p *page) section(title string) { p.raw(".SH %s", title) }

// line writes a line of text.
func (p *page) line(s string) { p.raw("%s", roff(s)) }

// text writes paragraphs that empty lines part; what is indented keeps its lines.
func (p *page) text(s string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			p.raw(".PP")
		}
		if strings.HasPrefix(paragraph, "\t") || strings.HasPrefix(paragraph, "  ") {
			p.raw(".nf\n%s\n.fi", roff(paragraph))
			continue
		}
		p.line(strings.TrimSpace(paragraph))
	}
}

// item writes a term and what it means.
func (p *page) item(term, meaning string) { p.raw(".TP\n.B %s\n%s", roff(term), roff(meaning)) }

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if value != "" {
			term += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default: " + f.DefValue + ")"
		}
		p.item(term, usage)
	})
}

// configuration writes the keys of the file and their environment variables.
func (p *page) configuration() {
	p.section("CONFIGURATION")
	p.line("Keys of the file that --config names, and the environment variables that win over them:")
	for i := range settings {
		s := &settings[i]
		p.item(s.key, s.envName()+": "+strings.ReplaceAll(s.help, "`", ""))
	}
}

func (p *page) seeAlso(cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, pageName(cmd.Parent()))
	}
	for _, sub := range documented(cmd) {
		names = append(names, pageName(sub))
	}
	if len(names) == 0 {
		return
	}
	p.section("SEE ALSO")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		p.raw(".BR %s (1)%s", roff(name), end)
	}
}

// roff escapes text, so that no line of it begins a request.
func roff(s string) string {
	lines := strings.Split(roffEscapes.Replace(s), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// roffEscapes keep backslashes, and hyphens as they are typed. Pages are UTF-8, which man reads.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\t", "    ")

func quoted(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }
