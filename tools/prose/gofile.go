package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	directive = regexp.MustCompile(`^//(?:[a-z]+:|[a-z]*nolint| \+build|export )`)
	remark    = regexp.MustCompile(`^(?:air:|Output:|Unordered output:|language=|#)`)
	logCall   = regexp.MustCompile(`^(?:Debug|Info|Warn|Error|Log)(?:Context)?$`)
	flagCall  = regexp.MustCompile(`^(?:Bool|String|Int|Int64|Uint|Duration|Float64|Var)(?:Slice|Array)?(?:Var)?P?$`)
	gauges    = regexp.MustCompile(`(?i)^(?:gauge|counter|histogram|agegauge|newdesc|summary)$`)
	helpKey   = regexp.MustCompile(`^(?:Short|Long|Usage|Deprecated|Help|About)$`)
	helpTag   = regexp.MustCompile(`\b(?:help|flag):("(?:[^"\\]|\\.)*")`)
	message   = regexp.MustCompile(`^[A-Za-z%"'][^<>{}\[\]=;$|\\]*$`)
)

// readGo reads the comments and strings of a Go file. The groups are the comments of a package,
// and all help texts, log lines, metric help and messages.
func readGo(name string, content []byte) ([]text, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}

	var texts []text
	for _, comment := range file.Comments {
		texts = append(texts, readComment(path.Dir(name), name, fset, comment)...)
	}
	if strings.HasSuffix(name, "_test.go") {
		return texts, nil
	}

	r := reader{name: name, fset: fset, seen: map[token.Pos]bool{}}
	ast.Inspect(file, r.visit)
	return append(texts, r.texts...), nil
}

// readComment reads the paragraphs of a comment without directives and code.
func readComment(group, name string, fset *token.FileSet, comment *ast.CommentGroup) []text {
	var texts []text
	open := false
	for _, c := range comment.List {
		if directive.MatchString(c.Text) {
			continue
		}
		for i, line := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/"), "\n") {
			line = strings.TrimPrefix(line, "//")
			trimmed := strings.TrimSpace(line)
			isCode := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")
			isItem := listItem.MatchString(line)
			if trimmed == "" || isCode || remark.MatchString(trimmed) {
				open = false
				continue
			}

			if !open || isItem {
				at := fset.Position(c.Pos()).Line + i
				texts = append(texts, text{group: group, file: name, line: at, counts: true})
				open = true
			}
			last := &texts[len(texts)-1]
			last.text += listItem.ReplaceAllString(trimmed, "") + " "
		}
	}
	return texts
}

// reader collects the strings of a Go file that people read.
type reader struct {
	name  string
	fset  *token.FileSet
	texts []text
	seen  map[token.Pos]bool // strings that have been added
}

func (r *reader) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		if n.Tag != nil {
			for _, found := range helpTag.FindAllStringSubmatch(n.Tag.Value, -1) {
				help, _ := strconv.Unquote(found[1])
				r.add("help", n.Tag.Pos(), help)
			}
			r.seen[n.Tag.Pos()] = true
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && helpKey.MatchString(key.Name) {
			r.addExpr("help", n.Value)
		}

	case *ast.CallExpr:
		r.call(n)

	case *ast.BinaryExpr, *ast.BasicLit:
		// A string that is no help, log line or metric is a message if it is a sentence.
		e, _ := n.(ast.Expr)
		if s, ok := constant(e); ok && message.MatchString(s) && isSentence(s) {
			r.addExpr("messages", e)
			return false
		}
	}
	return true
}

// isSentence reports whether a text of four words or more has more words in lower case than names.
func isSentence(s string) bool {
	words := strings.Fields(s)
	lower := 0
	for _, word := range words {
		if word[0] >= 'a' && word[0] <= 'z' {
			lower++
		}
	}
	return len(words) >= 4 && 2*lower >= len(words)
}

// call adds the help of flags and metrics, and log lines.
func (r *reader) call(call *ast.CallExpr) {
	called := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		called = f.Sel.Name
	case *ast.Ident:
		called = f.Name
	}

	var kind string
	switch {
	case logCall.MatchString(called):
		kind = "log lines"
	case flagCall.MatchString(called) && len(call.Args) >= 3:
		kind = "help"
	case gauges.MatchString(called) && len(call.Args) >= 3:
		kind = "metrics"
	default:
		return
	}
	for _, arg := range call.Args {
		if s, ok := constant(arg); ok && strings.Contains(s, " ") {
			r.addExpr(kind, arg)
		}
	}
}

func (r *reader) addExpr(kind string, e ast.Expr) {
	if s, ok := constant(e); ok {
		r.add(kind, e.Pos(), s)
	}
}

func (r *reader) add(kind string, at token.Pos, s string) {
	if r.seen[at] {
		return
	}
	r.seen[at] = true
	line := r.fset.Position(at).Line
	for _, paragraph := range readPage(r.name, s) {
		r.texts = append(r.texts, text{kind, r.name, line, paragraph.text, true})
	}
}

// constant returns the text of string literals that are added to each other.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}

	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		if e.Op == token.ADD && (ok || also) {
			return left + right, true
		}

	case *ast.ParenExpr:
		return constant(e.X)
	}
	return "", false
}
