//go:build !linux

package main

// aside is engine.Options.Aside where threads have no priorities of their own.
func aside(work func()) { work() }
