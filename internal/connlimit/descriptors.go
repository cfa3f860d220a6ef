package connlimit

import "golang.org/x/sys/unix"

// Reserve is the number of file descriptors kept free for everything but API connections. They are
// for the standard streams, two listeners and what waits for events (8); metering log, checkpoint,
// locks and keys (8); a snapshot being loaded (16); connections of the admin listener ([MaxAdmin],
// 16); the server asking itself and the service manager (4). A dozen is left over.
const Reserve = 64

// MaxAdmin is how many connections the admin listener may have. They come out of the reserve.
const MaxAdmin = 16

// MaxServed is the most that the HTTP library serves at a time, whatever the descriptors.
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
		// So few that a half of them is all that connections can have.
		return max(int(limit/2), 1)
	}
	return int(min(limit-Reserve, MaxServed))
}
