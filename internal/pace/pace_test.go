package pace

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
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

func TestEvery(t *testing.T) {
	p := New()
	var at []int
	for i := range 1000 {
		p.began = time.Now().Add(-2 * burst)
		if rested(p, func() { p.Every(i) }) {
			at = append(at, i)
		}
	}
	if len(at) != 4 || at[1] != 256 {
		t.Errorf("it looked at the clock at %v", at)
	}
}

func TestNilNeverRests(*testing.T) {
	var p *Pacer
	p.Step() // and does not panic
	p.Every(0)
}

func TestReader(t *testing.T) {
	text := strings.Repeat("0123456789", 50_000)
	for _, p := range []*Pacer{nil, New()} {
		got, err := io.ReadAll(p.Reader(strings.NewReader(text)))
		if err != nil || string(got) != text {
			t.Errorf("reads %d bytes, %v, want %d", len(got), err, len(text))
		}
		if err := iotest.TestReader(p.Reader(strings.NewReader(text)), []byte(text)); err != nil {
			t.Error(err)
		}
	}
	if n, _ := New().Reader(bytes.NewReader(make([]byte, 1<<20))).Read(make([]byte, 1<<20)); n != 64<<10 {
		t.Errorf("a step reads %d bytes", n)
	}
}
