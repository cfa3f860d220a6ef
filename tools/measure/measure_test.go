package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a small module and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLinesOfCode(t *testing.T) {
	f := func(text string, want int) {
		t.Helper()
		parsed, err := parseFile("a/a.go", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.codeLines(); got != want {
			t.Errorf("%q has %d lines of code, want %d", text, got, want)
		}
	}

	f("package a\n", 1)
	f("package a", 1)
	f("// Package a is a.\npackage a // really\n\n/* not\n\nthis */\n", 1)
	f("package a\n\nvar x = `one\n\n// three\n`\n", 5)
	f("package a\n\nvar x = \"//\" + /* a */ `b`\n", 2)
	f("package a\r\n\r\n// no\r\nvar x = 1\r\n", 2)
	f("package a\n/* no */ var x = 1\nvar s = \"a\"; var t = 'b' // c\n", 3)
}

func TestOnlyTheProductIsCounted(t *testing.T) {
	const one = "package x\n"
	root := module(t, map[string]string{
		"root_test.go":               one,
		"engine/a.go":                one,
		"engine/a_test.go":           one,
		"engine/testdata/a.go":       one,
		"engine/enginetest/a.go":     one,
		"engine/cursor/a.go":         one,
		"internal/synth/a.go":        one,
		"internal/synth/inner/a.go":  one,
		"internal/fixture/a.go":      one,
		"internal/throttle/a.go":     one,
		"bench/a.go":                 one,
		"deploy/bom/a.go":            one,
		"tools/a.go":                 one,
		"elsewhere/go.mod":           "module elsewhere\n",
		"elsewhere/a.go":             one,
		"site/node_modules/a/a.go":   one,
		"site/.hidden/a.go":          one,
		"engine/_draft/a.go":         one,
		"engine/not-a-source.txt":    one,
		"internal/latest/inner/a.go": one,
	})

	f := func(want string, args ...string) {
		t.Helper()
		var out strings.Builder
		err := run(append([]string{"-root", root, "lines"}, args...), &out)
		if got := strings.Join(strings.Fields(out.String()), " "); err != nil || got != want {
			t.Errorf("%v: %q, %v, want %q", args, got, err, want)
		}
	}

	f("1 engine 1 engine/cursor 1 internal/throttle 3 total")
	f("1 engine 1 engine/cursor 1 internal/throttle 3 total", "-limit", "3")
	f("1 bench 1 total", "bench")
	f("1 elsewhere 1 engine/cursor 2 total", "./engine/cursor/", "elsewhere")

	if err := run([]string{"-root", root, "lines", "-limit", "2"}, &strings.Builder{}); err == nil {
		t.Error("three lines pass a limit of two")
	}

	for _, wrong := range [][]string{
		{},
		{"words"},
		{"lines", "-x"},
		{"air", "-x"},
		{"-x"},
		{"-root", root + "/none", "air"},
	} {
		if err := run(wrong, &strings.Builder{}); err == nil {
			t.Errorf("%v passes", wrong)
		}
	}
}

func TestAir(t *testing.T) {
	const source = `package a

func (t *T[K]) one(a, b int) (x int) {
	// why
	x, y := a, b

	if x = y; x > 0 {
		return f(` + "`raw\n\nstring`" + `)
	}
	if y++; y > 1 { // not a comment line
	} else if z := x; z > 1 {
		x, y = y, x
	} else if y += 2; y > 1 {
		x, y = g()
	}
	if x > y {
	}
	return x
}

func (t T[K]) two() {}

func three() { x := 1; _ = x }
`
	parsed, err := parseFile("a/a.go", []byte(source+"\n//"+strings.Repeat("\t", 29)+"12\n//"+strings.Repeat("é",
		119)+"\n"))
	if err != nil {
		t.Fatal(err)
	}

	counted, functions := measureAir(parsed)
	want := air{
		lines: 17, blank: 1, comment: 1, ifs: 5, outerIfs: 3, assigns: 8, parallel: 2, allLines: 28, wide: 1,
	}
	if counted != want {
		t.Errorf("counted %+v, want %+v", counted, want)
	}
	if len(functions) != 3 || functions[0] != (sized{"a/a.go T.one", 17}) ||
		functions[2] != (sized{"a/a.go three", 0}) {
		t.Errorf("functions: %v", functions)
	}
}

func TestAirlessBodies(t *testing.T) {
	parsed, err := parseFile("a/a.go", []byte("package a\n\nfunc f() {\n"+strings.Repeat("\tf()\n", 16)+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if counted, _ := measureAir(parsed); counted.airless != 1 || counted.lines != 16 {
		t.Errorf("counted %+v", counted)
	}
}

func TestAirIsPrinted(t *testing.T) {
	root := module(t, map[string]string{
		"a/a.go":      "package a\n\nfunc f() {\n\n\tx := 1\n}\n",
		"b/b.go":      "package b\n\ntype T int\n\nfunc (T) f() {\n\t// why\n\tg()\n}\n",
		"b/b_test.go": "package b\n\nfunc test() {\n}\n",
	})

	f := func(want string, args ...string) {
		t.Helper()
		var out strings.Builder
		if err := run(append([]string{"-root", root, "air"}, args...), &out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
			t.Errorf("%v: %q lacks %q", args, got, want)
		}
	}

	f("25.0 % 25.0 % - 0.0 % 0.0 % 0 4 total")
	f("50.0 % 0.0 % - 0.0 % 0.0 % 0 2 a", "-v")
	f("lines of the longest functions 2 a/a.go f 2 b/b.go T.f")
	f("- - - - 0.0 % 0 0 total", "-tests")
	f("0.0 % 50.0 % - - 0.0 % 0 2 total", "b")
}

func TestNamesHaveOneMeaning(t *testing.T) {
	const card = "package card\n\ntype Card struct{}\n\ntype Set struct{}\n"
	f := func(text, want string) {
		t.Helper()
		root := module(t, map[string]string{
			"go.mod": "module house\n\ngo 1.26\n", "card/card.go": card,
			"shelf/shelf.go": "package shelf\n\nimport \"house/card\"\n\n" + text,
			"box/box.go":     "package box\n\nimport \"house/card\"\n\nfunc F(c card.Card) {}\n",
		})

		var out strings.Builder
		err := runNames(root, &out)
		if (err != nil) != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%s\ngives %v:\n%s\nwant %q", text, err, out.String(), want)
		}
	}

	f("func F(c *card.Card, n int) {}\n\nfunc G(n string) {}\n", "")
	f("type clerk struct{}\n\nfunc (c clerk) F(a, b card.Set) {}\n\nvar _ card.Set\n\nfunc G(c *card.Card) {}\n", "")
	f("func F(c *card.Card) {}\n\nfunc G() { c := card.Set{}; _ = c }\n", "house/shelf: c is house/card.Card (")
	f("func F(c card.Set) {}\n", "types of other packages: c is house/card.Card (")
}
