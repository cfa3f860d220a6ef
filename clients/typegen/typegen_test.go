package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ninepocket/wire/openapi"
)

// TestGenerated holds the generated files against the document.
func TestGenerated(t *testing.T) {
	made, err := generate("../..", openapi.Document())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		have, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s differs from the OpenAPI document: run make generate", name)
		}
	}
}
