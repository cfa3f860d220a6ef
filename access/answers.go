package access

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"

	"ninepocket/calendar"
)

const (
	// ReplyMillis is how long a reply is kept, exactly (decision 30).
	ReplyMillis = int64(600_000)
	// DefaultRepliesMax is how many replies are kept for a tenant, beside what its plan admits in ten
	// minutes (decision 1761): 100,000 take about 10 MB of memory.
	DefaultRepliesMax = 100_000
	// maxReply bounds one reply before compression.
	maxReply = 4 << 20
	// maxWaiting bounds the replies of all tenants that no checkpoint has written yet, in bytes: what a
	// disk that fails for long may take of the memory.
	maxWaiting = 64 << 20
)

// ReplyName names an idempotency record inside a tenant: a hash of operation and key, because
// hundreds of thousands are kept.
type ReplyName [16]byte

// NameReply names the record of a call with an idempotency key.
func NameReply(op Operation, key string) ReplyName {
	sum := sha256.Sum256([]byte(string(op) + "\x00" + key))
	return ReplyName(sum[:])
}

// flight is an idempotency record whose request is being answered.
type flight struct {
	id     uint64
	body   BodyHash
	done   chan struct{}   // closed when the owner ended
	period calendar.Period // that the unit is reserved in
}

// answer is what memory has of a kept reply; the reply itself is in the checkpoint file, or waits
// for the next checkpoint.
type answer struct {
	body BodyHash
	at   int64 // store time of the request that was answered
}

func (ans answer) over(at int64) bool { return at-ans.at >= ReplyMillis }

// reply is a kept reply with its data, compressed and immutable.
type reply struct {
	answer
	data []byte
}

// generation is the replies of one minute of store time. A generation goes as a whole, so that its
// memory goes, too.
type generation struct {
	minute int64
	byName map[ReplyName]answer
}

// replies are the idempotency records of a tenant, guarded by its account.
type replies struct {
	flying  map[ReplyName]*flight
	kept    []generation        // oldest first
	count   int                 // of all that is kept
	fresh   map[ReplyName]reply // kept, and in no checkpoint
	saving  map[ReplyName]reply // kept, and being written to one
	gone    []int64             // minutes that left since the last checkpoint
	earlier int64               // nothing that is kept was answered earlier
	waiting *atomic.Int64       // bytes of all tenants in fresh and saving
}

func minuteOf(at int64) int64 { return at / calendar.MinuteMillis }

// keep adds a reply.
func (rs *replies) keep(name ReplyName, r reply) {
	rs.index(name, r.answer)
	rs.fresh[name] = r
	rs.waiting.Add(int64(len(r.data)))
}

// unkeep drops a reply that no checkpoint has.
func (rs *replies) unkeep(name ReplyName) {
	rs.waiting.Add(-int64(len(rs.fresh[name].data)))
	delete(rs.fresh, name)
}

// index adds what memory has of a reply.
func (rs *replies) index(name ReplyName, ans answer) {
	minute := minuteOf(ans.at)
	i, found := slices.BinarySearchFunc(rs.kept, minute, func(gen generation, wanted int64) int {
		return int(gen.minute - wanted)
	})
	if !found {
		rs.kept = slices.Insert(rs.kept, i, generation{minute: minute, byName: map[ReplyName]answer{}})
	}

	byName := rs.kept[i].byName
	before := len(byName)
	byName[name] = ans
	rs.count += len(byName) - before
	rs.earlier = min(rs.earlier, ans.at)
}

// withdraw takes back a reply that was just kept.
func (rs *replies) withdraw(name ReplyName, at int64) {
	for _, gen := range rs.kept {
		if ans, ok := gen.byName[name]; ok && ans.at == at {
			delete(gen.byName, name)
			rs.count--
		}
	}
	if rs.fresh[name].at == at {
		rs.unkeep(name)
	}
}

// find returns the reply of a name if it still counts at a time, and its data unless that is in the
// checkpoint file alone.
func (rs *replies) find(name ReplyName, at int64) (r reply, ok bool) {
	for _, gen := range slices.Backward(rs.kept) {
		found, is := gen.byName[name]
		if !is || found.over(at) {
			continue
		}
		for _, held := range []map[ReplyName]reply{rs.fresh, rs.saving} {
			if r := held[name]; r.at == found.at && r.data != nil {
				return r, true
			}
		}
		return reply{answer: found}, true
	}
	return reply{}, false
}

// purge drops the minutes whose time is over.
func (rs *replies) purge(at int64) {
	n := 0
	for n < len(rs.kept) && (rs.kept[n].minute+1)*calendar.MinuteMillis+ReplyMillis <= at {
		gen := rs.kept[n]
		rs.count -= len(gen.byName)
		rs.gone = append(rs.gone, gen.minute)
		for name := range gen.byName {
			if r, ok := rs.fresh[name]; ok && minuteOf(r.at) == gen.minute {
				rs.unkeep(name)
			}
		}
		n++
	}

	if n > 0 {
		rs.kept = slices.Clone(rs.kept[n:]) // the old array would keep what left
	}
}

// full reports whether no other record fits at a time, and in how many milliseconds one leaves. To
// know exactly it looks through the oldest minute, at most once for each that leaves.
func (rs *replies) full(limit int, at int64) (wait int64, full bool) {
	if rs.count+len(rs.flying) >= limit && at-rs.earlier >= ReplyMillis {
		rs.sweep(at)
	}
	if rs.count+len(rs.flying) < limit {
		return 0, false
	}
	return max(1, rs.earlier+ReplyMillis-at), true
}

// sweep drops each reply whose time is over, and finds the oldest that is left.
func (rs *replies) sweep(at int64) {
	rs.purge(at)
	rs.earlier = at
	for _, gen := range rs.kept {
		for name, ans := range gen.byName {
			if ans.over(at) {
				delete(gen.byName, name) // its data leaves with the minute
				rs.count--
				continue
			}
			rs.earlier = min(rs.earlier, ans.at)
		}
		if len(gen.byName) > 0 {
			return // later minutes have later replies
		}
	}
}

// takeFresh begins a checkpoint: what it returns stays readable until saved or restored.
func (rs *replies) takeFresh() (fresh map[ReplyName]reply, gone []int64) {
	rs.saving = rs.fresh
	rs.fresh = map[ReplyName]reply{}
	gone = rs.gone
	rs.gone = nil
	return rs.saving, gone
}

// rewrite makes the next checkpoint write all that is kept. Of a reply that was in a lost file it writes
// all but the data, so that a repetition is refused, by the next server too, and not charged again.
func (rs *replies) rewrite() {
	for _, gen := range rs.kept {
		for name, ans := range gen.byName {
			if rs.fresh[name].at < ans.at {
				rs.fresh[name] = reply{answer: ans}
			}
		}
	}
}

// saved ends a checkpoint that was written.
func (rs *replies) saved() {
	for _, r := range rs.saving {
		rs.waiting.Add(-int64(len(r.data)))
	}
	rs.saving = nil
}

// restore takes back what a checkpoint that failed had taken, but for replies that were withdrawn
// since.
func (rs *replies) restore(fresh map[ReplyName]reply, gone []int64) {
	rs.saving = nil
	rs.gone = append(rs.gone, gone...)
	for name, r := range fresh {
		_, newer := rs.fresh[name]
		kept := slices.ContainsFunc(rs.kept, func(gen generation) bool { return gen.byName[name].at == r.at })
		if newer || !kept {
			rs.waiting.Add(-int64(len(r.data)))
			continue
		}
		rs.fresh[name] = r
	}
}
