package mcp

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ninepocket/internal/jsonwalk"
)

// bound is the value of an argument.
type bound struct {
	given bool
	text  string
	n     int64 // of an absent argument without a default: none
	lines []args
}

// args are the bound arguments of a call, or of one object of a list.
type args struct {
	fields []field
	values []bound
}

func (a args) at(name string) *bound {
	for i := range a.fields {
		if a.fields[i].name == name {
			return &a.values[i]
		}
	}
	panic("mcp: no argument " + name)
}

func (a args) has(name string) bool    { return a.at(name).given }
func (a args) text(name string) string { return a.at(name).text }
func (a args) number(name string) int64 {
	return a.at(name).n
}

// maxProblems is how many problems one answer names.
const maxProblems = 40

// problems gathers everything that is wrong with the arguments of a call.
type problems struct {
	text []byte
	n    int
}

func (p *problems) add(parts ...string) {
	if p.n++; p.n > maxProblems {
		return
	}
	p.text = append(p.text, "- "...)
	for _, part := range parts {
		p.text = append(p.text, part...)
	}
	p.text = append(p.text, '\n')
}

// refusal is the text that names every problem, "" without one.
func (p *problems) refusal(tool string) refusal {
	if p.n == 0 {
		return ""
	}
	if p.n > maxProblems {
		p.text = append(p.text, "- and "...)
		p.text = strconv.AppendInt(p.text, int64(p.n-maxProblems), 10)
		p.text = append(p.text, " more.\n"...)
	}
	return refusal("Invalid arguments for " + tool + ":\n" + string(p.text) + "Correct them and call again.")
}

// bind reads an object's members into the fields that they belong to; path is what their names begin with in problems.
func bind(fields []field, object jsonwalk.Value, path string, p *problems) args {
	a := args{fields: fields, values: make([]bound, len(fields))}
	for i := range fields {
		f, b := &fields[i], &a.values[i]
		if b.n = f.preset; f.kind == aChoice && f.preset != none {
			b.text = f.choices[f.preset]
		}
	}
	if object != nil {
		for name, v := range object.Members() {
			if i := indexOf(fields, name); i >= 0 {
				fields[i].bind(&a.values[i], v, path+fields[i].name, p)
			} else {
				p.add(path, readable(name.Text()), " is not an argument: use ", names(fields), ".")
			}
		}
	}
	for i := range fields {
		if fields[i].required && !a.values[i].given {
			p.add(path, fields[i].name, " is required.")
		}
	}
	return a
}

func indexOf(fields []field, name jsonwalk.Value) int {
	for i := range fields {
		if name.Is(fields[i].name) {
			return i
		}
	}
	return -1
}

func names(fields []field) string {
	all := make([]string, len(fields))
	for i := range fields {
		all[i] = fields[i].name
	}
	return strings.Join(all, ", ")
}

// bind reads one argument. Whatever is wrong with it, it was given.
func (f *field) bind(b *bound, v jsonwalk.Value, name string, p *problems) {
	b.given = true
	switch f.kind {
	case aText:
		if f.wants(v, '"', "a string", name, p) {
			b.text = v.Text()
			f.checkText(b.text, name, p)
		}
	case aChoice:
		f.bindChoice(b, v, name, p)
	case anInteger:
		f.bindInteger(b, v, name, p)
	case aList:
		if f.wants(v, '[', "an array", name, p) {
			f.bindList(b, v, name, p)
		}
	}
}

// wants checks a value's kind.
func (*field) wants(v jsonwalk.Value, kind byte, what, name string, p *problems) bool {
	if v.Kind() == kind {
		return true
	}
	if v.Kind() == 'n' {
		p.add(name, " must be ", what, " (got null): leave it out instead.")
	} else {
		p.add(name, " must be ", what, " (got ", jsonwalk.KindName(v.Kind()), ").")
	}
	return false
}

func (f *field) checkText(s, name string, p *problems) {
	if n := int64(utf8.RuneCountInString(s)); n < f.lo || n > f.hi {
		p.add(name, " must have ", decimal(f.lo), " to ", decimal(f.hi), " characters (got ", decimal(n), ").")
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			p.add(name, " must not have control characters.")
			return
		}
	}
}

func (f *field) bindChoice(b *bound, v jsonwalk.Value, name string, p *problems) {
	if !f.wants(v, '"', "a string", name, p) {
		return
	}
	given := v.Text()
	for i, c := range f.choices {
		if c == given {
			b.text, b.n = c, int64(i)
			return
		}
	}
	p.add(name, " must be one of ", strings.Join(f.choices, ", "), ` (got "`, readable(given), `").`)
}

func (f *field) bindInteger(b *bound, v jsonwalk.Value, name string, p *problems) {
	if !f.wants(v, '0', "an integer", name, p) {
		return
	}
	n, ok := v.Integer()
	switch {
	case !ok:
		p.add(name, " must be an integer (got ", readable(string(v)), ").")
	case n < f.lo || n > f.hi:
		p.add(name, " must be between ", decimal(f.lo), " and ", decimal(f.hi), " (got ", readable(string(v)), ").")
	default:
		b.n = n
	}
}

func (f *field) bindList(b *bound, v jsonwalk.Value, name string, p *problems) {
	n := int64(0)
	for element := range v.Elements() {
		if n++; n > f.hi {
			continue
		}
		path := name + "[" + decimal(n-1) + "]"
		if f.wants(element, '{', "an object", path, p) {
			b.lines = append(b.lines, bind(f.of, element, path+".", p))
		}
	}
	if n < f.lo || n > f.hi {
		p.add(name, " must have ", decimal(f.lo), " to ", decimal(f.hi), " entries (got ", decimal(n), ").")
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// longestEcho is how much of a caller's own text is said back, in characters.
const longestEcho = 60

// readable is a caller's text as it can be said back: short and without control characters.
func readable(s string) string {
	out := make([]byte, 0, min(len(s), 4*longestEcho+3))
	n := 0
	for _, r := range s {
		if n++; n > longestEcho {
			return string(out) + "…"
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			r = ' '
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}
