package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/snapshot"
)

// recorder is a sink that keeps everything.
type recorder struct {
	missing  []MissingFile
	sets     []Set
	cards    []Card
	sealed   []Sealed
	prices   []Price
	series   []Series
	refused  []Quarantine
	progress map[string][2]int64
}

func (r *recorder) Set(s Set)       { r.sets = append(r.sets, s) }
func (r *recorder) Card(c Card)     { r.cards = append(r.cards, c) }
func (r *recorder) Sealed(s Sealed) { r.sealed = append(r.sealed, s) }
func (r *recorder) Price(p Price)   { r.prices = append(r.prices, p) }
func (r *recorder) Series(s Series) {
	s.Points = slices.Clone(s.Points)
	s.Blank = slices.Clone(s.Blank)
	r.series = append(r.series, s)
}
func (r *recorder) Missing(m MissingFile) { r.missing = append(r.missing, m) }

func (r *recorder) Quarantine(q Quarantine) { r.refused = append(r.refused, q) }
func (r *recorder) Progress(phase string, done, total int64) {
	if r.progress == nil {
		r.progress = map[string][2]int64{}
	}
	r.progress[phase] = [2]int64{done, total}
}

// reasons counts what was refused.
func (r *recorder) reasons() map[string]int {
	counts := map[string]int{}
	for _, q := range r.refused {
		counts[q.Reason]++
	}
	return counts
}

// lines are the refused records as "file:line reason ref value".
func (r *recorder) lines() []string {
	var out []string
	for _, q := range r.refused {
		out = append(out, fmt.Sprintf("%s:%d %s %s", q.At.File, q.At.Line, q.Reason, q.Ref))
	}
	return out
}

// readAll opens an input and reads catalog and prices; the error is that of any of the steps.
func readAll(kind, path string, o Options) (*recorder, Source, error) {
	rec := &recorder{}
	src, err := Open(kind, path, o)
	if err != nil {
		return rec, nil, err
	}
	if err := src.Catalog(context.Background(), rec); err != nil {
		return rec, src, err
	}

	return rec, src, src.Prices(context.Background(), rec)
}

func mustRead(t *testing.T, kind, path string, o Options) *recorder {
	t.Helper()
	rec, _, err := readAll(kind, path, o)
	if err != nil {
		t.Fatalf("%s %s: %v", kind, path, err)
	}
	return rec
}

// wantError expects an error that mentions all of the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that mentions %q", words)
	}

	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not mention %q", err, word)
		}
	}
}

// wantReasons expects exactly these counts of refused records.
func (r *recorder) wantReasons(t *testing.T, want map[string]int) {
	t.Helper()
	if got := r.reasons(); !maps.Equal(got, want) {
		t.Errorf("refused %v, want %v:\n%s", got, want, strings.Join(r.lines(), "\n"))
	}
}

// files is a tree of files, as text by name.
type files map[string]string

// mtime is the file time of every fixture.
var mtime = time.Date(2026, 8, 22, 21, 0, 0, 0, time.UTC)

// dir writes the tree to a temporary directory.
func (f files) dir(tb testing.TB) string {
	tb.Helper()
	root := tb.TempDir()
	for name, text := range f {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
		if err := os.Chtimes(full, mtime, mtime); err != nil {
			tb.Fatal(err)
		}
	}

	return root
}

// tar packs the tree, by name.
func (f files) tar(tb testing.TB) []byte {
	tb.Helper()
	var headers []tarHeader
	for _, name := range slices.Sorted(maps.Keys(f)) {
		headers = append(headers, tarHeader{Header: tar.Header{Name: name}, text: f[name]})
	}
	return packTar(tb, headers...)
}

type tarHeader struct {
	tar.Header
	text string
}

func packTar(tb testing.TB, headers ...tarHeader) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Size = int64(len(h.text))
		h.Mode = 0o644
		h.ModTime = mtime
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}

		if err := w.WriteHeader(&h.Header); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(h.text)); err != nil {
			tb.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}

	return b.Bytes()
}

