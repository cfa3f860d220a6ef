package access

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// content lets a state directory save and load a usage log. See [state.Content].
type content struct {
	usage *usageLog
	// onRow receives the ledger rows of the file; nil: they are only checked, and read when they are needed.
	onRow    func(LedgerRow)
	withData bool        // the data of replies are loaded, too, and the next checkpoint writes them
	rows     []LedgerRow // of newOfflineContent alone: those of the file

	now        Instant     // when the store is opened
	boot       func() Boot // the machine's boot and its uptime
	openedAt   int64       // store time
	openedTime time.Time

	deltas []tenantDelta // taken for a checkpoint, until it is known whether they are in the file
	// changedRows are the ledger rows, without counts, that were written to the file since the last
	// call of Changed; nil without Export.
	changedRows map[LedgerRow]bool

	renames []tenantRename // not in the file yet
	taken   []tenantRename // for a checkpoint, as deltas
}

// tenantRename is the opaque name that a deleted tenant got.
type tenantRename struct{ from, to string }

// tenantDelta is what a checkpoint writes of one tenant.
type tenantDelta struct {
	tenant         *tenantState
	encoded        []byte
	rows           map[rowName]*Counts
	replies        map[ReplyKey]storedReply
	expiredMinutes []int64 // minutes whose replies are deleted
}

// Loaded implements [state.Content]. It continues the store time where it ended, plus the time that
// passed since, but never backwards. Within one boot the machine's uptime bounds the time that passed
// by the wall clock: a clock that was set ahead opens no window early.
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
		// The uptime is of the checkpoint, and the last admission may have come after it.
		passed = min(passed, max(0, mark.Store+counted-last.store))
	}
	ul.offset = last.store + passed - c.now.Mono
	c.openedAt = ul.storeTime(c.now)
	c.openedTime = time.Now()
}

// Take implements [state.Content]: it takes the changes of all tenants, and returns the time of the
// latest admission.
func (c *content) Take() state.Mark {
	all := c.usage.all("")
	var latest timePair
	for _, a := range all {
		a.mu.Lock()
		latest = latest.later(a.lastAdmission)
		a.mu.Unlock()
	}

	// Replies also expire while no calls come.
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

	c.taken = append(c.taken, c.renames...)
	c.renames = nil

	up := c.boot()
	return state.Mark{At: latest.store, Wall: latest.wall, Store: now, Boot: up.ID, Up: up.Up}
}

// takeDelta moves a tenant's changes since the last checkpoint into a delta. The caller holds the
// tenant's mutex.
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
	for _, renamed := range c.taken {
		into.Rename(renamed.from, renamed.to)
	}

	// A delta has the new names already.
	for _, delta := range c.deltas {
		tenant := delta.tenant.tenant
		into.Account(tenant, delta.encoded)
		for name, counts := range delta.rows {
			into.Counts(appendRowKey(nil, tenant, name), counts.Calls, counts.Charged)
		}

		// In order, because bbolt moves all later keys for each one between others.
		inOrder := func(a, b ReplyKey) int { return bytes.Compare(a[:], b[:]) }
		for _, name := range slices.SortedFunc(maps.Keys(delta.replies), inOrder) {
			r := delta.replies[name]
			into.Reply(replyKey(tenant, minuteOf(r.at), name), r.append(nil))
		}
		for _, minute := range delta.expiredMinutes {
			key := replyKey(tenant, minute, ReplyKey{})
			into.DropReplies(key[:len(key)-len(ReplyKey{})])
		}
	}
}

// Confirm implements [state.Content]: it drops the deltas, which are in the file.
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
	c.taken = nil
}

// Restore implements [state.Content].
func (c *content) Restore() {
	for _, delta := range c.deltas {
		a := delta.tenant
		a.mu.Lock()
		a.addRows(delta.rows)
		a.dirty = true
		a.replies.restore(delta.replies, delta.expiredMinutes)
		a.mu.Unlock()
	}
	c.deltas = nil
	c.renames = append(c.taken, c.renames...)
	c.taken = nil
}

// Carry implements [state.Content]: prepared batches are in no tenant's state.
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

// newOfflineContent returns the content of a state directory that is read from any process: the usage log up
// to the last written call, and the ledger rows of the checkpoint.
func newOfflineContent() *content {
	c := &content{usage: newUsageLog(0)}
	c.onRow = func(row LedgerRow) { c.rows = append(c.rows, row) }
	return c
}

// Load implements [state.Loader].
func (c *content) Load(of state.Bucket, key, value []byte) error {
	switch of {
	case state.Accounts:
		return c.usage.tenant(string(key)).decode(value)
	case state.Ledger:
		row, err := decodeRow(key, value)
		if err == nil && c.onRow != nil {
			c.onRow(row)
		}
		return err
	default:
	}

	tenant, name, r, err := decodeReply(of, key, value)
	switch {
	case err != nil:
	case c.withData || of == state.FirstReplies:
		c.usage.tenant(tenant).replies.add(name, r)
	default:
		c.usage.tenant(tenant).replies.index(name, r.replyMeta)
	}
	return err
}

// Replay implements [state.Loader]. It applies a call from the log, unless the tenant's checkpoint includes
// it already.
func (c *content) Replay(seq uint64, record []byte) error {
	if len(record) == 0 {
		return nil // cancelled when the disk failed, so that no call was answered, or a sync mark
	}

	e, err := decodeEntry(record)
	if err != nil {
		return err
	}

	// A prepared batch is in no tenant's state, and in every segment of the log until it is settled.
	if e.isPrepared {
		c.usage.prepared.add(&e)
		return nil
	}
	c.usage.prepared.remove(e.claim)

	a := c.usage.tenant(e.tenant)
	if seq <= a.seq {
		return nil
	}

	a.seq = seq
	a.apply(&e)

	// A restart must open no minute window early.
	if w := a.windowOf(a.key(e.key), e.window); w != nil {
		w.restore(burst{at: e.at, n: 1})
	}

	if e.reply != nil {
		r := storedReply{replyMeta: replyMeta{body: e.reply.body, at: e.at}, data: e.reply.data}
		a.replies.add(NewReplyKey(e.op, e.reply.name), r)
	}
	return nil
}

// appendRowKey appends the key of a ledger row in the file.
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

// replyKey returns the key of a stored reply in the file. The replies of a minute have a common
// prefix, so that they are deleted together.
func replyKey(tenant string, minute int64, name ReplyKey) []byte {
	key := state.AppendText(nil, tenant)
	key = binary.BigEndian.AppendUint64(key, uint64(minute))
	return append(key, name[:]...)
}

// append appends a reply as a checkpoint stores it.
func (r *storedReply) append(dst []byte) []byte {
	dst = append(dst, r.body[:]...)
	dst = binary.AppendVarint(dst, r.at)
	return append(dst, r.data...)
}

// decodeReply decodes a stored reply, its name and its tenant.
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
