// Package tamper runs a program whose system calls fail, wait or lie for as long as a test says so.
//
// The program is a binary as it is built for use: nothing in it knows of the test. The kernel holds
// each system call of a few kinds (seccomp's user notification) and asks the test what becomes of
// it. So a disk is full, slow, broken or read-only, the system has no sockets, and the clock is a
// year ahead, for this one process, without mounts, on any file system, and without being root.
//
// What a program does by memory alone is out of reach: the copy into a mapped log is no system
// call, but what allocates, maps, syncs and names the file is.
package tamper
