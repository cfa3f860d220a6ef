package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ninepocket/internal/synth"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// operator runs commands on a store of its own.
type operator struct {
	t     *testing.T
	store string
}

// does runs a command that must end with the code; it returns what was printed.
func (o *operator) does(code int, args ...string) (stdout, stderr string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "--store", o.store)
	if got := runPlain(o.t, args, &out, &errs); got != code {
		o.t.Fatalf("ninepocket %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

func (o *operator) current() string {
	o.t.Helper()
	cur, err := snapshot.OpenStore(o.store).Current()
	if err != nil {
		o.t.Fatal(err)
	}
	return cur.ID
}

// builds builds a snapshot and returns its id.
func (o *operator) builds(args ...string) string {
	o.t.Helper()
	o.does(exitOK, append([]string{"snapshot", "build"}, args...)...)
	all, err := snapshot.OpenStore(o.store).List()
	if err != nil {
		o.t.Fatal(err)
	}
	return all[0].ID
}

// isRefused publishes a bad day: the guard must name itself and say what to do, nothing may change,
// and a recorded override must let it pass.
func (o *operator) isRefused(id, guard string) {
	o.t.Helper()
	was := o.current()
	_, stderr := o.does(exitRefused, "snapshot", "publish", id)
	line := regexp.MustCompile(`(?m)^  guard ` + guard + `: (.+)$`).FindStringSubmatch(stderr)
	switch {
	case line == nil:
		o.t.Errorf("guard %s did not refuse: %s", guard, stderr)
	case !strings.Contains(line[1], "; "):
		o.t.Errorf("guard %s does not say what to do: %s", guard, line[1])
	default:
		o.t.Log(line[0])
	}

	if !strings.Contains(stderr, "hint: ") || o.current() != was {
		o.t.Errorf("current is %s, was %s: %s", o.current(), was, stderr)
	}
	override := []string{"snapshot", "publish", id, "--reason", "a bad day on purpose"}
	for _, m := range regexp.MustCompile(`(?m)^  guard (\w+):`).FindAllStringSubmatch(stderr, -1) {
		override = append(override, "--override", m[1])
	}

	o.does(exitOK, override...)
	if stdout, _ := o.does(exitOK, "snapshot", "inspect", id, "--json"); !strings.Contains(stdout,
		"a bad day on purpose") ||
		!strings.Contains(stdout, `"status": "overridden"`) {
		o.t.Errorf("the override is not recorded: %s", stdout)
	}

	o.does(exitOK, "snapshot", "rollback")
	if o.current() != was {
		o.t.Errorf("the rollback went to %s, not to %s", o.current(), was)
	}
}

// edit rewrites the lines of a file.
func edit(t *testing.T, path string, change func(i int, line string) []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		out = append(out, change(i, line)...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBadDays publishes a synthetic catalog, then a good next day, then every kind of bad one.
func TestBadDays(t *testing.T) {
	t.Parallel()
	o := &operator{t, filepath.Join(t.TempDir(), "store")}
	options := synth.Options{Cards: 600, HistoryDays: 3, Plain: true}
	first := t.TempDir()
	if err := synth.Write(first, options); err != nil {
		t.Fatal(err)
	}

	o.does(exitOK, "snapshot", "build", "--source", "native:"+first, "--publish")
	good := filepath.Join(t.TempDir(), "day")
	if err := synth.WriteDay(good, options, 1); err != nil {
		t.Fatal(err)
	}

	prices := filepath.Join("prices", synth.DefaultSnapshotAt.AddDate(0, 0, 1).Format("2006-01-02")+".csv")
	day := func(t *testing.T, name string, change func(dir string)) (*operator, string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		change(dir)
		o := &operator{t, o.store}
		return o, o.builds("--source", "native:"+dir, "--base", "current")
	}

	bad := func(name, guard string, change func(t *testing.T, dir string)) {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			o, id := day(t, "bad", func(dir string) { change(t, dir) })
			o.isRefused(id, guard)
		})
	}

	bad("a third of the cards gone", "cards_unlisted", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, "cards.jsonl"), func(i int, line string) []string {
			if i%3 == 0 {
				return nil
			}
			return []string{line}
		})
	})

	cents := regexp.MustCompile(`^([^,]*,[^,]*,[^,]*),(\d+),`)
	bad("cents read as dollars", "prices_moved", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, prices), func(_ int, line string) []string {
			return []string{cents.ReplaceAllString(line, "$1,${2}00,")}
		})
	})

	bad("cents read as dollars in one set", "sets_repriced", func(t *testing.T, dir string) {
		refs := refsOfBiggestSet(t, dir)
		edit(t, filepath.Join(dir, prices), func(_ int, line string) []string {
			if ref, _, _ := strings.Cut(line, ","); refs[ref] {
				line = cents.ReplaceAllString(line, "$1,${2}00,")
			}
			return []string{line}
		})
	})

	bad("a set emptied", "sets_emptied", func(t *testing.T, dir string) {
		refs := refsOfBiggestSet(t, dir)
		edit(t, filepath.Join(dir, prices), func(_ int, line string) []string {
			if ref, _, _ := strings.Cut(line, ","); refs[ref] {
				return nil
			}
			return []string{line}
		})
	})

	yesterday := func(t *testing.T, dir string, claims bool) {
		t.Helper()
		for _, name := range []string{"sets.jsonl", "cards.jsonl", "sealed.jsonl", prices} {
			from := strings.ReplaceAll(name, filepath.Base(prices), synth.DefaultSnapshotAt.Format("2006-01-02")+".csv")
			b, err := os.ReadFile(filepath.Join(first, from))
			if err == nil {
				if name == prices && claims {
					b = regexp.MustCompile(`,2026-08-22T(\d\d:\d\d:\d\dZ),([a-z]*)\n`).ReplaceAll(b,
						[]byte(",2026-08-23T$1,$2\n"))
				}
				err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	bad("yesterday's file again", "repeated_feed", func(t *testing.T, dir string) { yesterday(t, dir, true) })
	t.Run("yesterday's_file_by_another_name", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "bad")
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		yesterday(t, dir, false)
		o := &operator{t, o.store}
		o.isRefused(o.builds("--source", "native:"+dir, "--base", "current", "--snapshot-at", "2026-08-23T20:00:00Z"),
			"repeated_feed")
	})

	bad("two products on one card", "duplicate_keys", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, "cards.jsonl"), func(i int, line string) []string {
			if i == 400 {
				return []string{line, regexp.MustCompile(`"ref":"[^"]*"`).ReplaceAllString(line, `"ref":"another"`)}
			}
			return []string{line}
		})
	})
	bad("one product on two cards", "duplicate_keys", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, "cards.jsonl"), func(i int, line string) []string {
			if i == 400 {
				return []string{line, line}
			}
			return []string{line}
		})
	})
	t.Run("a_good_day", func(t *testing.T) {
		o, id := day(t, "good", func(string) {})
		o.does(exitOK, "snapshot", "publish", id)
		if o.current() != id {
			t.Errorf("the good day is not current")
		}

		// An earlier snapshot is no next day: rollback is the way back.
		all, err := snapshot.OpenStore(o.store).List()
		if err != nil {
			t.Fatal(err)
		}
		o.isRefused(all[len(all)-1].ID, "older")
	})
}

