package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/internal/synth"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// guideBlock is the block of docs/NATIVE.md that has a text.
func guideBlock(t *testing.T, kind, has string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/NATIVE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllSubmatch(page, -1) {
		if bytes.Contains(block[1], []byte(has)) {
			return string(block[1])
		}
	}
	t.Fatalf("no block of the guide has %q", has)
	return ""
}

// builtView builds a catalog of a native source and returns its View.
func builtView(t *testing.T, store, source string, more ...string) *engine.View {
	t.Helper()
	var out, errs bytes.Buffer
	args := []string{"snapshot", "build", "--store", store, "--source", "native:" + source, "--publish"}
	args = append(args, more...)
	if code := runPlain(t, args, &out, &errs); code != exitOK {
		t.Fatalf("build: %d %s", code, &errs)
	}

	dir := snapshot.OpenStore(store)
	current, err := dir.Current()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dir.Load(context.Background(), current.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := engine.NewView(c, wire.URLs{URL: "https://cards.test", ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ownNames are what another build calls otherwise.
var ownNames = regexp.MustCompile(`"(?:id|url|product_id|card_id)":(?:null|"[^"]*"),?|\{"namespace":"mirror"[^}]*\},?`)

// answersOf is what a View answers of its cards and sets, without ids and slugs, sorted.
func answersOf(v *engine.View) (all []string) {
	shared := func(text []byte) string { return ownNames.ReplaceAllString(string(text), "") }

	for card := range v.Catalog.Cards.ID.Len() {
		// Points have no names. With the race detector the pattern takes a quarter of a second for a card's year.
		head, points, _ := bytes.Cut(v.AppendHistory(nil, card, snapshot.HistoryDays, ""), []byte(`"data":[`))
		all = append(all, shared(v.AppendDetail(nil, card))+"\n"+shared(head)+string(points))
	}
	for set := range v.Catalog.Sets.ID.Len() {
		all = append(all, "set "+shared(v.AppendSets(nil, []uint32{uint32(set)})))
	}
	slices.Sort(all)
	return all
}

// TestMirrorOfTheGuide makes a native source of the bulk files with the guide's script. Its build
// must answer as the catalog does: each card with its prices and a year of history, and each set.
func TestMirrorOfTheGuide(t *testing.T) {
	for _, program := range []string{"bash", "jq", "zstd", "awk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: there is no %s", program)
		}
	}
	dir := t.TempDir()
	raw := filepath.Join(dir, "raw")
	if _, err := synth.Summarize(raw, synth.Options{Cards: 300, HistoryDays: 365}); err != nil {
		t.Fatal(err)
	}
	v := builtView(t, filepath.Join(dir, "store"), raw)
	files := bulk.New(bulk.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err := files.Make(context.Background(), v, func() {}); err != nil {
		t.Fatal(err)
	}

	folder := filepath.Join(dir, v.ID)
	list, err := json.Marshal(files.Of(v.ID))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "list.json"), list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	script := exec.Command("bash", "-euc", guideBlock(t, "sh", "mirror/source.toml"))
	script.Dir = folder
	if out, err := script.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the script: %v %s", err, out)
	}

	mirror := builtView(t, filepath.Join(dir, "mirror"), filepath.Join(folder, "mirror"))
	want := answersOf(v)
	got := answersOf(mirror)
	differ := 0
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			differ++
			if differ < 3 {
				t.Errorf("the mirror has\n%.900s\nwant\n%.900s", got[i], want[i])
			}
		}
	}
	if len(got) != len(want) || differ > 0 {
		t.Errorf("%d answers, want %d; %d differ", len(got), len(want), differ)
	}
}

// TestReservedFeed wants no bulk of a catalog whose feed the operator reserved, also where a later day is
// built on it, until the operator says otherwise.
func TestReservedFeed(t *testing.T) {
	dir := t.TempDir()
	raw := filepath.Join(dir, "raw")
	if _, err := synth.Summarize(raw, synth.Options{Cards: 300, HistoryDays: 3}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(raw, "source.toml"))
	if err != nil {
		t.Fatal(err)
	}
	namespace := regexp.MustCompile(`namespace = "([^"]+)"`).FindStringSubmatch(string(text))[1]
	mapping := filepath.Join(dir, "mapping")

	f := func(says string, want bool) {
		t.Helper()
		toml := strings.ReplaceAll("[NS]\nredistribute = "+says+"\n", "NS", namespace)
		if err := os.MkdirAll(mapping, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(mapping, "feeds.toml"), []byte(toml), 0o600); err != nil {
			t.Fatal(err)
		}
		v := builtView(t, filepath.Join(dir, "store"), raw, "--mapping", mapping)
		files := bulk.New(bulk.Options{Dir: filepath.Join(dir, "bulk"), Log: slog.New(slog.DiscardHandler)})
		if err := files.Make(context.Background(), v, func() {}); err != nil {
			t.Fatal(err)
		}
		if made := files.Of(v.ID); made.Reserved == want || (len(made.Files) > 0) != want {
			t.Errorf("redistribute = %s: %+v", says, made)
		}
	}
	f("false", false)
	f("true", true)
}

// TestNothingUnlicensed plants prices that may not be distributed: today's, one of the past, and the past of a
// lane whose licence has ended. None of their figures stands in a file.
func TestNothingUnlicensed(t *testing.T) {
	dir := t.TempDir()
	raw := filepath.Join(dir, "raw")
	const head = "ref,variant,condition,cents,source_as_of,collected_at,licensed\n"
	for name, text := range map[string]string{
		"source.toml": "namespace = \"own\"\n",
		"sets.jsonl":  `{"ref":"s","game":"pokemon","name":"Set"}` + "\n",
		"cards.jsonl": `{"ref":"a","game":"pokemon","name":"Ant","set":"s","number":"1"}` + "\n" +
			`{"ref":"b","game":"pokemon","name":"Bee","set":"s","number":"2"}` + "\n",
		"prices/2026-08-21.csv": head + "a,normal,near_mint,1111,,2026-08-21T20:00:00Z,true\n" +
			"a,foil,near_mint,777001,,2026-08-21T20:00:00Z,false\n" +
			"b,normal,near_mint,777002,,2026-08-21T20:00:00Z,true\n",
		"prices/2026-08-22.csv": head + "a,normal,near_mint,2222,,2026-08-22T20:00:00Z,true\n" +
			"a,foil,near_mint,777003,,2026-08-22T20:00:00Z,false\n" +
			"b,normal,near_mint,777004,,2026-08-22T20:00:00Z,false\n",
	} {
		file := filepath.Join(raw, name)
		err := os.MkdirAll(filepath.Dir(file), 0o750)
		if err == nil {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	v := builtView(t, filepath.Join(dir, "store"), raw)
	files := bulk.New(bulk.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err := files.Make(context.Background(), v, func() {}); err != nil {
		t.Fatal(err)
	}
	reader, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var all []byte
	for _, name := range bulk.Names {
		packed, err := os.ReadFile(filepath.Join(dir, v.ID, name))
		if err == nil {
			all, err = reader.DecodeAll(packed, all)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for planted, want := range map[string]bool{"1111": true, "2222": true, "Bee": true, "77700": false, "foil": false} {
		if got := bytes.Contains(all, []byte(planted)); got != want {
			t.Errorf("the files have %q: %t\n%s", planted, got, all)
		}
	}
}
