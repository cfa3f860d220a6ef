package node

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/fleet/control"
	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/connlimit"
	"ninepocket/internal/counters"
	"ninepocket/server"
	"ninepocket/snapshot"
)

// collector collects the metrics of a server for Prometheus. Labels are operations, codes and
// reasons that the program knows, and tenants if they are counted; no label is from a client.
type collector struct{ n *Node }

// metrics returns the metrics of the process and of all parts of the server.
func (n *Node) metrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	r.MustRegister(collectors.NewGoCollector(), process, collector{n})
	return r
}

// Describe implements prometheus.Collector. Metrics are not described before they are collected, so
// that each is defined in one place; the registry compares the metrics of a scrape with each other.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	n := c.n
	out := sink(metrics)
	now := time.Now()
	gauge(out, "build_info", "Always 1; the label names the version.", 1, "version", n.Version)
	out.requests(n.server.Stats())
	out.connections(n.connLimiter)
	// There are no metrics before the first View.
	v := n.engine.View()
	if v != nil {
		out.snapshot(v, now)
	}
	out.engine(n.engineStats(now), now)
	out.keys(n.ring, now)
	ready := v != nil && n.bulk.Of(v.ID) != nil
	gauge(out, "bulk_ready", "1 once the bulk files of the served snapshot are made, or none are to be.", flag(ready))
	counter(out, "bulk_failures_total", "Tries to make bulk files that failed, as on a full disk.", n.bulk.Failures())

	dropped := uint64(0)
	if n.access != nil {
		dropped = n.access.Dropped()
	}
	counter(out, "access_log_dropped_total", "Lines of the access log that a slow or failing disk cost.", dropped)

	dropped = 0
	if n.LogWriter != nil {
		dropped = n.LogWriter.Dropped()
	}
	counter(out, "log_dropped_total", "Lines of the server's own log that nobody read in time.", dropped)

	expires := int64(0)
	if n.cert != nil {
		expires = n.cert.Expires().Unix()
	}
	gauge(out, "certificate_expiry_timestamp_seconds",
		"When the certificate of the API stops being valid; 0 where TLS does not end here.", expires)

	gauge(out, "metering_up", "1 while calls can be metered; otherwise every call is answered 503.",
		flag(n.store.Err() == nil))
	out.metering(n.store.Stats(), now)
	if facts := n.facts.Load(); facts != nil {
		out.facts(facts)
	}
	if n.hooks != nil {
		out.hooks(n.hooks.Stats(), now)
	}
	if n.Config.Metrics.Tenants && n.journal != nil {
		for tenant, calls := range n.journal.CallsByTenant() {
			counter(out, "tenant_calls_total", "Answered calls of a tenant, charged or not.", calls, "tenant", tenant)
		}
	}

	gauge(out, "clock_doubted_seconds", "The wall clock of this machine, less the time that is gone by.",
		float64(now.UnixMilli()-n.clock.At(now).Wall)/1000)
	if n.fleet != nil {
		out.fleet(n.fleet.exporter, n.fleet.keys.LastSuccess(), now, n.fleet.keys.MissingRevocations())
	}
	if n.limiter != nil {
		stats := n.limiter.LimiterStats()
		out.limiter(&stats)
	}
	if n.mirror != nil {
		out.mirror(n.mirror.Stats(), n.engine.Stats(), now)
	}
}

// sink sends metrics to a scrape.
type sink chan<- prometheus.Metric

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// gauge sends a gauge. Labels are names, each followed by its value.
func gauge[N number](out sink, name, help string, v N, labels ...string) {
	desc, values := describeMetric(name, help, labels)
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(v), values...)
}

// counter sends a counter.
func counter[N number](out sink, name, help string, v N, labels ...string) {
	desc, values := describeMetric(name, help, labels)
	out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v), values...)
}

// ageGauge sends the time since an instant, unless that is zero.
func (out sink) ageGauge(name, help string, now, at time.Time) {
	if !at.IsZero() {
		gauge(out, name, help, now.Sub(at).Seconds())
	}
}

