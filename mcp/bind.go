package mcp

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// argument is the checked value of an argument. The kind of its field decides which member has the
// value.
type argument struct {
	given bool
	text  string // of a text or a choice
	n     int64  // of an integer, a date or a choice; see field.defaultValue for an absent one
	lines []args // of a list
}

// args are the bound arguments of a call, or of one object of a list. Texts alias the body of the
// request.
type args struct {
	fields  []field
	values  []argument
	problem string // of an object of a list: why it could not be read, "" if it could
}

// indexOf returns the index of an argument. It panics for a name that no field has: that is an error in
// a tool, which its first call shows.
func (a args) indexOf(name string) int {
	for i := range a.fields {
		if a.fields[i].name == name {
			return i
		}
	}

	panic("mcp: no argument " + name)
}

// at returns the value of an argument.
func (a args) at(name string) *argument { return &a.values[a.indexOf(name)] }

func (a args) has(name string) bool     { return a.at(name).given }
func (a args) text(name string) string  { return a.at(name).text }
func (a args) number(name string) int64 { return a.at(name).n }

// maxProblems is how many problems one response lists.
const maxProblems = 40

// problems collects all errors in the arguments of a call.
type problems struct {
	list textBuilder
	n    int
}

func (p *problems) add(parts ...any) {
	p.n++

	// Further problems are only counted: many errors must not make a long response.
	if p.n > maxProblems {
		return
	}

	p.list.text("- ")
	p.list.text(parts...)
	p.list.text("\n")
}

// toolError returns a text with the problems, "" if there are none.
func (p *problems) toolError(tool string) toolError {
	if p.n == 0 {
		return ""
	}

	if p.n > maxProblems {
		p.list.text("- and ", p.n-maxProblems, " more.\n")
	}

	return toolError("Invalid arguments for " + tool + ":\n" + string(p.list) + "Correct them and call again.")
}

// bind reads the members of an object as the arguments that fields describe.
func bind(fields []field, object jsonwalk.Value, p *problems) args {
	// An absent argument has its default.
	a := args{fields: fields, values: make([]argument, len(fields))}
	for i := range fields {
		f := &fields[i]
		a.values[i].n = f.defaultValue
		if f.kind == choiceKind && f.defaultValue != noDefault {
			a.values[i].text = f.choices[f.defaultValue]
		}
	}

	// All problems are collected, so that one more call can correct them all.
	for name, value := range object.Members() {
		i := slices.IndexFunc(fields, func(f field) bool { return name.Is(f.name) })
		if i < 0 {
			p.add(readable(name.Text()), " is not an argument: use ", fieldNames(fields), ".")
			continue
		}

		// Frameworks send null for an omitted argument, and weak models "" (decision 2108).
		if value.Kind() != 'n' && !value.Is("") {
			fields[i].bind(&a.values[i], value, fields[i].name, p)
		}
	}

	// An argument that was given but is wrong has its problem already.
	for i := range fields {
		if fields[i].required && !a.values[i].given {
			p.add(fields[i].name, " is required.")
		}
	}

	return a
}

func fieldNames(fields []field) string {
	var all []string
	for i := range fields {
		all = append(all, fields[i].name)
	}
	return strings.Join(all, ", ")
}

// bind reads one argument. It counts as given even when it is wrong.
func (f *field) bind(b *argument, value jsonwalk.Value, name string, p *problems) {
	b.given = true

	// Weak models write texts as numbers, and numbers as texts.
	n, isInteger := value.Integer()
	switch {
	case f.kind == textKind && isInteger:
		value = jsonwalk.Value(quoted(wire.Decimal(n)))
	case f.kind == integerKind && value.Kind() == '"' && cardvocab.IsInteger(value.Text()):
		value = value[1 : len(value)-1]
	}
	if !checkKind(value, kinds[f.kind].json, kinds[f.kind].called, name, p) {
		return
	}

	switch f.kind {
	case textKind:
		b.text = value.Text()
		f.checkText(b.text, name, p)
	case dateKind:
		day, err := snapshot.ParseDay(value.Text())
		if err != nil {
			p.add(name, ` must be a date, YYYY-MM-DD (got "`, readable(value.Text()), `").`)
		}
		b.n = int64(day)
	case choiceKind:
		f.bindChoice(b, value.Text(), name, p)
	case integerKind:
		f.bindInteger(b, value, name, p)
	case listKind:
		f.bindList(b, value, name, p)
	}
}

