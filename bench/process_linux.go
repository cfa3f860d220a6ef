package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time, user and system, of a process so far, in nanoseconds. It reads the
// clock of another process by its id (clock_getcpuclockid). /proc/PID/stat has hundredths of a
// second, which is too coarse for rounds of a second.
func cpuTime(pid int) (time.Duration, error) {
	// CPUCLOCK_SCHED.
	const schedClock = 2
	var now syscall.Timespec
	clock := uintptr(^pid<<3 | schedClock)
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock&0xffffffff, uintptr(unsafe.Pointer(&now)),
		0); failed != 0 {
		return 0, fmt.Errorf("cannot read the CPU time of process %d: %w", pid, failed)
	}
	return time.Duration(now.Nano()), nil
}

// processTree returns a process and all its descendants.
func processTree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		// A process that has exited has no children.
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", all[i]))
		for _, task := range tasks {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", all[i], task.Name()))
			for field := range bytes.FieldsSeq(text) {
				if child, err := strconv.Atoi(string(field)); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// memory returns the memory of a process now and its peak, in bytes. A page of several processes
// is divided among them, so that their sum is correct.
func memory(pid int) (now, peak int64) {
	now = kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
	status := fmt.Sprintf("/proc/%d/status", pid)
	if now == 0 {
		now = kilobytes(status, "VmRSS:")
	}
	return now, kilobytes(status, "VmHWM:")
}

// kilobytes reads a line "name 123 kB" of a file of /proc; it returns 0 without such a line.
func kilobytes(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}

	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			// The kernel writes a number.
			n, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return n << 10
		}
	}
	return 0
}

// endWithParent makes the kernel kill the command when this process ends in any way.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

// lowerPriority gives a process that has just started the lowest priority, SCHED_IDLE. It sets all
// threads; later threads inherit it. A low nice value would not do: the process would still run for
// milliseconds at a time.
func lowerPriority(pid int) {
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	// It may have exited.
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil {
			// A lower priority is always allowed.
			_ = unix.SchedSetAttr(id, &idle, 0)
		}
	}
}

// sleepUntil returns at an instant or some 60 µs later. time.Sleep may be a millisecond late.
func sleepUntil(at time.Time) {
	for {
		left := time.Until(at)
		if left <= 0 {
			return
		}

		span := syscall.NsecToTimespec(int64(left))
		// A signal may interrupt it: the loop continues.
		_ = syscall.Nanosleep(&span, nil)
	}
}
