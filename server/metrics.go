package server

import (
	"slices"
	"time"

	"ninepocket/internal/counters"
	"ninepocket/wire"
)

// metrics are what a Server counts of its requests. A request costs one reading of the clock and
// five atomic additions in its exchange's shard.
type metrics struct {
	rows     []metricKey
	requests *counters.Counters  // of a row: answers by column of the status
	latency  *counters.Durations // of a row
	totals   *counters.Counters  // one row
	denials  *counters.Counters  // of a surface: refusals by reason
	broken   *counters.Counters  // one row: what was no HTTP request, by column of the status
}

// metricKey names a row of the counts. Clients cannot add one.
type metricKey struct{ surface, operation string }

// The rows of requests that no path of the table stands for.
const (
	rowUnknown = iota // no such path, or nothing that could be routed
	rowPreflight
)

// noSurface is the surface of what needs no key and is no page.
const noSurface = "none"

// The columns of totals.
const (
	totalBegun = iota
	totalBytes
	totalGzip
	totalZstd
	totalPanics
	totalColumns
)

// statusColumn is where a status is counted; the last column is of any other.
func statusColumn(status int) int {
	if column := slices.Index(statuses, status); column >= 0 {
		return column
	}
	return len(statuses)
}

// newMetrics gives every path and operation of a route table, and every tool, a row.
func newMetrics(table []*route, tools []*operation) *metrics {
	counts := &metrics{rows: []metricKey{rowUnknown: {noSurface, "unknown"}, rowPreflight: {noSurface, "preflight"}}}
	for _, p := range table {
		if p.open != nil {
			p.metricRow = counts.rowOf(p.counts)
			continue
		}
		if p.live != nil {
			p.live.metricRow = counts.rowOf(metricKey{onLive, string(p.live.Name)})
		}
		if p.preview != nil {
			p.preview.metricRow = counts.rowOf(metricKey{onPreview, string(p.preview.Name)})
		}
	}
	for _, tool := range tools {
		tool.metricRow = counts.rowOf(metricKey{onMCP, string(tool.Name)})
	}

	counts.requests = counters.NewCounters(len(counts.rows), len(statuses)+1)
	counts.latency = counters.NewDurations(len(counts.rows), counters.Decades(5*time.Microsecond, time.Second)...)
	counts.totals = counters.NewCounters(1, totalColumns)
	counts.denials = counters.NewCounters(len(denialSurfaces), len(denialReasons))
	counts.broken = counters.NewCounters(1, len(statuses)+1)
	return counts
}

// rowOf is the row of a route, a new one for a new route.
func (counts *metrics) rowOf(wanted metricKey) int {
	if row := slices.Index(counts.rows, wanted); row >= 0 {
		return row
	}

	counts.rows = append(counts.rows, wanted)
	return len(counts.rows) - 1
}

// total counts what has no row.
func (counts *metrics) total(shard counters.Shard, column int, n uint64) {
	counts.totals.Add(shard, 0, column, n)
}

// answered counts a request that has its answer; what is left of it is writing the answer to the
// connection.
func (counts *metrics) answered(x *exchange) (took time.Duration) {
	resp := &x.Ctx.Response
	took = time.Since(x.time)
	counts.requests.Add(x.shard, x.row, statusColumn(resp.StatusCode()), 1)
	counts.latency.Observe(x.shard, x.row, took)

	// A stream is read by whoever sends it: asking for its bytes here would read all of it.
	if !x.Ctx.IsHead() {
		n := max(resp.Header.ContentLength(), 0)
		if !resp.IsBodyStream() {
			n = len(resp.Body())
		}
		counts.total(x.shard, totalBytes, uint64(n))
	}
	switch x.Encoded {
	case "":
	case "zstd":
		counts.total(x.shard, totalZstd, 1)
	default:
		counts.total(x.shard, totalGzip, 1)
	}
	return took
}

// denied counts a refusal of a surface, if its reason is one of denialReasons.
func (counts *metrics) denied(shard counters.Shard, by *surface, code wire.Code) {
	if reason := slices.Index(denialReasons, code); reason >= 0 {
		counts.denials.Add(shard, slices.Index(denialSurfaces, by.name), reason, 1)
	}
}

// Stats are a Server's figures since it was made.
type Stats struct {
	Routes      []RouteStats
	InFlight    uint64            // requests that are being answered
	Bytes       uint64            // of answer bodies, as sent
	Compressed  map[string]uint64 // answers by encoding
	PackHits    uint64            // bodies that were remembered compressed
	PackMisses  uint64            // and those that might have been
	Panics      uint64
	Denials     []Denials
	ParseErrors map[int]uint64 // what was no HTTP request, by status; 0 for a status that is not expected
}

// RouteStats are the figures of one operation of one surface.
type RouteStats struct {
	Surface   string // live, preview, mcp, site or none
	Operation string
	Statuses  map[int]uint64     // answers; 0 for a status that is not expected
	Latency   counters.Histogram // from the request being read to the answer being ready to be written
}

// Denials are the refusals of a surface for one reason.
type Denials struct {
	Surface, Reason string
	Count           uint64
}

// byStatus reads a row of answers, leaving out what never came.
func byStatus(counters *counters.Counters, row int) map[int]uint64 {
	found := map[int]uint64{}
	for column := range len(statuses) + 1 {
		n := counters.Sum(row, column)
		switch {
		case n == 0:
		case column < len(statuses):
			found[statuses[column]] = n
		default:
			found[0] = n
		}
	}
	return found
}

// Stats returns the figures of all requests so far. They are not of one moment.
func (s *Server) Stats() Stats {
	counts := s.metrics
	total := func(column int) uint64 { return counts.totals.Sum(0, column) }
	stats := Stats{
		Compressed: map[string]uint64{"gzip": total(totalGzip), "zstd": total(totalZstd)},
		Panics:     total(totalPanics), ParseErrors: byStatus(counts.broken, 0),
	}
	stats.PackHits, stats.PackMisses = s.packs.Figures()

	answered := uint64(0)
	for row, route := range counts.rows {
		one := RouteStats{
			Surface: route.surface, Operation: route.operation,
			Statuses: byStatus(counts.requests, row), Latency: counts.latency.Row(row),
		}
		for _, n := range one.Statuses {
			answered += n
		}
		stats.Routes = append(stats.Routes, one)
	}

	// Read last, so that no request is seen answered that was not seen to begin.
	stats.Bytes = total(totalBytes)
	stats.InFlight = max(total(totalBegun), answered) - answered
	for surface, name := range denialSurfaces {
		for reason, code := range denialReasons {
			if n := counts.denials.Sum(surface, reason); n > 0 {
				stats.Denials = append(stats.Denials, Denials{name, string(code), n})
			}
		}
	}
	return stats
}
