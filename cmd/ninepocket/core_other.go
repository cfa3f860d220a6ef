//go:build !unix

package main

// noCoreFile has nothing to do: there are no core files here.
func noCoreFile() {}
