package access

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"

	"ninepocket/calendar"
)

const (
	// ReplyMillis is how long a reply is stored, exactly (decision 30).
	ReplyMillis = int64(600_000)
	// DefaultMaxIdempotencyRecords limits a tenant's idempotency records; a small plan makes fewer
	// in ten minutes (decision 1761). 100,000 take about 10 MB of memory.
	DefaultMaxIdempotencyRecords = 100_000
	// maxReply bounds one reply. One of 50 prices takes usualReply.
	maxReply, usualReply = 4 << 20, 1 << 9
	// maxUnsavedBytes bounds the replies of all tenants that are in no checkpoint yet. It is the memory
	// that they take while a disk fails for long.
	maxUnsavedBytes = 64 << 20
)

// ReplyKey identifies an idempotency record of a tenant. It is a hash of operation and key, because
// hundreds of thousands are stored.
type ReplyKey [16]byte

// NewReplyKey returns the ReplyKey of a call with an idempotency key.
func NewReplyKey(op Operation, key string) ReplyKey {
	sum := sha256.Sum256([]byte(string(op) + "\x00" + key))
	return ReplyKey(sum[:])
}

// pendingKey is an idempotency record whose request is being answered.
type pendingKey struct {
	id     uint64
	name   ReplyKey
	body   BodyHash
	done   chan struct{}   // closed by finish
	period calendar.Period // that the unit is reserved in
}

// replyMeta is the index entry of a stored reply in memory; the reply itself is in the checkpoint
// file, or waits for the next checkpoint.
type replyMeta struct {
	body BodyHash
	at   int64 // store time of the request that was answered
}

func (meta replyMeta) expired(at int64) bool { return at-meta.at >= ReplyMillis }

// storedReply is a stored reply with its data, which never changes.
type storedReply struct {
	replyMeta
	data []byte
}

// minuteBucket has the replies of one minute of store time. It is dropped as a whole, which also frees
// its memory.
type minuteBucket struct {
	minute int64
	byName map[ReplyKey]replyMeta
}

// replyStore has the idempotency records of a tenant. The mutex of the tenant's state guards it.
type replyStore struct {
	pending        map[ReplyKey]*pendingKey
	byMinute       []minuteBucket           // oldest first
	count          int                      // of all stored replies
	unsaved        map[ReplyKey]storedReply // in no checkpoint
	saving         map[ReplyKey]storedReply // being written to a checkpoint
	expiredMinutes []int64                  // minutes that were dropped since the last checkpoint
	oldest         int64                    // no stored reply is of an earlier time
	unsavedBytes   *atomic.Int64            // bytes of all tenants in unsaved and saving
}

func minuteOf(at int64) int64 { return at / calendar.MinuteMillis }

// add adds a reply.
func (rs *replyStore) add(name ReplyKey, r storedReply) {
	rs.index(name, r.replyMeta)
	rs.unsaved[name] = r
	rs.unsavedBytes.Add(int64(len(r.data)))
}

// removeUnsaved drops the data of a reply that is in no checkpoint.
func (rs *replyStore) removeUnsaved(name ReplyKey) {
	rs.unsavedBytes.Add(-int64(len(rs.unsaved[name].data)))
	delete(rs.unsaved, name)
}

// index adds the index entry of a reply.
func (rs *replyStore) index(name ReplyKey, meta replyMeta) {
	minute := minuteOf(meta.at)
	i, found := slices.BinarySearchFunc(rs.byMinute, minute, func(gen minuteBucket, wanted int64) int {
		return int(gen.minute - wanted)
	})
	if !found {
		rs.byMinute = slices.Insert(rs.byMinute, i, minuteBucket{minute: minute, byName: map[ReplyKey]replyMeta{}})
	}

	byName := rs.byMinute[i].byName
	before := len(byName)
	byName[name] = meta
	rs.count += len(byName) - before
	rs.oldest = min(rs.oldest, meta.at)
}

// undoAdd removes a reply that was just added.
func (rs *replyStore) undoAdd(name ReplyKey, at int64) {
	for _, gen := range rs.byMinute {
		if meta, ok := gen.byName[name]; ok && meta.at == at {
			delete(gen.byName, name)
			rs.count--
		}
	}
	if rs.unsaved[name].at == at {
		rs.removeUnsaved(name)
	}
}

