package httpconn

import (
	"net"

	"golang.org/x/sys/unix"
)

// bytesAcknowledged returns how many bytes the other end of a TCP connection has taken; false where
// the system does not say. Written bytes may wait in this system's buffers for longer than a client
// has.
func bytesAcknowledged(tcp *net.TCPConn) (n int64, ok bool) {
	if tcp == nil {
		return 0, false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, false
	}

	var info *unix.TCPInfo
	failed := raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if failed != nil || err != nil {
		return 0, false
	}
	return int64(info.Bytes_acked), true
}