// histogram sends a histogram in seconds, with cumulative buckets.
func (out sink) histogram(name, help string, histogram counters.Histogram, labels ...string) {
	// Our counts are of one bucket each; those of Prometheus include all lower ones.
	buckets := make(map[float64]uint64, len(histogram.Bounds))
	n := uint64(0)
	for i, bound := range histogram.Bounds {
		n += histogram.Counts[i]
		buckets[bound.Seconds()] = n
	}

	desc, values := describeMetric(name, help, labels)
	out <- prometheus.MustNewConstHistogram(desc, histogram.Count(), histogram.Sum.Seconds(), buckets, values...)
}

func describeMetric(name, help string, labels []string) (desc *prometheus.Desc, values []string) {
	var names []string
	for i := 0; i < len(labels); i += 2 {
		names = append(names, labels[i])
		values = append(values, labels[i+1])
	}
	return prometheus.NewDesc("ninepocket_"+name, help, names, nil), values
}

func flag(v bool) int {
	if v {
		return 1
	}
	return 0
}

// code encodes a status; 0 is an unexpected status.
func code(status int) string {
	if status == 0 {
		return "other"
	}
	return strconv.Itoa(status)
}

func (out sink) keys(ring *keys.Ring, now time.Time) {
	stats := ring.Stats()
	gauge(out, "keys", "Keys in the keys file, expired and revoked ones included.", stats.Keys)
	gauge(out, "keys_readable",
		"1 while the keys file is in force; 0 while it cannot be read and the previous keys stay.",
		flag(stats.Readable))

	// The removal of a plan makes keys unusable without a change of their file.
	unusable := 0
	for _, u := range ring.WithoutPlan(now) {
		unusable += len(u.Keys)
	}
	gauge(out, "keys_unusable",
		"Active keys that are answered 503, because the plan of their tenant is not configured.", unusable)

	counter(out, "key_reloads_total", "Changed keys files that were taken over, the first reading included.",
		stats.Reloads)
	counter(out, "key_reload_failures_total",
		"Tries to read the keys file that failed; the last good one stays in force.", stats.Failures)
}

func (out sink) requests(stats server.Stats) {
	for _, stats := range stats.Routes {
		// A status that never occurred has no series.
		for status, n := range stats.Statuses {
			counter(out, "http_requests_total", "Answered requests by surface, operation and status code.", n,
				"surface", stats.Surface, "operation", stats.Operation, "code", code(status))
		}
		out.histogram("http_request_duration_seconds",
			"Time from a request being read to its answer being ready to be written, by surface and operation.",
			stats.Latency, "surface", stats.Surface, "operation", stats.Operation)
	}
	gauge(out, "http_requests_in_flight", "Requests that are being answered.", stats.InFlight)
	counter(out, "http_response_bytes_total", "Bytes of answer bodies, as sent.", stats.Bytes)

	for encoding, n := range stats.Compressed {
		counter(out, "http_compressed_responses_total", "Answers sent compressed, by encoding.", n, "encoding",
			encoding)
	}
	const packs = "Compressed bodies by whether they were remembered; those of batches, usage and MCP never are."
	counter(out, "compressed_body_cache_requests_total", packs, stats.CompressedHits, "result", "hit")
	counter(out, "compressed_body_cache_requests_total", packs, stats.CompressedMisses, "result", "miss")

	counter(out, "http_panics_total", "Requests whose handler panicked; each was answered 500.", stats.Panics)
	for status, n := range stats.ParseErrors {
		counter(out, "http_parse_errors_total",
			"Requests that were not valid HTTP, too large or too slow, by status code.", n, "code", code(status))
	}

	for _, denied := range stats.Denials {
		counter(out, "denied_requests_total",
			"Requests refused by key, scope, plan or limit, by surface and error code.", denied.Count,
			"surface", denied.Surface, "reason", denied.Reason)
	}
}

func (out sink) connections(connLimiter *connlimit.Limiter) {
	stats := connLimiter.Stats()
	gauge(out, "connections", "Open connections of the API, those included that are being closed.", stats.Open)
	gauge(out, "connections_limit", "How many there may be; beyond it connections are closed at once.", connLimiter.Max)

	const refused = "Connections that were closed at once, by reason: too many in all, or of one address."
	counter(out, "connections_refused_total", refused, stats.Refused[connlimit.AtMax], "reason", "all")
	counter(out, "connections_refused_total", refused, stats.Refused[connlimit.AtMaxPerAddr], "reason", "address")
	counter(out, "accept_failures_total",
		"Times that the system could not give a connection; each was tried again after a pause.", stats.Failed)
}

