package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/internal/tally"
	"ninepocket/server"
)

// metrics are what Prometheus reads: the process's own figures and those that server, access and engine count by
// themselves, turned into metrics when they are asked for. Labels are operations, codes and reasons that the program
// knows; nothing that a client sends becomes one.
func (s *service) metrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), s)
	return r
}

// metric is a metric's description with its kind.
type metric struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

// described lists every metric, so that Describe and docs/OPERATIONS.md leave out none.
var described []*prometheus.Desc

func newDesc(name, help string, labels []string) *prometheus.Desc {
	d := prometheus.NewDesc("ninepocket_"+name, help, labels, nil)
	described = append(described, d)
	return d
}

func gauge(name, help string, labels ...string) metric {
	return metric{newDesc(name, help, labels), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) metric {
	return metric{newDesc(name, help, labels), prometheus.CounterValue}
}

func histogram(name, help string, labels ...string) *prometheus.Desc {
	return newDesc(name, help, labels)
}

// Requests.
var (
	requestsTotal   = counter("http_requests_total", "Answered requests by surface, operation and status code.", "surface", "operation", "code")
	requestDuration = histogram("http_request_duration_seconds", "Time from a request being read to its answer being ready to be written, by surface and operation.", "surface", "operation")
	inFlight        = gauge("http_requests_in_flight", "Requests that are being answered.")
	responseBytes   = counter("http_response_bytes_total", "Bytes of answer bodies, as sent.")
	compressedTotal = counter("http_compressed_responses_total", "Answers sent compressed, by encoding.", "encoding")
	panicsTotal     = counter("http_panics_total", "Requests whose handler panicked; each was answered 500.")
	packCacheTotal  = counter("compressed_body_cache_requests_total", "Compressed bodies by whether they were remembered; those of batches, usage and MCP never are.", "result")
	parseErrors     = counter("http_parse_errors_total", "Requests that were not valid HTTP, too large or too slow, by status code.", "code")
	deniedTotal     = counter("denied_requests_total", "Requests refused by key, scope, plan or limit, by surface and error code.", "surface", "reason")
)

// The snapshot and how it came.
var (
	snapshotInfo        = gauge("snapshot_info", "Always 1; the labels name the served snapshot.", "snapshot_id")
	snapshotTimestamp   = gauge("snapshot_timestamp_seconds", "The instant that the served snapshot describes.")
	snapshotAge         = gauge("snapshot_age_seconds", "Time since the instant that the served snapshot describes.")
	snapshotLive        = gauge("snapshot_live_seconds", "Time since the served snapshot went live here.")
	snapshotEpoch       = gauge("snapshot_epoch", "Number of the publication that is served; 0 for a fallback that was not published.")
	snapshotGames       = gauge("snapshot_games", "Games in the served snapshot.")
	snapshotSets        = gauge("snapshot_sets", "Sets in the served snapshot.")
	snapshotCards       = gauge("snapshot_cards", "Cards in the served snapshot.")
	snapshotProducts    = gauge("snapshot_products", "Products in the served snapshot.")
	snapshotLanes       = gauge("snapshot_lanes", "Lanes (item, variant, condition) in the served snapshot.")
	snapshotBytes       = gauge("snapshot_bytes", "Memory that the served snapshot takes, without its word index.")
	snapshotQuarantined = gauge("snapshot_quarantined_records", "Records that the build of the served snapshot refused, by reason.", "reason")
	loadDuration        = gauge("snapshot_load_duration_seconds", "How long the last load of a snapshot took, by phase.", "phase")
	swapsTotal          = counter("snapshot_swaps_total", "Snapshots that went live here, the first included.")
	swapFailures        = counter("snapshot_swap_failures_total", "Tries to serve a published snapshot that failed, by reason.", "reason")
	snapshotBehind      = gauge("snapshot_behind", "1 when another snapshot is published than is served.")
	degraded            = gauge("degraded", "1 when an earlier snapshot is served because the published one is damaged.")
	checkAge            = gauge("store_check_age_seconds", "Time since the snapshot store last said what is published.")
	retiredViews        = gauge("retired_snapshots", "Earlier snapshots kept in memory for cursors.")
	retiredBytes        = gauge("retired_snapshot_bytes", "Memory that earlier snapshots take, without their word indexes.")
	searchCacheTotal    = counter("search_cache_requests_total", "Word searches by whether the page was remembered.", "result")
)

// Keys and metering.
var (
	keysLoaded         = gauge("keys", "Keys in the keys file, expired and revoked ones included.")
	keysUnusable       = gauge("keys_unusable", "Active keys that are answered 503, because the plan of their tenant is not configured.")
	keyReloads         = counter("key_reloads_total", "Changed keys files that were taken over, the first reading included.")
	keyReloadFailures  = counter("key_reload_failures_total", "Tries to read the keys file that failed; the last good one stays in force.")
	meteringUp         = gauge("metering_up", "1 while calls can be metered; otherwise every call is answered 503.")
	meteringDuration   = histogram("metering_duration_seconds", "Time of the metering store's calls; of finish, one in "+strconv.Itoa(access.FinishSample)+" is timed.", "call")
	fsyncDuration      = histogram("wal_fsync_duration_seconds", "Time of the metering log's fsyncs.")
	fsyncErrors        = counter("wal_fsync_errors_total", "Fsyncs of the metering log that failed; the first one takes metering down.")
	walMapped          = gauge("wal_mapped", "1 while the metering log is written through memory, 0 with a system call a record.")
	walSegment         = gauge("wal_segment_bytes", "Length of the metering log's open segment.")
	walWritten         = counter("wal_written_bytes_total", "Bytes written to the metering log.")
	checkpointDuration = histogram("checkpoint_duration_seconds", "Time of the metering checkpoints.")
	checkpointAge      = gauge("checkpoint_age_seconds", "Time since the last metering checkpoint.")
	checkpointFailures = counter("checkpoint_failures_total", "Metering checkpoints that failed; the first one takes metering down.")
	checkpointBusy     = counter("checkpoint_postponements_total", "Metering checkpoints put off because another process was reading the file.")
	idempotencyRecords = gauge("idempotency_records", "Idempotency records kept, those in flight included.")
	idempotencyBytes   = gauge("idempotency_bytes", "What the idempotency records count against their tenants' bounds.")
	buildInfo          = gauge("build_info", "Always 1; the label names the version.", "version")
)

// Describe implements prometheus.Collector.
func (s *service) Describe(out chan<- *prometheus.Desc) {
	for _, d := range described {
		out <- d
	}
}

// sink sends metrics to a scrape.
type sink chan<- prometheus.Metric

func (out sink) put(m metric, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(m.Desc, m.kind, v, labels...)
}

func (out sink) flag(m metric, v bool) {
	if v {
		out.put(m, 1)
	} else {
		out.put(m, 0)
	}
}

// histogram spells a histogram in seconds, its buckets cumulative.
func (out sink) histogram(d *prometheus.Desc, h tally.Histogram, labels ...string) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	n := uint64(0)
	for k, bound := range h.Bounds {
		n += h.Counts[k]
		buckets[bound.Seconds()] = n
	}
	out <- prometheus.MustNewConstHistogram(d, h.Count(), h.Sum.Seconds(), buckets, labels...)
}