func zstdOf(tb testing.TB, data []byte) []byte {
	tb.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func gzipOf(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}

	return b.Bytes()
}

// save writes one file to a temporary directory.
func save(tb testing.TB, name string, data []byte) string {
	tb.Helper()
	full := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(full, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chtimes(full, mtime, mtime); err != nil {
		tb.Fatal(err)
	}

	return full
}

func day(tb testing.TB, s string) snapshot.Day {
	tb.Helper()
	d, err := snapshot.ParseDay(s)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func ms(tb testing.TB, s string) int64 {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		tb.Fatal(err)
	}
	return at.UnixMilli()
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	f := func(kind, path string, o Options, words ...string) {
		t.Helper()
		_, err := Open(kind, path, o)
		wantError(t, err, words...)
	}

	empty := t.TempDir()
	f("pokeca", empty, Options{}, "pokeca", "tcgcsv, pokemon-tcg-data, punk-records, native")
	f(KindTCGCSV, empty, Options{}, "no TCGCSV files")
	f(KindTCGCSV, filepath.Join(empty, "none"), Options{}, "no such file")
	f(KindTCGCSV, save(t, "prices.rar", nil), Options{}, "cannot read", ".tar.zst")
	f(KindTCGCSV, empty, Options{DefaultCondition: "mint"}, `"mint"`)
	f(KindPokemonTCG, empty, Options{}, "sets/en.json")
	f(KindPunkRecords, empty, Options{}, "packs.json")
	f(KindPunkRecords, save(t, "h.csv", nil), Options{}, "has no prices")
	f(KindNative, empty, Options{}, "source.toml")
	f(KindNative, save(t, "h.csv", nil), Options{}, "namespace")
	f(KindNative, files{"a/source.toml": "", "b/source.toml": ""}.dir(t), Options{}, "more than one source.toml")
}

// reasons are all reasons of quarantine with the source's comment on each.
var reasons = sync.OnceValue(func() map[string]string {
	tree, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, parser.ParseComments)
	if err != nil {
		panic(err)
	}

	all := map[string]string{}
	for node := range ast.Preorder(tree) {
		spec, is := node.(*ast.ValueSpec)
		if !is || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			continue
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		_, meaning, explained := strings.Cut(spec.Doc.Text(), spec.Names[0].Name+" means: ")
		if err != nil || !explained || all[reason] != "" {
			panic("reason " + reason + " is there twice, has no meaning or is no text")
		}
		all[reason] = meaning
	}
	return all
})

func TestReasonsAreListedOnce(t *testing.T) {
	if len(reasons()) < 30 {
		t.Errorf("%d reasons", len(reasons()))
	}
	for reason := range reasons() {
		if !IsCode(reason) {
			t.Errorf("reason %q is no code", reason)
		}
	}
}

func TestCancelStopsReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	for _, path := range []string{tcgTreeFixture().dir(t), save(t, "t.tar", tcgTreeFixture().tar(t))} {
		src, err := Open(KindTCGCSV, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, src.Catalog(ctx, &recorder{}), "context canceled")
		wantError(t, src.Prices(ctx, &recorder{}), "context canceled")
	}
}

// memFolder is a folder in memory.
type memFolder struct {
	list   []file
	tree   files
	broken string // a file that cannot be read
}

func (m *memFolder) files() []file { return m.list }

func (m *memFolder) each(ctx context.Context, want func(string) bool, visit func(file, io.Reader) error) error {
	for _, f := range m.list {
		if !want(f.name) {
			continue
		}

		var r io.Reader = strings.NewReader(m.tree[f.name])
		if f.name == m.broken {
			r = io.MultiReader(r, iotest.ErrReader(syscall.EIO))
		}

		if err := visit(f, r); err != nil {
			return err
		}
	}

	return ctx.Err()
}
