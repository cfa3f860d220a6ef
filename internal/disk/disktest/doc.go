// Package disktest holds a disk that fails, waits, tears and forgets, for tests of what must survive
// that. Its files are real ones of the machine.
package disktest
