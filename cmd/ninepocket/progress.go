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
	quiet    bool
	terminal bool
	phase    string
	began    time.Time // of the phase
	shown    time.Time
	drawn    bool // an unfinished line is on the terminal
}

func newProgress(w io.Writer, quiet bool) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, quiet: quiet, terminal: ok && term.IsTerminal(int(f.Fd())), shown: time.Now()}
}

// update takes a report of the loader; it is cheap when nothing is to be shown.
func (p *progress) update(now loader.Progress) {
	if p.quiet {
		return
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	// A new phase is shown at once on a terminal, and what goes on only now and then.
	at := time.Now()
	if now.Phase != p.phase {
		p.phase = now.Phase
		p.began = at
	} else if every := p.every(); at.Sub(p.shown) < every {
		return
	}
	if !p.terminal && at.Sub(p.shown) < logEvery {
		return
	}

	p.shown = at
	line := describe(now, at.Sub(p.began))
	if p.terminal {
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.drawn = true
		return
	}
	_, _ = fmt.Fprintln(p.w, line)
}

func (p *progress) every() time.Duration {
	if p.terminal {
		return terminalEvery
	}
	return logEvery
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
	if p.drawn {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
