package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ninepocket/snapshot"
)

// checked is a sink that fails on records which the package promises never to hand on.
type checked struct {
	t *testing.T
	n int
}

// Missing checks a missing group.
func (c *checked) Missing(m MissingFile) {
	c.expect(m.Game != "" && m.SetRef != "", "a group of no game or without a key", m)
}

func (c *checked) expect(ok bool, what string, v any) {
	c.t.Helper()
	if !ok {
		c.t.Fatalf("%s: %+v", what, v)
	}
	c.n++
}

func (c *checked) Set(s Set) {
	c.expect(validRef(s.Ref) && s.Name != "" && (s.Game == pokemon || s.Game == onePiece) &&
		(s.Release == snapshot.NoDay || s.Release >= 0), "set", s)
}

func (c *checked) Card(v Card) {
	c.expect(validRef(v.Ref) && v.Name != "" && (v.UpdatedAt == snapshot.NoTime || v.UpdatedAt >= 0) &&
		(v.Image == "" || imageOK(v.Image)), "card", v)
}

func (c *checked) Sealed(v Sealed) {
	c.expect(validRef(v.Ref) && v.Name != "" && v.Units >= 0, "sealed", v)
}

func (c *checked) Price(p Price) {
	c.expect(validRef(p.Ref) && (p.Variant == "" || IsCode(p.Variant)) &&
		(p.Cents == snapshot.NoCents || p.Cents >= 0 && p.Cents <= snapshot.MaxCents) && p.Day >= 0 &&
		(p.Variant == "") == (p.Condition == ""), "price", p)
}

func (c *checked) Series(s Series) {
	c.expect(validRef(s.Ref) && (s.Variant == "" || IsCode(s.Variant)), "series", s)
	c.expect(slices.IsSortedFunc(s.Points, func(a, b snapshot.Point) int { return int(a.Day - b.Day) }) &&
		slices.IsSorted(s.Blank), "days", s)
	for _, p := range s.Points {
		c.expect(p.Cents >= 0 && p.Cents <= snapshot.MaxCents && p.Day >= 0 && p.Day <= s.Last, "point", p)
	}
}

func (c *checked) Quarantine(q Quarantine) {
	c.expect(reasons()[q.Reason] != "" && q.At.File != "" && utf8.ValidString(q.Value) && len(q.Value) < 200 &&
		utf8.ValidString(q.Ref) && len(q.Ref) < 200, "quarantine", q)
}

func (c *checked) Progress(string, int64, int64) {}

// fuzzLimits keep one execution short.
var fuzzLimits = limits{entries: 1000, entry: 1 << 20, total: 4 << 20}

