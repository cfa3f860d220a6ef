package fleet

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the system end a process when this one dies. PostgreSQL ends what it started
// when it gets the softer of the two.
func endWithParent(cmd *exec.Cmd, name string) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if name == Postgres {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	}
}