func (out sink) snapshot(v *engine.View, now time.Time) {
	catalog := v.Catalog
	gauge(out, "snapshot_info", "Always 1; the labels name the served snapshot.", 1, "snapshot_id", v.ID)
	gauge(out, "snapshot_timestamp_seconds", "The instant that the served snapshot describes.",
		float64(catalog.SnapshotAt)/1000)
	out.ageGauge("snapshot_age_seconds", "Time since the instant that the served snapshot describes.", now,
		time.UnixMilli(catalog.SnapshotAt))

	gauge(out, "snapshot_games", "Games in the served snapshot.", catalog.Games.Slug.Len())
	gauge(out, "snapshot_sets", "Sets in the served snapshot.", catalog.Sets.ID.Len())
	gauge(out, "snapshot_cards", "Cards in the served snapshot.", catalog.Cards.ID.Len())
	gauge(out, "snapshot_products", "Products in the served snapshot.", len(v.Index.Products().Items()))
	gauge(out, "snapshot_lanes", "Lanes (item, variant, condition) in the served snapshot.", len(catalog.Lanes.Variant))
	days, newest, groups, reasons := recentGaps(catalog)
	gauge(out, "snapshot_missing_dates", "Days of the last 30 that a daily feed has no prices of.", days)
	gauge(out, "snapshot_newest_missing_date_timestamp_seconds",
		"The newest of the missing days; 0 when none is missing.", newest.Unix())
	gauge(out, "snapshot_missing_groups", "Groups that a daily feed has no prices of on the snapshot's date.", groups)
	for reason, n := range reasons {
		gauge(out, "snapshot_held_groups", "Groups without usable prices on the snapshot's date, by reason.", n,
			"reason", reason)
	}
	gauge(out, "snapshot_unlisted_items", "Cards and sealed products that no source lists any more.",
		len(catalog.Unlisted.Item))
	gauge(out, "snapshot_bytes", "Memory that the served snapshot takes, without its word index.", v.Size())
}

// recentGaps counts recent gaps: missing days of the last 30, a day of two games once, and missing
// groups of the snapshot's date, also by the reason that its build found (decision 3402).
func recentGaps(catalog *snapshot.Catalog) (days int, newest time.Time, groups int, reasons map[string]int) {
	seen := map[snapshot.Day]bool{}
	last := snapshot.Day(0) // so that none is 1970
	// A reason that never was would be no series, and a rule on it silent.
	reasons = map[string]int{
		"missing_file": 0, "broken_file": 0, "empty_file": 0, "bad_price": 0, "implausible": 0, "unlisted": 0,
	}

	for i, day := range catalog.Gaps.Day {
		switch {
		case catalog.Gaps.Group.At(i) != "" && day == catalog.Date():
			groups++
			if reason := catalog.GapReason(i); reason != "" {
				reasons[reason]++
			}
		case catalog.Gaps.Group.At(i) == "" && day > catalog.Date()-30:
			seen[day] = true
			last = max(last, day)
		}
	}
	return len(seen), last.Time(), groups, reasons
}

