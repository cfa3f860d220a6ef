//go:build man

package main

import (
	"fmt"
	"os"

	"ninepocket/internal/manual"
)

// main of a build with the tag man writes the manual pages of all commands into the folder that it is
// given: what renders them is no part of the program.
func main() {
	root := rootCommand()
	root.InitDefaultCompletionCmd()
	if err := manual.Write(root, version, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "ninepocket:", err)
		os.Exit(exitFailure)
	}
}
