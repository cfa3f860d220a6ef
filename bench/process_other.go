//go:build !linux

package bench

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// cpuTime needs Linux.
func cpuTime(int) (time.Duration, error) {
	return 0, fmt.Errorf("cannot read the CPU time of a process: %w", errors.ErrUnsupported)
}

// processTree returns the process alone; its children are unknown.
func processTree(pid int) []int { return []int{pid} }

// memory is unknown.
func memory(int) (now, peak int64) { return 0, 0 }

func endWithParent(*exec.Cmd) {}

func lowerPriority(int) {}

func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }
