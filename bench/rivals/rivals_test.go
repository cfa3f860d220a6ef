package rivals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/bench"
	"ninepocket/internal/testsweep"
)

// build makes a store with a synthetic catalog.
func build(t *testing.T, cards, days int) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "store")
	do(t, bench.OwnTasks(), bench.BuildTask(store, cards, days))
	return store
}

func do(t *testing.T, tasks bench.Tasks, task bench.Task) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := tasks.Do(t.Context(), task.Text(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serve starts a task that is a server and returns its URL.
func serve(t *testing.T, tasks bench.Tasks, task bench.Task) string {
	t.Helper()
	task.Ready = filepath.Join(t.TempDir(), "ready")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tasks.Do(ctx, task.Text(), io.Discard) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server of kind %q ended with %v", task.Kind, err)
		}
	})

	for {
		text, err := os.ReadFile(task.Ready)
		if err == nil {
			var ready bench.Ready
			if err := json.Unmarshal(text, &ready); err != nil {
				t.Fatal(err)
			}
			return ready.API
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}

		select {
		case err := <-ended:
			ended <- nil
			t.Fatalf("the server of kind %q did not come up: %v", task.Kind, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// keyOf makes a state directory with a live key, whose plan is large enough for every test.
func keyOf(t *testing.T, state string) (key string) {
	t.Helper()
	err := keys.Update(state, func(f *keys.File) error {
		var err error
		_, key, err = f.Create(keys.NewKey{Tenant: "test", Surface: keys.Live, Plan: "bench"}, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// ask sends a request, a POST if there is a body, and returns the body of a response with status
// 200.
func ask(t *testing.T, base, target, key, body string) []byte {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}

	request, err := http.NewRequestWithContext(t.Context(), method, base+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", key)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s is answered with %d: %s", target, response.StatusCode, text)
	}
	return text
}

type known struct{ ID, Name string }

// cardsOf reads cards of many prices from a server.
func cardsOf(t *testing.T, base, key string) []known {
	t.Helper()
	all := map[string]known{}
	for low := 0; low < 2000; low += 20 {
		target := "/v1/cards?limit=10&sort=price_asc&min_price_cents=" + strconv.Itoa(low)
		var page struct{ Data []known }
		if err := json.Unmarshal(ask(t, base, target, key, ""), &page); err != nil {
			t.Fatal(err)
		}
		for _, card := range page.Data {
			all[card.ID] = card
		}
	}

	if len(all) < 200 {
		t.Fatalf("the catalog has %d cards, too few to ask for 200", len(all))
	}
	return slices.SortedFunc(maps.Values(all), func(a, b known) int { return strings.Compare(a.ID, b.ID) })
}

// TestPlainAnswersAlike expects the same bodies from the net/http server, because otherwise the
// comparison would be unfair.
func TestPlainAnswersAlike(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	key := keyOf(t, state)
	store := build(t, 500, 60)
	ours := serve(t, bench.OwnTasks(), bench.Task{Kind: "memory", Store: store, State: state})
	plain := serve(t, Tasks(), bench.Task{Kind: taskPlain, Store: store, State: state})

	cards := cardsOf(t, ours, key)
	var words []string
	for _, card := range cards {
		for word := range strings.FieldsSeq(strings.ToLower(card.Name)) {
			if len(word) >= 6 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
				words = append(words, word)
			}
		}
	}
	if len(words) == 0 {
		t.Fatal("no name has a word of six letters")
	}

	alike := func(target, body string) {
		t.Helper()
		// Cursors differ by server.
		want, _, _ := bytes.Cut(ask(t, ours, target, key, body), []byte(`"next_cursor"`))
		got, _, _ := bytes.Cut(ask(t, plain, target, key, body), []byte(`"next_cursor"`))
		if bytes.Equal(got, want) {
			return
		}

		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("%s: …%.60q, want …%.60q", target, got[max(at-20, 0):], want[max(at-20, 0):])
	}

	batch := func(n, first int) string {
		var quoted []string
		for i := range n {
			quoted = append(quoted, strconv.Quote(cards[(first*31+i)%len(cards)].ID))
		}
		return `{"ids":[` + strings.Join(append(quoted, `"unknown"`), ",") + `]}`
	}

	for i := 0; i < 64; i += testsweep.Stride(4) {
		word := words[i%len(words)]
		alike("/v1/cards/"+cards[i].ID, "")
		alike("/v1/cards/batch", batch(199, i))
		alike("/v1/prices/batch", batch(99, i))
		alike("/v1/cards?limit=20&q="+url.QueryEscape(word), "")
		alike("/v1/cards?limit=20&q="+url.QueryEscape(word[:3]+word[4:]), "")
		alike(fmt.Sprintf("/v1/cards?min_price_cents=%d&max_price_cents=%d&sort=price_asc&limit=50", 5*i, 5*i+2000), "")
	}
}

// TestExport prints the cards of a store, one per line.
func TestExport(t *testing.T) {
	store := build(t, 600, 40)
	lines := bytes.Split(bytes.TrimSpace(do(t, Tasks(), ExportTask(store))), []byte("\n"))
	var first exported
	if err := json.Unmarshal(lines[0], &first); err != nil || len(lines) != 600 || first.Slug == "" ||
		first.Display.Cents == nil {
		t.Errorf("%d lines, the first %s, %v", len(lines), lines[0], err)
	}
}

// TestPlainRival expects the net/http server only if the store is known.
func TestPlainRival(t *testing.T) {
	rival := plainRival([]string{"figures", "task"})
	if command := rival.Command(bench.Task{State: "state", Ready: "ready"}); command != nil {
		t.Errorf("without a store it is started by %q", command)
	}

	command := rival.Command(bench.Task{Store: "store", State: "state", Ready: "ready"})
	var task bench.Task
	if len(command) != 3 || json.Unmarshal([]byte(command[2]), &task) != nil ||
		task != (bench.Task{Kind: taskPlain, Store: "store", State: "state", Ready: "ready"}) {
		t.Errorf("it is started by %q", command)
	}
}

// TestJudge sends a search set to two servers, one of them without any results.
func TestJudge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queries.tsv")
	set := "query\tgame\texpect_name_regex\tnote\nzard\tpokemon\t^Charizard$\ttier=1\nnobody\t*\t^$\ttier=2\n"
	if err := os.WriteFile(file, []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}

	all, err := readQueries(file)
	if err != nil {
		t.Fatal(err)
	}

	server := func(name string, finds bool) bench.Endpoint {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.Header.Get("X-API-Key") != "key" || q.Get("limit") != "1" {
				http.Error(w, "refused", http.StatusUnauthorized)
				return
			}
			if finds && q.Get("q") == "zard" && q.Get("game") == "pokemon" {
				_, _ = io.WriteString(w, `{"data":[{"name":"Charizard"}]}`)
				return
			}
			_, _ = io.WriteString(w, `{"data":[]}`)
		}))
		t.Cleanup(s.Close)
		return bench.Endpoint{Name: name, Address: strings.TrimPrefix(s.URL, "http://"), Key: "key"}
	}
	servers := []bench.Endpoint{server("good", true), server("poor", false)}
	quality, err := judge(t.Context(), all, servers)
	if err != nil {
		t.Fatal(err)
	}

	report := &Report{Report: &bench.Report{Servers: []string{"good", "bare", "poor"}}, Quality: quality}
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"search set, good: tier 1 1 of 1, tier 2 1 of 1\n",
		"search set, poor: tier 1 0 of 1, tier 2 1 of 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if row := report.QualityRow(); !strings.Contains(row, "| 1/1 1/1 |  | 0/1 1/1 |") {
		t.Errorf("the row is %q", row)
	}

	servers[0].Key = "wrong"
	if _, err := judge(t.Context(), all, servers); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a server that refuses is judged: %v", err)
	}
	if _, err := readQueries(file + ".missing"); err == nil {
		t.Error("a search set that is not there is read")
	}
}
