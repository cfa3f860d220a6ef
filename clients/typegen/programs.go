package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
)

// tasks are the tasks of each client's programs, by the names of their files.
var tasks = [][2]string{
	{"collection", "Price a collection"},
	{"movers", "Watch movers"},
	{"nightly", "A partner's nightly prices"},
	{"mirror", "Keep a mirror"},
	{"scanner", "A scanner with typeahead"},
}

// writePrograms writes the programs of all clients for the page of the reference. A language
// without programs is left out.
func writePrograms(root string) ([]byte, error) {
	var out strings.Builder
	out.WriteString("// Code generated from the programs of the clients by \"make generate\". DO NOT EDIT.\n\n" +
		"package site\n\n// clientPrograms are the programs that the clients' page shows.\n" +
		"var clientPrograms = []struct{ task, language, code string }{\n")

	for _, task := range tasks {
		for _, language := range [][2]string{
			{"Go", "clients/go/examples/%s/main.go"},
			{"Python", "clients/python/examples/%s.py"},
			{"TypeScript", "clients/typescript/examples/%s.js"},
		} {
			code, err := os.ReadFile(filepath.Join(root, fmt.Sprintf(language[1], task[0])))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "{%q, %q, %q},\n", task[1], language[0], code)
		}
	}
	out.WriteString("}\n")
	return format.Source([]byte(out.String()))
}
