package tamper

import (
	"errors"
	"syscall"
	"time"
)

// ErrCannot means: programs cannot be tampered with on this machine.
var ErrCannot = errors.New("system calls cannot be held here")

// Call is a system call that the kernel holds.
type Call struct {
	Name string // as the kernel calls it: "openat", "fdatasync", "accept4", …
	Path string // of the file that it is about, "" for none
	// Writes reports that it changes a file, makes one, or opens one for that.
	Writes bool
}

// Verdict is what becomes of a call: it waits, and then it fails or goes on.
type Verdict struct {
	Wait time.Duration
	Fail syscall.Errno // 0: it goes on
}

// Rule judges calls. It is called from many goroutines.
type Rule func(Call) Verdict

// Clock is how far a program's clocks are from the machine's.
type Clock struct {
	Wall time.Duration // of the wall clock
	Boot time.Duration // of the time since the machine was started, suspend included
	// Unsynced makes the kernel say that no time service keeps the wall clock; else it says that one
	// does.
	Unsynced bool
}
