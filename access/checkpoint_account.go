package access

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// append appends the account as the checkpoint keeps it: everything but ledger rows, replies and
// reservations. The caller holds it.
func (a *account) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, checkpointVersion), a.seq)
	for _, v := range []int64{
		int64(a.day), a.dayUsed, a.period.Start, a.period.End, a.creditsUsed, a.last.store, a.last.wall,
	} {
		dst = binary.AppendVarint(dst, v)
	}
	for _, v := range []int64{
		a.dayBefore.of, a.dayBefore.used, a.periodBefore.of, a.periodBefore.used, a.resets.day, a.resets.credits,
		a.ended,
	} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = appendWindow(dst, &a.window, a.last.store)
	dst = appendWindow(dst, &a.usageWindow, a.last.store)

	// In order, so that equal accounts are equal bytes.
	dst = binary.AppendUvarint(dst, uint64(len(a.keys)))
	for _, id := range slices.Sorted(maps.Keys(a.keys)) {
		key := a.keys[id]
		dst = binary.AppendVarint(appendText(dst, id), key.lastUse)
		dst = appendWindow(dst, &key.window, a.last.store)
	}
	return dst
}

// decode fills a new account from its checkpoint.
func (a *account) decode(value []byte) error {
	r := reader{data: value}
	version := r.bytes(1)
	if len(version) == 1 && version[0] != firstVersion && version[0] != checkpointVersion {
		r.fail()
	}
	a.seq = r.uvarint()
	a.day = Day(r.varint())
	a.dayUsed = r.varint()
	a.period = Period{Start: r.varint(), End: r.varint()}
	a.creditsUsed = r.varint()
	a.last = moment{store: r.varint(), wall: r.varint()}
	if len(version) == 1 && version[0] == checkpointVersion {
		a.dayBefore = spent{of: r.varint(), used: r.varint()}
		a.periodBefore = spent{of: r.varint(), used: r.varint()}
		a.resets = resets{day: r.varint(), credits: r.varint()}
		a.ended = r.varint()
	}
	readWindow(&r, &a.window)
	readWindow(&r, &a.usageWindow)

	for range r.length() {
		id := r.text()
		if r.err != nil {
			break // a length that damage made large ends here
		}

		key := a.key(id)
		key.lastUse = r.varint()
		readWindow(&r, &key.window)
	}
	return r.end()
}

// appendWindow appends the admissions that may still count: those within a minute of the account's
// latest one. Store time only runs forward from there.
func appendWindow(dst []byte, w *window, at int64) []byte {
	ticks := w.ticks(at)
	dst = binary.AppendUvarint(dst, uint64(len(ticks)))

	last := int64(0)
	for _, t := range ticks {
		dst = binary.AppendVarint(dst, t.at-last)
		dst = binary.AppendVarint(dst, t.n)
		last = t.at
	}
	return dst
}

func readWindow(r *reader, w *window) {
	last := int64(0)
	for range r.length() {
		if r.err != nil {
			return
		}
		last += r.varint()
		w.restored = append(w.restored, tick{at: last, n: r.varint()})
	}
}

// decodeReply reads an answered record of version 1 and the tenant it belongs to.
func decodeReply(key, value []byte) (tenant string, name replyName, out reply, err error) {
	k := reader{data: key}
	tenant = k.text()
	op := Operation(k.text())
	name = nameReply(op, k.text())

	v := reader{data: value}
	v.version(firstVersion)
	copy(out.body[:], v.bytes(len(out.body)))
	out.at = v.varint()
	out.data = slices.Clone(v.data)
	return tenant, name, out, cmp.Or(k.end(), v.err)
}
