// Package pace lets long work run beside requests: in bursts that nobody notices, with rests between them.
//
// A thread that computes without a pause costs the requests beside it far more than its share of a processor: until the
// kernel takes it off, a thread that was woken for a request waits, milliseconds at a time, and a lower priority does
// not help, for what is let run is let run for a while (docs/PERFORMANCE.md, Publications under load).
package pace

import (
	"io"
	"time"
)

const (
	// burst is how long work goes on before it rests. Requests wait that long at most, and half as long on average.
	burst = 300 * time.Microsecond
	// rest is as long, so that the work takes half of a processor.
	rest = burst
)

// Pacer is the pace of one piece of work. A nil Pacer never rests. It belongs to one goroutine.
type Pacer struct{ began time.Time }

// New begins a burst.
func New() *Pacer { return &Pacer{time.Now()} }

// Step rests when the burst has lasted long enough. Loops call it every ten or more microseconds of work: it reads the
// clock, which takes 40 ns.
func (p *Pacer) Step() {
	if p == nil || time.Since(p.began) < burst {
		return
	}
	sleep(rest)
	p.began = time.Now()
}

// Every is Step for element i of a loop over small ones: it looks at the clock once in 256.
func (p *Pacer) Every(i int) {
	if i&255 == 0 {
		p.Step()
	}
}

// Reader reads from r in steps, each of at most 64 KiB.
func (p *Pacer) Reader(r io.Reader) io.Reader {
	if p == nil {
		return r
	}
	return reader{r, p}
}

type reader struct {
	io.Reader
	p *Pacer
}

func (r reader) Read(b []byte) (int, error) {
	r.p.Step()
	return r.Reader.Read(b[:min(len(b), 64<<10)])
}
