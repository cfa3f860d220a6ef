package support

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logCalls are the methods of slog.Logger, with the position of the message.
var logCalls = map[string]int{
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1, "WarnContext": 1,
	"ErrorContext": 1, "Log": 2, "LogAttrs": 2,
}

// figureTypes are the constructors of attributes that are figures, and snapshots the keys of ids of snapshots.
var (
	figureTypes = map[string]string{
		"Int": "Int", "Int64": "Int", "Uint64": "Int", "Bool": "Bool", "Duration": "Duration", "Time": "Time",
	}
	snapshots = []string{"snapshot_id", "published_id"}
)

// TestTexts holds texts.txt against the messages, and the keys of figures, of the sources. UPDATE=1, as in make
// generate, writes it.
func TestTexts(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := strings.TrimPrefix(path, "../../")
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "../.." ||
			slices.Contains([]string{"clients", "tools", "bench", "deploy", "docs", "dist", "bin"}, folder)) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool { collect(node, found); return true })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	types := map[string]string{}
	for text := range found {
		if key, of, is := strings.Cut(text, "\t"); is && types[key] != "" {
			t.Errorf("the log has %s as %s and as %s", key, of, types[key])
		} else if is {
			types[key] = of
		}
	}

	want := strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("texts.txt", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if texts != want {
		t.Error("texts.txt lacks a message of the log, or has an old one: run make generate")
	}
	if len(found) < 100 {
		t.Errorf("only %d texts were found", len(found))
	}
}

// collect adds the message of a call that logs, and the keys of its attributes.
func collect(node ast.Node, found map[string]bool) {
	call, is := node.(*ast.CallExpr)
	if !is {
		return
	}
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return
	}

	at, logs := logCalls[method.Sel.Name]
	if pkg, is := method.X.(*ast.Ident); is && pkg.Name == "slog" && !logs && len(call.Args) > 0 {
		key := literal(call.Args[0])
		if of := figureTypes[method.Sel.Name]; key != "" && of != "" {
			found[key+"\t"+of] = true
		} else if slices.Contains(snapshots, key) {
			found[key+"\tSnapshot"] = true
		}
		return
	}
	if !logs || len(call.Args) <= at {
		return
	}
	if text := literal(call.Args[at]); text != "" {
		found[text] = true
	}
}

// literal returns a text that stands in the sources, "" for any other.
func literal(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(expr.Value)
		return text
	case *ast.BinaryExpr:
		left := literal(expr.X)
		right := literal(expr.Y)
		if left != "" && right != "" {
			return left + right
		}
	}
	return ""
}
