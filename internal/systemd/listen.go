package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// firstSocket is the descriptor of the first socket that is passed, SD_LISTEN_FDS_START.
const firstSocket = 3

// Socket is a listening socket that the service manager holds, and the name that it gives to it.
type Socket struct {
	Name string
	net.Listener
}

// Sockets returns the sockets that the service manager passes, sd_listen_fds(3), in its order.
// Clients wait in such a socket while nobody accepts them. Programs that are started from here on
// are not told of them.
func Sockets() ([]Socket, error) {
	n, err := passed(os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_PID"))
	if n == 0 || err != nil {
		return nil, err
	}

	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		err = errors.Join(err, os.Unsetenv(name))
	}

	var all []Socket
	for i := range n {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		l, bad := listener(firstSocket+i, name)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("cannot use the passed socket %d (%q): %w", i+1, name, bad))
			continue
		}
		all = append(all, Socket{name, l})
	}
	return all, err
}

// mostSockets bounds what is believed of LISTEN_FDS: no unit of ours passes more than two.
const mostSockets = 16

// passed is how many sockets the environment says are passed to this process; the variables may be
// meant for a parent.
func passed(sockets, pid string) (int, error) {
	if sockets == "" || pid != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}

	n, err := strconv.Atoi(sockets)
	if err != nil || n < 0 || n > mostSockets {
		return 0, fmt.Errorf("cannot use the passed sockets: LISTEN_FDS is %q, want 0 to %d", sockets, mostSockets)
	}
	return n, nil
}

// listener makes a listener of a descriptor, which it closes: the listener has one of its own.
func listener(fd int, name string) (net.Listener, error) {
	// Not for children, which would keep the port when this process has ended.
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), name)
	if file == nil {
		return nil, unix.EBADF
	}

	l, err := net.FileListener(file)
	return l, errors.Join(err, file.Close())
}
