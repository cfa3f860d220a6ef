// Package throttle lets long work run beside requests: in bursts that nobody notices, with rests
// between them.
//
// A thread that computes without a pause costs the requests beside it far more than its share of a
// processor: until the kernel takes it off, a thread that was woken for a request waits,
// milliseconds at a time. A lower priority does not help, because a thread that the kernel
// schedules runs for milliseconds (docs/PERFORMANCE.md, Publications under load).
package throttle

import "time"

const (
	// burst is how long work goes on before it rests. Requests wait that long at most, and half as
	// long on average.
	burst = 300 * time.Microsecond
	// rest is as long, so that the work takes half of a processor.
	rest = burst
)

// Pacer is the pace of one piece of work. It belongs to one goroutine.
type Pacer struct{ began time.Time }

// New begins a burst.
func New() *Pacer { return &Pacer{time.Now()} }

// Step rests when the burst has lasted long enough. Work calls it every ten or more microseconds:
// it reads the clock, which takes 40 ns. The work knows it as a func() alone.
func (p *Pacer) Step() {
	if time.Since(p.began) < burst {
		return
	}
	sleep(rest)
	p.began = time.Now()
}
