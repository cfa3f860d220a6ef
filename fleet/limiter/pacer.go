package limiter

import (
	"sync"
	"time"
)

// pacer runs the background loops of a store, and its waits. A simulation has its own, which processes
// one event at a time.
type pacer interface {
	// start runs a loop in the background.
	start(run func())
	// wait returns 0 or 1 when the first or second channel is ready, and -1 after d. A nil channel is
	// never ready.
	wait(d time.Duration, first, second <-chan struct{}) int
	// later calls a function after d.
	later(d time.Duration, do func())
	// end returns when all background loops have ended.
	end()
}

// forever is longer than any store runs.
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
