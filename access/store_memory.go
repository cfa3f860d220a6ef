package access

// Memory is the store that forgets: counters live as long as the process. It serves the demo and
// tests.
type Memory struct{ *limits }

var _ Store = (*Memory)(nil)

// MemoryOptions configure a Memory store. The zero value is ready.
type MemoryOptions struct {
	ReplyBytes int // bound of a tenant's idempotency records; 0 = 8 MiB
}

// memoryEpoch starts the store time of a Memory store; any positive time far from zero does.
const memoryEpoch = int64(1) << 40

// NewMemory returns an empty store.
func NewMemory(options MemoryOptions) *Memory {
	return &Memory{newLimits(newJournal(memoryEpoch), options.ReplyBytes)}
}
