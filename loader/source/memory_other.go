//go:build !linux

package source

// limitMemory does nothing: this system cannot bound the memory of a process that runs.
func limitMemory() error { return nil }
