package state

import (
	"sync/atomic"
	"time"

	"ninepocket/internal/counters"
)

// The rows of metrics.times.
const (
	timeSync = iota
	timeCheckpoint
	timeRows
)

// metrics counts what a Dir does.
type metrics struct {
	times           *counters.Durations
	syncErrors      atomic.Uint64
	failed          atomic.Uint64 // checkpoints that failed
	missingSegments atomic.Uint64 // log segments that somebody removed
	busy            atomic.Uint64 // checkpoints that were put off because the file was being read
	savedAt         atomic.Int64  // when the last checkpoint was written, Unix nanoseconds; 0 = never
}

func newMetrics() *metrics {
	return &metrics{times: counters.NewDurations(timeRows, counters.Decades(time.Microsecond, 10*time.Second)...)}
}

// synced counts an fsync of the log.
func (m *metrics) synced(began time.Time, err error) {
	m.times.Since(timeSync, began)
	if err != nil {
		m.syncErrors.Add(1)
	}
}

// Stats are the figures of a state directory since it was opened.
type Stats struct {
	Sync            counters.Histogram
	SyncErrors      uint64
	LogBytes        int64  // of the open segment
	LogWritten      uint64 // bytes, since the directory was opened
	LogUnmapped     error  // why log segments are written and not mapped; nil when they are mapped
	LogLost         uint64 // segments that were removed while they were needed
	LogTorn         int    // records of a torn end when the directory was opened: none was answered
	Checkpoint      counters.Histogram
	CheckpointAt    time.Time // of the last one
	CheckpointFails uint64
	CheckpointBusy  uint64 // delayed because the file was being read
}

// Stats returns the figures. They are not taken at one instant.
func (d *Dir) Stats() Stats {
	m := d.metrics
	stats := Stats{
		Sync: m.times.Row(timeSync), SyncErrors: m.syncErrors.Load(),
		LogBytes: d.Log.Size(), LogWritten: d.Log.Bytes(), LogUnmapped: d.Log.Unmapped(),
		LogLost: m.missingSegments.Load(), LogTorn: d.tornRecords,
		Checkpoint: m.times.Row(timeCheckpoint), CheckpointFails: m.failed.Load(), CheckpointBusy: m.busy.Load(),
	}
	if at := m.savedAt.Load(); at != 0 {
		stats.CheckpointAt = time.Unix(0, at)
	}
	return stats
}
