package gobench

import "testing"

const output = `goos: linux
pkg: ninepocket/engine
BenchmarkCard-2    	 1000	  200.0 ns/op	  0 B/op	  0 allocs/op
BenchmarkCard-2    	 1000	  150.0 ns/op	  0 B/op	  1 allocs/op
BenchmarkCard-2    	 1000	  900.0 ns/op	  0 B/op	  0 allocs/op
PASS
`

func TestTypical(t *testing.T) {
	f := Figures{}
	f.Read([]byte(output))
	for unit, want := range map[string]float64{"ns/op": 150, "allocs/op": 0} {
		if got, ok := f.Typical("engine.BenchmarkCard", unit); !ok || got != want {
			t.Errorf("%s is %g, %t, want %g", unit, got, ok, want)
		}
	}

	if _, ok := f.Typical("engine.BenchmarkGone", "ns/op"); ok {
		t.Error("a benchmark that did not run has a figure")
	}
}

func TestWithoutProcs(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := withoutProcs(name); got != want {
			t.Errorf("%q without processors is %q, want %q", name, got, want)
		}
	}

	f("BenchmarkCard-2", "BenchmarkCard")
	f("BenchmarkCard/keep-alive", "BenchmarkCard/keep-alive")
	f("BenchmarkCard", "BenchmarkCard")
}
