// Package disktest has a disk that fails, waits, and tears or loses writes, for tests of data that must
// survive that. Its files are real ones of the machine.
package disktest
