//go:build !conformance

package mcp

// fixtures are the tools of the official conformance suite. Only a build with the tag conformance
// has them.
func fixtures() []*tool { return nil }
