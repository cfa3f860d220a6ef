package tamper

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Program is a program under tampering; [New] makes it.
type Program struct {
	rule  atomic.Pointer[Rule]
	clock atomic.Pointer[Clock]

	listener  int
	dead      chan struct{} // closed by End
	once      sync.Once
	serving   sync.WaitGroup
	disturbed atomic.Int64
}

// New returns a program that goes undisturbed until it is told otherwise. The error is [ErrCannot]
// where the kernel, or who runs us, does not allow it.
func New() (*Program, error) {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return nil, fmt.Errorf("%w: %w", ErrCannot, errno)
	}
	return &Program{listener: -1, dead: make(chan struct{})}, nil
}

// Set makes a rule hold from now on; nil lets everything pass.
func (p *Program) Set(rule Rule) {
	if rule == nil {
		p.rule.Store(nil)
		return
	}
	p.rule.Store(&rule)
}

// SetClock sets the clocks from now on; nil leaves them as they are.
func (p *Program) SetClock(clock *Clock) { p.clock.Store(clock) }

// Disturbed is how many calls failed, waited or were lied to until now.
func (p *Program) Disturbed() int64 { return p.disturbed.Load() }

// launcher is the name under which our own binary becomes the launcher of a program: see [Launch].
const launcher = "tamper"

// Start starts a command, through a launcher that makes the kernel hold its calls. The launcher is
// this binary, which has to call [Launch] when its name says so.
func (p *Program) Start(cmd *exec.Cmd) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}

	ours := os.NewFile(uintptr(pair[0]), "ours")
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	defer func() { _ = ours.Close() }()

	cmd.Args = append([]string{launcher, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	// The launcher has a copy of its end: with ours closed, its death ends the socket.
	_ = theirs.Close()
	if err != nil {
		return err
	}

	p.listener, err = receive(ours)
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("%w: %w", ErrCannot, err)
	}
	p.serving.Go(p.serve)
	return nil
}

// End waits until the program, which has to be dead, asks nothing any more.
func (p *Program) End() {
	p.once.Do(func() { close(p.dead) })
	p.serving.Wait()
}

// receive takes the descriptor that the launcher sends.
func receive(from *os.File) (int, error) {
	conn, err := net.FileConn(from)
	if err != nil {
		return -1, err
	}
	defer func() { _ = conn.Close() }()

	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, syscall.ENOTSOCK
	}

	text := make([]byte, 64)
	rights := make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unixConn.ReadMsgUnix(text, rights)
	if err != nil || m == 0 {
		return -1, fmt.Errorf("the launcher sends %q: %w", text[:n], err)
	}

	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return -1, err
	}
	all, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return -1, err
	}

	// A program that is started later must not inherit the listener of this one.
	unix.CloseOnExec(all[0])
	return all[0], nil
}

// toLauncher is the launcher's end of the socket.
const toLauncher = 3

// Launch becomes the program that the arguments name, with its calls held. It does not return.
func Launch() {
	runtime.LockOSThread() // the filter is this thread's, and the program's from exec on
	err := launch()
	fmt.Fprintln(os.Stderr, "cannot launch:", err)
	os.Exit(1)
}

func launch() error {
	// The kernel asks it of whoever sets a filter without privileges.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}

	program := filter()
	head := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// A call that the test knows of is given up for nothing but death.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&head)))
	if errno != 0 {
		_ = unix.Sendmsg(toLauncher, []byte(errno.Error()), nil, nil, 0) // and the death of the process tells
		return errno
	}

	// From here on until someone serves the listener, no held call of this thread returns.
	if err := unix.Sendmsg(toLauncher, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(toLauncher)
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ()) //nolint:gosec // a test says which program
}

// kinds are the calls that are held, by number.
var kinds = map[int32]string{
	unix.SYS_OPENAT: "openat", unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64",
	unix.SYS_FALLOCATE: "fallocate", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FSYNC: "fsync",
	unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FSTATFS: "fstatfs", unix.SYS_RENAMEAT: "rename",
	unix.SYS_RENAMEAT2: "rename", unix.SYS_RENAME: "rename", unix.SYS_UNLINKAT: "unlink",
	unix.SYS_UNLINK: "unlink", unix.SYS_MKDIRAT: "mkdir", unix.SYS_ACCEPT4: "accept4",
	unix.SYS_MMAP: "mmap", unix.SYS_CLOCK_GETTIME: "clock_gettime", unix.SYS_ADJTIMEX: "adjtimex",
	unix.SYS_ARCH_PRCTL: "arch_prctl",
}

// Where a filter finds things in the kernel's description of a call.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// filter is the kernel's program: it holds the kinds, but no maps without a file, and of the clocks
// the wall's and the machine's alone.
func filter() []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: value}
	}
	pass := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	hold := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}

	// The runtime maps memory without a file all the time, and no rule is about that.
	out := []unix.SockFilter{
		load(atArch), unless(unix.AUDIT_ARCH_X86_64, 1), load(atNumber),
		unless(unix.SYS_MMAP, 4), load(atArgs + 4*8), unless(^uint32(0), 1), pass, hold,
		unless(unix.SYS_CLOCK_GETTIME, 6), load(atArgs), unless(unix.CLOCK_REALTIME, 1), hold,
		unless(unix.CLOCK_BOOTTIME, 1), hold, pass,
	}

	for number := range kinds {
		if number != unix.SYS_MMAP && number != unix.SYS_CLOCK_GETTIME {
			out = append(out, unless(uint32(number), 1), hold)
		}
	}
	return append(out, pass)
}

