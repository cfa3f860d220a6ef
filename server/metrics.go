package server

import (
	"slices"
	"time"

	"ninepocket/internal/counters"
	"ninepocket/wire"
)

// metrics are the metrics of a Server's requests. A request costs one reading of the clock and five
// atomic additions in its exchange's shard.
type metrics struct {
	rows     []metricKey
	requests *counters.Counters  // of a row: responses by column of the status
	latency  *counters.Durations // of a row
	totals   *counters.Counters  // one row
	denials  *counters.Counters  // of a surface: refused calls by reason
	broken   *counters.Counters  // one row: invalid HTTP requests, by column of the status
}

// metricKey is the key of a row in the metrics. Clients cannot add one.
type metricKey struct{ surface, operation string }

// The rows of requests without a route.
const (
	rowUnknown = iota // no such path, or an invalid request
	rowPreflight
)

// surfaceNone is the surface of paths that need no key and are no pages.
const surfaceNone = "none"

// The columns of totals.
const (
	totalStarted = iota
	totalBytes
	totalGzip
	totalZstd
	totalPanics
	totalColumns
)

// statusColumn is the column of a status; the last column is for all others.
func statusColumn(status int) int {
	if column := slices.Index(statuses, status); column >= 0 {
		return column
	}
	return len(statuses) - 1
}

// newMetrics gives every route, operation and tool a row.
func newMetrics(table []*route, tools []*operation) *metrics {
	counts := &metrics{rows: []metricKey{
		rowUnknown: {surfaceNone, "unknown"}, rowPreflight: {surfaceNone, "preflight"},
	}}
	for _, p := range table {
		if p.handler != nil {
			p.metricRow = counts.rowOf(p.metric)
			continue
		}
		if p.live != nil {
			p.live.metricRow = counts.rowOf(metricKey{surfaceLive, string(p.live.Name)})
		}
		if p.preview != nil {
			p.preview.metricRow = counts.rowOf(metricKey{surfacePreview, string(p.preview.Name)})
		}
	}
	for _, tool := range tools {
		tool.metricRow = counts.rowOf(metricKey{surfaceMCP, string(tool.Name)})
	}

	counts.requests = counters.NewCounters(len(counts.rows), len(statuses))
	counts.latency = counters.NewDurations(len(counts.rows), counters.Decades(5*time.Microsecond, time.Second)...)
	counts.totals = counters.NewCounters(1, totalColumns)
	counts.denials = counters.NewCounters(len(denialSurfaces), len(denialReasons))
	counts.broken = counters.NewCounters(1, len(statuses))
	return counts
}

// rowOf returns the row of a key, which it adds if it is new.
func (counts *metrics) rowOf(wanted metricKey) int {
	if row := slices.Index(counts.rows, wanted); row >= 0 {
		return row
	}

	counts.rows = append(counts.rows, wanted)
	return len(counts.rows) - 1
}

// total adds to a counter of the whole server.
func (counts *metrics) total(shard counters.Shard, column int, n uint64) {
	counts.totals.Add(shard, 0, column, n)
}

// answered counts a request whose response is ready; only writing it to the connection is left.
func (counts *metrics) answered(x *exchange) (took time.Duration) {
	resp := &x.Ctx.Response
	took = time.Since(x.time)
	counts.requests.Add(x.shard, x.row, statusColumn(resp.StatusCode()), 1)
	counts.latency.Observe(x.shard, x.row, took)

	// A stream is read while it is sent: resp.Body would read all of it here.
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

// denied counts a refused call of a surface, if its reason is one of denialReasons.
func (counts *metrics) denied(shard counters.Shard, by *surface, code wire.Code) {
	if reason := slices.Index(denialReasons, code); reason >= 0 {
		counts.denials.Add(shard, slices.Index(denialSurfaces, by.name), reason, 1)
	}
}

// Stats are a Server's metrics since it was created.
type Stats struct {
	Routes           []RouteStats
	InFlight         uint64            // requests without a response yet
	Bytes            uint64            // of response bodies, as sent
	Compressed       map[string]uint64 // responses by encoding
	CompressedHits   uint64            // bodies found in the cache of compressed bodies
	CompressedMisses uint64            // bodies not found in it
	Panics           uint64
	Denials          []Denials
	ParseErrors      map[int]uint64 // invalid HTTP requests by status; 0 for an unexpected status
}

// RouteStats are the metrics of one operation of one surface.
type RouteStats struct {
	Surface   string // live, preview, mcp, site or none
	Operation string
	Statuses  map[int]uint64     // responses by status; 0 for an unexpected status
	Latency   counters.Histogram // from the request being read to the response being ready
}

// Denials counts the refused calls of a surface for one reason.
type Denials struct {
	Surface, Reason string
	Count           uint64
}

// countsByStatus reads a row of responses, without statuses that never occurred.
func countsByStatus(counters *counters.Counters, row int) map[int]uint64 {
	found := map[int]uint64{}
	for column, status := range statuses {
		if n := counters.Sum(row, column); n > 0 {
			found[status] = n
		}
	}
	return found
}

// Stats returns the metrics of all requests so far. They are not an atomic snapshot.
func (s *Server) Stats() Stats {
	counts := s.metrics
	total := func(column int) uint64 { return counts.totals.Sum(0, column) }
	stats := Stats{
		Compressed: map[string]uint64{"gzip": total(totalGzip), "zstd": total(totalZstd)},
		Panics:     total(totalPanics), ParseErrors: countsByStatus(counts.broken, 0),
	}
	stats.CompressedHits, stats.CompressedMisses = s.compressed.Stats()

	answered := uint64(0)
	for row, route := range counts.rows {
		one := RouteStats{
			Surface: route.surface, Operation: route.operation,
			Statuses: countsByStatus(counts.requests, row), Latency: counts.latency.Row(row),
		}
		for _, n := range one.Statuses {
			answered += n
		}
		stats.Routes = append(stats.Routes, one)
	}

	// Read last, so that every counted response has its counted start.
	stats.Bytes = total(totalBytes)
	stats.InFlight = max(total(totalStarted), answered) - answered
	for surface, name := range denialSurfaces {
		for reason, code := range denialReasons {
			if n := counts.denials.Sum(surface, reason); n > 0 {
				stats.Denials = append(stats.Denials, Denials{name, string(code), n})
			}
		}
	}
	return stats
}
