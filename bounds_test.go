package ninepocket_test

import (
	"go/ast"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// maxMethods is the largest number of methods of a type, with those of embedded types. A type
	// with more does too much.
	maxMethods = 50
	// maxFiles is the largest number of files of a folder, without tests and generated ones, so
	// that a reader sees them all at once.
	maxFiles = 25
	// minCommentShare is the share of comment lines in bodies, which say why a step is needed.
	minCommentShare = 0.03
)

// isProduct reports whether a file is part of the product, as `make measure` counts it: no test,
// test kit, measurement or deployment.
func (f *sourceFile) isProduct() bool {
	for folder := f.folder; folder != "."; folder = path.Dir(folder) {
		kit := folder == "internal/fixture" || folder == "internal/synth" || strings.HasSuffix(folder, "test")
		if kit || folder == "bench" || folder == "deploy" {
			return false
		}
	}
	return f.folder != "." && !f.isTest() && !ast.IsGenerated(f.File)
}

// typeMethods has the methods of one type of this module, and the types that it embeds.
type typeMethods struct {
	own      []string
	embedded []string // by folder and name, such as "engine.View"
}

// methodSets returns the types of the product with their methods, by folder and name.
func methodSets(t *testing.T) map[string]*typeMethods {
	t.Helper()
	sets := map[string]*typeMethods{}
	of := func(name string) *typeMethods {
		if sets[name] == nil {
			sets[name] = &typeMethods{}
		}
		return sets[name]
	}

	for _, file := range sources(t) {
		if !file.isProduct() {
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					receiver := of(file.typeName(d.Recv.List[0].Type))
					receiver.own = append(receiver.own, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if declared, ok := spec.(*ast.TypeSpec); ok {
						file.addMembers(of(file.folder+"."+declared.Name.Name), declared.Type)
					}
				}
			}
		}
	}
	return sets
}

// addMembers adds the embedded types of a declaration, and the methods of an interface.
func (f *sourceFile) addMembers(to *typeMethods, declared ast.Expr) {
	var fields *ast.FieldList
	switch declared := declared.(type) {
	case *ast.StructType:
		fields = declared.Fields
	case *ast.InterfaceType:
		fields = declared.Methods
	default:
		return
	}

	for _, field := range fields.List {
		if len(field.Names) == 0 {
			to.embedded = append(to.embedded, f.typeName(field.Type))
		} else if _, isInterface := declared.(*ast.InterfaceType); isInterface {
			to.own = append(to.own, field.Names[0].Name)
		}
	}
}

// typeName returns the name of a type with its folder, the same in every file. A type that is not
// ours has its import path.
func (f *sourceFile) typeName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return f.typeName(expr.X)
	case *ast.IndexExpr:
		return f.typeName(expr.X)
	case *ast.IndexListExpr:
		return f.typeName(expr.X)
	case *ast.SelectorExpr:
		return f.importedAs(types.ExprString(expr.X)) + "." + expr.Sel.Name
	case *ast.Ident:
		return f.folder + "." + expr.Name
	}
	return "?"
}

// importedAs returns the folder of the package that the file imports under a name.
func (f *sourceFile) importedAs(name string) string {
	for _, spec := range f.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if path.Base(imported) == name || spec.Name != nil && spec.Name.Name == name {
			return strings.TrimPrefix(imported, module+"/")
		}
	}
	return name
}

// promoted collects the names of a type's methods, with those of embedded types.
func promoted(sets map[string]*typeMethods, name string, into map[string]bool) {
	set := sets[name]
	if set == nil {
		return
	}
	for _, method := range set.own {
		into[method] = true
	}
	for _, embedded := range set.embedded {
		promoted(sets, embedded, into)
	}
}

func TestMaxMethods(t *testing.T) {
	sets := methodSets(t)
	largest := 0
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		methods := map[string]bool{}
		promoted(sets, name, methods)
		largest = max(largest, len(methods))
		if len(methods) > maxMethods {
			t.Errorf("%s has %d methods with those of what it embeds, more than %d: divide it where a part has a "+
				"meaning of its own", name, len(methods), maxMethods)
		}
	}
	t.Logf("the largest type has %d methods", largest)
	if largest < 20 || len(sets) < 100 {
		t.Errorf("methods are not counted: %d types, the largest has %d", len(sets), largest)
	}
}

func TestMaxFiles(t *testing.T) {
	files := map[string]int{}
	for _, file := range sources(t) {
		if file.folder != "." && !file.isTest() && !ast.IsGenerated(file.File) {
			files[file.folder]++
		}
	}
	for folder, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files, more than %d: open a room where a part has a meaning of its own", folder, n,
				maxFiles)
		}
	}
}

// words matches the words of a comment or a line of code.
var words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// emptyWords have no meaning by themselves.
var emptyWords = []string{
	"a", "an", "the", "it", "its", "is", "are", "of", "to", "and", "then", "now", "this", "that", "all", "each",
}

// speaksOf returns the words of a text in lower case, without plural endings.
func speaksOf(text string) (spoken []string) {
	for _, word := range words.FindAllString(text, -1) {
		word = strings.ToLower(word)
		if !slices.Contains(emptyWords, word) {
			spoken = append(spoken, strings.TrimSuffix(word, "s"))
		}
	}
	return spoken
}

// repeats reports whether a comment has no word that the line below it lacks.
func repeats(comment, line string) bool {
	said := speaksOf(line)
	comments := speaksOf(comment)
	for _, word := range comments {
		if !slices.Contains(said, word) {
			return false
		}
	}
	return len(comments) > 0
}

// TestBodiesSayWhy checks the share of comments in all bodies together, because a step may have a
// reason that the code does not show. No comment may only repeat its line.
func TestBodiesSayWhy(t *testing.T) {
	lines := 0
	comments := 0
	for _, file := range sources(t) {
		if !file.isProduct() {
			continue
		}

		p, err := parsePage(file.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}

			first := p.fset.Position(f.Body.Lbrace).Line
			last := p.fset.Position(f.Body.Rbrace).Line
			for row := first; row < last-1; row++ {
				lines++
				comment, is := strings.CutPrefix(strings.TrimSpace(p.lines[row]), "//")
				if !is {
					continue
				}
				comments++
				if repeats(comment, p.lines[row+1]) && !strings.HasPrefix(strings.TrimSpace(p.lines[row-1]), "//") {
					t.Errorf("%s:%d: %q says what the line below it says", file.path, row+1, strings.TrimSpace(comment))
				}
			}
		}
	}

	share := float64(comments) / float64(lines)
	t.Logf("%d of %d lines in bodies are comments: %.2f %%", comments, lines, 100*share)
	if share < minCommentShare || lines < 10_000 {
		t.Errorf("%d of %d lines in bodies say why, less than %.1f %%", comments, lines, 100*minCommentShare)
	}
}

func TestRepeats(t *testing.T) {
	f := func(comment, line string, want bool) {
		t.Helper()
		if got := repeats(comment, line); got != want {
			t.Errorf("%q above %q: repeats %t", comment, line, got)
		}
	}

	f("Close the file.", "file.Close()", true)
	f("the cards", "cards := index.Cards()", true)
	f("A second close would end another's file.", "file.Close()", false)
}
