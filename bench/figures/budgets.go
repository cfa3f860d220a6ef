package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/bench"
	"ninepocket/bench/gobench"
	"ninepocket/bench/rivals"
)

// measured has all results that the rows of the budget table use.
type measured struct {
	bench gobench.Figures
	loop  *bench.Report
	scale []bench.ScalePoint // of scaleSizes
	swap  *bench.SwapReport
	daily *daily // nil without the real catalogs
}

// row is one line of the budget table.
type row struct {
	operation, budget string
	figure            func(*measured) (text string, met bool)
}

// skipped is the figure of a row that could not be measured.
const skipped = "skipped: no real catalogs"

// rows are the budget table of the design, line by line. The text next to a figure names its
// source.
var rows = []row{
	{
		"GET card, keep-alive: bare fasthttp of equal bodies takes so much of our CPU time", "≥ 80 %, aim 90 %",
		func(m *measured) (string, bool) {
			op := m.loop.Operation("get_card")
			return fmt.Sprintf("%.0f %%; of equal bodies and headers %.0f %%; metering in memory %.0f %%",
				100*op.Share("body"), 100*op.Share("bare"), 100*op.Share("body")/op.Share("memory")), op.Share("body") >= 0.8 // air: one text
		},
	},
	{"the same, pipelined ×16", "≥ 60 %, aim 75 %", func(m *measured) (string, bool) {
		op := m.loop.Operation("get_card_pipelined")
		return fmt.Sprintf("%.0f %%; of equal bodies and headers %.0f %%; metering in memory %.0f %%",
			100*op.Share("body"), 100*op.Share("bare"), 100*op.Share("body")/op.Share("memory")), op.Share("body") >= 0.6 // air: one text
	}},
	{
		"our code in that request, without system calls: full less bare", "≤ 0.6 µs, 0 allocations",
		func(m *measured) (string, bool) {
			full, body := m.cpu("bench.BenchmarkGetCard/full/burst=1"), m.cpu("bench.BenchmarkGetCard/bare/burst=1")      // air: a pair
			same, allocs := m.cpu("bench.BenchmarkGetCard/same/burst=1"), m.allocs("bench.BenchmarkGetCard/full/burst=1") // air: a pair
			return fmt.Sprintf("%.2f µs; less writing equal headers %.2f µs; %.0f allocations", full-body, full-same,
				allocs), full-body <= 0.6 && allocs == 0
		},
	},
	{"net/http doing the same work takes so much more CPU", "≥ 1.5×", func(m *measured) (string, bool) {
		share := m.loop.Operation("get_card").Share(rivals.Plain)
		return fmt.Sprintf("%.1f×; batch of 200 %.1f×", share,
			m.loop.Operation("cards_batch_200").Share(rivals.Plain)), share >= 1.5
	}},
	operation("batch of 200 card details", "cards_batch_200", 60, 199),
	operation("batch of 100 prices, live", "prices_batch_100", 30, 0),
	{"batch of 100 prices, preview, without the idempotency store", "≤ 30 µs", func(m *measured) (string, bool) {
		half := m.cpu("bench.BenchmarkReads/selections_50")
		return fmt.Sprintf("%.1f µs: 50, the most that a request may have, take %.1f µs", 2*half, half), 2*half <= 30
	}},
	{"history, 365 days of a variant", "≤ 8 µs", func(m *measured) (string, bool) {
		one := m.cpu("bench.BenchmarkReads/history_365_of_one_variant")
		return fmt.Sprintf("%.1f µs; whole request, all variants %.1f µs", one,
			m.cpu("bench.BenchmarkOperations/30000/history_365")), one <= 8
	}},
	search("exact", "exact/30000", 10),
	search("one typo", "typo1/30000", 30),
	search("distance 2", "typo2/30000", 80),
	search("distance 2, 300,000 cards", "typo2/300000", 150),
	operation("MCP tools/call, search of 10, whole request", "mcp_search_10", 100, 120),
	{
		"load 30,000 cards and 60,000 series of 365 days", "≤ 0.6 s CPU",
		func(m *measured) (string, bool) { return m.load(0, 600*time.Millisecond) },
	},
	{
		"load 300,000 cards and 600,000 series", "≤ 5 s CPU",
		func(m *measured) (string, bool) { return m.load(1, 5*time.Second) },
	},
	{
		"live heap, 30,000 cards and 60,000 series", "≤ 150 MB",
		func(m *measured) (string, bool) { return m.heap(0, 150e6) },
	},
	{
		"live heap, 300,000 cards and 600,000 series", "≤ 1.2 GB",
		func(m *measured) (string, bool) { return m.heap(1, 1.2e9) },
	},
	{"swap under load", "none failed or mixed; p99 ≤ 2× before; heap flat", func(m *measured) (string, bool) {
		report := m.swap
		quiet, swap, publish, calm, compute := report.Swapping()
		text := fmt.Sprintf("%d swaps, %d failed, %d mixed; p99 %.2f× that before (%.0f µs) while loading and "+
			"swapping, %.2f× while another process verified, %.2f× after; "+
			"%.2f× next to an idle-priority loop; live heap %d MB, after two %d, at the end %d MB",
			report.Swaps, report.Failures, report.Mixed, swap, quiet, publish, calm, compute, report.HeapBefore/1e6,
			report.HeapEarly/1e6,
			report.HeapAfter/1e6)
		return text, report.Failures == 0 && report.Mixed == 0 && swap <= 2 && report.HeapAfter < report.HeapEarly*5/4
	}},
	{
		"daily build, the whole TCGCSV catalog on a base with a year of history", "≤ 10 s, ≤ 1 GB",
		func(m *measured) (string, bool) {
			if m.daily == nil {
				return skipped, true
			}
			return fmt.Sprintf("%.1f s, %.1f s CPU, %d MB", m.daily.wall.Seconds(), m.daily.cpu.Seconds(),
					m.daily.peak/1e6),
				m.daily.wall <= 10*time.Second && m.daily.peak <= 1e9
		},
	},
}

