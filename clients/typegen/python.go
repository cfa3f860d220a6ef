package main

import (
	"fmt"
	"strings"
)

const pythonHeader = `# Code generated from the OpenAPI document by "make generate". DO NOT EDIT.
"""The records of the API, as typed dictionaries. Members that a server adds later stay in them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
`

// writePython writes a typed dictionary for each record, and a union for each choice.
func writePython(s *schemas) ([]byte, error) {
	var out strings.Builder
	out.WriteString(pythonHeader)
	apart := s.alternatives()
	for _, r := range s.records {
		if len(r.choices) > 0 {
			// What merging for Go has made is no record of the document.
			if r.doc != "" {
				fmt.Fprintf(&out, "\n\n%s: TypeAlias = \"%s\"\n", r.name, strings.Join(r.choices, " | "))
				docstring(&out, "", r.doc)
			}
			continue
		}

		fmt.Fprintf(&out, "\n\nclass %s(TypedDict):\n", r.name)
		docstring(&out, "    ", r.doc)
		for _, f := range r.fields {
			typed := pythonShape(f.shape, apart[r.name])
			if !f.required {
				typed = "NotRequired[" + typed + "]"
			}
			fmt.Fprintf(&out, "    %s: %s\n", f.name, typed)
			docstring(&out, "    ", f.doc)
		}
	}
	return []byte(out.String()), nil
}

// alternatives returns the records of choices: there the texts that a member may be tell which it is.
func (s *schemas) alternatives() map[string]bool {
	made := map[string]bool{}
	for _, r := range s.records {
		for _, choice := range r.choices {
			made[choice] = true
		}
	}
	return made
}

// docstring writes what the document says below what it is about.
func docstring(out *strings.Builder, indent, doc string) {
	lines := wrapped(strings.ReplaceAll(doc, `\`, `\\`), 90)
	switch len(lines) {
	case 0:
	case 1:
		fmt.Fprintf(out, "%s\"\"\"%s\"\"\"\n", indent, lines[0])
	default:
		fmt.Fprintf(out, "%s\"\"\"%s\n%s\"\"\"\n", indent, strings.Join(lines, "\n"+indent), indent)
	}
}

// pythonShape returns the type of a value. Other texts than those that tell records apart are plain:
// a value that a server adds later is then no error of type.
func pythonShape(s shape, apart bool) string {
	typed := "Any"
	switch s.kind {
	case text:
		typed = "str"
		if apart && len(s.values) > 0 {
			typed = `Literal["` + strings.Join(s.values, `", "`) + `"]`
		}
	case integer:
		typed = "int"
	case number:
		typed = "float"
	case boolean:
		typed = "bool"
	case list:
		typed = "list[" + pythonShape(*s.elem, false) + "]"
	case object:
		typed = s.record
	case nothing:
		return "None"
	}
	if s.nullable {
		return typed + " | None"
	}
	return typed
}
