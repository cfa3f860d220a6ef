package explain_test

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/feed"
	"ninepocket/internal/testsweep"
	"ninepocket/operate/explain"
	"ninepocket/snapshot"
)

// realProduct and realPrice are what the real tree says, read with nothing of the program.
type realProduct struct {
	ID       int    `json:"productId"`
	Name     string `json:"name"`
	Extended []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"extendedData"`
	group string
}

type realPrice map[string]any

func (p realPrice) product() int { return int(p["productId"].(float64)) } //nolint:forcetypeassert // of the feed
func (p realPrice) variant() string {
	return strings.ReplaceAll(strings.ToLower(fmt.Sprint(p["subTypeName"])), " ", "_")
}

// realTree is a full download in memory.
type realTree struct {
	files    map[string]map[string]any // by path
	products map[int]*realProduct
	prices   map[string][]realPrice // by group; nil for a file that is not there
}

// readRealTree reads the tree of the data.
func readRealTree(t *testing.T, file string) *realTree {
	t.Helper()
	packed, err := os.Open(file)
	must(t, err)
	defer packed.Close()
	plain, err := zstd.NewReader(packed)
	must(t, err)
	defer plain.Close()

	tree := &realTree{map[string]map[string]any{}, map[int]*realProduct{}, map[string][]realPrice{}}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return tree
		}
		must(t, err)
		_, name, inTree := strings.Cut("/"+header.Name, "/tcgplayer/")
		if header.Typeflag != tar.TypeReg || !inTree {
			continue
		}
		data, err := io.ReadAll(archive)
		must(t, err)
		group := filepath.Dir(name)
		switch filepath.Base(name) {
		case "products":
			var listed struct{ Results []*realProduct }
			must(t, json.Unmarshal(data, &listed))
			for _, product := range listed.Results {
				product.group = group
				tree.products[product.ID] = product
			}
		case "prices":
			var listed struct{ Results []realPrice }
			must(t, json.Unmarshal(data, &listed))
			tree.prices[group] = listed.Results
			continue
		}
		var body map[string]any
		must(t, json.Unmarshal(data, &body))
		tree.files[name] = body
	}
}

// write writes the tree below a folder, as the feed serves it, without the products that are unlisted.
func (tree *realTree) write(t *testing.T, root, stamp string, unlisted map[int]bool) {
	t.Helper()
	must(t, os.RemoveAll(root))
	put := func(name string, body any) {
		file := filepath.Join(root, "tcgplayer", name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		text, err := json.Marshal(body)
		must(t, err)
		must(t, os.WriteFile(file, text, 0o600))
	}

	for name, body := range tree.files {
		if list, is := body["results"].([]any); is && filepath.Base(name) == "products" {
			body = maps.Clone(body)
			body["results"] = slices.DeleteFunc(slices.Clone(list), func(one any) bool {
				return unlisted[realPrice(one.(map[string]any)).product()] //nolint:forcetypeassert // of the feed
			})
		}
		put(name, body)
	}
	for group, rows := range tree.prices {
		if rows != nil {
			put(group+"/prices", map[string]any{"success": true, "results": rows})
		}
	}
	must(t, os.WriteFile(filepath.Join(root, "last-updated.txt"), []byte(stamp), 0o600))
}

// rowsOf are the rows of a product.
func (tree *realTree) rowsOf(p *realProduct) (rows []realPrice) {
	for _, row := range tree.prices[p.group] {
		if row.product() == p.ID {
			rows = append(rows, row)
		}
	}
	return rows
}

// TestRealReasons asks for 200 cards of the real tree, chosen over all reasons that two of its days have, and
// holds the answers against the files themselves.
func TestRealReasons(t *testing.T) {
	file := filepath.Join(cmp.Or(os.Getenv("DATA"), "../../../shared/data"), "tcgcsv", "tcgplayer-current.tar.zst")
	if _, err := os.Stat(file); err != nil || !testsweep.Full() {
		t.Skip("skipped: 200 cards of the real tree, because this is no full sweep, or there is no real tree")
	}
	s := newShelf(t)
	root := filepath.Join(t.TempDir(), "tree")
	server := httptest.NewServer(http.FileServer(http.Dir(root)))
	t.Cleanup(server.Close)
	pulls := func(day int) {
		at := firstDay.AddDate(0, 0, day)
		_, err := feed.Pull(t.Context(), feed.Options{
			Into: filepath.Join(s.dir, "feed"), URL: server.URL, Now: func() time.Time { return at.Add(time.Hour) },
		})
		must(t, err)
		s.builds()
	}

	stampOf := func(day int) string { return firstDay.AddDate(0, 0, day).Format("2006-01-02T15:04:05-0700") }
	s.maps("removed.csv", "kind,namespace,ref,reason\n")
	first := readRealTree(t, file)
	first.write(t, root, stampOf(0), nil)
	pulls(0)
	// The second day has mistakes of every kind.
	second := readRealTree(t, file)
	spoiled := second.spoil()
	second.write(t, root, stampOf(1), spoiled.unlisted)
	s.maps("removed.csv", "kind,namespace,ref,reason\n"+spoiled.removedRows(second))
	pulls(1)

	byReason := map[string][]int{}
	for _, id := range slices.Sorted(maps.Keys(first.products)) {
		want := spoiled.expects(first, second, first.products[id])
		byReason[want] = append(byReason[want], id)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	asked := map[string]int{}
	wrong := 0
	began := time.Now()
	for n := 0; n < 200; {
		for _, want := range slices.Sorted(maps.Keys(byReason)) {
			ids := byReason[want]
			if len(ids) == 0 || n == 200 {
				continue
			}
			i := dice.IntN(len(ids))
			id := ids[i]
			byReason[want] = slices.Delete(ids, i, i+1)
			n++
			asked[want]++
			if !s.isExplained(first, second, first.products[id], want) {
				wrong++
			}
		}
	}
	t.Logf("%d of 200 wrong, %v each, %d reasons: %v", wrong, time.Since(began)/200, len(asked), asked)
}

// isExplained compares the explanation of a product with the expected reason.
func (s *shelf) isExplained(first, second *realTree, p *realProduct, want string) bool {
	s.t.Helper()
	category, _, _ := strings.Cut(p.group, "/")
	e, err := s.explains(fmt.Sprintf("tcgcsv,%s/%d", category, p.ID))
	if err != nil {
		s.t.Errorf("%s: %v, want %q", p.Name, err, want)
		return false
	}

	var days []string
	for day, tree := range []*realTree{first, second} {
		if len(tree.rowsOf(p)) > 0 {
			days = append(days, snapshot.DayOf(firstDay.AddDate(0, 0, day).UnixMilli()).String())
		}
	}
	code := codesSorted(e)
	if code != want || !slices.Equal(e.Days, days) && len(e.Days)+len(days) > 0 {
		s.t.Errorf("%d %s is explained by %q on %q, want %q on %q", p.ID, p.Name, code, e.Days, want, days)
		return false
	}
	return true
}

// codesSorted are the codes of all reasons, sorted.
func codesSorted(e *explain.Explanation) string {
	code, _ := codes(e)
	all := strings.Split(code, ", ")
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// spoiled is what was done to the second day.
type spoiled struct {
	unlisted, removed, refused map[int]bool
	lost                       map[string]bool // groups without usable prices
}

// spoil makes mistakes: in every nineteenth product another one, and in two groups as a whole.
func (tree *realTree) spoil() *spoiled {
	done := &spoiled{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[string]bool{"3/604": true, "3/1373": true}}
	tree.prices["3/604"] = nil
	tree.prices["3/1373"] = []realPrice{}

	kind := 0
	for i, id := range slices.Sorted(maps.Keys(tree.products)) {
		p := tree.products[id]
		rows := tree.rowsOf(p)
		if i%97 != 0 || len(rows) == 0 {
			continue
		}
		kind++
		replace := func(change func(row realPrice) []realPrice) {
			var all []realPrice
			for _, row := range tree.prices[p.group] {
				if row.product() == id {
					all = append(all, change(row)...)
				} else {
					all = append(all, row)
				}
			}
			tree.prices[p.group] = all
		}
		switch kind % 6 {
		case 0:
			replace(func(realPrice) []realPrice { return nil })
		case 1:
			replace(func(row realPrice) []realPrice {
				row["marketPrice"] = nil
				return []realPrice{row}
			})
		case 2:
			done.refused[id] = true
			replace(func(row realPrice) []realPrice {
				row["marketPrice"] = "1.25"
				return []realPrice{row}
			})
		case 3:
			done.refused[id] = true
			replace(func(row realPrice) []realPrice {
				other := maps.Clone(row)
				other["marketPrice"] = 99.5
				row["marketPrice"] = 1.5
				return []realPrice{row, other}
			})
		case 4:
			done.unlisted[id] = true
			replace(func(realPrice) []realPrice { return nil })
		case 5:
			done.removed[id] = true
		}
	}
	return done
}

// removedRows are the rows of removed.csv.
func (done *spoiled) removedRows(tree *realTree) (rows string) {
	for id := range done.removed {
		category, _, _ := strings.Cut(tree.products[id].group, "/")
		rows += fmt.Sprintf("card,tcgcsv,%s/%d,for a test\n", category, id)
	}
	return rows
}

// expects is the answer by the files of the two days.
func (done *spoiled) expects(first, second *realTree, p *realProduct) string {
	isCard := slices.ContainsFunc(p.Extended, func(e struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	},
	) bool {
		return e.Value != "" && (e.Name == "Number" || e.Name == "Rarity")
	})
	switch {
	case done.removed[p.ID] && isCard && !strings.HasPrefix(p.Name, "Code Card - "):
		return "gone, removed"
	case done.removed[p.ID]:
		return "removed"
	case done.unlisted[p.ID] && !isCard, done.unlisted[p.ID] && strings.HasPrefix(p.Name, "Code Card - "):
		return "no_product"
	case strings.HasPrefix(p.Name, "Code Card - "):
		return "code_card"
	case !isCard:
		return "sealed"
	}

	state := map[string]string{}
	for _, row := range first.rowsOf(p) {
		state[row.variant()] = "not_named"
	}
	had := len(state) > 0
	for variant := range state {
		switch {
		case done.refused[p.ID]:
			state[variant] = "quarantined"
		case done.unlisted[p.ID]:
			state[variant] = "unlisted"
		case done.lost[p.group]:
			state[variant] = "group_missing"
		}
	}
	for _, row := range second.rowsOf(p) {
		switch {
		case done.refused[p.ID]:
		case row["marketPrice"] == nil:
			state[row.variant()] = "no_price"
		default:
			delete(state, row.variant())
			had = true
		}
	}

	var all []string
	for variant, reason := range state {
		all = append(all, variant+" "+reason)
	}
	slices.Sort(all)
	switch {
	case len(all) > 0 || had:
		return strings.Join(all, ", ")
	case done.lost[p.group] || len(second.prices[p.group]) == 0:
		return "group_missing"
	}
	return "never_listed"
}
