package postgrestest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end a process when this one dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT }
