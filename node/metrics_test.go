package node

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ninepocket/engine"
	"ninepocket/fleet/control"
	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
	"ninepocket/snapshot"
)

var metricName = regexp.MustCompile(`\bninepocket_fleet_[a-z0-9_]+`)

// TestFleetMetricsAreDocumented holds the metrics that a server of a fleet has besides, the dashboard,
// the alert rules and the table in docs/METRICS.md against each other. The metrics of every server are
// compared where a whole one runs.
func TestFleetMetricsAreDocumented(t *testing.T) {
	metrics := make(chan prometheus.Metric, 100)
	out := sink(metrics)
	now := time.Now()
	out.fleet(&control.Exporter{}, now, now, 0)
	out.limiter(&limiter.Stats{})
	out.mirror(mirror.Stats{AnsweredAt: now}, engine.Stats{}, now)
	close(metrics)
	known := map[string]bool{}
	for metric := range metrics {
		name := regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(metric.Desc().String())[1]
		known[name] = true
		if !metricName.MatchString(name) {
			t.Errorf("%s is of a fleet and does not say so", name)
		}
	}

	const docs = "../docs/METRICS.md"
	explained := map[string]bool{}
	for _, path := range []string{docs, "../deploy/grafana/ninepocket.json", "../deploy/prometheus/alerts.yml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			// A series of a histogram has a name of its own.
			for _, of := range []string{"_bucket", "_sum", "_count"} {
				if known[strings.TrimSuffix(name, of)] {
					name = strings.TrimSuffix(name, of)
				}
			}
			if !known[name] {
				t.Errorf("%s names %s, which no server has", path, name)
			}
			explained[name] = explained[name] || path == docs
		}
	}
	for name := range known {
		if !explained[name] {
			t.Errorf("%s does not explain %s", docs, name)
		}
	}
}

// TestRecentGaps counts gaps of days and groups, old and new, with and without a reason.
func TestRecentGaps(t *testing.T) {
	today := snapshot.DayOf(time.Date(2026, 3, 15, 20, 0, 0, 0, time.UTC).UnixMilli())
	c := &snapshot.Catalog{SnapshotAt: today.Time().UnixMilli()}
	for _, gap := range []struct {
		day           snapshot.Day
		group, reason string
	}{
		{today, "3/1", "missing_file"},
		{today, "3/2", "missing_file"},
		{today, "3/3", "implausible"},
		{today, "3/4", ""},
		{today - 1, "3/1", "missing_file"}, // another day
		{today - 2, "", ""},
		{today - 2, "", ""},
		{today - 29, "", ""},
		{today - 30, "", ""}, // two of one day, one old
	} {
		c.Gaps.Day = append(c.Gaps.Day, gap.day)
		c.Gaps.Group.Append(gap.group)
		c.GapReasons.Append(gap.reason)
	}

	days, newest, groups, reasons := recentGaps(c)
	want := map[string]int{
		"missing_file": 2, "broken_file": 0, "empty_file": 0, "bad_price": 0, "implausible": 1, "unlisted": 0,
	}
	if days != 2 || groups != 4 || !maps.Equal(reasons, want) || !newest.Equal((today - 2).Time()) {
		t.Errorf("%d days to %s, %d groups, %v; want 2, 4, %v", days, newest, groups, reasons, want)
	}

	// A snapshot of an earlier version has no reasons.
	c.GapReasons = snapshot.Strings{}
	days, _, groups, reasons = recentGaps(c)
	clear(want)
	maps.DeleteFunc(reasons, func(_ string, n int) bool { return n == 0 })
	if days != 2 || groups != 4 || !maps.Equal(reasons, want) {
		t.Errorf("without reasons: %d days, %d groups, %v", days, groups, reasons)
	}

	// Prometheus shows none as a number too.
	if _, newest, _, _ := recentGaps(&snapshot.Catalog{SnapshotAt: c.SnapshotAt}); newest.Unix() != 0 {
		t.Errorf("the newest of no missing days is %s", newest)
	}
}
