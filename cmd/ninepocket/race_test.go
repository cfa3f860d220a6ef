//go:build race

package main

// raceEnabled says that the tests run with the race detector.
const raceEnabled = true
