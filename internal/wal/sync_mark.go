package wal

// writeSyncMark writes a record without payload if everything is on disk and nothing came since. It
// proves that the last records before a pause were synced. Without it a flipped bit in them would look
// like a torn end, which is cut off in silence (decision 71). Two marks never follow each other.
func (l *Log) writeSyncMark() {
	l.mu.Lock()
	last := l.next - 1
	idle := len(l.queue) == 0 && l.synced.Load() == last && l.lastMark != last &&
		l.broken.Load() == nil && l.size.Load() > segmentHeader
	if idle {
		l.queue = appendRecord(l.queue, l.next, last, func(dst []byte) []byte { return dst })
		l.lastMark = l.next
		l.next++
	}
	l.mu.Unlock()

	if idle {
		_ = l.AwaitWritten(last + 1) // Err returns the error
	}
}
