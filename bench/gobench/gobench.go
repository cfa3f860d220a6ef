// Package gobench reads the output of go test -bench.
package gobench

import (
	"slices"
	"strconv"
	"strings"
)

// Figures are the results of benchmarks: by name, by unit, one for each run.
type Figures map[string]map[string][]float64

// Read adds the results in the output of go test -bench.
func (f Figures) Read(output []byte) {
	pkg := ""
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "pkg:":
			_, pkg, _ = strings.Cut(fields[1], "/")
		case len(fields) >= 4 && len(fields)%2 == 0 && strings.HasPrefix(fields[0], "Benchmark"):
			name := pkg + "." + withoutProcs(fields[0])
			if f[name] == nil {
				f[name] = map[string][]float64{}
			}

			for i := 2; i < len(fields); i += 2 {
				if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
					f[name][fields[i+1]] = append(f[name][fields[i+1]], value)
				}
			}
		}
	}
}

// withoutProcs drops the number of processors that go test adds to a benchmark's name.
func withoutProcs(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// Typical returns one figure for all runs of a benchmark: the shortest of times, because
// disturbances can only add, else the median.
func (f Figures) Typical(name, unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(f[name][unit]))
	if len(values) == 0 {
		return 0, false
	}
	if WallClock(unit) && !strings.HasSuffix(unit, "/s") {
		return values[0], true
	}
	return values[len(values)/2], true
}

// WallClock reports whether a benchmark's unit depends on the machine's speed.
func WallClock(unit string) bool {
	return strings.HasSuffix(unit, "/s") || strings.Contains(unit, "ns") || strings.Contains(unit, "µs") ||
		strings.Contains(unit, "sec")
}
