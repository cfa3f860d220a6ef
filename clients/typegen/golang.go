package main

import (
	"fmt"
	"go/format"
	"strings"
)

// goHeader begins the file of Go.
const goHeader = `// Code generated from the OpenAPI document by "make generate". DO NOT EDIT.

package ninepocket

import (
	"net/url"
	"strconv"
)
`

// writeGo writes a struct for each record. Members that a server adds later are ignored by these
// structs, so that programs of today go on with the servers to come.
func writeGo(s *schemas) ([]byte, error) {
	var out strings.Builder
	out.WriteString(goHeader)
	// Merging may add records to the end.
	for i := 0; i < len(s.records); i++ {
		r := s.records[i]
		fields := r.fields
		if len(r.choices) > 0 {
			fields = s.merged(r)
		}

		fmt.Fprintf(&out, "\n// %s is one of the API's records", r.name)
		comment(&out, "", r.doc, ".")
		fmt.Fprintf(&out, "type %s struct {\n", r.name)
		isQuery := strings.HasSuffix(r.name, "Params")
		for _, f := range fields {
			fmt.Fprintf(&out, "\t%s %s `json:%q`", camel(f.name), goType(f), goTag(f))
			comment(&out, "\t", f.doc, "")
		}
		out.WriteString("}\n")
		if isQuery {
			goQuery(&out, r)
		}
	}
	return format.Source([]byte(out.String()))
}

// comment writes what the document says, in lines of comment behind what stands there.
func comment(out *strings.Builder, indent, doc, end string) {
	lines := wrapped(doc, 96)
	if len(lines) == 0 {
		out.WriteString(end + "\n")
		return
	}
	if indent == "" {
		out.WriteString(":\n")
		for _, row := range lines {
			out.WriteString("// " + row + "\n")
		}
		return
	}
	first, _, _ := strings.Cut(doc, ". ")
	first = strings.TrimSuffix(first, ".")
	if len(first) > 70 {
		first = strings.TrimRight(wrapped(first, 70)[0], " ,;:") + " …"
	}
	out.WriteString(" // " + first + "\n")
}

// goType returns the type of a member. What may be null is a pointer, and so is what may be absent,
// unless its zero is no value of the API: then the zero says that it is absent.
func goType(f field) string {
	base := goShape(f.shape)
	if f.nullable && f.kind != list && f.kind != free {
		return "*" + base
	}
	isPointer := !f.required && (f.hasZero || f.kind == object)
	if isPointer && f.kind != list && f.kind != free {
		return "*" + base
	}
	return base
}

func goShape(s shape) string {
	switch s.kind {
	case text:
		return "string"
	case integer:
		return "int64"
	case number:
		return "float64"
	case boolean:
		return "bool"
	case list:
		if s.elem.nullable && s.elem.kind != free {
			return "[]*" + goShape(*s.elem)
		}
		return "[]" + goShape(*s.elem)
	case object:
		return s.record
	}
	return "any"
}

func goTag(f field) string {
	if f.required {
		return f.name
	}
	return f.name + ",omitempty"
}

// goQuery writes the method that spells a query.
func goQuery(out *strings.Builder, r *record) {
	fmt.Fprintf(out, "\nfunc (p %s) query() url.Values {\n\tq := url.Values{}\n", r.name)
	for _, f := range r.fields {
		name := "p." + camel(f.name)
		isPointer := strings.HasPrefix(goType(f), "*")
		condition := name + " != nil"
		if !isPointer {
			condition = name + map[kind]string{text: ` != ""`, integer: " != 0", number: " != 0", boolean: ""}[f.kind]
		} else {
			name = "*" + name
		}
		value := map[kind]string{
			text: name, integer: "strconv.FormatInt(" + name + ", 10)",
			number: "strconv.FormatFloat(" + name + ", 'f', -1, 64)", boolean: "strconv.FormatBool(" + name + ")",
		}[f.kind]
		fmt.Fprintf(out, "\tif %s {\n\t\tq.Set(%q, %s)\n\t}\n", condition, f.name, value)
	}
	out.WriteString("\treturn q\n}\n")
}
