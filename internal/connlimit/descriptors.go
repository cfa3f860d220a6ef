package connlimit

import "golang.org/x/sys/unix"

// Reserve is the number of file descriptors reserved for everything but API connections. The
// standard streams, two listeners and the poller take 8. Metering log, checkpoint, locks and keys
// take 8. A snapshot being loaded takes 16, connections of the admin listener take [MaxAdmin] (16),
// and requests to itself and to the service manager 4. A dozen is spare.
const Reserve = 64

// MaxAdmin is how many connections the admin listener may have. They come out of the reserve.
const MaxAdmin = 16

// MaxServed is the most connections that the HTTP library serves at a time.
const MaxServed = 256 << 10

// Capacity is how many connections the process has descriptors for.
func Capacity() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return MaxServed
	}
	return capacityFor(limit.Cur)
}

func capacityFor(limit uint64) int {
	if limit <= 2*Reserve {
		return max(int(limit/2), 1) // so few that connections can have only half of them
	}
	return int(min(limit-Reserve, MaxServed))
}
