package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pagesToCome are linked by their names, and are not written yet.
var pagesToCome = map[string]bool{"docs/KEYS.md": true}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#{1,6} (.*)$`)
	fencePattern   = regexp.MustCompile("(?ms)^```.*?^```")
	spanPattern    = regexp.MustCompile("`[^`\n]*`")
)

// markdownPages are all pages of the repository, from its root.
func markdownPages(t *testing.T) (pages []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, entry fs.DirEntry, err error) error {
		base := filepath.Base(name)

		switch {
		case err != nil:
			return err
		case entry.IsDir() && (base == "node_modules" || base == "dist" || base == "testdata" ||
			name != "." && strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			pages = append(pages, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// anchorsOf are the anchors of a page, as its host makes them of its headings.
func anchorsOf(text []byte) map[string]bool {
	anchors := map[string]bool{}
	for _, heading := range headingPattern.FindAllSubmatch(fencePattern.ReplaceAll(text, nil), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(string(heading[1])))
		anchors[anchor] = true
	}
	return anchors
}

// TestEveryLinkLeads follows each link of each page within the repository, to its heading.
func TestEveryLinkLeads(t *testing.T) {
	followed := 0
	for _, page := range markdownPages(t) {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}

		prose := spanPattern.ReplaceAll(fencePattern.ReplaceAll(text, nil), nil)
		for _, link := range linkPattern.FindAllSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(string(link[1]), "#")
			if strings.Contains(target, ":") {
				continue // another host
			}
			followed++
			name := page
			if target != "" {
				name = filepath.Join(filepath.Dir(page), target)
			}

			led, err := os.ReadFile(filepath.Join("../..", name))
			info, statErr := os.Stat(filepath.Join("../..", name))
			switch {
			case statErr != nil && pagesToCome[name]:
				t.Logf("%s is to come", name)
			case statErr != nil:
				t.Errorf("%s links %s, which is not there", page, link[1])
			case anchor != "" && (err != nil || info.IsDir() || !anchorsOf(led)[anchor]):
				t.Errorf("%s links %s, which has no such heading", page, link[1])
			}
		}
	}
	if followed < 150 {
		t.Errorf("only %d links were followed", followed)
	}
}

// citation matches a heading that a comment cites, such as "docs/API.md, Plans)".
var citation = regexp.MustCompile(`docs/(API|MCP|VALUATION|GUIDE|PARTNER|ERRORS|SEARCH-SYNTAX)\.md, ` +
	`((?:GET /|POST /|[A-Z])[A-Za-z0-9/{}_-]+(?: [a-z]+)*)`)

// TestCitedHeadingsAreThere wants what comments of the code cite from pages of clients: a heading, or a bold word.
func TestCitedHeadingsAreThere(t *testing.T) {
	cited := 0
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "dist" ||
			len(name) > 5 && strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "docs_links_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}

		// A citation may go on behind the end of its line.
		joined := regexp.MustCompile(`\n\s*// `).ReplaceAll(text, []byte(" "))
		for _, found := range citation.FindAllSubmatch(joined, -1) {
			cited++
			page, err := os.ReadFile("../../docs/" + string(found[1]) + ".md")
			if err != nil {
				return err
			}
			phrase := regexp.QuoteMeta(string(found[2]))
			if !regexp.MustCompile(`(?mi)^#+ ` + phrase + `|\*\*` + phrase + `\b`).Match(bytes.TrimSpace(page)) {
				t.Errorf("%s cites %s, which the page does not have", name, found[0])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 15 {
		t.Errorf("only %d citations were found", cited)
	}
}
