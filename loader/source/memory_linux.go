package source

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitMemory bounds the memory of this process for good. Address space that the runtime only
// reserves does not count.
func limitMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: unpackMemory, Max: unpackMemory}); err != nil {
		return fmt.Errorf("cannot bound the memory for unpacking: %w", err)
	}
	return nil
}
