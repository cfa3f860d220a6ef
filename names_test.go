package ninepocket_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// ownWords are private words of this project. Each stood for several things that have standard
// terms: report, encode, reserve, archive, max, timeout, version, limiter. No declaration, down to
// the last local variable, has one of them.
const ownWords = `told tell tells telling spelt spell spells respelt held hold holds holding
	kept keep keeps keeping keeper most longest least shortest few fewest patience patient grace youth
	form forms note notes noted seat seats fate restive stir wish wishes fame unsure doubt doubts`

// TestNamesAreOfTheField finds declarations with a word of ownWords that no exception explains, and
// unused exceptions.
func TestNamesAreOfTheField(t *testing.T) {
	banned := map[string]bool{}
	for word := range strings.FieldsSeq(ownWords) {
		banned[word] = true
	}

	used := map[string]bool{}
	for _, d := range declarations(t, ".") {
		for _, word := range camelWords(d.name) {
			switch exception := d.folder + " " + d.name; {
			case !banned[word]:
			case nameExceptions[exception] != "":
				used[exception] = true
			default:
				t.Errorf("%s: %q has %q, which is no term of the field; rename it, or say in nameExceptions why not",
					d.at, d.name, word)
			}
		}
	}

	for exception := range nameExceptions {
		if !used[exception] {
			t.Errorf("nameExceptions: nothing needs %q any more", exception)
		}
	}
}

