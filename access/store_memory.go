package access

import "slices"

// Memory is the store that forgets: counters live as long as the process. It
// serves the demo and tests.
type Memory struct{ *core }

var _ Store = (*Memory)(nil)

// MemoryOptions configure a Memory store. The zero value is ready.
type MemoryOptions struct {
	ReplyBytes int // bound of a tenant's idempotency records; 0 = DefaultReplyBytes
}

// memoryEpoch starts the store time of a Memory store; any positive time far from zero does.
const memoryEpoch = int64(1) << 40

// NewMemory returns an empty store.
func NewMemory(options MemoryOptions) *Memory {
	return &Memory{core: newCore(memoryEpoch, options.ReplyBytes)}
}

// Ledger implements [Store].
func (m *Memory) Ledger(tenant string, since Day) ([]LedgerRow, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	rows := m.rowsOf(tenant, since)
	slices.SortFunc(rows, compareRows)
	return rows, nil
}

// Close implements [Store].
func (m *Memory) Close() error {
	m.closed.Store(true)
	return nil
}
