package ninepocket_test

import (
	"cmp"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module       = "ninepocket"
	maxFileLines = 650
)

// mayImport has for each package the packages of this module that it may import. Imports go one
// way, from the top of docs/dev/ARCHITECTURE.md down. Every package must be listed here; a
// sub-package is a separate package.
//
// Tests in the package itself may add what testKit names; tests outside it (package x_test) may
// import any package.
var mayImport = map[string][]string{
	"access": {
		"access/keys", "access/state", "access/statedir", "calendar", "internal/counters", "internal/wal",
	},
	"access/keys":       {"access/statedir", "calendar", "internal/wal"},
	"access/state":      {"access/statedir", "internal/disk", "internal/counters", "internal/wal"},
	"access/statedir":   {"internal/disk", "internal/wal"},
	"calendar":          {},
	"access/accesstest": {"access", "access/keys", "calendar"},
	"clients/faults":    {},
	"clients/typegen":   {"internal/jsonwalk", "wire/openapi"},
	"cmd/ninepocket":    {anyOfOurs},
	"compat/pokemontcg": {
		"access", "access/keys", "api", "cardvocab", "engine", "internal/jsonwalk", "loader", "loader/source",
		"snapshot", "wire",
	},
	"deploy":            {},
	"deploy/bom":        {},
	"deploy/fleet":      {},
	"deploy/release":    {"internal/feedtest", "wire/openapi"},
	"deploy/fleet/demo": {"deploy/fleet", "internal/synth"},
	"engine": {
		"cardvocab", "engine/cursor", "index", "internal/throttle", "snapshot", "wire",
	},
	"engine/bulk":        {"engine", "internal/disk", "internal/throttle", "snapshot", "wire"},
	"engine/cursor":      {},
	"engine/enginetest":  {"engine", "internal/fixture", "snapshot"},
	"cardvocab":          {},
	"feed":               {"internal/disk", "snapshot"},
	"fleet/control":      {"access", "access/keys", "access/statedir", "calendar", "engine/cursor", "internal/disk"},
	"fleet/limiter":      {"access", "access/keys", "calendar", "internal/counters"},
	"fleet/mirror":       {"internal/disk", "snapshot"},
	"index":              {"cardvocab", "index/text", "snapshot"},
	"index/text":         {"cardvocab"},
	"internal/accesslog": {"server"},
	"internal/backup": {
		"access", "access/statedir", "feed", "internal/disk", "internal/tombstone", "snapshot",
	},
	"internal/certificate":                 {},
	"internal/certificate/certificatetest": {},
	"internal/contracttest":                {"wire/openapi"},
	"internal/testsweep":                   {},
	"internal/mutationtest":                {},
	"internal/disk":                        {},
	"internal/disk/disktest":               {"internal/disk"},
	"internal/connlimit":                   {},
	"internal/feedtest":                    {},
	"internal/fixture":                     {"snapshot"},
	"internal/jsonwalk":                    {},
	"internal/manual":                      {"internal/settings"},
	"internal/postgrestest":                {},
	"internal/notify":                      {"access/statedir", "internal/disk", "snapshot"},
	"internal/redistest":                   {},
	"internal/registry": {
		"access", "access/keys", "access/statedir", "calendar", "fleet/control", "internal/disk",
	},
	"internal/settings": {
		"access", "access/keys", "cardvocab", "feed", "fleet/limiter", "fleet/mirror", "internal/disk",
		"internal/notify", "internal/term", "loader", "snapshot/guard",
	},
	"internal/synth":     {},
	"internal/throttle":  {},
	"internal/tombstone": {"internal/disk"},
	"internal/s3test":    {},
	"internal/counters":  {},
	"internal/term":      {},
	"internal/wal":       {"internal/disk"},
	"loader": {
		"cardvocab", "loader/clean", "loader/history", "loader/slug", "loader/source", "snapshot", "snapshot/guard",
	},
	"loader/clean":   {"loader/source", "snapshot"},
	"loader/history": {"snapshot"},
	"loader/slug":    {},
	"node": {
		"access", "access/keys", "access/state", "access/statedir", "compat/pokemontcg", "engine", "engine/bulk",
		"engine/cursor", "fleet/control",
		"fleet/limiter", "fleet/mirror", "internal/accesslog", "internal/certificate", "internal/connlimit",
		"internal/notify", "internal/registry", "internal/settings", "internal/counters", "internal/term",
		"internal/wal", "server", "site", "snapshot", "wire",
	},
	"loader/source": {"snapshot"},
	"operate": {
		"compat/pokemontcg", "engine", "engine/cursor", "feed", "internal/notify", "loader", "loader/source",
		"snapshot", "snapshot/diff", "snapshot/guard", "wire",
	},
	"operate/explain": {"feed", "snapshot", "snapshot/diff"},
	"operate/support": {"internal/settings", "internal/term", "snapshot"},
	"bench": {
		"access/keys", "engine", "engine/bulk", "index", "internal/settings", "internal/synth", "internal/term",
		"loader", "node", "snapshot", "wire",
	},
	"bench/check":   {"bench/gobench"},
	"bench/drive":   {"bench"},
	"bench/figures": {"bench", "bench/gobench", "bench/plot", "bench/rivals"},
	"bench/gobench": {},
	"bench/plot":    {},
	"bench/rivals":  {"access", "access/keys", "bench", "engine", "index", "snapshot", "wire"},
	// Queries and catalogs have one vocabulary from the parameter to the posting list, so the two front ends name
	// index's and snapshot's types; they reach the data through engine's View alone.
	"api": {
		"access", "access/keys", "engine", "engine/bulk", "engine/cursor", "index", "internal/jsonwalk", "mcp",
		"snapshot", "valuation", "wire",
	},
	"mcp": {
		"cardvocab", "engine", "engine/cursor", "index", "internal/jsonwalk", "snapshot", "valuation", "wire",
	},
	"server": {
		"access", "access/keys", "api", "engine", "engine/bulk", "engine/cursor", "internal/counters", "mcp",
		"server/httpconn",
		"server/framing", "site", "site/picture", "wire", "wire/openapi",
	},
	"server/httpconn": {"server/framing"},
	"snapshot":        {"calendar", "internal/disk"},
	"snapshot/diff":   {"snapshot"},
	"snapshot/guard":  {"snapshot", "snapshot/diff"},
	"wire":            {"snapshot"},
	"wire/openapi":    {"internal/jsonwalk", "snapshot"},
	"server/framing":  {},
	"site": {
		"cardvocab", "engine", "index", "index/text", "internal/jsonwalk", "site/picture", "snapshot", "valuation",
		"wire",
	},
	"site/picture": {},
	"valuation":    {"cardvocab", "engine", "index", "snapshot", "wire"},
}

