//go:build !linux

package node

// isTmpfs reports whether a directory is in memory alone, which only Linux tells.
func isTmpfs(string) bool { return false }
