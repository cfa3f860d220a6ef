package main

import (
	"fmt"
	"go/format"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// languages are the names of the languages of blocks, which are folded where they are programs.
var languages = map[string]string{"sh": "curl", "python": "Python", "ts": "TypeScript", "go": "Go", "js": "Node"}

// foldedFrom is the number of lines from which on a block is folded.
const foldedFrom = 8

// inline are the marks within a paragraph: code, bold and slanted text, and links.
var inline = regexp.MustCompile("`([^`]+)`|\\*\\*([^*]+)\\*\\*|\\*([^*]+)\\*|\\[([^\\]]+)\\]\\(([^)]+)\\)")

// writeGuide writes docs/GUIDE.md as a part of the page /docs. The heading of the page and the
// sentences before the first section are left out.
func writeGuide(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "GUIDE.md"))
	if err != nil {
		return nil, err
	}
	_, sections, found := strings.Cut(string(text), "\n## ")
	if !found {
		return nil, fmt.Errorf("docs/GUIDE.md has no section")
	}
	page, err := renderMarkdown("## " + sections)
	if err != nil {
		return nil, err
	}
	return format.Source([]byte("// Code generated from docs/GUIDE.md by \"make generate\". DO NOT EDIT.\n\n" +
		"package site\n\n// guideHTML is the guide for clients. Its address is that of the demo.\nconst guideHTML = " +
		fmt.Sprintf("%q", page) + "\n"))
}

// renderMarkdown renders the Markdown of the guide: sections, paragraphs, lists and blocks of code. It
// refuses other marks.
func renderMarkdown(text string) (string, error) {
	var out strings.Builder
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		end := i + 1
		switch {
		case line == "":
		case strings.HasPrefix(line, "## "):
			name := strings.TrimPrefix(line, "## ")
			anchor := "guide-" + strings.ReplaceAll(strings.ToLower(name), " ", "-")

			fmt.Fprintf(&out, "<h3 id=\"%s\">%s</h3>\n", anchor, html.EscapeString(name))
		case strings.HasPrefix(line, "```"):
			for end < len(lines) && lines[end] != "```" {
				end++
			}
			out.WriteString(renderCode(strings.TrimPrefix(line, "```"), lines[i+1:end]))
			i = end

		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, ">"):
			return "", fmt.Errorf("docs/GUIDE.md has a mark that /docs cannot show: %q", line)

		default:
			for end < len(lines) && lines[end] != "" {
				end++
			}
			out.WriteString(renderParagraph(lines[i:end]))
			i = end
		}
	}
	return out.String(), nil
}

// renderCode renders a block of code. A program is folded under the name of its language.
func renderCode(language string, lines []string) string {
	block := `<pre tabindex="0"><code>` + html.EscapeString(strings.Join(lines, "\n")) + "</code></pre>"
	if name := languages[language]; name != "" && len(lines) >= foldedFrom {
		block = "<details><summary>" + name + "</summary>" + block + "</details>"
	}
	return block + "\n"
}

// renderParagraph renders a paragraph, or a list if its lines begin so.
func renderParagraph(lines []string) string {
	if !strings.HasPrefix(lines[0], "- ") {
		return "<p>" + renderInline(strings.Join(lines, " ")) + "</p>\n"
	}

	items := strings.Split(strings.TrimPrefix(strings.Join(lines, "\n"), "- "), "\n- ")
	for i, item := range items {
		items[i] = "<li>" + renderInline(strings.Join(strings.Fields(item), " "))
	}
	return "<ul>\n" + strings.Join(items, "\n") + "\n</ul>\n"
}

// renderInline renders the marks within a text.
func renderInline(text string) string {
	var out strings.Builder
	for {
		m := inline.FindStringSubmatchIndex(text)
		if m == nil {
			return out.String() + html.EscapeString(text)
		}

		out.WriteString(html.EscapeString(text[:m[0]]))
		part := func(i int) string { return html.EscapeString(text[m[2*i]:m[2*i+1]]) }
		switch {
		case m[2] >= 0:
			out.WriteString("<code>" + part(1) + "</code>")
		case m[4] >= 0:
			out.WriteString("<b>" + part(2) + "</b>")
		case m[6] >= 0:
			out.WriteString("<i>" + part(3) + "</i>")
		default:
			out.WriteString(renderLink(part(4), text[m[10]:m[11]]))
		}
		text = text[m[1]:]
	}
}

// renderLink renders a link to another page of the documentation. A server has only some of them.
func renderLink(text, target string) string {
	page, _, _ := strings.Cut(target, "#")
	switch page {
	case "API.md":
		return `<a href="#catalog">` + text + "</a>"
	case "ERRORS.md":
		return `<a href="http://127.0.0.1:8080/errors">` + text + "</a>"
	}
	return text
}