// anyOfOurs stands for every package of this module except commands, which cannot be imported.
const anyOfOurs = "*"

// testKit has the packages that tests inside any package may import in addition.
var testKit = []string{
	"internal/certificate/certificatetest", "internal/contracttest", "internal/testsweep", "internal/disk/disktest",
	"internal/feedtest", "internal/mutationtest",
	"internal/fixture", "internal/postgrestest", "internal/redistest", "internal/s3test", "internal/synth",
}

// testsMayImport has the packages that tests inside one package may import in addition: the front
// ends are tested with catalogs from the real loader, and compared with oracles.
var testsMayImport = map[string][]string{
	"access":        {"internal/disk"},
	"bench":         {"access", "engine/cursor", "server", "site"},
	"fleet/limiter": {"access/accesstest", "access/state"},
	"mcp":           {"access", "loader"},
	"server":        {"cardvocab", "index", "loader", "snapshot"},
}

// sourceFile is one Go file of the module, parsed with its comments.
type sourceFile struct {
	path   string // from the module's root, with slashes
	folder string // the package's path below the module, "." for the root
	lines  int
	*ast.File
}

func (f *sourceFile) isTest() bool     { return strings.HasSuffix(f.path, "_test.go") }
func (f *sourceFile) isExternal() bool { return strings.HasSuffix(f.Name.Name, "_test") }