func (out sink) engine(stats engine.Stats, now time.Time) {
	out.ageGauge("snapshot_live_seconds", "Time since the served snapshot went live here.", now, stats.Live)
	gauge(out, "snapshot_epoch", "Number of the release that is served; 0 for a fallback at the start.",
		stats.Epoch)
	// There is no manifest before the first snapshot, nor for a View that is not from the source.
	if stats.Manifest != nil {
		for reason, n := range stats.Manifest.Quarantine {
			gauge(out, "snapshot_quarantined_records",
				"Records that the build of the served snapshot refused, by reason.", n, "reason", reason)
		}
	}

	for phase, took := range map[string]time.Duration{
		"read": stats.LastLoad.Read, "index": stats.LastLoad.Index, "fragments": stats.LastLoad.Fragments,
		"total": stats.LastLoad.Total,
	} {
		gauge(out, "snapshot_load_duration_seconds", "How long the last load of a snapshot took, by phase.",
			took.Seconds(), "phase", phase)
	}

	counter(out, "snapshot_swaps_total", "Snapshots that went live here, the first included.", stats.Swaps)
	for reason, n := range stats.Failures {
		counter(out, "snapshot_swap_failures_total", "Tries to serve a published snapshot that failed, by reason.", n,
			"reason", engine.Reason(reason).String())
	}

	gauge(out, "snapshot_behind", "1 when another snapshot is published than is served.", flag(stats.Behind))
	gauge(out, "degraded",
		"1 while an earlier release is served because the published snapshot could not be loaded at the start.",
		flag(stats.Degraded))
	out.ageGauge("store_check_age_seconds", "Time since the snapshot store last said what is published.", now,
		stats.Checked)
	gauge(out, "retired_snapshots", "Earlier snapshots kept in memory for cursors.", stats.Retired)
	gauge(out, "retired_snapshot_bytes",
		"Memory that earlier snapshots take and later ones do not share, without their word indexes.",
		stats.RetiredBytes)
	const searches = "Word searches by whether the page was remembered."
	counter(out, "search_cache_requests_total", searches, stats.SearchHits, "result", "hit")
	counter(out, "search_cache_requests_total", searches, stats.SearchMisses, "result", "miss")
}

func (out sink) metering(stats access.StoreStats, now time.Time) {
	calls := "Time of the metering store's calls; of finish, one in " + strconv.Itoa(access.FinishSample) + " is timed."
	out.histogram("metering_duration_seconds", calls, stats.Begin, "call", "begin")
	out.histogram("metering_duration_seconds", calls, stats.Finish, "call", "finish")
	out.histogram("metering_duration_seconds", calls, stats.Commit, "call", "commit")
	gauge(out, "idempotency_records", "Idempotency records kept, those in flight included.", stats.Replies)
	gauge(out, "idempotency_bytes", "Replies that wait in memory for a checkpoint, in bytes.", stats.ReplyBytes)
	// The demo meters in memory: it has no log and no checkpoint.
	if !stats.Durable {
		return
	}

	out.histogram("wal_fsync_duration_seconds", "Time of the metering log's fsyncs.", stats.Sync)
	counter(out, "wal_fsync_errors_total",
		"Fsyncs of the metering log that failed; what they were to cover is written again.", stats.SyncErrors)
	gauge(out, "wal_mapped", "1 while the metering log is written through memory, 0 with a system call a record.",
		flag(stats.LogUnmapped == nil))
	gauge(out, "wal_torn_records", "Records that the log's torn end held at the start; none was acknowledged.",
		stats.LogTorn)
	counter(out, "wal_lost_segments_total",
		"Segments of the metering log that somebody removed while they were needed; a checkpoint took their place.",
		stats.LogLost)
	gauge(out, "wal_segment_bytes", "Length of the metering log's open segment.", stats.LogBytes)
	counter(out, "wal_written_bytes_total", "Bytes written to the metering log.", stats.LogWritten)

	out.histogram("checkpoint_duration_seconds", "Time of the metering checkpoints.", stats.Checkpoint)
	out.ageGauge("checkpoint_age_seconds", "Time since the last metering checkpoint.", now, stats.CheckpointAt)
	counter(out, "checkpoint_failures_total", "Metering checkpoints that failed; each is tried again.",
		stats.CheckpointFails)
	counter(out, "checkpoint_postponements_total",
		"Metering checkpoints put off because another process was reading the file.", stats.CheckpointBusy)
}

// fleet sends the metrics of the control database.
func (out sink) fleet(exporter *control.Exporter, keysReadAt, now time.Time, missing int64) {
	out.ageGauge("fleet_ledger_age_seconds", "Time since the ledger had everything that this server charged.", now,
		exporter.LastSuccess())
	gauge(out, "fleet_ledger_rows_pending", "Rows of the ledger that wait to be reported.", exporter.Pending())
	out.ageGauge("fleet_keys_age_seconds", "Time since the database of the fleet last said which keys there are.", now,
		keysReadAt)
	gauge(out, "fleet_keys_behind", "Changes of keys that the database has and this server has not.",
		exporter.KeysBehind())
	gauge(out, "fleet_silent_servers", "Other servers that have not reported for ten minutes and are not forgotten.",
		exporter.SilentServers())
	counter(out, "fleet_ledger_older_total", "Times that the ledger was older than what this server had reported.",
		exporter.TimesOlder())
	counter(out, "fleet_revocations_missing_total",
		"Revoked keys that the database had as not revoked; this server refuses them.", missing)
}