// notice is the kernel's struct seccomp_notif, and reply its seccomp_notif_resp.
type notice struct {
	id     uint64
	pid    uint32
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
}

type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

const goOn = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE

// serve answers the kernel until the program is dead.
func (p *Program) serve() {
	defer func() { _ = unix.Close(p.listener) }()
	var waiting sync.WaitGroup
	defer waiting.Wait()

	for {
		ready := []unix.PollFd{{Fd: int32(p.listener), Events: unix.POLLIN}}
		// It looks up now and then: a program that died may leave no word.
		_, err := unix.Poll(ready, 100)
		if err != nil && err != unix.EINTR || ready[0].Revents&unix.POLLHUP != 0 {
			return
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			select {
			case <-p.dead:
				return
			default:
				continue
			}
		}

		var n notice
		if p.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) != nil {
			continue // it died, or a signal came first
		}

		// A call that waits keeps no other.
		wait, answer := p.judge(&n)
		if wait == 0 {
			p.answer(&n, answer)
			continue
		}
		waiting.Go(func() {
			select {
			case <-time.After(wait):
			case <-p.dead:
			}
			p.answer(&n, answer)
		})
	}
}

func (p *Program) ioctl(request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(p.listener), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

func (p *Program) answer(n *notice, r reply) {
	r.id = n.id
	_ = p.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // it may have died meanwhile
}

// judge decides what becomes of a call.
func (p *Program) judge(n *notice) (wait time.Duration, r reply) {
	on := reply{flags: goOn}
	switch n.number {
	case unix.SYS_ARCH_PRCTL:
		// A Go program calls arch_prctl before it reads the vector that is changed here.
		hideVDSO(int(n.pid))
		return 0, on
	case unix.SYS_CLOCK_GETTIME, unix.SYS_ADJTIMEX:
		if clock := p.clock.Load(); clock != nil && lie(n, clock) == nil {
			p.disturbed.Add(1)
			return 0, reply{}
		}
		return 0, on
	}

	rule := p.rule.Load()
	if rule == nil {
		return 0, on
	}

	verdict := (*rule)(describe(n))
	if verdict != (Verdict{}) {
		p.disturbed.Add(1)
	}

	if verdict.Fail == 0 {
		return verdict.Wait, on
	}
	return verdict.Wait, reply{err: -int32(verdict.Fail)}
}

// describe finds out what a call is about.
func describe(n *notice) Call {
	call := Call{Name: kinds[n.number], Writes: true}
	name := func(at uint64) { call.Path = text(int(n.pid), at) }

	switch n.number {
	case unix.SYS_OPENAT:
		name(n.args[1])
		call.Writes = n.args[2]&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC) != 0
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT:
		name(n.args[1])
	case unix.SYS_RENAME, unix.SYS_UNLINK:
		name(n.args[0])
	case unix.SYS_MMAP:
		call.Path = opened(int(n.pid), n.args[4])
	case unix.SYS_FSTATFS, unix.SYS_ACCEPT4:
		call.Path = opened(int(n.pid), n.args[0])
		call.Writes = false
	default:
		call.Path = opened(int(n.pid), n.args[0])
	}
	return call
}

// opened is the path of an open file.
func opened(pid int, descriptor uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, descriptor)) // "" matches no rule
	return path
}

// text reads a string of the program, page by page: what follows it may not be mapped.
func text(pid int, at uint64) string {
	var out []byte
	for len(out) < unix.PathMax {
		page := make([]byte, 4096-at%4096)
		if read(pid, at, page) != nil {
			break
		}

		for _, c := range page {
			if c == 0 {
				return string(out)
			}
			out = append(out, c)
		}
		at += uint64(len(page))
	}
	return string(out)
}

func read(pid int, at uint64, data []byte) error {
	n, err := unix.ProcessVMReadv(pid, local(data), remote(at, data), 0)
	return whole(n, data, err)
}

func write(pid int, at uint64, data []byte) error {
	n, err := unix.ProcessVMWritev(pid, local(data), remote(at, data), 0)
	return whole(n, data, err)
}

func local(data []byte) []unix.Iovec { return []unix.Iovec{{Base: &data[0], Len: uint64(len(data))}} }

func remote(at uint64, data []byte) []unix.RemoteIovec {
	return []unix.RemoteIovec{{Base: uintptr(at), Len: len(data)}}
}

func whole(n int, data []byte, err error) error {
	if err == nil && n < len(data) {
		err = syscall.EFAULT
	}
	return err
}

// lie answers a question for the time.
func lie(n *notice, clock *Clock) error {
	if n.number == unix.SYS_ADJTIMEX {
		status := uint32(0)
		if clock.Unsynced {
			status = unix.STA_UNSYNC
		}
		return write(int(n.pid), n.args[0]+uint64(unsafe.Offsetof(unix.Timex{}.Status)),
			binary.NativeEndian.AppendUint32(nil, status))
	}

	var now unix.Timespec
	if err := unix.ClockGettime(int32(n.args[0]), &now); err != nil {
		return err
	}

	step := clock.Wall
	if n.args[0] == unix.CLOCK_BOOTTIME {
		step = clock.Boot
	}

	told := unix.NsecToTimespec(now.Nano() + int64(step))
	data := binary.NativeEndian.AppendUint64(nil, uint64(told.Sec))
	return write(int(n.pid), n.args[1], binary.NativeEndian.AppendUint64(data, uint64(told.Nsec)))
}
