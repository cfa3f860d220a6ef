package bulk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

var site = wire.URLs{URL: "https://cards.test", ProductPrefix: "prd"}

// viewOf is the View of a random world. Its id is that of a snapshot of a day.
func viewOf(t testing.TB, seed uint64, size fixture.Size) *engine.View {
	t.Helper()
	c := fixture.Random(seed, size).Catalog()
	c.ID = fmt.Sprintf("202603%02dT200530Z-%016x", seed+1, seed)
	v, err := engine.NewView(c, site)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func open(dir string, on disk.FS) *bulk.Store {
	return bulk.New(bulk.Options{Dir: dir, Disk: on, Log: slog.New(slog.DiscardHandler)})
}

func step() {}

// find returns the description of a file.
func find(files *bulk.Files, name string) bulk.File {
	return files.Files[slices.IndexFunc(files.Files, func(file bulk.File) bool { return file.Name == name })]
}

func mustMake(t testing.TB, s *bulk.Store, v *engine.View) *bulk.Files {
	t.Helper()
	if err := s.Make(context.Background(), v, step); err != nil {
		t.Fatal(err)
	}
	return s.Of(v.ID)
}

// unpacked reads a file, and compares it with its description.
func unpacked(t testing.TB, dir string, files *bulk.Files, name string) string {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(dir, files.ID, name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(packed)
	about := find(files, name)
	if about.Bytes != int64(len(packed)) || about.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%s is not what %+v says", name, about)
	}

	reader, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	text, err := reader.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Count(text, []byte("\n"))
	if strings.HasSuffix(name, ".csv.zst") {
		rows--
	}
	if about.Rows != int64(rows) {
		t.Errorf("%s has %d rows, said are %d", name, rows, about.Rows)
	}
	return string(text)
}

func table(t testing.TB, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// priceKey names a lane as the files do, and in the words of a card's detail.
type priceKey struct{ card, variant, condition string }

// TestContent compares the files of random worlds with the API's responses: each card's detail, each set's
// summary, each price of a detail, and the points of each lane that the catalog may show.
func TestContent(t *testing.T) {
	for seed := range uint64(8) {
		v := viewOf(t, seed, fixture.Small)
		c := v.Catalog
		dir := t.TempDir()
		files := mustMake(t, open(dir, nil), v)

		var cards, sets strings.Builder
		prices := map[priceKey][]string{}
		for card := range c.Cards.ID.Len() {
			cards.Write(v.AppendDetail(nil, card))
			cards.WriteByte('\n')
			addPrices(t, prices, v.AppendDetail(nil, card))
		}
		for set := range c.Sets.ID.Len() {
			sets.Write(v.AppendSets(nil, []uint32{uint32(set)}))
			sets.WriteByte('\n')
		}
		if unpacked(t, dir, files, bulk.Cards) != cards.String() ||
			unpacked(t, dir, files, bulk.Sets) != sets.String() {
			t.Errorf("seed %d: cards or sets are not those of the API", seed)
		}

		rows := table(t, unpacked(t, dir, files, bulk.Prices))
		if strings.Join(rows[0], ",")+"\n" != bulk.PricesHeader || len(rows) != len(prices)+1 {
			t.Errorf("seed %d: %d rows below %v, want %d", seed, len(rows)-1, rows[0], len(prices))
		}
		for _, row := range rows[1:] {
			condition, _ := snapshot.ParseCondition(row[2])
			key := priceKey{row[0], row[1], condition.Text()}
			if want := prices[key]; !slices.Equal(row[3:], want) {
				t.Errorf("seed %d: %v has %v, want %v", seed, key, row[3:], want)
			}
		}
		checkHistory(t, c, table(t, unpacked(t, dir, files, bulk.History)))
	}
}

// addPrices adds the prices of a Card detail as rows of the prices file.
func addPrices(t testing.TB, to map[priceKey][]string, detail []byte) {
	t.Helper()
	var card struct {
		ID     string
		Prices []struct {
			Variant, Condition string
			Cents              int64  `json:"market_price_cents"`
			At                 string `json:"price_updated_at"`
		}
		Identifiers []struct{ Namespace, Value string }
	}
	if err := json.Unmarshal(detail, &card); err != nil {
		t.Fatal(err)
	}

	product := ""
	for _, id := range card.Identifiers {
		if id.Namespace == "tcgplayer" && product == "" {
			product = id.Value
		}
	}
	for _, price := range card.Prices {
		to[priceKey{card.ID, price.Variant, price.Condition}] = []string{
			strconv.FormatInt(price.Cents, 10), price.At, product,
		}
	}
}

// checkHistory holds the history against the catalog, cell by cell.
func checkHistory(t testing.TB, c *snapshot.Catalog, rows [][]string) {
	t.Helper()
	date := c.Date()
	from := snapshot.WindowStart(date, snapshot.HistoryDays)
	head := []string{"ref", "variant", "condition"}
	for day := from; day <= date; day++ {
		head = append(head, day.String())
	}
	if !slices.Equal(rows[0], head) {
		t.Errorf("the header is %v", rows[0])
	}

	want := map[string][]string{}
	for card := range c.Cards.ID.Len() {
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			points := c.History.AppendPoints(nil, lane, from, date)
			if c.Lanes.Flags[lane]&snapshot.LaneLicensed == 0 || len(points) == 0 {
				continue
			}
			row := make([]string, snapshot.HistoryDays)
			for _, point := range points {
				row[point.Day-from] = strconv.FormatInt(point.Cents, 10)
			}
			want[c.Cards.ID.At(card)+c.Variants.At(int(c.Lanes.Variant[lane]))+
				snapshot.Condition(c.Lanes.Condition[lane]).Code()] = row
		}
	}
	for _, row := range rows[1:] {
		if key := strings.Join(row[:3], ""); !slices.Equal(row[3:], want[key]) {
			t.Errorf("%v is not in the catalog so", row[:3])
		}
	}
	if len(rows)-1 != len(want) {
		t.Errorf("%d rows of history, want %d", len(rows)-1, len(want))
	}
}

// TestEqualBytes checks that two servers make equal files, even if one rests at other times.
func TestEqualBytes(t *testing.T) {
	v := viewOf(t, 3, fixture.Size{Sets: 20, Cards: 2000, Days: 60})
	files := mustMake(t, open(t.TempDir(), nil), v)
	other, err := engine.NewView(v.Catalog, site)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s := open(t.TempDir(), nil)
	if err := s.Make(context.Background(), other, func() { n++ }); err != nil {
		t.Fatal(err)
	}
	if got := s.Of(v.ID); !slices.Equal(got.Files, files.Files) || n < 1000 {
		t.Errorf("%+v, then %+v with %d rests", files, got, n)
	}
}

// TestRestart checks that a new process takes existing files, the newest two alone, and makes a damaged file again.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(dir, nil)
	var views []*engine.View
	for seed := range uint64(4) {
		views = append(views, viewOf(t, seed, fixture.Small))
		mustMake(t, s, views[seed])
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "20260101T000000Z-0123456789abcdef"), 0o700); err != nil {
		t.Fatal(err)
	}

	has := func(want ...string) *bulk.Store {
		t.Helper()
		s := open(dir, nil)
		s.Adopt(context.Background(), step)
		for i, v := range views {
			if found := s.Of(v.ID) != nil; found != slices.Contains(want, v.ID) {
				t.Errorf("snapshot %d: has files is %t", i, found)
			}
		}
		entries, _ := os.ReadDir(dir)
		if len(entries) != len(want)+1 {
			t.Errorf("the folder has %v", entries)
		}
		return s
	}
	has(views[2].ID, views[3].ID)

	// One bit of one file.
	name := filepath.Join(dir, views[3].ID, bulk.Prices)
	disktest.FlipBit(t, name)
	s = has(views[2].ID)
	mustMake(t, s, views[3])
	unpacked(t, dir, s.Of(views[3].ID), bulk.Prices)

	// A file that is cut or gone while it is served is not sent, and is made again.
	if err := os.Truncate(name, 5); err != nil {
		t.Fatal(err)
	}
	if s.Open(s.Of(views[3].ID), bulk.Prices) != nil || s.Of(views[3].ID) != nil {
		t.Error("a cut file is opened")
	}
}

