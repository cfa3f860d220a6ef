package fleet

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the system end a process when this one dies. PostgreSQL ends its own children
// on SIGQUIT, but not on SIGKILL.
func endWithParent(cmd *exec.Cmd, name string) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if name == Postgres {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	}
}
