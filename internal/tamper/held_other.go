//go:build !(linux && amd64)

package tamper

import "os/exec"

// Program is not available on this system.
type Program struct{}

// New says so.
func New() (*Program, error) { return nil, ErrCannot }

// Set does nothing.
func (*Program) Set(Rule) {}

// SetClock does nothing.
func (*Program) SetClock(*Clock) {}

// Disturbed is none.
func (*Program) Disturbed() int64 { return 0 }

// Start starts nothing.
func (*Program) Start(*exec.Cmd) error { return ErrCannot }

// End does nothing.
func (*Program) End() {}

// Launch does nothing.
func Launch() {}
