package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Folders that are no product: clients, measurement, deployment, and catalogs for tests.
var notProduct = []string{"bench", "clients", "deploy", "tools", "internal/fixture", "internal/synth"}

// file is one parsed Go file.
type file struct {
	folder string // the package's path below the root, with slashes
	name   string // the file's path below the root, with slashes
	syntax *ast.File
	fset   *token.FileSet
	lines  []line // all lines, the first one at index 0
}

// line describes one line of a file.
type line struct {
	code    bool // at least a part of a token
	comment bool // at least a part of a comment
	columns int  // its width, a tab being four
}

func (l line) blank() bool { return !l.code && !l.comment }

// readFiles parses the module's Go files: the product, or those in folders if there are some.
// Generated files are left out. tests selects test files instead of the others.
func readFiles(root string, folders []string, tests bool) ([]*file, error) {
	module := os.DirFS(root)
	var files []*file
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && skipped(module, name, len(folders) > 0) {
				return fs.SkipDir
			}
			return nil
		}

		folder := path.Dir(name)
		isTest := strings.HasSuffix(name, "_test.go")
		if path.Ext(name) != ".go" || isTest != tests || folder == "." || !chosen(folder, folders) {
			return nil
		}

		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}

		f, err := parseFile(name, text)
		if err != nil {
			return fmt.Errorf("cannot parse %q: %w", name, err)
		}
		if !ast.IsGenerated(f.syntax) {
			files = append(files, f)
		}
		return nil
	})
	return files, err
}

// skipped reports whether a folder is skipped with all folders below it. Requested folders are
// measured even if they are no product, or a separate module.
func skipped(module fs.FS, folder string, asked bool) bool {
	base := path.Base(folder)
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	// A requested folder is always measured.
	if asked {
		return false
	}
	if _, err := fs.Stat(module, folder+"/go.mod"); err == nil {
		return true
	}
	return strings.HasSuffix(base, "test") || slices.Contains(notProduct, folder)
}

// chosen reports whether a folder is a requested one, or below one.
func chosen(folder string, folders []string) bool {
	return len(folders) == 0 || slices.ContainsFunc(folders, func(asked string) bool {
		asked = path.Clean(asked)
		return asked == "." || folder == asked || strings.HasPrefix(folder, asked+"/")
	})
}

// parseFile parses the text of a file and describes each of its lines.
func parseFile(name string, text []byte) (*file, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{folder: path.Dir(name), name: name, syntax: syntax, fset: fset, lines: readLines(text)}, nil
}

// readLines describes each line of a text, by its tokens.
func readLines(text []byte) []line {
	var lines []line
	for row := range strings.Lines(string(text)) {
		lines = append(lines, line{columns: width(strings.TrimRight(row, "\r\n"))})
	}

	fset := token.NewFileSet()
	source := fset.AddFile("", -1, len(text))
	var tokens scanner.Scanner
	tokens.Init(source, text, nil, scanner.ScanComments)

	for {
		at, kind, literal := tokens.Scan()
		if kind == token.EOF {
			return lines
		}
		// The scanner inserts a semicolon at the end of a line; it is not in the text.
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}

		// A raw string and a comment may have several lines.
		first := source.Line(at)
		last := first + strings.Count(literal, "\n")
		for row := first; row <= last; row++ {
			if kind == token.COMMENT {
				lines[row-1].comment = true
			} else {
				lines[row-1].code = true
			}
		}
	}
}

// width returns the number of columns of a line, with four for a tab.
func width(row string) int {
	columns := 0
	for _, r := range row {
		if r == '\t' {
			columns += 4
		} else {
			columns++
		}
	}
	return columns
}
