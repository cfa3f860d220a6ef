package limiter

import (
	"errors"
	"iter"
	"slices"
	"time"
)

// errKilled ends the routines of a killed process.
var errKilled = errors.New("killed")

// routine is a goroutine of a simulated server. One runs at a time until it waits, and the seed decides
// which one is next.
type routine struct {
	of    *simServer
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	waiting       bool
	first, second <-chan struct{}
	number        int // of the wait, so that an old deadline has no effect
	got           int // result of the wait
}

// start implements [pacer].
func (s *simServer) start(run func()) {
	r := &routine{of: s}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		defer func() {
			if cause := recover(); cause != nil && cause != errKilled { //nolint:errorlint // it is this value
				panic(cause)
			}
		}()
		run()
	})
	s.routines = append(s.routines, r)
	s.later(0, func() { s.w.resume(r, 0) })
}

// end implements [pacer]: a simulated process is killed.
func (s *simServer) end() {}

// wait implements [pacer].
func (s *simServer) wait(d time.Duration, first, second <-chan struct{}) int {
	if got := ready(first, second); got >= 0 {
		return got
	}

	r := s.w.running
	r.waiting = true
	r.first = first
	r.second = second
	r.number++
	if number := r.number; d < time.Hour {
		s.sleep(d.Microseconds(), func() {
			if r.waiting && r.number == number {
				s.w.resume(r, -1)
			}
		})
	}
	if !r.yield(struct{}{}) {
		panic(errKilled)
	}
	return r.got
}

// rest makes a routine wait for some microseconds.
func (s *simServer) rest(d int64) { s.wait(time.Duration(d)*time.Microsecond, nil, nil) }

// ready returns which of two channels is ready; -1: none.
func ready(first, second <-chan struct{}) int {
	select {
	case <-first:
		return 0
	default:
	}
	select {
	case <-second:
		return 1
	default:
	}
	return -1
}

// resume runs a routine until it waits again, or ends.
func (w *world) resume(r *routine, got int) {
	r.waiting = false
	r.got = got
	before := w.running
	w.running = r
	_, more := r.next()
	w.running = before
	if !more {
		r.of.routines = slices.DeleteFunc(r.of.routines, func(one *routine) bool { return one == r })
	}
}

// wakeAll runs what need not wait any more, until all wait.
func (w *world) wakeAll() {
	for again := true; again; {
		again = false
		for _, s := range w.servers {
			if s.pausedUntil > w.now {
				continue
			}

			for _, r := range slices.Clone(s.routines) {
				if !r.waiting {
					continue
				}
				if got := ready(r.first, r.second); got >= 0 {
					w.resume(r, got)
					again = true
				}
			}
		}
	}
}
