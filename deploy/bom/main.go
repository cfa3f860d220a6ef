// Command bom lists the parts of a built ninepocket: a CycloneDX bill of materials, and the
// licences of all modules with their texts. It reads the module list from the binary itself, so
// that the list is the build's and not go.mod's. It fails, naming the modules, if a licence is not
// permissive.
//
//	go run ./deploy/bom -binary bin/ninepocket -version v1.0.0 -sbom dist/sbom.cdx.json
//	go run ./deploy/bom -binary bin/ninepocket -licenses THIRD_PARTY_LICENSES [-check]
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	binary := flag.String("binary", "bin/ninepocket", "built `FILE`")
	sbom := flag.String("sbom", "", "write the bill of materials to this `FILE`")
	licenses := flag.String("licenses", "", "write the licences to this `FILE`")
	version := flag.String("version", "dev", "the program's `VERSION`, which -trimpath keeps out of the binary")
	check := flag.Bool("check", false, "do not write the licences, but fail when the file is not what would be written")
	flag.Parse()
	if err := run(*binary, *version, *sbom, *licenses, *check); err != nil {
		fmt.Fprintln(os.Stderr, "bom: "+err.Error())
		os.Exit(1)
	}
}

func run(binary, version, sbom, licenses string, check bool) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", binary, err)
	}

	modules, err := modulesOf(info)
	if err != nil {
		return err
	}
	if err := offenders(modules); err != nil {
		return err
	}
	if licenses != "" {
		names, err := readTexts("loader", map[string]bool{"LICENSE.species_names": true})
		if err != nil {
			return err
		}
		text := thirdParty(append(modules, module{Path: speciesNames, Version: "bbef3d9", Texts: names}))
		if check {
			old, err := os.ReadFile(licenses)
			if err != nil {
				return fmt.Errorf("cannot check the licences: %w", err)
			}
			if !bytes.Equal(old, text) {
				return fmt.Errorf("%s is not of this build: run make licenses and commit it", licenses)
			}
		} else if err := write(licenses, text); err != nil {
			return err
		}
	}
	if sbom == "" {
		return nil
	}

	text, err := cyclonedx(info, version, modules)
	if err != nil {
		return fmt.Errorf("cannot write the bill of materials: %w", err)
	}
	return write(sbom, text)
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // the output is published
		return err
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // the output is published
}

// module is a module, or the standard library, that is part of the binary.
type module struct {
	Path, Version, Sum string
	Texts              []text // of its licences, those of the folders whose packages are used included
}

// std is the name of the standard library among the modules.
const std = "std"

// speciesNames is the name of the table loader/species_names.tsv among the modules: it is data that ships in the
// binary.
const speciesNames = "pokeapi.co (names of species)"

// text is a file with a licence or a notice.
type text struct {
	name string // from the module's root
	body string
	ids  []string // SPDX; none for a notice
}

// ids are the licences of a module in SPDX's names.
func (m *module) ids() []string {
	all := map[string]bool{}
	for _, t := range m.Texts {
		for _, id := range t.ids {
			all[id] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// listed is a package as go list prints it.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct{ Path, Version, Dir string }
}

// modulesOf finds the licences of all modules in a binary. The packages are those of its platform.
func modulesOf(info *buildinfo.BuildInfo) ([]module, error) {
	packages, err := packagesOf(info)
	if err != nil {
		return nil, err
	}

	// By module, from its root.
	files := map[string]map[string]bool{}
	roots := map[string]string{}
	for _, p := range packages {
		if p.Standard || p.Module == nil || p.Module.Path == info.Main.Path {
			continue
		}
		if files[p.Module.Path] == nil {
			files[p.Module.Path], roots[p.Module.Path] = map[string]bool{}, p.Module.Dir // air: a pair
		}
		if err := licencesAbove(p.Dir, p.Module.Dir, files[p.Module.Path]); err != nil {
			return nil, err
		}
	}

	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the standard library: %w", err)
	}

	goTexts, err := readTexts(strings.TrimSpace(string(goroot)), map[string]bool{"LICENSE": true})
	if err != nil {
		return nil, err
	}

	modules := []module{{
		Path: std, Version: strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go"),
		Texts: goTexts,
	}}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("cannot say what module %s is: it is replaced", dep.Path)
		}
		if files[dep.Path] == nil {
			return nil, fmt.Errorf("cannot find module %s of the binary among the sources: build it from them",
				dep.Path)
		}
		texts, err := readTexts(roots[dep.Path], files[dep.Path])
		if err != nil {
			return nil, err
		}
		modules = append(modules, module{Path: dep.Path, Version: dep.Version, Sum: dep.Sum, Texts: texts})
	}
	return modules, nil
}

func packagesOf(info *buildinfo.BuildInfo) ([]listed, error) {
	args := []string{"list", "-deps", "-json=Dir,Standard,Module", info.Path}
	cmd := exec.Command("go", args...) //nolint:gosec // the path in a binary of this program
	cmd.Env = os.Environ()
	cmd.Stderr = os.Stderr
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			cmd.Env = append(cmd.Env, s.Key+"="+s.Value)
		}
	}

	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages of %s: %w", info.Path, err)
	}

	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, fmt.Errorf("cannot read the list of packages: %w", err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// licencesAbove adds the licences and notices in a package's folder and those above it, up to its
// module's root.
func licencesAbove(dir, root string, found map[string]bool) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("cannot look for licences: %w", err)
		}

		for _, e := range entries {
			if !e.Type().IsRegular() || !isLicence(e.Name()) {
				continue
			}
			name, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			found[filepath.ToSlash(name)] = true
		}

		if dir == root {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// isLicence goes by the name of a file, which is not Go.
func isLicence(name string) bool {
	upper := strings.ToUpper(name)
	if filepath.Ext(upper) == ".GO" {
		return false
	}
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"},
		func(prefix string) bool {
			return strings.HasPrefix(upper, prefix)
		})
}

func readTexts(root string, names map[string]bool) (texts []text, err error) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		body, err := fs.ReadFile(os.DirFS(root), name)
		if err != nil {
			return nil, fmt.Errorf("cannot read a licence: %w", err)
		}

		t := text{name: name, body: strings.ReplaceAll(string(body), "\r\n", "\n")}
		if !strings.HasPrefix(strings.ToUpper(filepath.Base(name)), "NOTICE") {
			t.ids = identify(t.body)
			if len(t.ids) == 0 {
				t.ids = []string{unknown}
			}
		}
		texts = append(texts, t)
	}
	return texts, nil
}

// offenders names every module whose licences are not all permissive.
func offenders(modules []module) error {
	var problems []error
	for i := range modules {
		m := &modules[i]
		ids := m.ids()
		if len(ids) == 0 {
			problems = append(problems, fmt.Errorf("module %s has no licence that could be found", m.Path))
		}

		for _, id := range ids {
			if !slices.Contains(permissive, id) && accepted[m.Path] != id {
				problems = append(problems, fmt.Errorf("module %s is under %s, which is not known to be permissive",
					m.Path, id))
			}
		}
	}
	return errors.Join(problems...)
}
