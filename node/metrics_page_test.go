package node

import (
	"cmp"
	flags "flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flags.Bool("update", false, "write docs/METRICS.md")

// metricsPage begins the page; the tables follow from the program.
const metricsPage = `# Metrics

For operators: every metric of the server, for Prometheus and for dashboards of your own.
` + "`make generate`" + ` writes this page from the program. [RUNBOOK.md](RUNBOOK.md) has the alerts.

The admin listener serves them at ` + "`/metrics`" + `. Name the scrape job ` + "`ninepocket`" + `: the rules and the
dashboard expect it.

` + "```yaml" + `
scrape_configs:
- job_name: ninepocket
  static_configs: [{targets: ['127.0.0.1:8081']}]
` + "```" + `

- ` + "`deploy/grafana/ninepocket.json`" + ` is a dashboard: import it and choose the Prometheus.
- ` + "`deploy/prometheus/alerts.yml`" + ` has the alert rules.
- ` + "`go_…` and `process_…`" + ` are the usual metrics of a Go program.
- A label never holds text from a client. Tenants are labels only with ` + "`tenants = true`" + ` in
  ` + "`[metrics]`" + `.
- ` + "`surface` is `live`, `preview`, `mcp`, `site` or `none`. `operation`" + ` is the name in
  ` + "`ninepocket usage`, or `mcp:TOOL`" + `, or a page of the site.
- ` + "`demo`" + ` meters in memory: it has no metrics of log and checkpoint.
- Metrics of the store's records, such as the daily job, need a store that is a directory.
`

// metricGroups are the tables of the page: a metric is in the first table with a prefix of its
// name.
var metricGroups = []struct {
	heading  string
	prefixes []string
}{
	{"A fleet", []string{"fleet_"}},
	{"The daily job and hooks", []string{"daily_", "hook_", "snapshot_refusal_"}},
	{"The snapshot", []string{"snapshot_", "retired_", "degraded", "store_", "bulk_", "search_"}},
	{"Keys and metering", []string{
		"key", "metering_", "idempotency_", "wal_", "checkpoint_", "clock_", "tenant_",
	}},
	{"Requests and the process", []string{""}},
}

// metric is a metric as the program sends it.
type metric struct {
	name, kind, help string
	labels           []string
}

// metricsOfSource reads the metrics of the program from its source: of a running server only those show
// whose parts it has.
func metricsOfSource(t *testing.T) (all []metric) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			texts := textsOf(function.Body)
			ast.Inspect(function.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					all = appendMetric(t, all, call, texts)
				}
				return true
			})
		}
	}
	slices.SortFunc(all, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return all
}

// textsOf are the texts that a function gives a name to.
func textsOf(body *ast.BlockStmt) map[string]string {
	texts := map[string]string{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if len(n.Values) == 1 {
				texts[n.Names[0].Name] = textOf(n.Values[0], texts)
			}
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 {
				texts[name.Name] = textOf(n.Rhs[0], texts)
			}
		}
		return true
	})
	return texts
}

// textOf is a text of the source; a number in it that the program computes is N.
func textOf(n ast.Expr, texts map[string]string) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(n.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(n.X, texts) + textOf(n.Y, texts)
	case *ast.CallExpr:
		return "N"
	case *ast.Ident:
		return texts[n.Name]
	}
	return ""
}

// appendMetric appends the metric that a call sends, if it is one that sends a metric.
func appendMetric(t *testing.T, all []metric, call *ast.CallExpr, texts map[string]string) []metric {
	t.Helper()
	function := ""
	args := call.Args
	switch f := call.Fun.(type) {
	case *ast.Ident:
		function = f.Name
		args = args[min(1, len(args)):] // behind out
	case *ast.SelectorExpr:
		function = f.Sel.Name
	}
	kind := map[string]string{
		"gauge": "gauge", "counter": "counter", "ageGauge": "gauge", "histogram": "histogram",
	}[function]
	if kind == "" || len(args) < 3 {
		return all
	}

	m := metric{name: "ninepocket_" + textOf(args[0], texts), kind: kind, help: textOf(args[1], texts)}
	if m.name == "ninepocket_" && m.help == "" {
		return all // these functions themselves
	}
	for i := 3; i < len(args) && function != "ageGauge"; i += 2 {
		m.labels = append(m.labels, textOf(args[i], texts))
	}
	if m.name == "ninepocket_" || m.help == "" || slices.Contains(m.labels, "") {
		t.Errorf("cannot read a metric: %+v", m)
	}
	same := func(other metric) bool { return other.name == m.name }
	if i := slices.IndexFunc(all, same); i >= 0 {
		if diff := gocmp.Diff(all[i], m, gocmp.AllowUnexported(metric{})); diff != "" {
			t.Errorf("two metrics have one name: %s", diff)
		}
		return all
	}
	return append(all, m)
}

// TestMetricsPage holds docs/METRICS.md against the program. With -update it writes the page.
func TestMetricsPage(t *testing.T) {
	const file = "../docs/METRICS.md"
	tables := make([]string, len(metricGroups))
	for _, m := range metricsOfSource(t) {
		group := slices.IndexFunc(metricGroups, func(group struct {
			heading  string
			prefixes []string
		},
		) bool {
			return slices.ContainsFunc(group.prefixes, func(prefix string) bool {
				return strings.HasPrefix(m.name, "ninepocket_"+prefix)
			})
		})
		tables[group] += fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), m.help)
	}

	page := metricsPage
	for i, group := range slices.Backward(metricGroups) {
		page += "\n## " + group.heading + "\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n" + tables[i]
	}

	if *update {
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(file)
	if diff := gocmp.Diff(string(written), page); err != nil || diff != "" {
		t.Errorf("%s is not what make generate writes: %v\n%s", file, err, diff)
	}
}
