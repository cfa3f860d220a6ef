//go:build man

package main

import (
	"fmt"
	"os"

	"ninepocket/internal/manual"
)

// main, in a build with the tag man, writes the manual pages of all commands into the given folder:
// the renderer is no part of the program.
func main() {
	root := rootCommand()
	root.InitDefaultCompletionCmd()
	if err := manual.Write(root, version, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "ninepocket:", err)
		os.Exit(exitFailure)
	}
}
