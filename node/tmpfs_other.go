//go:build !linux

package node

// isTmpfs reports whether a directory is in memory only, which is known on Linux alone.
func isTmpfs(string) bool { return false }
