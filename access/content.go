package access

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// content is a journal as its state directory sees it: what a checkpoint takes of it, and what is read
// back. See [state.Content].
type content struct {
	usage      *usageLog
	now        Instant     // when the store is opened
	boot       func() Boot // where the machine's boot stands
	openedAt   int64       // store time
	openedTime time.Time

	deltas []tenantDelta // what a checkpoint has to write, until it is in the file or in no file
	// changedRows are the ledger's rows, without counts, that went into the file since they were asked for;
	// nil when nobody asks.
	changedRows map[LedgerRow]bool
}

// tenantDelta is what a checkpoint writes of one account.
type tenantDelta struct {
	tenant         *tenantState
	encoded        []byte
	rows           map[rowName]*Counts
	replies        map[ReplyKey]storedReply
	expiredMinutes []int64 // minutes whose replies are deleted
}

// Load implements [state.Loader].
func (c *content) Load(of state.Bucket, key, value []byte) error {
	if of == state.Ledger {
		_, err := decodeRow(key, value) // rows are read when somebody asks for them
		return err
	}
	return c.usage.load(of, key, value, false)
}

// Replay implements [state.Loader].
func (c *content) Replay(seq uint64, record []byte) error { return c.usage.replay(seq, record) }

// Loaded implements [state.Content]. It makes the store time go on where it ended, by as much as time
// went on since, but never backwards. Within one boot of the machine its own count bounds what the wall
// clock says: a clock that was set ahead opens no window early.
func (c *content) Loaded(mark state.Mark) {
	ul := c.usage
	last := timePair{store: mark.At, wall: mark.Wall}
	for _, a := range ul.all("") {
		last = last.later(a.lastAdmission)
	}
	if last.store == 0 { // nothing is stored
		last = timePair{store: max(c.now.Wall, memoryEpoch), wall: c.now.Wall}
	}

	passed := max(0, c.now.Wall-last.wall)
	if counted, ok := c.boot().since(Boot{ID: mark.Boot, Up: mark.Up}); ok {
		// The count began at the checkpoint, and the last admission may have come after it.
		passed = min(passed, max(0, mark.Store+counted-last.store))
	}
	ul.offset = last.store + passed - c.now.Mono
	c.openedAt = ul.storeTime(c.now)
	c.openedTime = time.Now()
}

// Take implements [state.Content]: it takes what changed out of all accounts, and notes the latest
// admission of any.
func (c *content) Take() state.Mark {
	all := c.usage.all("")
	var latest timePair
	for _, a := range all {
		a.mu.Lock()
		latest = latest.later(a.lastAdmission)
		a.mu.Unlock()
	}

	// Replies leave also when nobody calls.
	now := latest.store
	if !c.openedTime.IsZero() {
		now = max(now, c.openedAt+time.Since(c.openedTime).Milliseconds())
	}
	for _, a := range all {
		a.mu.Lock()
		latest = latest.later(a.lastAdmission)
		a.replies.purge(now)
		if a.dirty || len(a.replies.unsaved) > 0 || len(a.replies.expiredMinutes) > 0 {
			c.deltas = append(c.deltas, a.takeDelta())
		}
		a.mu.Unlock()
	}

	up := c.boot()
	return state.Mark{At: latest.store, Wall: latest.wall, Store: now, Boot: up.ID, Up: up.Up}
}

// tenantDelta moves what changed since the last checkpoint from the account into an image. The
// caller holds the account's lock.
func (a *tenantState) takeDelta() tenantDelta {
	delta := tenantDelta{tenant: a, encoded: a.append(nil), rows: a.rows}
	a.rows = map[rowName]*Counts{}
	a.lastRow = nil
	a.dirty = false

	delta.replies, delta.expiredMinutes = a.replies.takeUnsaved()
	return delta
}

// Write implements [state.Content].
func (c *content) Write(into *state.Writer) {
	for _, delta := range c.deltas {
		tenant := delta.tenant.tenant
		into.Account(tenant, delta.encoded)
		for name, counts := range delta.rows {
			into.Counts(appendRowKey(nil, tenant, name), counts.Calls, counts.Charged)
		}
		for name, r := range delta.replies {
			into.Reply(replyKey(tenant, minuteOf(r.at), name), r.append(nil))
		}
		for _, minute := range delta.expiredMinutes {
			key := replyKey(tenant, minute, ReplyKey{})
			into.DropReplies(key[:len(key)-len(ReplyKey{})])
		}
	}
}

// Confirm implements [state.Content]: it lets go of what is in the file.
func (c *content) Confirm() {
	for _, delta := range c.deltas {
		delta.tenant.mu.Lock()
		delta.tenant.replies.saved()
		delta.tenant.mu.Unlock()
		for name := range delta.rows {
			if c.changedRows != nil {
				c.changedRows[name.row(delta.tenant.tenant)] = true
			}
		}
	}
	c.deltas = nil
}

// Restore implements [state.Content].
func (c *content) Restore() {
	for _, delta := range c.deltas {
		a := delta.tenant
		a.mu.Lock()
		// Calls that came meanwhile have rows already: the counts add up.
		for name, counts := range delta.rows {
			row := a.rowOf(name)
			row.Calls += counts.Calls
			row.Charged += counts.Charged
		}

		a.dirty = true
		a.replies.restore(delta.replies, delta.expiredMinutes)
		a.mu.Unlock()
	}
	c.deltas = nil
}

