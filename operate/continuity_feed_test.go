package operate_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/feed"
	"ninepocket/snapshot"
)

// firstDay is the day of the world's first tree.
var firstDay = time.Date(2026, 3, 1, 20, 5, 0, 0, time.UTC)

// A world's size: one group of 48 is 2.1 %, so that two may be missing and three are more than 5 %.
const (
	groupsPerGame = 24
	cardsPerGroup = 14
	maxMissing    = 2
)

// lane is what a price row is of.
type lane struct{ ref, variant string }

// rows are the prices of a group on a day, snapshot.NoCents for a row without one.
type rows map[lane]int64

// groupFile is a group in a tree: the bodies of its files, "" for a missing one, and what they are
// worth.
type groupFile struct {
	listed           bool
	products, prices string
	hasProducts      bool // products can be read
	usable           bool // prices are those of the day
	rows             rows // in prices, also in unusable ones
	in               map[string]bool
}

// tree is what the feed has at an instant.
type tree struct {
	day, hour int
	files     []*groupFile // by group
}

func (t *tree) at() time.Time {
	return firstDay.AddDate(0, 0, t.day).Add(time.Duration(t.hour) * time.Hour)
}

func dayName(day int) string { return firstDay.AddDate(0, 0, day).Format(time.DateOnly) }

func dayOf(day int) snapshot.Day { return snapshot.DayOf(firstDay.AddDate(0, 0, day).UnixMilli()) }

func reply(results []string) string {
	return `{"success":true,"errors":[],"results":[` + strings.Join(results, ",\n") + "]}"
}

// pricesFile is the body of a prices file. Each row stands there so many times; quoted are rows whose
// price is text.
func pricesFile(of rows, times int, factor int64, quoted func(lane) bool) string {
	var all []string
	for _, l := range sortedLanes(of) {
		_, product, _ := strings.Cut(l.ref, "/")
		price := "null"
		if cents := of[l] * factor; of[l] != snapshot.NoCents {
			price = fmt.Sprintf("%d.%02d", cents/100, cents%100)
		}
		if quoted(l) {
			price = strconv.Quote(price)
		}
		row := fmt.Sprintf(`{"productId":%s,"lowPrice":0.01,"marketPrice":%s,"subTypeName":%q}`, product, price,
			l.variant)
		all = append(all, slices.Repeat([]string{row}, times)...)
	}
	return reply(all)
}

func sortedLanes(of rows) []lane {
	var all []lane
	for l := range of {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b lane) int { return strings.Compare(a.ref+a.variant, b.ref+b.variant) })
	return all
}

// write writes a tree as a pull leaves it.
func (w *world) write(t *tree) {
	w.t.Helper()
	files := map[string]string{"last-updated.txt": t.at().Format("2006-01-02T15:04:05-0700")}
	listed := map[string][]string{}
	for i, f := range t.files {
		g := w.groups[i]
		if !f.listed {
			continue
		}
		listed[g.category] = append(listed[g.category], fmt.Sprintf(`{"groupId":%d,"name":%q,"abbreviation":"G%d",`+
			`"publishedOn":"2024-05-01T00:00:00"}`, g.id, g.name, g.id))
		if f.products != "" {
			files[fmt.Sprintf("tcgplayer/%s/%d/products", g.category, g.id)] = f.products
		}
		if f.prices != "" {
			files[fmt.Sprintf("tcgplayer/%s/%d/prices", g.category, g.id)] = f.prices
		}
	}
	for category, groups := range listed {
		files["tcgplayer/"+category+"/groups"] = reply(groups)
	}

	must(w.t, os.RemoveAll(w.tree))
	for name, body := range files {
		writeFile(w.t, filepath.Join(w.tree, name), body)
	}
}

// missingPrices stands in an archived day for a prices file that could not be pulled.
const missingPrices = `{"success":false,"errors":["could not be pulled"],"results":[]}` + "\n"

// archive adds a tree to the archived file of its day, as a pull does: what only the earlier tree has
// stays.
func (w *world) archive(t *tree) {
	day := dayName(t.day)
	entries := map[string]string{day + "/last-updated.txt": t.at().Format("2006-01-02T15:04:05-0700")}

	for i, f := range t.files {
		if !f.listed {
			continue
		}
		body := f.prices
		if body == "" {
			body = missingPrices
		}
		entries[fmt.Sprintf("%s/%s/%d/prices", day, w.groups[i].category, w.groups[i].id)] = body
	}

	changed := false
	for name, body := range w.archived[t.day] {
		if fresh, there := entries[name]; !there || !hasRows(fresh) {
			entries[name] = body
		}
		changed = changed || hasRows(body) && entries[name] != body
	}
	if changed {
		w.earlier[t.day] = append(w.earlier[t.day], w.archived[t.day])
	}
	w.archived[t.day] = entries
}

func hasRows(body string) bool { return strings.Contains(body, `"productId"`) }

// packDay puts the archived file of a day where a build finds it.
func (w *world) packDay(day int) {
	w.t.Helper()
	file := feed.DayFile(filepath.Dir(w.tree), dayName(day))
	w.pack(file, w.archived[day])
	for i, entries := range w.earlier[day] {
		w.pack(strings.TrimSuffix(file, ".tar.zst")+fmt.Sprintf(".%d.tar.zst", i+1), entries)
	}
	w.there[day] = true
}

// pack writes an archived file.
func (w *world) pack(file string, entries map[string]string) {
	w.t.Helper()
	var names []string
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)

	var packed bytes.Buffer
	compress, err := zstd.NewWriter(&packed)
	must(w.t, err)
	out := tar.NewWriter(compress)
	for _, name := range names {
		must(w.t, out.WriteHeader(&tar.Header{
			Name: name, Mode: 0o644, Size: int64(len(entries[name])), ModTime: firstDay, Typeflag: tar.TypeReg,
		}))
		_, err := out.Write([]byte(entries[name]))
		must(w.t, err)
	}
	must(w.t, out.Close())
	must(w.t, compress.Close())
	writeFile(w.t, file, packed.String())
}

// writeMapping writes what the operator knows.
func (w *world) writeMapping() {
	w.t.Helper()
	aliases := "kind,namespace,ref,target_namespace,target_ref\n"
	for _, pair := range w.aliases {
		aliases += fmt.Sprintf("card,tcgcsv,%s,tcgcsv,%s\n", pair[0], pair[1])
	}
	removed := "kind,namespace,ref,reason\n"
	for _, c := range w.cards() {
		if c.removed {
			removed += fmt.Sprintf("card,tcgcsv,%s,counterfeit\n", c.ref)
		}
	}
	writeFile(w.t, filepath.Join(w.mapping, "aliases.csv"), aliases)
	writeFile(w.t, filepath.Join(w.mapping, "removed.csv"), removed)
}

func writeFile(tb testing.TB, name, body string) {
	tb.Helper()
	must(tb, os.MkdirAll(filepath.Dir(name), 0o755))
	must(tb, os.WriteFile(name, []byte(body), 0o600))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
