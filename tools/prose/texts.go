package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// text is a paragraph, a list item, a table cell, a comment or a message.
type text struct {
	group  string
	file   string
	line   int
	text   string
	counts bool // its sentences count; otherwise only phrases are looked for
}

const openapiFile = "wire/openapi/openapi.json"

// readTexts reads all files below root, or those that are named.
func readTexts(root string, names []string) ([]text, error) {
	if len(names) == 0 {
		names = []string{"."}
	}

	var texts []text
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, name), func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if base := entry.Name(); len(base) > 1 && base[0] == '.' && base != ".." || base == "testdata" ||
					base == "node_modules" || base == "bin" || base == "dist" {
					return fs.SkipDir
				}
				return nil
			}

			below, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			found, err := readFile(file, filepath.ToSlash(below))
			texts = append(texts, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// scripts are the extensions of files with # comments.
var scripts = []string{".sh", ".py", ".toml", ".service", ".timer", ".socket"}

// readFile reads the texts of one file of a kind that has prose.
func readFile(file, name string) ([]text, error) {
	isPage := path.Ext(name) == ".md" && path.Base(name) != "THIRD_PARTY_LICENSES"
	isScript := name == "Makefile" || slices.Contains(scripts, path.Ext(name))
	if !isPage && !isScript && path.Ext(name) != ".go" && name != openapiFile {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	switch {
	case isPage:
		return readPage(name, string(content)), nil
	case isScript:
		return readScript(name, string(content)), nil
	case name == openapiFile:
		return readDescriptions(name, content)
	}
	return readGo(name, content)
}

// targetHelp is the help of a target of the Makefile.
var targetHelp = regexp.MustCompile(`^[a-z-]+:.*?## (.*)`)

// readScript reads the comments of a script, and the help of the Makefile's targets. Lines of a comment
// are one text.
func readScript(name, content string) []text {
	var texts []text
	comment := text{group: path.Dir(name), file: name, counts: true}
	for i, line := range strings.Split(content, "\n") {
		if found, is := strings.CutPrefix(line, "# "); is {
			if comment.text == "" {
				comment.line = i + 1
			}
			comment.text = strings.TrimSpace(comment.text + " " + found)
			continue
		}

		if comment.text != "" {
			texts = append(texts, comment)
			comment.text = ""
		}
		if help := targetHelp.FindStringSubmatch(line); help != nil {
			texts = append(texts, text{group: "help", file: name, line: i + 1, text: help[1], counts: true})
		}
	}
	return texts
}

var (
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.)\s+`)
	separator = regexp.MustCompile(`^[\s|:-]+$`)
)

// readPage reads a Markdown page. Code blocks are left out; headings count for phrases only.
func readPage(name, content string) []text {
	var texts []text
	paragraph := text{group: name, file: name, counts: true}
	end := func() {
		paragraph.text = strings.TrimSpace(paragraph.text)
		if paragraph.text != "" {
			texts = append(texts, paragraph)
		}
		paragraph.text = ""
	}

	fenced := false
	for i, line := range strings.Split(content, "\n") {
		trimmed := strings.TrimSpace(strings.TrimLeft(line, "> "))
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
			end()
			continue
		}
		if fenced {
			continue
		}

		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "<"):
			end()
		case strings.HasPrefix(trimmed, "#"):
			end()
			texts = append(texts, text{name, name, i + 1, strings.TrimLeft(trimmed, "# "), false})
		case strings.HasPrefix(trimmed, "|"):
			end()
			texts = append(texts, readRow(name, i+1, trimmed)...)
		default:
			if listItem.MatchString(line) {
				end()
				trimmed = listItem.ReplaceAllString(trimmed, "")
			}
			if paragraph.text == "" {
				paragraph.line = i + 1
			}
			paragraph.text += trimmed + " "
		}
	}
	end()
	return texts
}

// readRow reads the cells of a row of a table. Only those of more than seven words count.
func readRow(name string, line int, row string) []text {
	if separator.MatchString(row) {
		return nil
	}
	var texts []text
	for cell := range strings.SplitSeq(strings.ReplaceAll(row, `\|`, "/"), "|") {
		cell = strings.TrimSpace(cell)
		if cell != "" {
			texts = append(texts, text{name, name, line, cell, countWords(plain(cell)) > 7})
		}
	}
	return texts
}

// readDescriptions reads the descriptions and summaries of the OpenAPI document.
func readDescriptions(name string, content []byte) ([]text, error) {
	var document any
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	lines := strings.Split(string(content), "\n")
	lineOf := func(value string) int {
		start, _ := json.Marshal(value)
		start = start[:min(len(start)-1, 60)]
		return 1 + slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, string(start)) })
	}

	var texts []text
	var visit func(any)
	visit = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, child := range node {
				visit(child)
			}
		case map[string]any:
			for key, child := range node {
				if value, ok := child.(string); ok && (key == "description" || key == "summary") {
					for _, t := range readPage(name, value) {
						t.group = "openapi"
						t.line = lineOf(value)
						texts = append(texts, t)
					}
				}
				visit(child)
			}
		}
	}
	visit(document)
	return texts, nil
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	option   = regexp.MustCompile(`--[a-z][a-z-]*`)
	address  = regexp.MustCompile(`https?://\S+`)
	emphasis = regexp.MustCompile(`\*+`)
	sentEnd  = regexp.MustCompile(`[.!?][)"*”]*\s+`)
	short    = regexp.MustCompile(`(?i)(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|no|p|[a-z])|…)\.$`)
)

// plain replaces code, options and addresses, which are one word each, and takes the text of links.
func plain(s string) string {
	s = codeSpan.ReplaceAllString(s, "X")
	s = link.ReplaceAllString(s, "$1")
	s = option.ReplaceAllString(s, "X")
	s = address.ReplaceAllString(s, "X")
	return emphasis.ReplaceAllString(s, "")
}

// splitSentences returns the sentences of a paragraph without code.
func splitSentences(paragraph string) []string {
	paragraph = plain(paragraph)
	var sentences []string
	start := 0
	for _, at := range sentEnd.FindAllStringIndex(paragraph, -1) {
		if short.MatchString(strings.TrimSpace(paragraph[start:at[1]])) {
			continue
		}
		sentences = append(sentences, strings.TrimSpace(paragraph[start:at[1]]))
		start = at[1]
	}
	if rest := strings.TrimSpace(paragraph[start:]); rest != "" {
		sentences = append(sentences, rest)
	}
	return sentences
}