// Carry implements [state.Content]: what is prepared is in no account.
func (c *content) Carry(log *wal.Log) { c.usage.prepared.carry(log) }

// MarkAllDirty implements [state.Content].
func (c *content) MarkAllDirty() {
	for _, a := range c.usage.all("") {
		a.mu.Lock()
		a.dirty = true
		a.replies.rewrite()
		a.mu.Unlock()
	}
}

// offlineState is what a state directory holds, read from any process: a journal as it stands at
// the last written call, with the rows of its checkpoint apart.
type offlineState struct {
	*usageLog
	rows []LedgerRow
}

func newOfflineState() *offlineState { return &offlineState{usageLog: newUsageLog(0)} }

// Load implements [state.Loader].
func (b *offlineState) Load(of state.Bucket, key, value []byte) error {
	if of != state.Ledger {
		return b.load(of, key, value, false)
	}
	row, err := decodeRow(key, value)
	b.rows = append(b.rows, row)
	return err
}

// Replay implements [state.Loader].
func (b *offlineState) Replay(seq uint64, record []byte) error { return b.replay(seq, record) }

// salvaged is the content of a damaged state directory: all that is whole of it, in memory.
type salvaged struct{ *content }

// Load implements [state.Loader].
func (s salvaged) Load(of state.Bucket, key, value []byte) error {
	if of != state.Ledger {
		return s.usage.load(of, key, value, true)
	}
	row, err := decodeRow(key, value)
	if err == nil {
		*s.usage.tenant(row.Tenant).rowOf(row.name()) = row.Counts
	}
	return err
}

// load takes over an account or a reply: what memory has of it, or all of one that the next checkpoint
// has to write.
func (ul *usageLog) load(of state.Bucket, key, value []byte, withData bool) error {
	if of == state.Accounts {
		return ul.tenant(string(key)).decode(value)
	}

	tenant, name, r, err := decodeReply(of, key, value)
	switch {
	case err != nil:
	case withData || of == state.FirstReplies:
		ul.tenant(tenant).replies.add(name, r)
	default:
		ul.tenant(tenant).replies.index(name, r.replyMeta)
	}
	return err
}

// replay applies a call read back from the log, unless the account's checkpoint holds it already.
func (ul *usageLog) replay(seq uint64, record []byte) error {
	// The record was given up when the disk failed, so that nobody was answered, or it is a mark.
	if len(record) == 0 {
		return nil
	}

	e, err := decodeEntry(record)
	if err != nil {
		return err
	}

	// What is prepared is in no account, and in every segment of the log until it is settled.
	if e.isPrepared {
		ul.prepared.add(&e)
		return nil
	}
	ul.prepared.remove(e.claim)

	a := ul.tenant(e.tenant)
	if seq <= a.seq {
		return nil
	}

	a.seq = seq
	a.apply(&e)

	// A restart must open no minute window early.
	if w := a.windowOf(a.key(e.key), e.window); w != nil {
		w.restore(tick{at: e.at, n: 1})
	}

	if e.reply != nil {
		r := storedReply{replyMeta: replyMeta{body: e.reply.body, at: e.at}, data: e.reply.data}
		a.replies.add(NewReplyKey(e.op, e.reply.name), r)
	}
	return nil
}

// appendRowKey names a row of the ledger in the file.
func appendRowKey(dst []byte, tenant string, name rowName) []byte {
	dst = state.AppendText(dst, tenant)
	dst = binary.BigEndian.AppendUint32(dst, uint32(name.day))
	dst = state.AppendText(dst, name.key)
	return append(dst, name.op...)
}

func decodeRow(key, value []byte) (row LedgerRow, err error) {
	in := state.Decoder{Data: key}
	row.Tenant = in.Text()
	if day := in.Bytes(4); day != nil {
		row.Day = calendar.Day(binary.BigEndian.Uint32(day))
	}
	row.Key = in.Text()
	row.Operation = Operation(in.Data)
	if in.Err != nil {
		return row, in.Err
	}
	row.Calls, row.Charged, err = state.DecodeCounts(value)
	return row, err
}

// replyKey names a kept reply in the file. Those of a minute stand together, so that they are
// deleted together.
func replyKey(tenant string, minute int64, name ReplyKey) []byte {
	key := state.AppendText(nil, tenant)
	key = binary.BigEndian.AppendUint64(key, uint64(minute))
	return append(key, name[:]...)
}

// append appends a reply as the checkpoint keeps it.
func (r *storedReply) append(dst []byte) []byte {
	dst = append(dst, r.body[:]...)
	dst = binary.AppendVarint(dst, r.at)
	return append(dst, r.data...)
}

// decodeReply reads a kept reply, its name and its tenant.
func decodeReply(of state.Bucket, key, value []byte) (tenant string, name ReplyKey, r storedReply, err error) {
	inKey := state.Decoder{Data: key}
	in := state.Decoder{Data: value}
	tenant = inKey.Text()
	if of == state.FirstReplies {
		op := Operation(inKey.Text())
		name = NewReplyKey(op, inKey.Text())
		if version := in.Bytes(1); len(version) == 1 && version[0] != firstVersion {
			in.Fail()
		}
	} else {
		inKey.Bytes(8)
		copy(name[:], inKey.Bytes(len(name)))
	}

	copy(r.body[:], in.Bytes(len(r.body)))
	r.at = in.Varint()
	r.data = slices.Clone(in.Data)
	return tenant, name, r, cmp.Or(inKey.End(), in.Err)
}
