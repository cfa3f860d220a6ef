//go:build unix

package main

import "syscall"

// noCoreFile keeps the system from writing the memory of the process to a file when it crashes.
func noCoreFile() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
