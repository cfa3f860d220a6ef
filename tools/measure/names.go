package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A meaning is a type of the module that a one-letter name stands for, and the first position
// where it does.
type meaning struct{ of, where string }

// shortNames has the meanings of one-letter names: in each package, and for types of other packages
// in the whole module.
type shortNames struct {
	module   string
	packages map[string]map[string][]meaning // by package, by letter
	imported map[string][]meaning            // by letter
}

// leftAlone are the letters for two things that are compared, of any type, and the blank
// identifier.
const leftAlone = "abxy_"

// runNames fails if a letter means two things: two types of one package, or two types of other
// packages in the whole module. Receivers are exempt: their type is next to them, and methods of
// other types never use them.
func runNames(root string, out io.Writer) error {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedModule | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Dir: root,
	}, "./...")
	if err != nil {
		return err
	}

	names := shortNames{packages: map[string]map[string][]meaning{}, imported: map[string][]meaning{}}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("cannot read package %s: %w", p.PkgPath, p.Errors[0])
		}
		names.module = p.Module.Path
		names.read(p)
	}

	faults := names.faults()
	page := bufio.NewWriter(out)
	for _, fault := range faults {
		fmt.Fprintln(page, fault)
	}
	fmt.Fprintf(page, "%d packages, %d letters with two meanings\n", len(loaded), len(faults))
	if err := page.Flush(); err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d short names have two meanings: give one of them a longer name", len(faults))
	}
	return nil
}

// read records the meanings of the letters in a package.
func (s *shortNames) read(p *packages.Package) {
	letters := map[string][]meaning{}
	s.packages[p.PkgPath] = letters
	for _, file := range p.Syntax {
		if ast.IsGenerated(file) {
			continue
		}

		receivers := receiversOf(file)
		ast.Inspect(file, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			if !ok || len(name.Name) != 1 || receivers[name] || strings.Contains(leftAlone, name.Name) {
				return true
			}

			v, ok := p.TypesInfo.Defs[name].(*types.Var)
			if !ok || v.IsField() || s.typeOf(v) == "" {
				return true
			}

			m := meaning{s.typeOf(v), p.Fset.Position(name.Pos()).String()}
			letters[name.Name] = with(letters[name.Name], m)
			if !strings.HasPrefix(m.of, p.PkgPath+".") {
				s.imported[name.Name] = with(s.imported[name.Name], m)
			}
			return true
		})
	}
}

func receiversOf(file *ast.File) map[*ast.Ident]bool {
	receivers := map[*ast.Ident]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			for _, name := range f.Recv.List[0].Names {
				receivers[name] = true
			}
		}
	}
	return receivers
}

// typeOf returns the module's type that a variable has or points to, "" for another type.
func (s *shortNames) typeOf(v *types.Var) string {
	t := strings.TrimPrefix(types.TypeString(v.Type(), nil), "*")
	// A generic type has one meaning for all type arguments.
	t, _, _ = strings.Cut(t, "[")
	if !strings.HasPrefix(t, s.module+"/") {
		return ""
	}
	return t
}

func with(list []meaning, m meaning) []meaning {
	if slices.ContainsFunc(list, func(one meaning) bool { return one.of == m.of }) {
		return list
	}
	return append(list, m)
}

// faults returns the letters that mean two things, a line each.
func (s *shortNames) faults() []string {
	var faults []string
	for _, path := range slices.Sorted(maps.Keys(s.packages)) {
		for _, letter := range slices.Sorted(maps.Keys(s.packages[path])) {
			if list := s.packages[path][letter]; len(list) > 1 {
				faults = append(faults, fmt.Sprintf("%s: %s is %s", path, letter, formatMeanings(list)))
			}
		}
	}

	for _, letter := range slices.Sorted(maps.Keys(s.imported)) {
		if list := s.imported[letter]; len(list) > 1 {
			faults = append(faults, fmt.Sprintf("types of other packages: %s is %s", letter, formatMeanings(list)))
		}
	}
	return faults
}

func formatMeanings(list []meaning) string {
	var parts []string
	for _, m := range list {
		parts = append(parts, fmt.Sprintf("%s (%s)", m.of, m.where))
	}
	return strings.Join(parts, ", ")
}
