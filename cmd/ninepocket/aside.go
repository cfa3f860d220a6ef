package main

import "runtime"

// aside is engine.Options.Aside: it gives the scheduler one more processor for the work. A goroutine that rests in the
// kernel, as paced work does, keeps a processor from the others for a while.
func aside(work func()) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	defer runtime.SetDefaultGOMAXPROCS()
	work()
}