// refsOfBiggestSet are the references of the cards of the set that has most.
func refsOfBiggestSet(t *testing.T, dir string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cards.jsonl"))
	if err != nil {
		t.Fatal(err)
	}

	sets := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\{"ref":"([^"]*)",.*?"set":"([^"]*)"`).FindAllStringSubmatch(string(b),
		-1) {
		if sets[m[2]] == nil {
			sets[m[2]] = map[string]bool{}
		}
		sets[m[2]][m[1]] = true
	}

	var biggest map[string]bool
	for _, refs := range sets {
		if len(refs) > len(biggest) {
			biggest = refs
		}
	}
	if len(biggest) < 20 {
		t.Fatalf("the biggest set has %d cards", len(biggest))
	}
	return biggest
}

// TestRealBadDays goes from one real day of prices to the next, and from it to bad versions of that
// day. To unpack the archives takes most of its time.
func TestRealBadDays(t *testing.T) {
	t.Parallel()
	testsweep.OnlyFull(t)
	data := os.Getenv("NINEPOCKET_DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(data); err != nil {
		t.Skip("skipped: real bad days, because the real data is not there")
	}

	archive := func(day string) string {
		return filepath.Join(data, "tcgcsv", "archive", "prices-"+day+".tar.zst")
	}

	catalog := t.TempDir()
	extract(t, filepath.Join(data, "tcgcsv", "tcgplayer-current.tar.zst"), catalog, func(name string, b []byte) []byte {
		// These are of months later.
		if filepath.Base(name) == "prices" {
			b = []byte(`{"success":true,"errors":[],"results":[]}`)
		}
		return b
	})

	source := "tcgcsv:" + filepath.Join(catalog, "tcgplayer")
	o := &operator{t, filepath.Join(t.TempDir(), "store")}
	o.does(exitOK, "snapshot", "build", "--source", source, "--collected-at", "2026-04-13T19:00:00Z", "--prices",
		"tcgcsv:"+archive("2026-04-13"), "--publish")
	build := func(prices string, more ...string) string {
		return o.builds(append([]string{
			"--source", source, "--collected-at", "2026-04-13T19:00:00Z", "--prices",
			"tcgcsv:" + prices, "--base", "current",
		}, more...)...)
	}

	// Six days later, and one.
	for _, day := range []string{"2026-04-19", "2026-04-20"} {
		o.does(exitOK, "snapshot", "publish", build(archive(day)))
	}

	o.does(exitOK, "snapshot", "rollback")
	changed := func(change func(name string, b []byte) []byte) string {
		dir := t.TempDir()
		extract(t, filepath.Join(data, "tcgcsv", "archive", "prices-2026-04-20.tar.zst"), dir,
			change)
		return dir
	}

	market := regexp.MustCompile(`"marketPrice": ?(\d+)(?:\.(\d+))?`)
	// 1.05 becomes 105.
	asCents := func(b []byte) []byte {
		return market.ReplaceAllFunc(b, func(m []byte) []byte {
			v, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimPrefix(m, []byte(`"marketPrice":`)))), 64)
			if err != nil {
				t.Fatal(err)
			}
			return []byte(`"marketPrice":` + strconv.FormatFloat(v*100, 'f', 0, 64))
		})
	}
	o.isRefused(build(changed(func(_ string, b []byte) []byte { return asCents(b) })), "prices_moved")
	o.isRefused(build(changed(func(name string,
		b []byte,
	) []byte { // one set of three hundred: far below 5 % of all prices
		if strings.Contains(name, "/3/604/") { // Base Set
			return asCents(b)
		}
		return b
	})), "sets_repriced")
	// A set without prices goes live with the others, and half of all sets do not.
	emptied := func(emptied func(name string) bool) string {
		return build(changed(func(name string, b []byte) []byte {
			if emptied(name) {
				return []byte(`{"success":true,"errors":[],"results":[]}`)
			}
			return b
		}))
	}
	o.does(exitOK, "snapshot", "publish", emptied(func(name string) bool { return strings.Contains(name, "/3/604/") }))
	o.does(exitOK, "snapshot", "rollback")
	o.isRefused(emptied(func(name string) bool { return strings.Contains(name, "/3/") }), "groups_missing")
	o.isRefused(build(archive("2026-04-19"), "--snapshot-at", "2026-04-20T20:00:00Z"), "repeated_feed")
}

// extract writes an archive's files, changed, below dir.
func extract(t *testing.T, path, dir string, change func(name string, b []byte) []byte) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()

	z, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()

	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}

		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(to, 0o750)
		case tar.TypeReg:
			var b []byte
			b, err = io.ReadAll(r)
			if err == nil {
				b = change(h.Name, b)
				err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o750), os.WriteFile(to, b, 0o600))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
