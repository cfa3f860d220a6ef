// Package systemd speaks the notification protocol of service managers, sd_notify(3): single
// datagrams of NAME=VALUE lines to the socket that NOTIFY_SOCKET names.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Notifier sends to the service manager. A nil Notifier sends nothing.
type Notifier struct {
	// Watchdog is how long the service may be silent before it is restarted; 0 means for ever.
	Watchdog time.Duration
	conn     *net.UnixConn
}

// Open returns a Notifier for the service manager of the environment, nil when there is none.
func Open() (*Notifier, error) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}

	// A leading @ stands for the zero byte of an abstract socket, here as in the protocol.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the service manager: %w", err)
	}
	return &Notifier{conn: conn, Watchdog: watchdog(os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"))}, nil
}

// watchdog is the interval that the environment asks of this process; the variables may be meant
// for a parent.
func watchdog(microseconds, pid string) time.Duration {
	n, err := strconv.ParseInt(microseconds, 10, 64)
	if err != nil || n <= 0 || n > int64(1<<62/time.Microsecond) || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// Send sends the lines in one datagram, so that they are taken together.
func (n *Notifier) Send(lines ...string) error {
	if n == nil {
		return nil
	}
	_, err := n.conn.Write([]byte(strings.Join(lines, "\n")))
	return err
}

// Reloading are the lines that begin a reload, which READY=1 ends. systemd wants to know when it
// began by the monotonic clock, to tell this reload from an earlier one.
func Reloading() string {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		// No system without that clock runs systemd.
		return "RELOADING=1"
	}
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/int64(time.Microsecond))
}
