package accesslog

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	// writeTimeout is how long whoever logs waits for who reads the log.
	writeTimeout = 250 * time.Millisecond
	// maxQueuedLines is how many lines wait for a reader that hangs: some 200 kB.
	maxQueuedLines = 1024
)

// AsyncWriter writes log lines to a reader that may hang. A pipe that nobody empties takes nothing,
// and requests, reloads and the drain must not wait for it. A line is written before Write returns,
// unless that takes too long. Then lines wait aside, as many as there is room for, the others are
// dropped and counted, and nobody waits until all of them are written.
type AsyncWriter struct {
	out     io.Writer
	lines   chan logLine
	stalled atomic.Bool
	dropped atomic.Uint64

	OnResume func(dropped uint64) // called when lines were dropped and the reader is back; nil for nobody
}

type logLine struct {
	text    []byte
	written chan struct{}
}

// NewAsyncWriter writes lines to out for as long as the process lives.
func NewAsyncWriter(out io.Writer) *AsyncWriter {
	log := &AsyncWriter{out: out, lines: make(chan logLine, maxQueuedLines)}
	go log.run()
	return log
}

// Write takes a line. It never fails: nobody could be told.
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

	timer := time.NewTimer(writeTimeout)
	defer timer.Stop()
	select {
	case <-line.written:
	case <-timer.C:
		p.stalled.Store(true)
	}
	return len(text), nil
}

// Dropped is how many lines nobody read in time.
func (p *AsyncWriter) Dropped() uint64 { return p.dropped.Load() }

// run writes lines for as long as the process lives.
func (p *AsyncWriter) run() {
	reported := uint64(0)
	for line := range p.lines {
		_, _ = p.out.Write(line.text) // who reads may have gone
		close(line.written)
		if len(p.lines) > 0 {
			continue
		}

		p.stalled.Store(false)
		if lost := p.dropped.Load(); lost > reported && p.OnResume != nil {
			go p.OnResume(lost - reported) // which writes a line
			reported = lost
		}
	}
}
