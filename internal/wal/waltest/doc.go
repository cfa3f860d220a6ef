// Package waltest holds disks that fail, for tests of the log and of what is built on it.
package waltest
