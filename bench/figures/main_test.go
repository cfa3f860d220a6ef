package main

import (
	"strings"
	"testing"

	"ninepocket/bench"
	"ninepocket/bench/gobench"
)

func TestBetween(t *testing.T) {
	const document = "head\n<!-- a -->\nold\n<!-- end of a -->\nfoot\n"
	got, err := replaceSection(document, "a", "new\nlines")
	if want := "head\n<!-- a -->\nnew\nlines\n<!-- end of a -->\nfoot\n"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}

	for _, bad := range []string{"", "<!-- a -->\n", "<!-- end of a -->"} {
		if _, err := replaceSection(bad, "a", "new"); err == nil {
			t.Errorf("%q has a section", bad)
		}
	}
}

func TestOwnFlags(t *testing.T) {
	got := strings.Join(ownFlags(strings.Fields("budgets --data ../data --rounds 2 --swaps=3")), " ")
	if want := "--rounds 2 --swaps=3"; got != want {
		t.Errorf("own flags are %q, want %q", got, want)
	}
}

// TestRows checks every row without figures and with good ones: a benchmark that did not run meets
// no budget.
func TestRows(t *testing.T) {
	empty := &measured{
		bench: gobench.Figures{}, loop: &bench.Report{}, scale: make([]bench.ScalePoint, len(scaleSizes)),
		swap: &bench.SwapReport{Phases: make([]bench.Phase, 5)},
	}
	for i := range empty.scale {
		empty.scale[i].Load.Heap = 1 << 40
		empty.scale[i].Load.Load.CPU = 1 << 40
	}

	for _, line := range strings.Split(strings.TrimSpace(empty.table()), "\n")[2:] {
		if !strings.Contains(line, "**no**") && !strings.Contains(line, skipped) {
			t.Errorf("met without a figure: %s", line)
		}
	}

	good := &measured{
		bench: gobench.Figures{}, scale: make([]bench.ScalePoint, len(scaleSizes)), loop: &bench.Report{},
		swap: &bench.SwapReport{
			Phases:    []bench.Phase{{P99: 10}, {P99: 90}, {P99: 15}, {P99: 10}, {P99: 90}},
			HeapEarly: 100, HeapAfter: 101,
		},
	}
	for _, size := range []string{"30000", "300000"} {
		for _, name := range bench.OperationNames() {
			good.bench["bench.BenchmarkOperations/"+size+"/"+name] = map[string][]float64{
				"cpu-ns/op": {5000},
				"allocs/op": {3},
			}
		}
		for _, query := range []string{"exact", "typo1", "typo2"} {
			good.bench["index/text.BenchmarkSearch/"+query+"/"+size+"/cached=false"] = map[string][]float64{"cpu-ns/op": {5000}} // air: one text
		}
	}

	for name, ns := range map[string]float64{
		"GetCard/full/burst=1": 900, "GetCard/bare/burst=1": 500, "GetCard/same/burst=1": 600,
		"Reads/selections_50": 5000, "Reads/history_365_of_one_variant": 5000,
	} {
		good.bench["bench.Benchmark"+name] = map[string][]float64{"cpu-ns/op": {ns}, "allocs/op": {0}}
	}

	for _, name := range []string{"get_card", "get_card_pipelined", "cards_batch_200"} {
		good.loop.Operations = append(good.loop.Operations, bench.Measured{Name: name, Results: map[string]bench.Result{
			"ninepocket": {CPU: 10}, "body": {CPU: 9}, "bare": {CPU: 9}, "memory": {CPU: 9.5}, "nethttp": {CPU: 20},
		}})
	}

	for _, line := range strings.Split(strings.TrimSpace(good.table()), "\n")[2:] {
		if strings.Contains(line, "**no**") {
			t.Errorf("not met: %s", line)
		}
	}
	if !strings.Contains(good.operations(), "| get_card | 5.00 µs CPU, 3 allocations |") {
		t.Error(good.operations())
	}
}
