package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to end before it is killed.
const stopTimeout = 20 * time.Second

// process is one program of a fleet. It ends with this program.
type process struct {
	name  string
	path  string
	args  []string
	env   []string
	dir   string
	log   string              // its output
	owner *syscall.Credential // nil for this user

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts the program.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := exec.Command(p.path, p.args...) //nolint:noctx // stop ends it
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout = log
	cmd.Stderr = log
	// An interrupt from the keyboard goes to this program, which ends the others in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.owner}
	endWithParent(cmd, p.name)

	done := make(chan struct{})
	started := make(chan error)
	go func() {
		// The system ends the process when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(done)
	}()

	p.cmd = cmd
	p.done = done
	err = <-started
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	return nil
}

// running reports whether the program was started and has not ended.
func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop asks the program to end, and kills it after stopTimeout.
func (p *process) stop() {
	if !p.running() {
		return
	}

	// On SIGINT PostgreSQL ends without waiting for its clients.
	polite := syscall.SIGTERM
	if p.name == Postgres {
		polite = syscall.SIGINT
	}
	p.signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(polite)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.kill()
	}
}

// kill ends the program and its children, as kill -9 of all of them does.
func (p *process) kill() {
	if p.running() {
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// signal sends a signal to the program and its children.
func (p *process) signal(s syscall.Signal) {
	if !p.running() {
		return
	}
	all := append([]int{p.cmd.Process.Pid}, childrenOf(p.cmd.Process.Pid)...)
	for _, pid := range all {
		_ = syscall.Kill(pid, s)
	}
}

// childrenOf returns the running children of a process.
func childrenOf(pid int) (all []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// said returns the last lines of the program's output.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte("\n")))
}

// unprivilegedUser returns a user that PostgreSQL may run as if this one is root, else nil.
func unprivilegedUser() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // no other user is needed
	}
	found, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}

	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// installs are the commands that install missing programs.
var installs = []struct{ program, how string }{
	{"redis-server", "apt-get install redis-server"},
	{"redis-sentinel", "apt-get install redis-sentinel"},
	{"haproxy", "apt-get install haproxy"},
	{"postgres", "apt-get install postgresql"},
	{"initdb", "apt-get install postgresql"},
	{"createdb", "apt-get install postgresql"},
	{"versitygw", "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"},
}

// Missing returns an error that says how to install each missing program, nil if there is none.
func Missing() error {
	var all []error
	seen := map[string]bool{}
	for _, need := range installs {
		if _, err := find(need.program); err != nil && !seen[need.how] {
			seen[need.how] = true
			all = append(all, fmt.Errorf("cannot find %s: install it: %s", need.program, need.how))
		}
	}
	return errors.Join(all...)
}

// find finds a program in the path, or where Debian and `go install` put it.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}

	home, _ := os.UserHomeDir()
	for _, pattern := range []string{
		"/usr/sbin/", "/usr/lib/postgresql/*/bin/", filepath.Join(os.Getenv("GOPATH"), "bin") + "/",
		filepath.Join(home, "go", "bin") + "/",
	} {
		if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", err
}
