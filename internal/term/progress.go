package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// The time between two progress lines: on a terminal as fast as an eye follows, else rarely enough
// for a log.
const (
	terminalInterval = 100 * time.Millisecond
	logInterval      = 5 * time.Second
)

// Progress shows the progress of work: its phase, counts, rate and time left. On a terminal it
// redraws one line. Elsewhere it writes a line every five seconds, and nothing if quiet.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	interval time.Duration
	phase    string
	began    time.Time // of the phase
	shown    time.Time
}

// NewProgress shows progress on w, or nothing if quiet.
func NewProgress(w io.Writer, quiet bool) *Progress {
	if quiet {
		w = io.Discard
	}
	if isTerminal(w) {
		return &Progress{w: w, terminal: true, interval: terminalInterval}
	}
	return &Progress{w: w, interval: logInterval, shown: time.Now()}
}

// Update reports how much of a phase is done, of total; 0 is unknown. It is cheap if no line is
// due.
func (p *Progress) Update(phase string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	fresh := phase != p.phase
	if fresh {
		p.phase = phase
		p.began = at
	}
	// A new phase is shown at once on a terminal, all else only at the interval.
	if at.Sub(p.shown) < p.interval && (!fresh || !p.terminal) {
		return
	}

	p.shown = at
	line := describe(phase, done, total, at.Sub(p.began))
	// The previous line may be longer.
	if p.terminal {
		line = "\r\x1b[K" + line
	} else {
		line += "\n"
	}
	_, _ = io.WriteString(p.w, line)
}

// describe formats a line: "reading prices: 12,000 of 39,577, 8,000/s, 3 s left".
func describe(phase string, done, total int64, spent time.Duration) string {
	line := phase
	if done == 0 {
		return line + " …"
	}
	line += fmt.Sprintf(": %d", done)
	if total > 0 {
		line += fmt.Sprintf(" of %d", total)
	}

	// The time left is a guess, which is useful only after a second.
	rate := float64(done) / max(spent.Seconds(), 0.001)
	line += fmt.Sprintf(", %.0f/s", rate)
	if total > done && spent > time.Second {
		line += fmt.Sprintf(", %.0f s left", float64(total-done)/rate)
	}
	return line
}

// Stop clears the line on a terminal.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
}