// TestForeignFolder gives the folder of the snapshots as bulk_dir: nothing in it is removed.
func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	v := viewOf(t, 1, fixture.Small)
	for _, id := range []string{v.ID, "20260101T000000Z-0123456789abcdef"} {
		if err := os.Mkdir(filepath.Join(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id, "manifest"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s := open(dir, nil)
	s.Adopt(context.Background(), step)
	if err := s.Make(context.Background(), v, step); err == nil {
		t.Error("files are made beside others")
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(found) != 2 {
		t.Errorf("the folders have %v", found)
	}
}

// TestFailingDisk lets each call of the disk fail in turn. There are all files of a snapshot or none, earlier files
// stay, and the next try succeeds.
func TestFailingDisk(t *testing.T) {
	before := viewOf(t, 1, fixture.Small)
	v := viewOf(t, 2, fixture.Small)
	for k := 1; ; k++ {
		dir := t.TempDir()
		mustMake(t, open(dir, nil), before)
		nth := &disktest.Nth{K: k, Short: k%2 == 0}
		d := disktest.New(nth.Rule)
		d.Unsynced = true
		s := open(dir, d)
		s.Adopt(context.Background(), step)
		err := s.Make(context.Background(), v, step)
		if nth.Failed().Op == "" {
			if err != nil || k < 10 {
				t.Fatalf("after %d calls: %v", k, err)
			}
			return
		}

		if (err == nil) != (s.Of(v.ID) != nil) || s.Of(before.ID) == nil {
			t.Errorf("%v: error %v, files %+v", nth.Failed(), err, s.Of(v.ID))
		}
		again := open(dir, nil)
		again.Adopt(context.Background(), step)
		if again.Of(before.ID) == nil {
			t.Errorf("%v: the files of before are gone", nth.Failed())
		}
		files := mustMake(t, again, v)
		for _, name := range bulk.Names {
			unpacked(t, dir, files, name)
		}
	}
}

// TestRun follows a View: a full disk means no files, a count and another try; the next View is tried at once.
func TestRun(t *testing.T) {
	views := []*engine.View{viewOf(t, 1, fixture.Small), viewOf(t, 2, fixture.Small)}
	synctest.Test(t, func(t *testing.T) {
		full := &disktest.Faults{}
		d := disktest.New(full.Rule)
		d.Unsynced = true
		s := open(t.TempDir(), d)
		var current atomic.Pointer[engine.View]
		current.Store(views[0])
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		full.Set("write", errors.New("no space left on device"))
		go s.Run(ctx, current.Load)

		time.Sleep(time.Second)
		if s.Failures() != 1 || s.Of(views[0].ID) != nil {
			t.Errorf("on a full disk: %d failures, files %v", s.Failures(), s.Of(views[0].ID))
		}
		full.Set("write", nil)
		time.Sleep(30 * time.Second)
		if s.Of(views[0].ID) != nil {
			t.Error("it was tried again at once")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.Of(views[0].ID) == nil {
			t.Error("it was not tried again")
		}

		full.Set("write", errors.New("no space left on device"))
		current.Store(views[1])
		s.Wake <- struct{}{}
		time.Sleep(time.Second)
		full.Set("write", nil)
		current.Store(views[0])
		s.Wake <- struct{}{}
		time.Sleep(time.Second)
		if s.Failures() != 2 || s.Of(views[0].ID) == nil || s.Of(views[1].ID) != nil {
			t.Errorf("after a rollback: %d failures", s.Failures())
		}
		cancel()
		time.Sleep(time.Second)
	})
}
