package ninepocket_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns    = 120 // columns; a tab is four
	maxProseChars = 100 // characters of a line of prose in a document
	airlessBody   = 15  // a body of more lines has more than one step
)

// explained marks a line that this test would report although it is better as it is, and says why.
var explained = regexp.MustCompile(`// air: \S`)

// foreign finds comments that cite what is not in the repository.
var foreign = regexp.MustCompile(
	`\((specification|contract|architecture)[,;)]|\b(search|reliability|performance|mcp|fleet|site)\.md\b`)

// page is a Go file with its lines and syntax.
type page struct {
	name  string
	lines []string
	fset  *token.FileSet
	*ast.File
}

// TestAir checks that bodies have paragraphs: a blank line after each step. Whether a blank line is
// at the end of a step, reviewers must see. `make measure` prints the shares.
func TestAir(t *testing.T) {
	walkGo(t, func(p *page) {
		for row, line := range p.lines {
			p.checkLine(t, row+1, line)
		}
		ast.Inspect(p.File, func(n ast.Node) bool {
			p.checkNode(t, n)
			return true
		})
	})
}

// walkGo calls visit with every Go file of the repository that is not generated.
func walkGo(t *testing.T, visit func(*page)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && passedOver(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}

		p, err := parsePage(name)
		if err == nil && !ast.IsGenerated(p.File) {
			visit(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pages are the parsed files, which the tests of the root share.
var pages = struct {
	sync.Mutex
	byName map[string]*page
}{byName: map[string]*page{}}

// parsePage parses a Go file with its comments, once.
func parsePage(name string) (*page, error) {
	pages.Lock()
	defer pages.Unlock()
	if p := pages.byName[name]; p != nil {
		return p, nil
	}

	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}

	p := &page{name: filepath.ToSlash(name), lines: strings.Split(string(text), "\n"), fset: fset, File: file}
	pages.byName[name] = p
	return p, nil
}

func passedOver(folder string) bool {
	return folder == "testdata" || folder == "node_modules" || folder == "dist" || strings.HasPrefix(folder, ".")
}

func (p *page) checkLine(t *testing.T, row int, line string) {
	t.Helper()
	columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
	if columns > maxColumns && !explained.MatchString(line) {
		t.Errorf("%s:%d: %d columns, more than %d", p.name, row, columns, maxColumns)
	}

	// This test itself must name them.
	_, comment, found := strings.Cut(line, "// ")
	cites := strings.Contains(comment, ".md") || strings.Contains(comment, "(") // else the expression cannot match
	if found && cites && p.name != "air_test.go" && !strings.Contains(comment, "docs/") &&
		foreign.MatchString(comment) {
		t.Errorf("%s:%d: %q cites what is not in the repository: say docs/API.md or docs/dev/SEARCH.md, or a decision",
			p.name, row, strings.TrimSpace(comment))
	}
}

func (p *page) checkNode(t *testing.T, n ast.Node) {
	t.Helper()
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil {
			p.checkBody(t, n)
		}
	case *ast.IfStmt:
		if assignsOuter(n.Init) {
			p.reportLayout(t, n.Pos(), "the init of an if changes a variable from outside: give it a line")
		}
	case *ast.AssignStmt:
		if len(n.Lhs) > 1 && len(n.Lhs) == len(n.Rhs) {
			p.reportLayout(t, n.Pos(), "two things are assigned at once: give each a line")
		}
	}
}

// checkBody reports a body of more than one step without a blank line.
func (p *page) checkBody(t *testing.T, f *ast.FuncDecl) {
	t.Helper()
	first := p.fset.Position(f.Body.Lbrace).Line
	last := p.fset.Position(f.Body.Rbrace).Line
	if last-first-1 <= airlessBody {
		return
	}

	for _, line := range p.lines[first : last-1] {
		if strings.TrimSpace(line) == "" {
			return
		}
	}
	p.reportLayout(t, f.Pos(), f.Name.Name+" has more than 15 lines and no paragraph")
}

// reportLayout reports a line that does not explain itself.
func (p *page) reportLayout(t *testing.T, at token.Pos, why string) {
	t.Helper()
	row := p.fset.Position(at).Line
	if !explained.MatchString(p.lines[row-1]) {
		t.Errorf("%s:%d: %s, or explain it with // air: REASON", p.name, row, why)
	}
}

// assignsOuter reports whether the init of an if changes a variable instead of declaring one.
func assignsOuter(init ast.Stmt) bool {
	switch init := init.(type) {
	case *ast.AssignStmt:
		return init.Tok != token.DEFINE
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// TestProse checks that lines of documents are short enough to be read side by side with code.
// Tables, code and lines with one long URL are exempt.
func TestProse(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range append(documents, "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		fenced := false
		for row, line := range strings.Split(string(text), "\n") {
			trimmed := strings.TrimSpace(line)
			if strings.HasPrefix(trimmed, "```") {
				fenced = !fenced
			}
			table := strings.HasPrefix(trimmed, "|")
			code := fenced || strings.HasPrefix(trimmed, "`") && strings.Count(trimmed, "`") == 2
			prose := !table && !code && strings.Contains(trimmed, " ")
			if prose && utf8.RuneCountInString(line) > maxProseChars {
				t.Errorf("%s:%d: a line of prose has more than %d characters", name, row+1, maxProseChars)
			}
		}
	}
}