// Collect implements prometheus.Collector.
func (s *service) Collect(metrics chan<- prometheus.Metric) {
	out, now := sink(metrics), time.Now()
	out.put(buildInfo, 1, version)
	out.requests(s.server.Stats())
	if v := s.engine.View(); v != nil {
		out.snapshot(v, now)
	}
	out.engine(s.engine.Stats(), now)
	ring := s.ring.Stats()
	out.put(keysLoaded, float64(ring.Keys))
	unusable := 0
	for _, u := range s.ring.Unusable(now) {
		unusable += len(u.Keys)
	}
	out.put(keysUnusable, float64(unusable))
	out.put(keyReloads, float64(ring.Reloads))
	out.put(keyReloadFailures, float64(ring.Failures))
	out.flag(meteringUp, s.store.Err() == nil)
	out.metering(s.store.Stats(), now)
}

// code spells a status; 0 stands for those that the server does not expect of itself.
func code(status int) string {
	if status == 0 {
		return "other"
	}
	return strconv.Itoa(status)
}

func (out sink) requests(s server.Stats) {
	for _, r := range s.Routes {
		for status, n := range r.Statuses {
			out.put(requestsTotal, float64(n), r.Surface, r.Operation, code(status))
		}
		out.histogram(requestDuration, r.Latency, r.Surface, r.Operation)
	}
	out.put(inFlight, float64(s.InFlight))
	out.put(responseBytes, float64(s.Bytes))
	for encoding, n := range s.Compressed {
		out.put(compressedTotal, float64(n), encoding)
	}
	out.put(packCacheTotal, float64(s.PackHits), "hit")
	out.put(packCacheTotal, float64(s.PackMisses), "miss")
	out.put(panicsTotal, float64(s.Panics))
	for status, n := range s.ParseErrors {
		out.put(parseErrors, float64(n), code(status))
	}
	for _, d := range s.Denials {
		out.put(deniedTotal, float64(d.Count), d.Surface, d.Reason)
	}
}