// ownImports returns our packages that the file imports, named from the module's root.
func (f *sourceFile) ownImports(t *testing.T) []string {
	t.Helper()
	var own []string
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: cannot read import %s: %v", f.path, spec.Path.Value, err)
		}
		if name == module {
			own = append(own, ".")
		} else if rest, ok := strings.CutPrefix(name, module+"/"); ok {
			own = append(own, rest)
		}
	}
	return own
}

// sources returns the Go files of the module, with any build constraints.
func sources(t *testing.T) []*sourceFile {
	t.Helper()
	files, err := parseSources()
	if err != nil {
		t.Fatalf("cannot read the sources: %v", err)
	}
	return files
}

// parseSources parses every Go file once. It does not run `go list`, because then the test cache
// would return an old result after a new import.
var parseSources = sync.OnceValues(func() (files []*sourceFile, err error) {
	err = filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && foreignFolder(name) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}

		file, err := parseSource(name)
		if err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	return files, err
})

// foreignFolder reports whether the go command skips a folder below the module's root.
func foreignFolder(name string) bool {
	base := filepath.Base(name)
	if base == "testdata" || base == "vendor" || base == "node_modules" || base == "dist" ||
		strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

func parseSource(name string) (*sourceFile, error) {
	p, err := parsePage(name)
	if err != nil {
		return nil, err
	}
	return &sourceFile{path: p.name, folder: path.Dir(p.name), lines: len(p.lines) - 1, File: p.File}, nil
}

// layerFault returns what is wrong with one import, "" for nothing.
func layerFault(file *sourceFile, imported string) string {
	allowed := mayImport[file.folder]
	if _, known := mayImport[imported]; !known {
		return "imports " + imported + ", which has no entry in mayImport"
	}

	switch {
	case imported == file.folder, slices.Contains(allowed, anyOfOurs), slices.Contains(allowed, imported):
		return ""
	case file.isExternal():
		return ""
	case file.isTest() && (slices.Contains(testKit, imported) || slices.Contains(testsMayImport[file.folder],
		imported)):
		return ""
	}
	return "imports " + imported + "; " + file.folder + " may import " +
		cmp.Or(strings.Join(allowed, ", "), "nothing of ours")
}

func TestLayers(t *testing.T) {
	for _, file := range sources(t) {
		if file.folder == "." {
			if !file.isTest() {
				t.Errorf("%s: the root holds tests of the whole module only; code belongs in a package of the house",
					file.path)
			}
			continue
		}
		if _, known := mayImport[file.folder]; !known {
			t.Errorf("%s: package %s has no entry in mayImport: say where it stands in the house", file.path,
				file.folder)
			continue
		}

		for _, imported := range file.ownImports(t) {
			if fault := layerFault(file, imported); fault != "" {
				t.Errorf("%s: %s", file.path, fault)
			}
		}
	}
}

// notInProduct are the packages that the product must not link: kits and measurements.
var notInProduct = []string{
	"access/accesstest", "bench", "bench/check", "bench/drive", "bench/figures", "bench/gobench", "bench/plot",
	"bench/rivals", "deploy", "deploy/bom", "deploy/fleet", "deploy/fleet/demo",
	"engine/enginetest", "internal/certificate/certificatetest", "internal/contracttest",
	"internal/testsweep", "internal/disk/disktest", "internal/fixture", "internal/manual", "internal/mutationtest",
	"internal/postgrestest", "internal/redistest",
}

// TestProductLinksNoRivals follows the real imports of the product's command, independently of
// mayImport.
func TestProductLinksNoRivals(t *testing.T) {
	imports := map[string][]string{}
	for _, file := range sources(t) {
		// The build that writes the manual pages is another program.
		if !file.isTest() && file.path != "cmd/ninepocket/man.go" {
			imports[file.folder] = append(imports[file.folder], file.ownImports(t)...)
		}
	}

	linked := map[string]bool{}
	var link func(name string)
	link = func(name string) {
		if linked[name] {
			return
		}
		linked[name] = true
		for _, imported := range imports[name] {
			link(imported)
		}
	}
	link("cmd/ninepocket")

	// If these packages are missing, the imports were not followed.
	if !linked["node"] || !linked["snapshot"] {
		t.Error("the product links neither node nor snapshot")
	}
	for _, name := range notInProduct {
		if imports[name] == nil && mayImport[name] == nil {
			t.Errorf("%s is no package of the house", name)
		}
		if linked[name] {
			t.Errorf("the product links %s", name)
		}
	}
}

// TestLayersHaveNoCircle checks the map for cycles: the compiler would find a cycle only when it is
// used.
func TestLayersHaveNoCircle(t *testing.T) {
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(name string, trail []string)
	visit = func(name string, trail []string) {
		trail = append(trail, name)
		switch state[name] {
		case done:
			return
		case visiting:
			t.Errorf("circle: %s", strings.Join(trail, " → "))
			return
		}

		state[name] = visiting
		for _, next := range mayImport[name] {
			if _, known := mayImport[next]; !known && next != anyOfOurs {
				t.Errorf("mayImport[%q] names %q, which has no entry", name, next)
			}
			visit(next, trail)
		}

		state[name] = done
	}
	for _, name := range slices.Sorted(maps.Keys(mayImport)) {
		visit(name, nil)
	}
}

// TestMapIsDocumented compares the table of docs/dev/ARCHITECTURE.md with mayImport: the same packages,
// the same imports.
func TestMapIsDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/dev/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}

	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		documented[name] = true

		var want string
		switch allowed := slices.Sorted(slices.Values(mayImport[name])); {
		case slices.Contains(allowed, anyOfOurs):
			want = "all"
		case len(allowed) == 0:
			want = "nothing"
		default:
			want = strings.Join(allowed, ", ")
		}
		if got := strings.TrimSpace(cells[3]); got != want {
			t.Errorf("docs/dev/ARCHITECTURE.md: %s may import %s, and mayImport says %s", name, got, want)
		}
	}

	for name := range mayImport {
		if !documented[name] {
			t.Errorf("docs/dev/ARCHITECTURE.md has no row of %s", name)
		}
	}
}

