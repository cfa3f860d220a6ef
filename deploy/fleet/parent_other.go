//go:build !linux

package fleet

import "os/exec"

// endWithParent does nothing: this system cannot end a process when another one dies.
func endWithParent(*exec.Cmd, string) {}
