package synth

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// priceRow is a row of a price file as read back.
type priceRow struct {
	cents     int64 // centsNoPrice for none
	asOf      time.Time
	collected time.Time
	licensed  bool
}

// source is a directory as read back, without any of the code that wrote it.
type source struct {
	sets    map[string]setLine
	cards   map[string]cardLine
	sealed  map[string]sealedLine
	order   []string // refs of cards
	prices  map[string]map[Lane]priceRow
	history map[Lane]map[string]int64
	rows    int // of history
}

// write writes a catalog into a fresh directory.
func write(t testing.TB, o Options) (string, Summary) {
	t.Helper()
	dir := t.TempDir()
	sum, err := Summarize(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return dir, sum
}

// read reads a directory whose rows are all valid.
func read(t testing.TB, dir string) *source {
	t.Helper()
	s := &source{sets: map[string]setLine{}, cards: map[string]cardLine{}, sealed: map[string]sealedLine{}}
	s.prices = map[string]map[Lane]priceRow{}
	s.history = map[Lane]map[string]int64{}
	lines(t, dir, "sets.jsonl", func(l setLine) { putOnce(t, s.sets, l.Ref, l) })
	lines(t, dir, "cards.jsonl", func(l cardLine) { putOnce(t, s.cards, l.Ref, l); s.order = append(s.order, l.Ref) })
	lines(t, dir, "sealed.jsonl", func(l sealedLine) { putOnce(t, s.sealed, l.Ref, l) })
	for _, path := range glob(t, dir, "prices/*") {
		s.prices[filepath.Base(path)[:10]] = readPrices(t, path)
	}

	for _, path := range glob(t, dir, "history/*") {
		s.readHistory(t, path)
	}
	return s
}

// putOnce and the readers of cells run for every row. They do not call Helper, which would take
// longer than their work.
func putOnce[K comparable, V any](t testing.TB, m map[K]V, key K, v V) {
	if _, twice := m[key]; twice {
		t.Errorf("%v is there twice", key)
	}
	m[key] = v
}

func glob(t testing.TB, dir, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func lines[L any](t testing.TB, dir, name string, each func(L)) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	for scan := bufio.NewScanner(f); scan.Scan(); {
		var l L
		d := json.NewDecoder(strings.NewReader(scan.Text()))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%s: %v in %s", name, err, scan.Text())
		}
		each(l)
	}
}

// rows reads a CSV file, compressed or not, and calls each with each row, which is valid only
// during the call.
func rows(t testing.TB, path string, each func(head, row []string)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	var r io.Reader = f
	if strings.HasSuffix(path, ".zst") {
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}

	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}

	for c.ReuseRecord = true; ; {
		row, err := c.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		each(head, row)
	}
}

func number(t testing.TB, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func instant(t testing.TB, s string) time.Time {
	if s == "" {
		return time.Time{}
	}

	at, err := time.Parse("2006-01-02T15:04:05Z", s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func readPrices(t testing.TB, path string) map[Lane]priceRow {
	t.Helper()
	prices := map[Lane]priceRow{}
	rows(t, path, func(_, row []string) {
		p := priceRow{
			cents: centsNoPrice, asOf: instant(t, row[4]), collected: instant(t, row[5]),
			licensed: row[6] != "false",
		}
		if row[3] != "" {
			p.cents = number(t, row[3])
		}
		putOnce(t, prices, Lane{strings.Clone(row[0]), strings.Clone(row[1]), strings.Clone(row[2])}, p)
	})
	return prices
}

func (s *source) readHistory(t testing.TB, path string) {
	t.Helper()
	rows(t, path, func(head, row []string) {
		s.rows++
		at := Lane{strings.Clone(row[0]), strings.Clone(row[1]), "ungraded"}
		first := 2
		if head[2] == "condition" {
			at.Condition = strings.Clone(row[2])
			first = 3
		}

		days := map[string]int64{}
		for i, cell := range row[first:] {
			switch cell {
			case "":
			case "-":
				days[head[first+i]] = centsNoPrice
			default:
				days[head[first+i]] = number(t, cell)
			}
		}

		putOnce(t, s.history, at, days)
	})
}
