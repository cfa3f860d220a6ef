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

// cpuTime is the CPU time, user and system, that a process has used so far, to the nanosecond. It
// reads the clock of another process by its id (clock_getcpuclockid). /proc/PID/stat counts in
// hundredths of a second, which is too coarse for rounds of a second.
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

// processTree is a process and all that descend from it.
func processTree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		// A process that has ended has no children left.
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

// memory is the memory of a process now and at most, in bytes. Pages that several processes share
// count for each in its part, so that the memory of a family adds up.
func memory(pid int) (now, peak int64) {
	now = kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
	status := fmt.Sprintf("/proc/%d/status", pid)
	if now == 0 {
		now = kilobytes(status, "VmRSS:")
	}
	return now, kilobytes(status, "VmHWM:")
}

// kilobytes reads a line "name 123 kB" of a file of /proc, 0 when it is not there.
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

// endWithParent lets a command end when this process does, however that happens.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

// lowerPriority lets a process that has just begun run when nobody else wants to (SCHED_IDLE): It
// sets all threads; a thread that starts later inherits it. A nice process is let run for
// milliseconds once it runs.
func lowerPriority(pid int) {
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	// It may have ended.
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil {
			// Less is always allowed.
			_ = unix.SchedSetAttr(id, &idle, 0)
		}
	}
}

// sleepUntil returns at an instant or some 60 µs later; time.Sleep may be a millisecond late.
func sleepUntil(at time.Time) {
	for {
		left := time.Until(at)
		if left <= 0 {
			return
		}

		span := syscall.NsecToTimespec(int64(left))
		// A signal may cut it short: the loop sleeps on.
		_ = syscall.Nanosleep(&span, nil)
	}
}