// checkKind reports whether a value is of a kind of JSON, and adds a problem if it is not. called
// is the name of the kind in the problem.
func checkKind(value jsonwalk.Value, kind byte, called, name string, p *problems) bool {
	if value.Kind() == kind {
		return true
	}

	p.add(name, " must be ", called, " (got ", jsonwalk.KindName(value.Kind()), ").")
	return false
}

func (f *field) checkText(s, name string, p *problems) {
	if n := int64(utf8.RuneCountInString(s)); !f.bounds.Has(n) {
		p.add(name, " must have ", f.boundsText(), " characters (got ", wire.Decimal(n), ").")
	}

	// Only a text of several lines has line ends and tabs.
	lines := f.bounds == listText
	if strings.IndexFunc(s, func(r rune) bool {
		return (r < 0x20 || r == 0x7f) && (!lines || !isLineEnd(r) && r != '\t')
	}) >= 0 {
		p.add(name, " must not have control characters.")
	}
}

// boundsText returns the bounds of a text or a list, for a problem.
func (f *field) boundsText() string {
	return wire.Decimal(f.bounds.Min) + " to " + wire.Decimal(f.bounds.Max)
}

func (f *field) bindChoice(b *argument, given, name string, p *problems) {
	// The problem names the choices: an agent that did not read the schema learns them here.
	i := slices.Index(f.choices, given)
	if i < 0 {
		p.add(name, " must be one of ", strings.Join(f.choices, ", "), ` (got "`, readable(given), `").`)
		return
	}

	// The text is the field's own, because the given one is valid only as long as the body.
	b.text = f.choices[i]
	b.n = int64(i)
}

func (f *field) bindInteger(b *argument, value jsonwalk.Value, name string, p *problems) {
	n, ok := value.Integer()
	switch {
	case !ok:
		p.add(name, " must be an integer (got ", readable(string(value)), ").")
	case !f.bounds.Has(n):
		p.add(name, " must be between ", wire.Decimal(f.bounds.Min), " and ", wire.Decimal(f.bounds.Max),
			" (got ", readable(string(value)), ").")
	default:
		b.n = n
	}
}

func (f *field) bindList(b *argument, value jsonwalk.Value, name string, p *problems) {
	n := int64(0)
	for element := range value.Elements() {
		n++
		if n <= f.bounds.Max { // the others are only counted
			b.lines = append(b.lines, bindElement(f.of, element))
		}
	}

	if n > f.bounds.Max {
		p.add(name, " must have ", f.boundsText(), " entries (got ", wire.Decimal(n), ").")
	}
}

// bindElement reads an element of a list: an object, or a line as text. An element's problem stays with
// the element: one bad line must not spoil the others (decision 3704).
func bindElement(fields []field, element jsonwalk.Value) (a args) {
	if element.Kind() == '"' {
		element = slices.Concat(jsonwalk.Value(`{"line":`), element, jsonwalk.Value("}"))
	}

	var p problems
	a.fields = fields
	if checkKind(element, '{', "a string or an object", "it", &p) {
		a = bind(fields, element, &p)
	}
	a.problem = p.sentence()
	return a
}

// sentence returns the first problem without its bullet, "" if there are none.
func (p *problems) sentence() string {
	first, _, _ := strings.Cut(string(p.list), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(first, "- "), ".")
}