// limiter sends the metrics of the limits in Redis.
func (out sink) limiter(stats *limiter.Stats) {
	const grants = "fleet_grants_total"
	const takes = "fleet_takes_total"
	for i, name := range limiter.ResultNames {
		counter(out, grants, "Requests for a grant, by result.", stats.Results[i], "result", name)
		counter(out, takes, "Deprecated name of fleet_grants_total.", stats.Results[i], "result", name)
	}

	const duration = "Time that Redis took for a batch of commands."
	out.histogram("fleet_grant_duration_seconds", duration, stats.Exchange)
	out.histogram("fleet_take_duration_seconds", "Deprecated name of fleet_grant_duration_seconds.", stats.Exchange)
	counter(out, "fleet_batches_total", "Batches of commands that were sent to Redis.", stats.Batches)
	counter(out, "fleet_commands_total", "Commands in these batches.", stats.Commands)
	counter(out, "fleet_lease_calls_total", "Requests to Redis for leases of large plans.", stats.Leases)
	gauge(out, "fleet_leased_units", "Calls of large plans that are leased and not used yet.", stats.Leased)
	counter(out, "fleet_refused_locally_total", "Calls that were refused without asking Redis.", stats.RefusedLocally)
	counter(out, "fleet_timeouts_total", "Calls whose answer came too late, or never: 503.", stats.Timeouts)
	counter(out, "fleet_unknown_total", "Deprecated name of fleet_timeouts_total.", stats.Timeouts)
	counter(out, "fleet_lost_writes_total", "Tenants of whom Redis lost acknowledged writes.",
		stats.TenantsWithLoss)
	gauge(out, "fleet_waiting", "Calls that wait for Redis.", stats.Waiting)
	gauge(out, "fleet_redis_up", "1 while Redis grants calls; otherwise calls are answered 503.", flag(stats.Up))
	gauge(out, "fleet_redis_clock_difference_seconds", "The clock of Redis, less this machine's.",
		stats.ClockSkew.Seconds())
	gauge(out, "fleet_redis_memory_bytes", "Memory that Redis uses.", stats.MemoryUsed)
	gauge(out, "fleet_redis_memory_max_bytes", "Its maxmemory, at which every call is 503; 0 = none.",
		stats.MemoryBound)
}

// mirror sends the metrics of the bucket.
func (out sink) mirror(stats mirror.Stats, made engine.Stats, now time.Time) {
	out.ageGauge("fleet_store_poll_age_seconds", "Time since the store of many servers said what is published.",
		now, stats.AnsweredAt)
	counter(out, "fleet_download_bytes_total", "Bytes of sections that were downloaded.", stats.Downloaded)
	counter(out, "fleet_download_seconds_total", "Time that pulls of new snapshots took.", stats.PullTime.Seconds())
	gauge(out, "fleet_trusted_epoch", "Epoch of the release that was activated last.", stats.Epoch)
	gauge(out, "fleet_prepared", "1 while a snapshot is made ready and waits for its time.", flag(made.Prepared != ""))
	gauge(out, "fleet_activation_late_seconds",
		"By how much the last snapshot came live after the time that all servers were given.", made.Late.Seconds())
	gauge(out, "fleet_published_epoch", "Epoch that the store of many servers publishes, whether it is here or not.",
		stats.PublishedEpoch)

	for i, reason := range mirror.RefusalReasons {
		counter(out, "fleet_publications_refused_total", "Releases that this server refused to load.",
			stats.Refused[i], "reason", reason)
	}
	gauge(out, "fleet_trust_version", "Version of the list of publishers that holds here; 0 before the first.",
		stats.TrustVersion)
}
