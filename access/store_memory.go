package access

import "cmp"

// Memory is the store that forgets: counters live as long as the process. It serves the demo and
// tests.
type Memory struct{ *limits }

var _ Store = (*Memory)(nil)

// MemoryOptions configure a Memory store. The zero value is ready.
type MemoryOptions struct {
	RepliesMax int   // idempotency records kept for a tenant; 0 = 100,000
	ReplyBytes int64 // and their bytes in all, which only memory has; 0 = 64 MiB
}

// memoryEpoch starts the store time of a Memory store; any positive time far from zero does.
const memoryEpoch = int64(1) << 40

// NewMemory returns an empty store.
func NewMemory(options MemoryOptions) *Memory {
	l := newLimits(newJournal(memoryEpoch), options.RepliesMax)
	l.waitingMax = cmp.Or(options.ReplyBytes, maxWaiting)
	return &Memory{l}
}
