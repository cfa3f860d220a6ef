// Command decisions writes the index of docs/dev/decisions from its pages.
//
//	decisions [-root DIR]
//
// A decision is a heading "## NUMBER", a line "**TITLE**" and a line "Status: …", or a row of the table
// "Moved" that begins with an anchor of its number.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A decision is one row of the index.
type decision struct {
	number                      int
	page, anchor, title, status string
}

var (
	heading = regexp.MustCompile(`(?m)^## (\d+)\n\n\*\*(.+)\*\*\n\nStatus: ([^\n]+)\.$`)
	row     = regexp.MustCompile(`(?m)^\| <a id="\d+"></a>(\d+) \| ([^:|]+): [^|]+ \| ([^|\n]+) \|$`)
	link    = regexp.MustCompile(`\[(\d+)\]\([^)]*\)`)
)

func main() {
	root := flag.String("root", ".", "the module's `DIR`")
	flag.Parse()
	if err := run(filepath.Join(*root, "docs", "dev", "decisions")); err != nil {
		fmt.Fprintln(os.Stderr, "decisions:", err)
		os.Exit(1)
	}
}

// run reads the pages of a folder and writes README.md next to them.
func run(folder string) error {
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil || len(pages) == 0 {
		return errors.Join(errors.New("there are no pages in "+folder), err)
	}

	var all []decision
	index := bytes.NewBufferString(intro)
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}

		found := decisions(name, string(text))
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(index, "| [%s](%s) | %d |\n", title, name, len(found))
		all = append(all, found...)
	}

	slices.SortFunc(all, func(a, b decision) int { return cmp.Compare(a.number, b.number) })
	index.WriteString("\n## All numbers\n\n| number | decision | status |\n|---|---|---|\n")
	for i, d := range all {
		if i > 0 && all[i-1].number == d.number {
			return fmt.Errorf("decision %d stands in %s and in %s", d.number, all[i-1].page, d.page)
		}
		fmt.Fprintf(index, "| [%d](%s#%s) | %s | %s |\n", d.number, d.page, d.anchor, d.title, d.status)
	}
	return os.WriteFile(filepath.Join(folder, "README.md"), index.Bytes(), 0o644)
}

// decisions returns the decisions of a page.
func decisions(page, text string) (found []decision) {
	for _, expression := range []*regexp.Regexp{heading, row} {
		for _, part := range expression.FindAllStringSubmatch(text, -1) {
			number, _ := strconv.Atoi(part[1]) // the expressions take digits alone
			anchor := part[1]
			if expression == row {
				anchor = "moved"
			}
			found = append(found, decision{number, page, anchor, part[2], link.ReplaceAllString(part[3], "$1")})
		}
	}
	return found
}

const intro = `# Decisions

For maintainers: every choice of the project by its number. ` + "`make generate`" + ` writes this page from the others.

Comments in the code cite a number; its anchor is on the page that the index names. A number is never used again.
A new choice takes the next free number of its subject and gets these lines: status, context, choice, rejected,
consequence. Leave a line out if there is nothing to say. If a choice replaces another, both name each other. Rules
of the contract and of operation stand in their pages; a row says where.

| subject | decisions |
|---|---|
`
