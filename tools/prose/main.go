// Command prose finds sentences that must be read twice, and words that the glossary replaces.
//
//	prose [-root DIR] [-v] [-check] [FILE|DIR…]
//
// It reads pages, comments (also of scripts and units), help, log lines, metric help, messages and
// OpenAPI descriptions. It prints the share of flagged sentences of each group: a page, the comments
// of a package, or all log lines.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// maxPercent is the largest share of flagged sentences in a group.
const maxPercent = 5

// group sums the sentences of a page, a package's comments, or one kind of text.
type group struct {
	name               string
	sentences, flagged int
	phrases            int // occurrences of phrases of words.txt
}

// passes reports whether the group keeps the rule.
func (g *group) passes() bool { return g.phrases == 0 && 100*g.flagged <= maxPercent*g.sentences }

func main() {
	failed, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// run runs the program, and reports whether a group fails that must pass.
func run(args []string, out io.Writer) (failed bool, err error) {
	flags := flag.NewFlagSet("prose", flag.ContinueOnError)
	root := flags.String("root", ".", "the repository's `DIR`")
	verbose := flags.Bool("v", false, "print sentences of groups that pass, too")
	check := flags.Bool("check", false, "print groups that fail only, and exit with 1 if there is one")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	texts, err := readTexts(*root, flags.Args())
	if err != nil {
		return false, err
	}

	byGroup := map[string][]finding{}
	groups := map[string]*group{}
	for _, t := range texts {
		g := groups[t.group]
		if g == nil {
			g = &group{name: t.group}
			groups[t.group] = g
		}
		found := g.count(t)
		byGroup[t.group] = append(byGroup[t.group], found...)
	}

	for _, name := range sortedKeys(groups) {
		g := groups[name]
		failed = failed || !g.passes()
		if *check && g.passes() {
			continue
		}
		if *verbose || !g.passes() {
			printFindings(out, byGroup[name])
		}
		_, _ = fmt.Fprintf(out, "%s: %d of %d sentences flagged, %d phrases\n", name, g.flagged, g.sentences, g.phrases)
	}
	return failed && *check, nil
}

// finding is a sentence with its faults.
type finding struct {
	text
	faults []string
}

// count scores the sentences of a text.
func (g *group) count(t text) []finding {
	var found []finding
	for _, sentence := range splitSentences(t.text) {
		f := finding{text: text{group: t.group, file: t.file, line: t.line, text: sentence}}
		phrases := findPhrases(sentence)
		g.phrases += len(phrases)
		f.faults = phrases

		if t.counts && countWords(sentence) > 0 {
			g.sentences++
			points, why := score(sentence)
			if points >= 2 {
				g.flagged++
				f.faults = append(f.faults, why...)
			}
		}
		if len(f.faults) > 0 {
			found = append(found, f)
		}
	}
	return found
}

func printFindings(out io.Writer, found []finding) {
	for _, f := range found {
		_, _ = fmt.Fprintf(out, "%s:%d: %s\n\t%s\n", f.file, f.line, f.text.text, f.faults)
	}
}

func sortedKeys(groups map[string]*group) []string {
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
