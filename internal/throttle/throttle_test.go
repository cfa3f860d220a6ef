package throttle

import (
	"testing"
	"time"
)

// rested reports whether a new burst began.
func rested(p *Pacer, f func()) bool {
	began := p.began
	f()
	return p.began != began
}

func TestStep(t *testing.T) {
	p := New()
	p.began = time.Now().Add(time.Hour) // a burst that has not begun does not end
	if rested(p, p.Step) {
		t.Error("it rests within a burst")
	}

	// A signal, such as the scheduler's, ends a rest early: one of many is whole.
	var start time.Time
	took := time.Duration(0)
	for try := 0; try < 100 && took < rest; try++ {
		p.began = time.Now().Add(-2 * burst)
		start = time.Now()
		if !rested(p, p.Step) {
			t.Fatal("after a burst it does not rest")
		}
		took = time.Since(start)
	}
	if took < rest {
		t.Errorf("after a burst it rests for %v, want %v", took, rest)
	}

	if time.Since(p.began) > time.Since(start)-rest {
		t.Error("a burst counts from before the rest")
	}
}
