package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"ninepocket/loader"
)

// How often progress is shown: on a terminal as fast as an eye follows, else rarely enough for a
// log.
const (
	terminalEvery = 100 * time.Millisecond
	logEvery      = 5 * time.Second
)

// progress shows how far a build is: its phase, counts, rate and time left. On a terminal it
// redraws one line. Elsewhere it writes a line every five seconds, and nothing when the output is
// JSON.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	every    time.Duration
	phase    string
	began    time.Time // of the phase
	shown    time.Time
}

func newProgress(w io.Writer, quiet bool) *progress {
	if quiet {
		w = io.Discard
	}
	if isTerminal(w) {
		return &progress{w: w, terminal: true, every: terminalEvery}
	}
	return &progress{w: w, every: logEvery, shown: time.Now()}
}

// isTerminal reports whether somebody looks at what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// update takes a report of the loader; it is cheap when nothing is to be shown.
func (p *progress) update(now loader.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	fresh := now.Phase != p.phase
	if fresh {
		p.phase = now.Phase
		p.began = at
	}
	// A new phase is shown at once on a terminal, and what goes on only now and then.
	if at.Sub(p.shown) < p.every && (!fresh || !p.terminal) {
		return
	}

	p.shown = at
	line := describe(now, at.Sub(p.began))
	if p.terminal {
		line = "\r\x1b[K" + line
	} else {
		line += "\n"
	}
	_, _ = io.WriteString(p.w, line)
}

// describe spells a report: "reading prices: 12,000 of 39,577, 8,000/s, 3 s left".
func describe(now loader.Progress, spent time.Duration) string {
	line := now.Phase
	if now.Done == 0 {
		return line + " …"
	}
	line += fmt.Sprintf(": %d", now.Done)
	if now.Total > 0 {
		line += fmt.Sprintf(" of %d", now.Total)
	}

	// The time left is a guess that is worth showing after a second.
	rate := float64(now.Done) / max(spent.Seconds(), 0.001)
	line += fmt.Sprintf(", %.0f/s", rate)
	if now.Total > now.Done && spent > time.Second {
		line += fmt.Sprintf(", %.0f s left", float64(now.Total-now.Done)/rate)
	}
	return line
}

// stop clears the line on a terminal.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
}
