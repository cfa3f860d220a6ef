package site

import (
	"bytes"
	"go/format"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/quicktemplate"
	"github.com/valyala/quicktemplate/parser"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// oracle is the oracle of the templates' escaping: html/template in text and in attributes.
var oracle = template.Must(template.New("").Parse(`<li><a href="/x" aria-current="true">{{.}}</a>` +
	`<input value="{{.}}"><time datetime="{{.}}">{{.}}</time>`))

// inputPattern matches the search box in its form.
var inputPattern = regexp.MustCompile(`(?s)<input id="q" .*( value=".*") maxlength="200" .*spellcheck="false">`)

// hostile are seeds of hostile names.
var hostile = []string{
	"", "Charizard", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`,
	"</title><svg onload=alert(1)>", "a\x00b", "&lt;&amp;&#60;",
	"</script><script>", "javascript:alert(1)", "{{.}}[[root]]", "\u2028\u2029", "<!--", "]]>", "\xff\xfe<", "`${x}`",
	"Pokémon ☆ δ", "=+-@cmd|' /C calc'!A0", "\n\r\t ",
}

// FuzzMarkup compares parts of pages with any text with html/template. Two escapes differ:
// html/template writes the double quote as a number, and also the plus sign, because of browsers
// that guess UTF-7; every page declares its charset.
func FuzzMarkup(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}

	spelling := strings.NewReplacer("&#43;", "+", "&#34;", "&quot;")
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		if err := oracle.Execute(&want, s); err != nil {
			t.Fatal(err)
		}

		box := pageLayout{Pages: &Pages{}, query: s}
		got := render(nil, func(w *quicktemplate.Writer) {
			streamtab(w, s, "/x", true)
			box.streamsearchBox(w)
			streaminstant(w, moment{ISO: s, Text: s})
		})
		tab, rest, _ := strings.Cut(string(got), " <form ")
		markup, instant, _ := strings.Cut(rest, "</form> ")
		input := inputPattern.FindStringSubmatch(markup)
		if input == nil {
			t.Fatalf("%q: the search box is %s", s, markup)
		}
		if got := tab + "<input" + input[1] + ">" + instant; got != spelling.Replace(want.String()) {
			t.Errorf("%q is written %q, html/template has %q", s, got, want.String())
		}
	})
}

// TestTemplatesAreCompiled checks that every template's Go file is the output of the compiler (make
// generate).
func TestTemplatesAreCompiled(t *testing.T) {
	templates, err := filepath.Glob("*.qtpl")
	if err != nil || len(templates) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, name := range templates {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		var made bytes.Buffer
		if err := parser.ParseNoLineComments(&made, bytes.NewReader(text), name, "site"); err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(made.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name + ".go"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s.go is not of %s: run make generate (%v)", name, name, err)
		}
	}

	if compiled, _ := filepath.Glob("*.qtpl.go"); len(compiled) != len(templates) {
		t.Errorf("%d templates have %d Go files: %v", len(templates), len(compiled), compiled)
	}
}

// rawPattern matches unescaped output in a template.
var rawPattern = regexp.MustCompile(`\{%-?\s*(?:(?:s|v|d|dl|dul|f[.0-9]*|q|z|j|u|sz|qz|jz|uz)=)\s+(.*?)\s*-?%\}`)

// TestPagesEscape checks that templates escape everything but structured data and the documents
// that are no HTML.
func TestPagesEscape(t *testing.T) {
	templates, _ := filepath.Glob("*.qtpl")
	allowed := map[string]string{
		"f.data":    "layout.qtpl",    // escaped by encoding/json
		"p.guide()": "reference.qtpl", // escaped by the generator
		"p.base":    "documents.qtpl", "p.root": "documents.qtpl", "snapshot.GamesInWords()": "documents.qtpl",
	}

	found := map[string]bool{}
	for _, name := range templates {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rawPattern.FindAllStringSubmatch(string(text), -1) {
			if allowed[m[1]] != name {
				t.Errorf("%s writes %s as it is", name, m[0])
			}
			found[m[1]] = true
		}
	}

	if len(found) != len(allowed) {
		t.Errorf("written as it is: %v, of %v: the pattern finds too little, or too much is allowed", found, allowed)
	}
}

func TestDollars(t *testing.T) {
	for cents, want := range map[int64]string{
		0: "$0.00", 5: "$0.05", 99: "$0.99", 100: "$1.00", 99_999: "$999.99", 100_000: "$1,000.00",
		123_456_789:       "$1,234,567.89",
		snapshot.MaxCents: "$90,071,992,547,409.91", -1: "−$0.01", -100_050: "−$1,000.50",
	} {
		if got := dollars(cents); got != want {
			t.Errorf("%d cents are %q, want %q", cents, got, want)
		}
	}
	if got := grouped(1_234_567); got != "1,234,567" {
		t.Errorf("grouped: %q", got)
	}
	if got := decimal(123_405); got != "1234.05" {
		t.Errorf("decimal: %q", got)
	}
}

func TestChange(t *testing.T) {
	f := func(base, cents int64, want string) {
		t.Helper()
		if got := change(base, cents); got != want {
			t.Errorf("from %d to %d: %q, want %q", base, cents, got, want)
		}
	}
	f(100, 150, "<span class=\"up\">+$0.50 <small>+50\u00a0%</small></span>")
	f(300, 200, "<span class=\"down\">−$1.00 <small>−33.33\u00a0%</small></span>")
	f(100, 100, "<span class=\"even\">$0.00 <small>0\u00a0%</small></span>")
	f(0, 100, `<span class="up">+$1.00</span>`)
	f(snapshot.NoCents, 100, `<span class="none" title="not known">–</span>`)
	f(100, snapshot.NoCents, `<span class="none" title="not known">–</span>`)
}

// TestAxis expects an axis that includes every price, in two to five steps, and not much more.
func TestAxis(t *testing.T) {
	f := func(low, high int64) {
		t.Helper()
		base, step, steps := axis(low, high)
		top := base + int64(steps)*step
		if base < 0 || base > low || top < high || steps < 2 || steps > 5 || base%step != 0 ||
			low < high && top-base > 4*(high-low)+2*step {
			t.Errorf("prices from %d to %d: axis from %d, %d steps of %d", low, high, base, steps, step)
		}
	}
	for _, low := range []int64{0, 1, 2, 7, 99, 100, 44_362, 85_552, snapshot.MaxCents / 2} {
		for _, span := range []int64{0, 1, 2, 3, 4, 5, 7, 40, 41, 999, 41_190, snapshot.MaxCents / 3} {
			f(low, low+span)
		}
	}
	f(snapshot.MaxCents, snapshot.MaxCents)
}

// TestPaths draws a history with a level part, a gap and a single point.
func TestPaths(t *testing.T) {
	points := []snapshot.Point{
		{Day: 10, Cents: 0},
		{Day: 11, Cents: 0},
		{Day: 12, Cents: 0},
		{Day: 13, Cents: 100},
		{Day: 20, Cents: 50},
		{Day: 28, Cents: 200},
		{Day: 40, Cents: 100},
		{Day: 41, Cents: 200},
	}

	got := drawSeries(points, 10, 0, 200)
	line := got.line
	area := got.area
	dots := got.dots
	if want := "M10 150l8-150M18 0l12 100"; got.gaps != want {
		t.Errorf("gaps %q, want %q", got.gaps, want)
	}
	if want := "M0 200h2l1-100l7 50M18 0M30 100l1-100"; line != want {
		t.Errorf("line %q, want %q", line, want)
	}
	if want := "M0 200h2l1-100l7 50V200H0zM18 0V200H18zM30 100l1-100V200H30z"; area != want {
		t.Errorf("area %q, want %q", area, want)
	}
	if want := "M18 0h0M31 0h0"; dots != want {
		t.Errorf("dots %q, want %q", dots, want)
	}
}

// TestExplanations checks that exactly the codes of both surfaces are explained.
func TestExplanations(t *testing.T) {
	for code, x := range explanations {
		if _, _, ok := meaningOf(code); !ok || x.Meaning == "" || x.Remedy == "" {
			t.Errorf("%s: known %t, %+v", code, ok, x)
		}
	}
	for _, table := range []map[wire.Code]wire.Meaning{wire.LiveCodes, wire.PreviewCodes} {
		for code := range table {
			if _, ok := explanations[code]; !ok {
				t.Errorf("%s is not explained", code)
			}
		}
	}
}

func TestTitle(t *testing.T) {
	for code, want := range map[string]string{
		"normal": "Normal", "1st_edition_holofoil": "1st Edition Holofoil",
		"": "", "étoile": "étoile",
	} {
		if got := displayName(code); got != want {
			t.Errorf("%q is %q, want %q", code, got, want)
		}
	}
}
