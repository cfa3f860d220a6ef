//go:build !conformance

package mcp

// fixtures are the tools of the official conformance suite, which only a build for it has.
func fixtures() []*tool { return nil }
