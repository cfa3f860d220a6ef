package access

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"ninepocket/access/state"
	"ninepocket/calendar"
)

// tenantState is all that is known of one tenant's calls: the usage that is logged, and the units
// that are reserved. mu guards every field. It is locked for tens of nanoseconds and never over input
// or output; the log's queue is the only lock taken under it.
type tenantState struct {
	tenant string
	mu     sync.Mutex

	usage
	admissionState
	keys  map[string]*keyState
	calls uint64 // that ended since the start, for metrics
}

// keyState is the state of one key.
type keyState struct {
	lastUse int64  // logged: wall time of the latest admission of a finished call, Unix milliseconds
	window  window // of its minute limit

	suggestions window // SuggestWindow: not kept over a restart
}

// newTenantState returns an empty state, whose replies count into unsavedBytes.
func newTenantState(tenant string, unsavedBytes *atomic.Int64) *tenantState {
	rs := replyStore{
		pending: map[ReplyKey]*pendingKey{}, unsaved: map[ReplyKey]storedReply{}, unsavedBytes: unsavedBytes,
	}
	return &tenantState{
		tenant: tenant, keys: map[string]*keyState{}, usage: usage{rows: map[rowName]*Counts{}, replies: rs},
	}
}

func (a *tenantState) key(id string) *keyState {
	key := a.keys[id]
	if key == nil {
		key = &keyState{}
		a.keys[id] = key
	}
	return key
}

// apply adds a finished call to the usage, and to its key as its last use.
func (a *tenantState) apply(e *entry) {
	a.charge(e)
	key := a.key(e.key)
	key.lastUse = max(key.lastUse, e.wall)
}

// The versions of a tenant's state in a checkpoint.
const (
	accountVersion = 2
	firstVersion   = 1 // is still read, of accounts and of replies
)

// append appends the state as a checkpoint stores it: everything but ledger rows, replies and
// reservations. The caller holds its mutex.
func (a *tenantState) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, accountVersion), a.seq)
	for _, figure := range []int64{
		int64(a.day), a.dayUsed, a.period.Start, a.period.End, a.creditsUsed,
		a.lastAdmission.store, a.lastAdmission.wall, a.previousDay.id, a.previousDay.used,
		a.previousPeriod.id, a.previousPeriod.used, a.resets.day, a.resets.credits, a.endedAt,
	} {
		dst = binary.AppendVarint(dst, figure)
	}
	dst = appendWindow(dst, &a.tenantWindow, a.lastAdmission.store)
	dst = appendWindow(dst, &a.usageWindow, a.lastAdmission.store)

	// In order, so that equal states are equal bytes.
	dst = binary.AppendUvarint(dst, uint64(len(a.keys)))
	for _, id := range slices.Sorted(maps.Keys(a.keys)) {
		key := a.keys[id]
		dst = binary.AppendVarint(state.AppendText(dst, id), key.lastUse)
		dst = appendWindow(dst, &key.window, a.lastAdmission.store)
	}
	return dst
}

// decode fills a new state from a checkpoint.
func (a *tenantState) decode(value []byte) error {
	in := state.Decoder{Data: value}
	version := in.Bytes(1)
	if len(version) == 1 && version[0] != firstVersion && version[0] != accountVersion {
		in.Fail()
	}
	a.dirty = len(version) == 1 && version[0] == firstVersion // the next checkpoint writes it in the new version
	a.seq = in.Uvarint()
	a.day = calendar.Day(in.Varint())
	a.dayUsed = in.Varint()
	a.period = calendar.Period{Start: in.Varint(), End: in.Varint()}
	a.creditsUsed = in.Varint()
	a.lastAdmission = timePair{store: in.Varint(), wall: in.Varint()}
	if len(version) == 1 && version[0] == accountVersion {
		a.previousDay = periodUsage{id: in.Varint(), used: in.Varint()}
		a.previousPeriod = periodUsage{id: in.Varint(), used: in.Varint()}
		a.resets = resets{day: in.Varint(), credits: in.Varint()}
		a.endedAt = in.Varint()
	}
	readWindow(&in, &a.tenantWindow)
	readWindow(&in, &a.usageWindow)

	for range in.Length() {
		id := in.Text()
		if in.Err != nil {
			break // a count that damage made large ends here
		}

		key := a.key(id)
		key.lastUse = in.Varint()
		readWindow(&in, &key.window)
	}
	return in.End()
}

// appendWindow appends the admissions that may still count: those within a minute of the tenant's
// latest one. Store time only runs forward from there.
func appendWindow(dst []byte, w *window, at int64) []byte {
	bursts := w.bursts(at)
	dst = binary.AppendUvarint(dst, uint64(len(bursts)))

	last := int64(0)
	for _, one := range bursts {
		dst = binary.AppendVarint(dst, one.at-last)
		dst = binary.AppendVarint(dst, one.n)
		last = one.at
	}
	return dst
}

func readWindow(in *state.Decoder, w *window) {
	last := int64(0)
	for range in.Length() {
		if in.Err != nil {
			return
		}
		last += in.Varint()
		w.restored = append(w.restored, burst{at: last, n: in.Varint()})
	}
}
