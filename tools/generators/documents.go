//go:build ignore

// Documents writes the OpenAPI documents of the server of a ready file into a folder.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

func main() {
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(readyFile, folder string) error {
	var ready struct{ API string }
	text, err := os.ReadFile(readyFile)
	if err == nil {
		err = json.Unmarshal(text, &ready)
	}
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", readyFile, err)
	}

	for name, path := range map[string]string{
		"whole": "/openapi.json", "live": "/openapi.live.json", "preview": "/openapi.preview.json",
	} {
		response, err := http.Get(ready.API + path)
		if err != nil {
			return fmt.Errorf("cannot get %s: %w", path, err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+".json"), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("cannot keep %s: %w", path, err)
		}
	}
	return nil
}