func TestLayerFault(t *testing.T) {
	f := func(folder, fileName, packageName, imported string, wantFault bool) {
		t.Helper()
		file := &sourceFile{
			path: folder + "/" + fileName, folder: folder,
			File: &ast.File{Name: ast.NewIdent(packageName)},
		}
		if got := layerFault(file, imported); (got != "") != wantFault {
			t.Errorf("%s in %s importing %s: fault %q, want a fault: %t", fileName, folder, imported, got, wantFault)
		}
	}

	f("engine", "view.go", "engine", "index", false)
	f("engine", "view.go", "engine", "server", true)
	f("engine", "view.go", "engine", "index/text", true)
	f("snapshot", "store.go", "snapshot", "internal/synth", true)
	f("snapshot", "store_test.go", "snapshot", "internal/synth", false)
	f("snapshot", "store_test.go", "snapshot", "loader", true)
	f("snapshot", "store_ext_test.go", "snapshot_test", "loader", false)
	f("cmd/ninepocket", "serve.go", "main", "server", false)
	f("cmd/ninepocket", "serve.go", "main", "elsewhere", true)
}

func TestProductionFilesAreShort(t *testing.T) {
	for _, file := range sources(t) {
		if !file.isTest() && !ast.IsGenerated(file.File) && file.lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: split it by resource (card, set, price), never by kind",
				file.path, file.lines, maxFileLines)
		}
	}
}

func TestPackageNamesSayWhatIsInside(t *testing.T) {
	banned := []string{"base", "common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}
	for _, file := range sources(t) {
		name := strings.TrimSuffix(file.Name.Name, "_test")
		if slices.Contains(banned, name) || slices.Contains(banned, path.Base(file.folder)) {
			t.Errorf("%s: package %s: name a package after what it holds", file.path, name)
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	comments := map[string][]string{}
	for _, file := range sources(t) {
		if file.isTest() {
			continue
		}
		if _, seen := comments[file.folder]; !seen {
			comments[file.folder] = nil
		}
		if file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != "" {
			comments[file.folder] = append(comments[file.folder], file.path)
		}
	}

	for folder, where := range comments {
		if len(where) != 1 {
			t.Errorf("package %s has %d package comments %v, want one", folder, len(where), where)
		}
	}
}