// TestNameWords plants names for the rule above to find and to let pass.
func TestNameWords(t *testing.T) {
	for name, want := range map[string]string{
		"keepAliveHTTP2": "keep alive http 2", "HTTPNote": "http note", "mostRecent": "most recent", "x": "x",
		"TestKeeps_most": "test keeps most", "almost": "almost",
	} {
		if got := strings.Join(camelWords(name), " "); got != want {
			t.Errorf("words of %s: %q, want %q", name, got, want)
		}
	}

	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
		type t[held any] struct { told int }
		func (kept t[held]) spell(most int) (least int) {
			for few := range most { form, _ := few, 1; _ = form }
			return
		}
		var wish = func(seat int) { switch fate := any(seat).(type) { case int: _ = fate } }
		const fame = 1`, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range declaredBy(file) {
		got = append(got, id.Name)
	}
	slices.Sort(got)
	want := "fame fate few form held kept least most seat spell t told wish"
	if strings.Join(got, " ") != want {
		t.Errorf("declared: %s, want %s", got, want)
	}
}

// maxFirstSentence is how many words the first sentence of an exported declaration's comment may
// have. An index of the package shows this sentence.
const maxFirstSentence = 25

// TestCommentsBeginShort finds exported declarations whose comment begins with a longer sentence.
func TestCommentsBeginShort(t *testing.T) {
	checked := 0
	for _, d := range declarations(t, ".") {
		if d.comment == "" || !ast.IsExported(d.name) || strings.Contains(d.at, "_test.go:") {
			continue
		}
		checked++
		first := new(doc.Package).Synopsis(d.comment)
		if n := len(strings.Fields(first)); n > maxFirstSentence {
			t.Errorf("%s: the first sentence on %s has %d words, more than %d: %s",
				d.at, d.name, n, maxFirstSentence, first)
		}
	}
	if checked < 1000 {
		t.Errorf("%d comments were checked", checked)
	}
}

// TestCommentsNameTheirDeclaration finds comments that begin with another name than that of the
// declaration below them, as a rename leaves them behind.
func TestCommentsNameTheirDeclaration(t *testing.T) {
	all := declarations(t, ".")
	declared := map[string]bool{}
	for _, d := range all {
		declared[d.folder+" "+d.name] = true
	}

	checked := 0
	for _, d := range all {
		if d.comment == "" {
			continue
		}
		checked++
		isDeclared := func(name string) bool { return declared[d.folder+" "+name] }
		if other := otherSubject(d.comment, d.name, isDeclared); other != "" {
			t.Errorf("%s: the comment on %s begins with %q: %.70s", d.at, d.name, other, d.comment)
		}
	}
	if checked < 5000 {
		t.Errorf("%d comments were checked", checked)
	}
}

// otherSubject returns the identifier that a comment begins with in place of name, and "" if there
// is none. A comment begins with the name or with a capital; a capital begins another name if it is
// of several words (such as OtherName) and declared in the package, or if a verb of comments follows.
func otherSubject(comment, name string, isDeclared func(string) bool) string {
	words := append(strings.Fields(comment), "", "")
	article := slices.Contains([]string{"A", "An", "The"}, words[0])
	if article {
		words = words[1:]
	}

	first, _, _ := strings.Cut(words[0], "/")
	first = strings.TrimSuffix(strings.TrimRight(first, ",.:;"), "'s")
	begin, _ := utf8.DecodeRuneInString(first)
	compound := len(camelWords(first)) > 1 && !strings.Contains(first, "-")
	verb := slices.Contains([]string{"is", "are", "has", "returns", "reports"}, words[1])

	switch {
	case first == name:
		return ""
	case unicode.IsLower(begin) && (compound || !article):
		return first
	case unicode.IsUpper(begin) && isDeclared(first) && (compound || verb):
		return first
	}
	return ""
}

// TestOtherSubject plants comments for the rule above to find and to let pass.
func TestOtherSubject(t *testing.T) {
	declared := map[string]bool{"OtherName": true, "Other": true, "otherName": true, "name": true}
	isDeclared := func(name string) bool { return declared[name] }

	for comment, want := range map[string]string{
		"name is one": "", "A name is one": "", "name/OtherName is a ratio": "", "name's rows": "",
		"A plain sentence": "", "The rows of a table": "", "PostgreSQL is slow": "", "Other rows": "", "": "",
		"names are many": "names", "otherName returns one": "otherName", "The otherName of it": "otherName",
		"OtherName rows": "OtherName", "An OtherName is one": "OtherName", "Other returns one": "Other", "rows": "rows",
	} {
		if got := otherSubject(comment, "name", isDeclared); got != want {
			t.Errorf("%q: %q, want %q", comment, got, want)
		}
	}
}

// declaration is a name that our code declares, and its comment; folder is relative to the root.
type declaration struct{ name, folder, at, comment string }

// declarations returns the declarations of all Go files below root, with tests and other modules,
// without generated files.
func declarations(t *testing.T, root string) (all []declaration) {
	t.Helper()

	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" ||
			entry.Name() == "bin" || entry.Name() == "dist" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go"):
			return nil
		}

		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		comments := commentsOn(file)
		for _, id := range declaredBy(file) {
			all = append(all, declaration{
				id.Name, path.Dir(filepath.ToSlash(name)), files.Position(id.Pos()).String(), comments[id].Text(),
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// declaredBy returns the names that a file declares: of the package, of fields and parameters, and
// local ones.
func declaredBy(file *ast.File) (all []*ast.Ident) {
	add := func(exprs ...ast.Expr) {
		for _, x := range exprs {
			if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
				all = append(all, id)
			}
		}
	}

	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		case *ast.LabeledStmt:
			add(n.Label)
		}
		return true
	})
	return all
}

// commentsOn returns the comments above declarations of a file, by the declared name.
func commentsOn(file *ast.File) map[*ast.Ident]*ast.CommentGroup {
	all := map[*ast.Ident]*ast.CommentGroup{}

	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			all[n.Name] = n.Doc
		case *ast.GenDecl:
			// A comment above a declaration of one name belongs to that name.
			if spec, ok := n.Specs[0].(*ast.TypeSpec); ok {
				all[spec.Name] = n.Doc
			} else if spec, ok := n.Specs[0].(*ast.ValueSpec); ok && len(n.Specs) == 1 {
				all[spec.Names[0]] = n.Doc
			}
		case *ast.TypeSpec:
			if n.Doc != nil {
				all[n.Name] = n.Doc
			}
		case *ast.ValueSpec:
			if n.Doc != nil {
				all[n.Names[0]] = n.Doc
			}
		case *ast.Field:
			if len(n.Names) > 0 {
				all[n.Names[0]] = n.Doc
			}
		}
		return true
	})

	return all
}

// camelWords returns the words of a name in lower case: "keepAliveHTTP2" has keep, alive, http and
// 2.
func camelWords(name string) (words []string) {
	runes := []rune(name)
	begin := 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && !wordBegins(runes, i) {
			continue
		}
		if word := strings.ToLower(strings.Trim(string(runes[begin:i]), "_")); word != "" {
			words = append(words, word)
		}
		begin = i
	}
	return words
}

// wordBegins reports whether a word of a name begins at its i-th rune.
func wordBegins(runes []rune, i int) bool {
	before := runes[i-1]
	at := runes[i]
	endsCapitals := unicode.IsUpper(at) && i+1 < len(runes) && unicode.IsLower(runes[i+1])

	return at == '_' || unicode.IsDigit(at) != unicode.IsDigit(before) ||
		unicode.IsUpper(at) && (!unicode.IsUpper(before) || endsCapitals)
}

// nameExceptions are declarations that have such a word, by folder and name, with the reason.
var nameExceptions = map[string]string{
	"index Note":             "explains what a search did to a word: the one meaning that the word has here",
	"index NoteKind":         "as Note",
	"index note":             "a Note",
	"index notes":            "Notes",
	"index/text Note":        "as index.Note",
	"index/text NoteKind":    "as Note",
	"index/text note":        "a Note",
	"index/text notes":       "Notes",
	"server Note":            "a JSON member of a line, which the test decodes",
	"internal/disk keepSize": "FALLOC_FL_KEEP_SIZE of Linux",
}