// scaleSizes are the catalogs of the rows of loads: with about two series per card, as in the
// design, and then with every condition of a variant, nearly four per card.
var scaleSizes = []bench.Size{
	{Cards: 30_000, Days: 365, Conditions: 2},
	{Cards: 300_000, Days: 365, Conditions: 2},
	{Cards: 30_000, Days: 365},
	{Cards: 300_000, Days: 365},
}

// operation returns a row of CPU time and, if maxAllocs is not 0, of allocations.
func operation(title, name string, micros, maxAllocs float64) row {
	budget := fmt.Sprintf("≤ %.0f µs", micros)
	if maxAllocs > 0 {
		budget += fmt.Sprintf(", ≤ %.0f allocations", maxAllocs)
	}
	return row{title, budget, func(m *measured) (string, bool) {
		us := m.cpu("bench.BenchmarkOperations/30000/" + name)
		allocs := m.allocs("bench.BenchmarkOperations/30000/" + name)
		large := m.cpu("bench.BenchmarkOperations/300000/" + name)
		return fmt.Sprintf("%.1f µs, %.0f allocations; 300,000 cards %.1f µs", us, allocs, large), us <= micros &&
			(maxAllocs == 0 || allocs <= maxAllocs)
	}}
}

// search returns a row of a search in index/text without caches.
func search(title, name string, micros float64) row {
	return row{"search, uncached: " + title, fmt.Sprintf("≤ %.0f µs", micros), func(m *measured) (string, bool) {
		us := m.cpu("index/text.BenchmarkSearch/" + name + "/cached=false")
		return fmt.Sprintf("%.1f µs", us), us <= micros
	}}
}

// cpu returns a benchmark's CPU time in µs. For a benchmark that did not run it exceeds every
// budget.
func (m *measured) cpu(name string) float64 {
	ns, ok := m.bench.Typical(name, "cpu-ns/op")
	if !ok {
		return 1e9
	}
	return ns / 1000
}

func (m *measured) allocs(name string) float64 {
	n, ok := m.bench.Typical(name, "allocs/op")
	if !ok {
		return 1e9
	}
	return n
}

// load returns the figure of a row of loads, and that of the same cards with every condition.
func (m *measured) load(i int, limit time.Duration) (string, bool) {
	format := func(figures *bench.LoadFigures) string {
		return fmt.Sprintf("%.2f s, %d series", figures.Load.CPU.Seconds(), figures.Counts.Lanes)
	}
	loadFigures := &m.scale[i].Load
	all := &m.scale[i+len(scaleSizes)/2].Load
	return format(loadFigures) + "; with every condition " + format(all), loadFigures.Load.CPU <= limit
}

func (m *measured) heap(i int, limit int64) (string, bool) {
	format := func(figures *bench.LoadFigures) string {
		return fmt.Sprintf("%.0f MB, %d series", float64(figures.Heap)/1e6, figures.Counts.Lanes)
	}
	loadFigures := &m.scale[i].Load
	all := &m.scale[i+len(scaleSizes)/2].Load
	return format(loadFigures) + "; with every condition " + format(all), loadFigures.Heap <= limit
}

func budgetsCommand(s *settings) *cobra.Command {
	benchtime := "300ms"
	count := 3
	swaps := 50
	cmd := &cobra.Command{
		Use: "budgets", Short: "Every row of the budget table", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := s.measureBudgets(cmd.Context(), benchtime, count, swaps)
			if err != nil {
				return err
			}
			return s.publish(cmd.Context(), "budgets", "bench-table",
				m.table()+"\n"+m.operations()+"\n"+m.loop.Markdown())
		},
	}

	f := cmd.Flags()
	f.StringVar(&benchtime, "benchtime", benchtime, "of each Go benchmark")
	f.IntVar(&count, "count", count, "how often each Go benchmark runs; the least counts")
	f.IntVar(&swaps, "swaps", swaps, "releases under load")
	return cmd
}

