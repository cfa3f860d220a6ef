package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAlertRules runs the unit tests of the alert rules, and lets Prometheus parse every query of
// the dashboard.
func TestAlertRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("skipped: alert rules and dashboard queries, because there is no promtool (Debian package prometheus)")
	}

	check := func(args ...string) {
		t.Helper()
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	check("check", "rules", "alerts.yml")
	check("test", "rules", "alerts_test.yml", "alerts_days_test.yml")

	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	b, err := os.ReadFile("../../deploy/grafana/ninepocket.json")
	if err == nil {
		err = json.Unmarshal(b, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}

	rules := "groups:\n- name: dashboard\n  rules:\n"
	n := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			query, err := json.Marshal(strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			if err != nil {
				t.Fatal(err)
			}
			rules += fmt.Sprintf("  - record: q%d\n    expr: %s\n", n, query)
			n++
		}
	}

	if n == 0 {
		t.Fatal("the dashboard asks for nothing")
	}
	path := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	check("check", "rules", path)
}
