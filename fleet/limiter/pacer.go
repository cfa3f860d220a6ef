package limiter

import (
	"sync"
	"time"
)

// pacer is how a store waits, and what it runs beside its calls. A simulation has its own, which goes by
// events and runs one thing at a time.
type pacer interface {
	// start runs something beside the calls.
	start(run func())
	// wait returns 0 or 1 when that channel is closed or gives something, and -1 after a while. Nil never
	// does.
	wait(d time.Duration, first, second <-chan struct{}) int
	// later calls something after a while.
	later(d time.Duration, do func())
	// close returns when all that runs beside the calls has ended.
	end()
}

// forever is longer than any store waits.
const forever = time.Duration(1<<63 - 1)

// goroutines is the pacer of servers.
type goroutines struct{ group sync.WaitGroup }

func (g *goroutines) start(run func()) { g.group.Go(run) }

func (g *goroutines) later(d time.Duration, do func()) { time.AfterFunc(d, do) }

func (g *goroutines) end() { g.group.Wait() }

func (g *goroutines) wait(d time.Duration, first, second <-chan struct{}) int {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-first:
		return 0
	case <-second:
		return 1
	case <-timer.C:
		return -1
	}
}