// clear drops all replies. Their data in the file go with the tenant's name.
func (rs *replyStore) clear() {
	for name := range rs.unsaved {
		rs.removeUnsaved(name)
	}
	rs.byMinute = nil
	rs.expiredMinutes = nil
	rs.count = 0
}

// find returns the reply of a name that is valid at a time, and its data unless that is only in the
// checkpoint file.
func (rs *replyStore) find(name ReplyKey, at int64) (r storedReply, ok bool) {
	for _, gen := range slices.Backward(rs.byMinute) {
		found, is := gen.byName[name]
		if !is || found.expired(at) {
			continue
		}
		for _, table := range []map[ReplyKey]storedReply{rs.unsaved, rs.saving} {
			if r := table[name]; r.at == found.at && r.data != nil {
				return r, true
			}
		}
		return storedReply{replyMeta: found}, true
	}
	return storedReply{}, false
}

// purge drops expired minutes.
func (rs *replyStore) purge(at int64) {
	n := 0
	for n < len(rs.byMinute) && (rs.byMinute[n].minute+1)*calendar.MinuteMillis+ReplyMillis <= at {
		gen := rs.byMinute[n]
		rs.count -= len(gen.byName)
		rs.expiredMinutes = append(rs.expiredMinutes, gen.minute)
		for name := range gen.byName {
			if r, ok := rs.unsaved[name]; ok && minuteOf(r.at) == gen.minute {
				rs.removeUnsaved(name)
			}
		}
		n++
	}

	if n > 0 {
		rs.byMinute = slices.Clone(rs.byMinute[n:]) // the old array would keep them in memory
	}
}

// full reports whether no other record fits at a time, and in how many milliseconds one expires. To
// be exact it searches the oldest minute, at most once for each record that expires.
func (rs *replyStore) full(limit int, at int64) (wait int64, full bool) {
	if rs.count+len(rs.pending) >= limit && at-rs.oldest >= ReplyMillis {
		rs.sweep(at)
	}
	if rs.count+len(rs.pending) < limit {
		return 0, false
	}
	return max(1, rs.oldest+ReplyMillis-at), true
}

// sweep drops each expired reply, and finds the oldest of the rest.
func (rs *replyStore) sweep(at int64) {
	rs.purge(at)
	rs.oldest = at
	for _, gen := range rs.byMinute {
		for name, meta := range gen.byName {
			if meta.expired(at) {
				delete(gen.byName, name) // its data is dropped with the minute
				rs.count--
				continue
			}
			rs.oldest = min(rs.oldest, meta.at)
		}
		if len(gen.byName) > 0 {
			return // later minutes have later replies
		}
	}
}

// takeUnsaved begins a checkpoint: the replies that it returns stay readable until saved or restore.
func (rs *replyStore) takeUnsaved() (unsaved map[ReplyKey]storedReply, expired []int64) {
	rs.saving = rs.unsaved
	rs.unsaved = map[ReplyKey]storedReply{}
	expired = rs.expiredMinutes
	rs.expiredMinutes = nil
	return rs.saving, expired
}

// rewrite makes the next checkpoint write all stored replies. The data of a reply in a lost file is
// lost: the rest is written, so that repetitions are refused, by the next server too, and not charged.
func (rs *replyStore) rewrite() {
	for _, gen := range rs.byMinute {
		for name, meta := range gen.byName {
			if rs.unsaved[name].at < meta.at {
				rs.unsaved[name] = storedReply{replyMeta: meta}
			}
		}
	}
}

// saved ends a checkpoint that was written.
func (rs *replyStore) saved() {
	for _, r := range rs.saving {
		rs.unsavedBytes.Add(-int64(len(r.data)))
	}
	rs.saving = nil
}

// restore takes back what a failed checkpoint had taken, except replies that were removed since.
func (rs *replyStore) restore(unsaved map[ReplyKey]storedReply, expired []int64) {
	rs.saving = nil
	rs.expiredMinutes = append(rs.expiredMinutes, expired...)
	for name, r := range unsaved {
		_, newer := rs.unsaved[name]
		stored := slices.ContainsFunc(rs.byMinute, func(gen minuteBucket) bool { return gen.byName[name].at == r.at })
		if newer || !stored {
			rs.unsavedBytes.Add(-int64(len(r.data)))
			continue
		}
		rs.unsaved[name] = r
	}
}
