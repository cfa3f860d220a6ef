// Command typegen writes the API's records for the clients: structs of Go and typed
// dictionaries of Python, made from the OpenAPI document.
//
//	typegen [-root DIR] [-document FILE]
//
// It writes below DIR/clients. With -document it writes the document alone, for makers of types of
// other languages.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"ninepocket/wire/openapi"
)

// generated has the files below the root, and the writer of each.
var generated = map[string]func(*schemas) ([]byte, error){
	"clients/go/types.go":                writeGo,
	"clients/python/ninepocket/types.py": writePython,
}

// shown has what the page /docs shows, made from files below the root.
var shown = map[string]func(root string) ([]byte, error){
	"site/client_programs.go": writePrograms,
	"site/guide_text.go":      writeGuide,
}

func main() {
	root := flag.String("root", ".", "write below `DIR`")
	document := flag.String("document", "", "write the document to `FILE`, and nothing else")
	flag.Parse()

	if err := run(*root, *document); err != nil {
		fmt.Fprintln(os.Stderr, "typegen:", err)
		os.Exit(1)
	}
}

func run(root, document string) error {
	if document != "" {
		return writeFile(document, openapi.Document())
	}

	made, err := generate(root, openapi.Document())
	if err != nil {
		return err
	}
	for name, text := range made {
		if err := writeFile(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the text of each generated file, by its name. Below root are the programs of the
// clients.
func generate(root string, document []byte) (map[string][]byte, error) {
	all, err := readSchemas(document)
	if err != nil {
		return nil, err
	}

	made := map[string][]byte{}
	for name, write := range generated {
		made[name], err = write(all)
		if err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", name, err)
		}
	}

	for shown, write := range shown {
		made[shown], err = write(root)
		if err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", shown, err)
		}
	}
	return made, nil
}

// writeFile writes a file that has changed: an up-to-date file is not touched.
func writeFile(name string, text []byte) error {
	have, err := os.ReadFile(name)
	if err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
