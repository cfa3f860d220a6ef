package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness is the priority of loading a snapshot while requests are served: against requests that want all of the
// machine it still gets a quarter of a processor's share, so that a publication is live in seconds.
const niceness = 6

// aside is engine.Options.Aside: it runs work on a thread of lower priority and gives the scheduler one more processor
// for it. Otherwise half a second of loading takes a processor of two from the requests, and the slowest hundredth of
// them waits tens of milliseconds (docs/PERFORMANCE.md, Publishing).
func aside(work func()) {
	done := make(chan struct{})
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	defer runtime.SetDefaultGOMAXPROCS()
	go func() {
		defer close(done)
		runtime.LockOSThread()                                           // for good: the thread ends with the goroutine, and its priority with it
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness) // lower is always allowed; without it loading is only less polite
		work()
	}()
	<-done
}