func FuzzNativeLines(f *testing.F) {
	for _, name := range []string{nativeSets, nativeCards, nativeSealed} {
		text, err := os.ReadFile(filepath.Join(exampleDir, name))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add([]byte(line))
		}
		f.Add(text)
	}

	f.Add([]byte("{\"ref\":\"a\",\"ref\":\"a\"}\n{\"Ref\":\"a\"}\nnull\n[]\n\"\xff\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, line := range []func(Sink, Location, []byte) *recordError{
			readNativeSet, readNativeCard,
			readNativeSealed,
		} {
			if err := readJSONLines(context.Background(), strings.NewReader(string(text)), "f.jsonl", &checked{t: t},
				line); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzNativePrices(f *testing.F) {
	text, err := os.ReadFile(filepath.Join(exampleDir, "prices", "2026-08-22.csv"))
	if err != nil {
		f.Fatal(err)
	}

	f.Add(text)
	head := "ref,variant,condition,cents,source_as_of,collected_at,licensed\n"
	f.Add([]byte(head + "a,,,1,,2026-08-22T20:00:00Z,\na,,,1,,2026-08-22T20:00:00Z,\n"))
	f.Add([]byte(head + "\"a\"\"b\",normal,damaged,,2026-08-22T20:00:00Z,2026-08-22T20:00:00Z,false\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		suspects, err := findSuspects(context.Background(), strings.NewReader(string(text)), "f.csv")
		p := priceReader{
			file: "f.csv", day: 20_000, asOf: snapshot.NoTime, possibleDuplicates: suspects, to: &checked{t: t},
			variants: newVariantReader(false),
		}
		if again := p.read(context.Background(), strings.NewReader(string(text))); (err == nil) != (again == nil) {
			t.Fatalf("%v, then %v", err, again)
		}
	})
}

func FuzzWide(f *testing.F) {
	text, err := os.ReadFile(filepath.Join(exampleDir, "history", "2026-08-first-weeks.csv"))
	if err != nil {
		f.Fatal(err)
	}

	f.Add(text)
	f.Add([]byte("productId,subTypeName,2026-04-19,2026-04-18\n1,1st Edition,-,\n1,1st Edition,5,x\n"))
	f.Add([]byte("cardId,2026-04-19\n\"base1\"\"-1\",9007199254740991\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ptcg := wideLayout{key: "cardId", variant: "subTypeName", condition: "ungraded", refOK: validRef}
		for _, layout := range []wideLayout{tcgLayout(), nativeLayout(), ptcg} {
			_ = readWide(context.Background(), strings.NewReader(string(text)), "f.csv", layout, &checked{t: t})
		}
	})
}

// fuzzTree reads a source whose folder is one file in place of another in a tree that is whole.
func fuzzTree(t *testing.T, kind string, tree files) {
	t.Helper()
	in := &memFolder{}
	for name, text := range tree {
		in.list = append(in.list, file{name: name, size: int64(len(text)), mod: mtime})
	}

	slices.SortFunc(in.list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	in.tree = tree
	var src Source
	var err error
	switch kind {
	case KindTCGCSV:
		src, err = newTCGCSV(in, "mem", Options{DefaultCondition: "ungraded", limits: fuzzLimits})
	case KindPokemonTCG:
		src, err = newPokemonTCG(in, "mem", Options{DefaultCondition: "ungraded", limits: fuzzLimits})
	case KindPunkRecords:
		src, err = newPunkRecords(in, "mem", Options{})
	}

	if err != nil {
		return
	}

	sink := &checked{t: t}
	_ = src.Catalog(context.Background(), sink)
	_ = src.Prices(context.Background(), sink)
}

func FuzzTCGCSVFiles(f *testing.F) {
	for name, text := range tcgTreeFixture() {
		f.Add(strings.TrimPrefix(name, "tcgplayer/"), []byte(text))
	}

	f.Add("3/1/prices", []byte(`{"results":[{"productId":1,"subTypeName":"A","marketPrice":0.005},`+
		`{"productId":1,"subTypeName":"a","marketPrice":null}],"success":true}`))
	f.Add("2026-04-20/3/1/prices", []byte(`{"results":[]}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		tree := tcgTreeFixture()
		tree["tcgplayer/"+name] = string(text)
		fuzzTree(t, KindTCGCSV, tree)
	})
}

func FuzzPokemonTCGFiles(f *testing.F) {
	for name, text := range ptcgFixture() {
		f.Add(name, []byte(text))
	}

	f.Fuzz(func(t *testing.T, name string, text []byte) {
		tree := ptcgFixture()
		tree[name] = string(text)
		fuzzTree(t, KindPokemonTCG, tree)
	})
}

func FuzzPunkRecordsFiles(f *testing.F) {
	for name, text := range punkFixture() {
		f.Add(name, []byte(text))
	}

	f.Fuzz(func(t *testing.T, name string, text []byte) {
		tree := punkFixture()
		tree[name] = string(text)
		fuzzTree(t, KindPunkRecords, tree)
	})
}

func FuzzCents(f *testing.F) {
	for _, text := range []string{"4.35", "0.005", "90071992547409.91", "1e5", "-1", "120"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		v, ok := centsOf(text)
		if ok && (v < 0 || v > snapshot.MaxCents || strings.Trim(text, "0123456789.") != "") {
			t.Fatalf("centsOf(%q) = %d", text, v)
		}
	})
}

// scratch is a file whose content changes with every execution. It stays open: making or
// rewriting a file takes longer than everything that is done with it.
type scratch struct{ *os.File }

func newScratch(f *testing.F, name string) *scratch {
	f.Helper()
	file, err := os.Create(filepath.Join(f.TempDir(), name))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = file.Close() }) // only a test's
	return &scratch{file}
}

// with returns the name of the file, which now holds data and nothing else.
func (s *scratch) with(t *testing.T, data []byte) string {
	t.Helper()
	if _, err := s.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}

	return s.Name()
}

// FuzzArchive opens bytes as each kind of archive and reads the whole archive.
func FuzzArchive(f *testing.F) {
	tree := files{"2026-04-20/3/1/prices": pricesFile(tcgRow(1, "Normal", "1.00")), "b": ""}
	packed := tree.tar(f)
	f.Add(uint8(0), packed)
	f.Add(uint8(1), zstdOf(f, packed))
	f.Add(uint8(2), gzipOf(f, packed))
	f.Add(uint8(3), tree.sevenZip(f))
	link := tarHeader{}
	link.Name = "a"
	link.Linkname = "/etc"
	link.Typeflag = '2'
	f.Add(uint8(0), packTar(f, link))
	archives := []*scratch{
		newScratch(f, "a.tar"), newScratch(f, "a.tar.zst"), newScratch(f, "a.tar.gz"),
		newScratch(f, "a.7z"),
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		in, err := openFolder(archives[kind%4].with(t, data), fuzzLimits)
		if err != nil {
			return
		}

		for _, file := range in.files() {
			if name, err := safeName(file.name); err != nil || name != file.name {
				t.Fatalf("%q: %v", file.name, err)
			}
		}

		got, err := readFolder(in)
		if err == nil && len(got) != len(in.files()) {
			t.Fatalf("%d of %d files", len(got), len(in.files()))
		}
		if errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	})
}

func FuzzSourceToml(f *testing.F) {
	f.Add([]byte("namespace = \"shop\"\nattribution = \"A\"\npartner_namespace = \"p\"\n"))
	f.Add([]byte("colour = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := &memFolder{list: []file{{name: nativeToml}}, tree: files{nativeToml: string(text)}}
		src, err := newNative(in, "mem", Options{limits: fuzzLimits})
		if err == nil && !namespaceOK(src.Feed().Namespace) {
			t.Fatalf("namespace %q", src.Feed().Namespace)
		}
	})
}
