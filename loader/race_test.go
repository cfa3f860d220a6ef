//go:build race

package loader

// raceEnabled makes tests over real data smaller: the race detector makes them ten times slower.
const raceEnabled = true