func (out sink) snapshot(v *engine.View, now time.Time) {
	at := time.UnixMilli(v.Catalog.SnapshotAt)
	out.put(snapshotInfo, 1, v.ID)
	out.put(snapshotTimestamp, float64(v.Catalog.SnapshotAt)/1000)
	out.put(snapshotAge, now.Sub(at).Seconds())
	out.put(snapshotGames, float64(v.Catalog.Games.Slug.Len()))
	out.put(snapshotSets, float64(v.Catalog.Sets.ID.Len()))
	out.put(snapshotCards, float64(v.Catalog.Cards.ID.Len()))
	out.put(snapshotProducts, float64(len(v.Index.Products())))
	out.put(snapshotLanes, float64(len(v.Catalog.Lanes.Variant)))
	out.put(snapshotBytes, float64(v.Size()))
}

func (out sink) engine(s engine.Stats, now time.Time) {
	if s.Swaps > 0 {
		out.put(snapshotLive, now.Sub(s.Live).Seconds())
	}
	out.put(snapshotEpoch, float64(s.Epoch))
	if s.Manifest != nil {
		for reason, n := range s.Manifest.Quarantine {
			out.put(snapshotQuarantined, float64(n), reason)
		}
	}
	for phase, took := range map[string]time.Duration{
		"read": s.LastLoad.Read, "index": s.LastLoad.Index, "fragments": s.LastLoad.Fragments, "total": s.LastLoad.Total,
	} {
		out.put(loadDuration, took.Seconds(), phase)
	}
	out.put(swapsTotal, float64(s.Swaps))
	for reason, n := range s.Failures {
		out.put(swapFailures, float64(n), engine.Reason(reason).String())
	}
	out.flag(snapshotBehind, s.Behind)
	out.flag(degraded, s.Degraded)
	if !s.Checked.IsZero() {
		out.put(checkAge, now.Sub(s.Checked).Seconds())
	}
	out.put(retiredViews, float64(s.Retired))
	out.put(retiredBytes, float64(s.RetiredBytes))
	out.put(searchCacheTotal, float64(s.SearchHits), "hit")
	out.put(searchCacheTotal, float64(s.SearchMisses), "miss")
}

func (out sink) metering(s access.StoreStats, now time.Time) {
	out.histogram(meteringDuration, s.Begin, "begin")
	out.histogram(meteringDuration, s.Finish, "finish")
	out.histogram(meteringDuration, s.Commit, "commit")
	out.put(idempotencyRecords, float64(s.Replies))
	out.put(idempotencyBytes, float64(s.ReplyBytes))
	if !s.Durable {
		return
	}
	out.histogram(fsyncDuration, s.Sync)
	out.put(fsyncErrors, float64(s.SyncErrors))
	mapped := 1.0
	if s.LogUnmapped != nil {
		mapped = 0
	}
	out.put(walMapped, mapped)
	out.put(walSegment, float64(s.LogBytes))
	out.put(walWritten, float64(s.LogWritten))
	out.histogram(checkpointDuration, s.Checkpoint)
	if !s.CheckpointAt.IsZero() {
		out.put(checkpointAge, now.Sub(s.CheckpointAt).Seconds())
	}
	out.put(checkpointFailures, float64(s.CheckpointFails))
	out.put(checkpointBusy, float64(s.CheckpointBusy))
}
