package main

import (
	"os"
	"runtime"
)

// aside is engine.Options.Aside: it gives the scheduler one more processor for the work. A
// goroutine that rests in the kernel, as paced work does, keeps a processor from the others for a
// while.
func aside(work func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 1)
	defer func() {
		if os.Getenv("GOMAXPROCS") != "" {
			runtime.GOMAXPROCS(before)
			return
		}

		// Which follows the limits of the control group, and knows nothing of the variable.
		runtime.SetDefaultGOMAXPROCS()
	}()
	work()
}
