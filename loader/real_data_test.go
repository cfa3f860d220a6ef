package loader

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// realDir is where the real catalogs are expected, which are not part of the repository.
func realDir() string {
	if dir := os.Getenv("DATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared", "data")
}

// dataDir is realDir; without it the test is skipped.
func dataDir(tb testing.TB) string {
	tb.Helper()
	dir := realDir()
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("skipped: no real catalogs in %s", dir)
	}
	return dir
}

// The real inputs: the live tree of both games and their daily history.
const (
	realTree        = "tcgcsv/tcgplayer-current.tar.zst"
	realHistory     = "price-history/pokemon-daily-250d-by-productId.csv.zst"
	realHistoryOP   = "price-history/onepiece-daily-366d-by-productId.csv.zst"
	realPokemonTCG  = "pokemon-tcg-data/pokemon-tcg-data-en.tar.zst"
	realPunkRecords = "punk-records/punk-records-english.tar.zst"
)

var (
	realNow     = time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC)
	realEarlier = time.Date(2026, 8, 8, 20, 0, 0, 0, time.UTC)
)

func realOptions(dir string) Options {
	o := Options{Sources: []Input{{source.KindTCGCSV, realTreeOf(dir)}}, CollectedAt: realNow}
	for _, name := range realHistories() {
		o.Prices = append(o.Prices, Input{source.KindTCGCSV, filepath.Join(dir, name)})
	}
	return o
}

// onlyOnePiece is the part of the tree that has to do under the race detector, unpacked.
var onlyOnePiece = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ninepocket-loader")
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(realDir(), realTree))
	if err != nil {
		return "", err
	}
	files, err := untar(data)
	if err != nil {
		return "", err
	}
	return dir, writeTree(dir, files, func(name string) bool { return strings.Contains(name, "/68/") })
})

// realTreeOf is the tree to build from.
func realTreeOf(dir string) string {
	if !raceEnabled {
		return filepath.Join(dir, realTree)
	}

	part, err := onlyOnePiece()
	if err != nil {
		panic(err)
	}

	return part
}

// TestMain removes the unpacked files of tests over real data.
func TestMain(m *testing.M) {
	code := m.Run()
	if raceEnabled {
		if _, err := os.Stat(realDir()); err == nil {
			if dir, err := onlyOnePiece(); err == nil {
				_ = os.RemoveAll(dir)
			}
		}
	}

	os.Exit(code)
}

// realHistories are the history files to read: under the race detector the smaller one has to do.
func realHistories() []string {
	if raceEnabled {
		return []string{realHistoryOP}
	}
	return []string{realHistory, realHistoryOP}
}

// realCatalog is built once for all tests that only read it.
var realCatalog = sync.OnceValues(func() (*Result,
	error,
) {
	return Build(context.Background(), realOptions(realDir()))
})

func mustReal(t *testing.T) (dir string, r *Result) {
	t.Helper()
	dir = dataDir(t)
	r, err := realCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// readTree reads the files of the tree into memory.
func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, realTree))
	if err != nil {
		t.Fatal(err)
	}

	files, err := untar(data)
	if err != nil {
		t.Fatal(err)
	}

	if raceEnabled {
		for name := range files {
			if !strings.Contains(name, "/68/") {
				delete(files, name)
			}
		}
	}

	return files
}

func untar(packed []byte) (map[string][]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		return nil, err
	}
	defer d.Close()

	files := map[string][]byte{}
	for r := tar.NewReader(d); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}

		if h.Typeflag == tar.TypeReg {
			files[strings.TrimPrefix(h.Name, "./")], err = io.ReadAll(r)
			if err != nil {
				return nil, err
			}
		}
	}
}

func writeTree(dir string, files map[string][]byte, wanted func(string) bool) error {
	for name, data := range files {
		if !wanted(name) {
			continue
		}

		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}

	return nil
}

func openZstd(t *testing.T, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}

	d, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { d.Close(); f.Close() })
	return d
}

// realProduct is a product in the feed's own files.
type realProduct struct {
	ID       int    `json:"productId"`
	Name     string `json:"name"`
	Category int    `json:"categoryId"`
	Group    int    `json:"groupId"`
	Extended []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"extendedData"`
}

func (p *realProduct) attribute(name string) string {
	for _, e := range p.Extended {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// realTables are the tree and the history files, read without any of the loader.
type realTables struct {
	products map[string][]realProduct // by category
	cents    map[string]map[string]int64
	history  map[string]map[string][]snapshot.Point // product id → subTypeName
}

func readReal(t *testing.T, dir string) *realTables {
	t.Helper()
	tables := &realTables{
		products: map[string][]realProduct{}, cents: map[string]map[string]int64{},
		history: map[string]map[string][]snapshot.Point{},
	}

	for name, data := range readTree(t, dir) {
		parts := strings.Split(name, "/")
		switch parts[len(parts)-1] {
		case "products":
			var reply struct{ Results []realProduct }
			if err := json.Unmarshal(data, &reply); err != nil {
				t.Fatal(err)
			}
			tables.products[parts[1]] = append(tables.products[parts[1]], reply.Results...)
		case "prices":
			tables.addPrices(t, data)
		}
	}

	for _, list := range tables.products {
		slices.SortFunc(list, func(a, b realProduct) int { return a.ID - b.ID })
	}

	return tables
}

func (r *realTables) addPrices(t *testing.T, data []byte) {
	t.Helper()
	var reply struct {
		Results []struct {
			ID     int         `json:"productId"`
			Market json.Number `json:"marketPrice"`
			Sub    string      `json:"subTypeName"`
		}
	}

	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&reply); err != nil {
		t.Fatal(err)
	}

	for _, p := range reply.Results {
		id := strconv.Itoa(p.ID)
		if r.cents[id] == nil {
			r.cents[id] = map[string]int64{}
		}
		r.cents[id][p.Sub] = snapshot.NoCents
		if rat, ok := new(big.Rat).SetString(p.Market.String()); ok {
			rat.Mul(rat, big.NewRat(100, 1)).Add(rat, big.NewRat(1, 2))
			r.cents[id][p.Sub] = new(big.Int).Div(rat.Num(), rat.Denom()).Int64()
		}
	}
}

// addHistory reads the rows of the wanted products.
func (r *realTables) addHistory(t *testing.T, in io.Reader, wanted map[string]bool) {
	t.Helper()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	var days []snapshot.Day
	for _, d := range strings.Split(lines.Text(), ",")[2:] {
		days = append(days, day(t, d))
	}

	for lines.Scan() {
		id, _, _ := bytes.Cut(lines.Bytes(), []byte(","))
		if !wanted[string(id)] {
			continue
		}

		row := strings.Split(lines.Text(), ",")
		var points []snapshot.Point
		for i, cell := range row[2:] {
			if cents, err := strconv.ParseInt(cell, 10, 64); err == nil {
				points = append(points, snapshot.Point{Day: days[i], Cents: cents})
			}
		}

		if r.history[row[0]] == nil {
			r.history[row[0]] = map[string][]snapshot.Point{}
		}

		r.history[row[0]][row[1]] = points
	}

	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
}
