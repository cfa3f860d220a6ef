package door

import "golang.org/x/sys/unix"

// Reserve is how many descriptors connections leave to everything else: the standard streams, two
// listeners and what waits for events (8); metering log, checkpoint, locks and keys (8); a snapshot
// being loaded (16); connections of the admin listener ([AdminMost], 16); the server asking itself
// and the service manager (4). A dozen is left over.
const Reserve = 64

// AdminMost is how many connections the admin listener may have. They come out of the reserve.
const AdminMost = 16

// MostServed is the most that the HTTP library serves at a time, whatever the descriptors.
const MostServed = 256 << 10

// Room is how many connections the process has descriptors for.
func Room() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return MostServed
	}
	return room(limit.Cur)
}

func room(limit uint64) int {
	if limit <= 2*Reserve {
		// So few that a half of them is all that connections can have.
		return max(int(limit/2), 1)
	}
	return int(min(limit-Reserve, MostServed))
}
