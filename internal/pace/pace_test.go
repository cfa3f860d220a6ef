package pace

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

	p.began = time.Now().Add(-2 * burst)
	start := time.Now()
	if !rested(p, p.Step) || time.Since(start) < rest {
		t.Errorf("after a burst it rests for %v, want %v", time.Since(start), rest)
	}

	if time.Since(p.began) > time.Since(start)-rest {
		t.Error("a burst counts from before the rest")
	}
}
