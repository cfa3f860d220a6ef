//go:build race

package source

// raceEnabled says that the tests run with the race detector.
const raceEnabled = true
