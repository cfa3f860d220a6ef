// Package throttle lets long work run together with requests: in short bursts with rests between them.
//
// A thread that computes without a pause costs concurrent requests far more than its share of a
// processor: until the kernel preempts it, a thread that was woken for a request waits, milliseconds
// at a time. A lower priority does not help, because a thread that the kernel schedules runs for
// milliseconds (docs/dev/BENCHMARKS.md, Publications under load).
package throttle

import "time"

const (
	// burst is how long work runs before it rests. Requests wait that long at most, and half as long on
	// average.
	burst = 300 * time.Microsecond
	// rest is as long, so that the work takes half of a processor.
	rest = burst
)

// Pacer divides one piece of work into bursts. It belongs to one goroutine.
type Pacer struct{ began time.Time }

// New begins a burst.
func New() *Pacer { return &Pacer{time.Now()} }

// Step rests if the burst has lasted long enough. Work calls it every ten or more microseconds: it reads
// the clock, which takes 40 ns. The work gets it as a func().
func (p *Pacer) Step() {
	if time.Since(p.began) < burst {
		return
	}
	sleep(rest)
	p.began = time.Now()
}
