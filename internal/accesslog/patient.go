package accesslog

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	// logPatience is how long whoever logs waits for who reads the log.
	logPatience = 250 * time.Millisecond
	// logLines is how many lines wait for a reader that hangs: some 200 kB.
	logLines = 1024
)

// Patient is where the lines of a log go whose reader may hang: a pipe that nobody empties takes
// nothing, and requests, reloads and the drain must not wait for it. A line is written before Write
// returns, unless that takes too long. Then lines wait aside, as many as there is room for, the others
// are dropped and counted, and nobody waits until all of them are written.
type Patient struct {
	out     io.Writer
	lines   chan logLine
	hangs   atomic.Bool
	dropped atomic.Uint64

	Back func(dropped uint64) // called when lines were dropped and the reader is back; nil for nobody
}

type logLine struct {
	text    []byte
	written chan struct{}
}

// NewPatient writes lines to out for as long as the process lives.
func NewPatient(out io.Writer) *Patient {
	log := &Patient{out: out, lines: make(chan logLine, logLines)}
	go log.run()
	return log
}

// Write takes a line. It never fails: nobody could be told.
func (p *Patient) Write(text []byte) (int, error) {
	line := logLine{bytes.Clone(text), make(chan struct{})}
	select {
	case p.lines <- line:
	default:
		p.dropped.Add(1)
		return len(text), nil
	}
	if p.hangs.Load() {
		return len(text), nil
	}

	patience := time.NewTimer(logPatience)
	defer patience.Stop()
	select {
	case <-line.written:
	case <-patience.C:
		p.hangs.Store(true)
	}
	return len(text), nil
}

// Dropped is how many lines nobody read in time.
func (p *Patient) Dropped() uint64 { return p.dropped.Load() }

// run writes lines for as long as the process lives.
func (p *Patient) run() {
	told := uint64(0)
	for line := range p.lines {
		_, _ = p.out.Write(line.text) // who reads may have gone
		close(line.written)
		if len(p.lines) > 0 {
			continue
		}

		p.hangs.Store(false)
		if lost := p.dropped.Load(); lost > told && p.Back != nil {
			go p.Back(lost - told) // which writes a line
			told = lost
		}
	}
}
