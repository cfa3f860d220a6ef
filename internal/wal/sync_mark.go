package wal

// writeSyncMark writes a record without a payload when everything is on disk and nothing came
// since. The last records before a rest have no later one that says so, and a flipped bit among
// them would look like a torn end, which is cut off in silence (decision 71). A mark is followed by
// no other one.
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
		_ = l.AwaitWritten(last + 1) // told by Err, as of any record
	}
}