func (s *settings) measureBudgets(ctx context.Context, benchtime string, count, swaps int) (*measured, error) {
	m := &measured{bench: gobench.Figures{}}
	for _, run := range [][2]string{
		{"./index/text", "^BenchmarkSearch$/^(exact|typo1|typo2)$/.*/cached=false"},
		{"./bench", "^(BenchmarkGetCard|BenchmarkReads|BenchmarkOperations)$"},
	} {
		text, err := goTest(ctx, run[0], run[1], benchtime, count)
		if err != nil {
			return nil, err
		}
		m.bench.Read(text)
	}

	options := s.options
	// The rows need every server.
	options.CompareWith = []string{"bare", "body", "memory", rivals.Plain}
	loop, err := rivals.Run(ctx, options, rivals.Options{Self: s.self})
	if err != nil {
		return nil, err
	}
	m.loop = loop.Report

	m.scale, err = bench.Scale(ctx, s.options, scaleSizes)
	if err != nil {
		return nil, err
	}

	m.swap, err = bench.Swap(ctx, s.options, bench.SwapOptions{Swaps: swaps})
	if err != nil {
		return nil, err
	}
	m.daily, err = s.measureDaily(ctx)
	return m, err
}

func goTest(ctx context.Context, pkg, pattern, benchtime string, count int) ([]byte, error) {
	arguments := []string{
		"test", "-run", "^$", "-bench", pattern, "-benchmem", "-benchtime", benchtime,
		"-count", strconv.Itoa(count), "-timeout", "60m", pkg,
	}

	fmt.Fprintf(os.Stderr, "go %s\n", strings.Join(arguments, " "))
	command := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // the arguments are ours
	var text bytes.Buffer
	command.Stdout = &text
	command.Stderr = &text
	if err := command.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot run the benchmarks of %s: %w", pkg, err), errors.New(text.String()))
	}
	return text.Bytes(), nil
}

// table returns the rows as Markdown.
func (m *measured) table() string {
	var w strings.Builder
	w.WriteString("| operation | budget | measured | met |\n|---|---|---|---|\n")
	for i := range rows {
		text, met := rows[i].figure(m)
		verdict := "yes"
		switch {
		case text == skipped:
			verdict = "–"
		case !met:
			verdict = "**no**"
		}

		fmt.Fprintf(&w, "| %s | %s | %s | %s |\n", rows[i].operation, rows[i].budget, text, verdict)
	}
	return w.String()
}

// operations returns a table of CPU time and allocations of every operation without system calls,
// at both sizes.
func (m *measured) operations() string {
	var w strings.Builder
	w.WriteString("| whole request, without system calls | 30,000 cards | 300,000 cards |\n|---|---|---|\n")

	for _, name := range bench.OperationNames() {
		fmt.Fprintf(&w, "| %s |", name)
		for _, size := range []string{"30000", "300000"} {
			of := "bench.BenchmarkOperations/" + size + "/" + name
			fmt.Fprintf(&w, " %.2f µs CPU, %.0f allocations |", m.cpu(of), m.allocs(of))
		}
		w.WriteString("\n")
	}
	return w.String()
}

// daily is the cost of building one day's prices on yesterday's snapshot.
type daily struct {
	wall, cpu time.Duration
	peak      int64
}

// measureDaily builds the whole TCGCSV feed with its history, and then only the feed on that base.
func (s *settings) measureDaily(ctx context.Context) (*daily, error) {
	tree := filepath.Join(s.data, "tcgcsv", "tcgplayer-current.tar.zst")
	if _, err := os.Stat(tree); err != nil {
		fmt.Fprintln(os.Stderr, "skipped: the daily build, because there is no "+tree+" (see make data)")
		return nil, nil
	}

	store, err := os.MkdirTemp("", "ninepocket-daily-")
	if err != nil {
		return nil, err
	}

	// If this fails, files stay in the temporary folder.
	defer func() { _ = os.RemoveAll(store) }()
	// Yesterday has the whole history; today adds one day.
	history := func(name string) string { return "tcgcsv:" + filepath.Join(s.data, "price-history", name) }
	if _, err := s.build(ctx, store, "tcgcsv:"+tree, "--collected-at", "2026-08-21T20:00:00Z",
		"--prices", history("pokemon-daily-250d-by-productId.csv.zst"), "--prices",
		history("onepiece-daily-366d-by-productId.csv.zst")); err != nil {
		return nil, err
	}
	return s.build(ctx, store, "tcgcsv:"+tree, "--collected-at", "2026-08-22T20:00:00Z", "--base", "latest")
}

func (s *settings) build(ctx context.Context, store, source string, more ...string) (*daily, error) {
	arguments := append([]string{
		"snapshot", "build", "--store", store, "--source", source, "--publish", "--override",
		"repeated_feed", "--reason", "the same feed measured again",
	}, more...)

	command := exec.CommandContext(ctx, s.binary, arguments...) //nolint:gosec // the binary is the one to measure
	var text bytes.Buffer
	command.Stdout = &text
	command.Stderr = &text
	began := time.Now()
	if err := command.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot build %s: %w", source, err), errors.New(text.String()))
	}

	d := &daily{wall: time.Since(began), cpu: command.ProcessState.UserTime() + command.ProcessState.SystemTime()}
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		// Linux counts in kB.
		d.peak = usage.Maxrss << 10
	}
	return d, nil
}
