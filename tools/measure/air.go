package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"text/tabwriter"
)

const (
	maxColumns = 120 // columns
	topCount   = 5   // how many of the largest are printed
)

// air has the counts of function bodies: the lines strictly between the braces of top-level
// functions.
type air struct {
	lines, blank, comment int // of the bodies
	ifs, outerIfs         int // outer: the init assigns to an existing variable
	assigns, parallel     int // parallel: two or more left sides and an equal number of right sides
	allLines, wide        int // of the files
	airless               int // bodies over 15 lines without a blank one
}

func (a *air) add(b air) {
	a.lines += b.lines
	a.blank += b.blank
	a.comment += b.comment
	a.ifs += b.ifs
	a.outerIfs += b.outerIfs
	a.assigns += b.assigns
	a.parallel += b.parallel
	a.allLines += b.allLines
	a.wide += b.wide
	a.airless += b.airless
}

// sized is a named thing with its size.
type sized struct {
	name string
	size int
}

// measureAir counts one file.
func measureAir(f *file) (counted air, functions []sized) {
	counted.allLines = len(f.lines)
	for _, l := range f.lines {
		if l.columns > maxColumns {
			counted.wide++
		}
	}

	for _, d := range f.syntax.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}

		name := function.Name.Name
		if function.Recv != nil {
			name = receiverName(function.Recv.List[0].Type) + "." + name
		}
		if function.Body != nil {
			body := f.body(function.Body)
			counted.add(body)
			functions = append(functions, sized{f.name + " " + name, body.lines})
		}
	}
	return counted, functions
}

// body counts the lines and statements of one body.
func (f *file) body(block *ast.BlockStmt) (counted air) {
	first := f.fset.Position(block.Lbrace).Line + 1
	end := f.fset.Position(block.Rbrace).Line
	for row := first; row < end; row++ {
		counted.lines++
		l := f.lines[row-1]
		if l.blank() {
			counted.blank++
		} else if !l.code {
			counted.comment++
		}
	}
	// A body of this length has more than one step.
	if counted.lines > 15 && counted.blank == 0 {
		counted.airless++
	}

	ast.Inspect(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			counted.ifs++
			if assignsOuter(n.Init) {
				counted.outerIfs++
			}
		case *ast.AssignStmt:
			counted.assigns++
			if len(n.Lhs) > 1 && len(n.Lhs) == len(n.Rhs) {
				counted.parallel++
			}
		}
		return true
	})
	return counted
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

// receiverName returns the name of a method's type.
func receiverName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.StarExpr:
		return receiverName(of.X)
	case *ast.ParenExpr:
		return receiverName(of.X)
	case *ast.IndexExpr:
		return receiverName(of.X)
	case *ast.IndexListExpr:
		return receiverName(of.X)
	}
	return "?"
}

// printAir prints the counts; verbose adds a row for each package.
func printAir(files []*file, verbose bool, out *bufio.Writer) {
	total := air{}
	packages := map[string]*air{}
	var functions []sized
	// Packages are folders: a test kit in a separate folder is a separate package.
	for _, f := range files {
		counted, in := measureAir(f)
		total.add(counted)
		if packages[f.folder] == nil {
			packages[f.folder] = &air{}
		}
		packages[f.folder].add(counted)
		functions = append(functions, in...)
	}

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "blank\tcomment\touter if\tparallel\t>120\tairless\tlines\t\n")
	if verbose {
		for _, folder := range slices.Sorted(maps.Keys(packages)) {
			printRow(table, packages[folder], folder)
		}
	}
	printRow(table, &total, "total")
	_ = table.Flush()

	shown := topCount
	if verbose {
		shown *= 3
	}
	printLargest(out, "lines of the longest functions", functions, shown)
}

func printRow(table *tabwriter.Writer, a *air, name string) {
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t  %s\n",
		percent(a.blank, a.lines), percent(a.comment, a.lines), percent(a.outerIfs, a.ifs),
		percent(a.parallel, a.assigns), percent(a.wide, a.allLines), a.airless, a.lines, name)
}

// printLargest prints the n largest things, equal ones by name.
func printLargest(out *bufio.Writer, title string, all []sized, n int) {
	slices.SortFunc(all, func(a, b sized) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name))
	})
	fmt.Fprintf(out, "\n%s\n", title)
	for _, one := range all[:min(n, len(all))] {
		fmt.Fprintf(out, "%6d  %s\n", one.size, one.name)
	}
}

// percent formats a fraction.
func percent(part, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
}
