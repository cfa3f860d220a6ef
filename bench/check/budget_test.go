package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/bench/gobench"
)

const output = `goos: linux
pkg: ninepocket/engine
BenchmarkCard-2    	 1000	  200.0 ns/op	  0 B/op	  0 allocs/op
BenchmarkCard-2    	 1000	  150.0 ns/op	  0 B/op	  1 allocs/op
BenchmarkCard-2    	 1000	  900.0 ns/op	  0 B/op	  0 allocs/op
PASS
pkg: ninepocket/server
BenchmarkBare/keep-alive-2   	 1000	  100.0 ns/op	  3.5 hits	  0 B/op	  7 allocs/op
ok  	ninepocket/server	1.0s
`

func TestCheck(t *testing.T) {
	f := func(budgets, want string) {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"budgets.json": budgets, "output": output} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		var out bytes.Buffer
		got := "ok"
		if err := check(filepath.Join(dir, "budgets.json"), filepath.Join(dir, "output"), &out); err != nil {
			got = err.Error()
		}
		if all := got + "\n" + out.String(); !strings.Contains(all, want) {
			t.Errorf("%s\ngave %s\nwant %q in it", budgets, all, want)
		}
	}
	one := func(budget string) string { return `{"budgets": [{"name": "x", ` + budget + `}]}` }

	f(one(`"benchmark": "engine.BenchmarkCard", "unit": "allocs/op", "at_most": 0`), "ok\n")
	f(one(`"benchmark": "server.BenchmarkBare/keep-alive", "unit": "allocs/op", "at_most": 6`), "1 of 1 budgets")
	f(one(`"benchmark": "server.BenchmarkBare/keep-alive", "unit": "hits", "at_least": 3`), "3.5 hits")
	f(one(`"benchmark": "server.BenchmarkBare/keep-alive", "unit": "hits", "at_least": 4`), "FAIL")
	f(one(`"benchmark": "engine.BenchmarkCard", "over": "server.BenchmarkBare/keep-alive", "at_most": 1.5`), "1.5 ×")
	f(one(`"benchmark": "engine.BenchmarkCard", "over": "server.BenchmarkBare/keep-alive", "at_most": 1.4`), "FAIL")
	f(one(`"benchmark": "engine.BenchmarkGone", "unit": "allocs/op", "at_most": 1`),
		"no result for engine.BenchmarkGone")

	f(one(`"benchmark": "engine.BenchmarkCard", "over": "engine.BenchmarkGone", "at_most": 1`),
		"no result for engine.BenchmarkGone")
	f(one(`"benchmark": "engine.BenchmarkCard", "at_most": 100`), "by itself")
	f(one(`"benchmark": "engine.BenchmarkCard", "unit": "MB/s", "at_least": 100`), "by itself")
	f(one(`"benchmark": "engine.BenchmarkCard", "unit": "allocs/op"`), "at_most or at_least")
	f(one(`"benchmark": "engine.BenchmarkCard", "unit": "allocs/op", "atmost": 1`), "atmost")
	f(`{"runs": [{"packages": []}]}`, "needs packages and bench")
	f(`{}`, "ok")
}

// TestExceeded finds the runs behind an exceeded ratio, and none for a count that is exceeded.
func TestExceeded(t *testing.T) {
	p, err := parsePlan([]byte(`{
		"runs": [
			{"packages": ["./bench"], "bench": "^BenchmarkOperations$/^30000$"},
			{"packages": ["./bench"], "bench": "^(BenchmarkGetCard|BenchmarkReads)$"},
			{"packages": ["./mcp"], "bench": "^BenchmarkOperations$"}
		],
		"budgets": [
			{"name": "a", "benchmark": "bench.BenchmarkOperations/30000/a",
				"over": "bench.BenchmarkGetCard", "at_most": 3},
			{"name": "b", "benchmark": "bench.BenchmarkReads/b", "unit": "allocs/op", "at_most": 0}
		]}`))
	if err != nil {
		t.Fatal(err)
	}

	figures := gobench.Figures{
		"bench.BenchmarkOperations/30000/a": {"ns/op": {40}},
		"bench.BenchmarkGetCard":            {"ns/op": {10}},
		"bench.BenchmarkReads/b":            {"allocs/op": {1}},
	}
	if got := p.exceeded(figures); len(got) != 1 || got[0].Bench != p.Runs[0].Bench {
		t.Errorf("40 over 10 with 3 allowed exceeds in %v, want the run of operations", got)
	}

	// A shorter time of another try settles it.
	figures["bench.BenchmarkOperations/30000/a"]["ns/op"] = []float64{40, 20}
	if got := p.exceeded(figures); len(got) != 0 {
		t.Errorf("20 over 10 with 3 allowed exceeds in %v, want none", got)
	}
}
