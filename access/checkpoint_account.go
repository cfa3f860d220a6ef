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
	r.version(checkpointVersion)
	a.seq = r.uvarint()
	a.day = Day(r.varint())
	a.dayUsed = r.varint()
	a.period = Period{Start: r.varint(), End: r.varint()}
	a.creditsUsed = r.varint()
	a.last = moment{store: r.varint(), wall: r.varint()}
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

// append appends an answered record as the checkpoint keeps it.
func (r *reply) append(dst []byte) []byte {
	dst = append(dst, checkpointVersion)
	dst = append(dst, r.body[:]...)
	dst = binary.AppendVarint(dst, r.at)
	return append(dst, r.data...)
}

// decodeReply reads an answered record and the tenant it belongs to.
func decodeReply(key, value []byte) (tenant string, out *reply, err error) {
	k := reader{data: key}
	tenant = k.text()
	out = &reply{name: replyName{op: Operation(k.text()), key: k.text()}}

	v := reader{data: value}
	v.version(checkpointVersion)
	copy(out.body[:], v.bytes(len(out.body)))
	out.at = v.varint()
	out.data = slices.Clone(v.data)
	return tenant, out, cmp.Or(k.end(), v.err)
}
