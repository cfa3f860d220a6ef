package accesslog

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	// writeTimeout is how long Write waits for the reader of the log.
	writeTimeout = 250 * time.Millisecond
	// maxQueuedLines is how many lines wait for a reader that hangs: some 200 kB.
	maxQueuedLines = 1024
)

// AsyncWriter writes log lines to a reader that may hang. A full pipe blocks, and requests, reloads
// and the drain must not wait for it. A line is written before Write returns, unless that takes too
// long. Then lines are queued, those beyond the queue are dropped and counted, and Write does not
// wait until all queued lines are written.
type AsyncWriter struct {
	out     io.Writer
	lines   chan logLine
	stalled atomic.Bool
	dropped atomic.Uint64

	OnResume func(dropped uint64) // called if lines were dropped and the reader is back; may be nil
}

type logLine struct {
	text    []byte
	written chan struct{}
}

// NewAsyncWriter returns a writer to out, with a goroutine that runs until the process ends.
func NewAsyncWriter(out io.Writer) *AsyncWriter {
	log := &AsyncWriter{out: out, lines: make(chan logLine, maxQueuedLines)}
	go log.run()
	return log
}

// Write writes or queues a line. It never fails: nothing could handle the error.
func (p *AsyncWriter) Write(text []byte) (int, error) {
	line := logLine{bytes.Clone(text), make(chan struct{})}
	select {
	case p.lines <- line:
	default:
		p.dropped.Add(1)
		return len(text), nil
	}
	if p.stalled.Load() {
		return len(text), nil
	}

	select {
	case <-line.written:
	case <-time.After(writeTimeout):
		p.stalled.Store(true)
	}
	return len(text), nil
}

// Dropped returns how many lines were dropped.
func (p *AsyncWriter) Dropped() uint64 { return p.dropped.Load() }

// run writes lines until the process ends.
func (p *AsyncWriter) run() {
	reported := uint64(0)
	for line := range p.lines {
		_, _ = p.out.Write(line.text) // the reader may be gone
		close(line.written)
		if len(p.lines) > 0 {
			continue
		}

		p.stalled.Store(false)
		if lost := p.dropped.Load(); lost > reported && p.OnResume != nil {
			go p.OnResume(lost - reported) // it may write a line
			reported = lost
		}
	}
}
