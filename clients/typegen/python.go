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
			// Records that merging made for Go are not in the document.
			if r.doc != "" {
				fmt.Fprintf(&out, "\n\n%s: TypeAlias = \"%s\"\n", r.name, strings.Join(r.choices, " | "))
				docstring(&out, "", r.doc)
			}
			continue
		}

		fmt.Fprintf(&out, "\n\nclass %s(TypedDict):\n", r.name)
		docstring(&out, "    ", r.doc)
		for _, f := range r.fields {
			typed := pythonShape(f.shape, apart[r.name][f.name])
			if !f.required {
				typed = "NotRequired[" + typed + "]"
			}
			fmt.Fprintf(&out, "    %s: %s\n", f.name, typed)
			docstring(&out, "    ", f.doc)
		}
	}
	return []byte(out.String()), nil
}

// alternatives returns by record the members that distinguish it from the other choices: members
// for which each choice has its own texts. Their texts are part of the type.
func (s *schemas) alternatives() map[string]map[string]bool {
	named := map[string]*record{}
	for _, r := range s.records {
		named[r.name] = r
	}

	apart := map[string]map[string]bool{}
	for _, r := range s.records {
		// Not those that writing Go has made, before this or after.
		if r.doc == "" {
			continue
		}
		having := map[string]int{}
		for _, choice := range r.choices {
			for _, f := range named[choice].fields {
				if len(f.shape.values) > 0 {
					having[f.name]++
				}
			}
		}
		for _, choice := range r.choices {
			apart[choice] = map[string]bool{}
			for name, n := range having {
				apart[choice][name] = n == len(r.choices)
			}
		}
	}
	return apart
}

// docstring writes the document's text below its subject.
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

// pythonShape returns the type of a value. Texts that do not distinguish records are plain: a value
// that a server adds later is then no type error.
func pythonShape(of shape, apart bool) string {
	typed := "Any"
	switch of.kind {
	case text:
		typed = "str"
		if apart && len(of.values) > 0 {
			typed = `Literal["` + strings.Join(of.values, `", "`) + `"]`
		}
	case integer:
		typed = "int"
	case number:
		typed = "float"
	case boolean:
		typed = "bool"
	case list:
		typed = "list[" + pythonShape(*of.elem, false) + "]"
	case object:
		typed = of.record
	case nothing:
		return "None"
	default: // anything
	}

	if of.nullable {
		return typed + " | None"
	}
	return typed
}
