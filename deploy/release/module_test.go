package release_test

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestModule rewrites the import paths, publishes the module in a folder that is a proxy, and installs the program from
// there by its new path, without a network and without a sum database.
func TestModule(t *testing.T) {
	if depth != "whole" {
		t.Skip("skipped: the published module, which make release-check does")
	}
	const path = "example.com/cards/ninepocket"
	version := "v" + newest()
	dir := t.TempDir()
	// As it is typed: make must find its programs although PATH is the module's.
	run(t, top, nil, "make", "module", "PATH="+path)
	folder := top + "/dist/module"
	defer os.RemoveAll(folder)

	proxy := filepath.Join(dir, "proxy")
	publish(t, proxy, folder, path, version)
	publish(t, proxy, folder+"/clients/go", path+"/clients/go", version)
	cache := strings.TrimSpace(run(t, top, nil, "go", "env", "GOMODCACHE"))
	env := []string{
		"GOPROXY=file://" + proxy + ",file://" + cache + "/cache/download", "GONOSUMDB=*", "GONOSUMCHECK=1",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOBIN=" + dir + "/bin", "GOMODCACHE=" + dir + "/cache", "GOWORK=off",
		"CGO_ENABLED=0", "GOSUMDB=off",
	}
	run(t, dir, env, "go", "install", path+"/cmd/ninepocket@"+version)

	var said struct{ Version string }
	text := run(t, dir, env, dir+"/bin/ninepocket", "version", "--json")
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Version != newest() {
		t.Errorf("the installed program says %s", text)
	}

	// A program with the client, from the same place.
	program := "package main\n\nimport ninepocket \"" + path + "/clients/go\"\n\n" +
		"func main() { println(ninepocket.Version) }\n"
	if err := os.WriteFile(dir+"/main.go", []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, env, "go", "mod", "init", "example.com/shop")
	run(t, dir, env, "go", "get", path+"/clients/go@"+version)
	if said := run(t, dir, env, "go", "run", "."); said != newest()+"\n" {
		t.Errorf("a program with the client says %q", said)
	}
}

// publish puts a module into a folder as a module proxy serves it.
func publish(t *testing.T, proxy, folder, path, version string) {
	t.Helper()
	at := filepath.Join(proxy, path, "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	info := `{"Version":"` + version + `","Time":"` + time.Now().UTC().Format(time.RFC3339) + `"}`
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": info, version + ".mod": string(mod),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// A folder with a go.mod is a module of its own.
		if _, err := os.Stat(filepath.Join(name, "go.mod")); entry.IsDir() && err == nil && name != folder {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}

		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		w, err := archive.Create(path + "@" + version + "/" + filepath.ToSlash(inside))
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
