package node

import (
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
)

var metricName = regexp.MustCompile(`\bninepocket_fleet_[a-z0-9_]+`)

// TestFleetMetricsAreDocumented holds the metrics that a server of a fleet has besides, the dashboard,
// the alert rules and the table in docs/WATCH.md against each other. The metrics of every server are
// compared where a whole one runs.
func TestFleetMetricsAreDocumented(t *testing.T) {
	metrics := make(chan prometheus.Metric, 100)
	out := sink(metrics)
	now := time.Now()
	out.fleet(&control.Exporter{}, now, now)
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

	const docs = "../docs/WATCH.md"
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
