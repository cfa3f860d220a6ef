package access

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"ninepocket/internal/wal"
)

// append appends the account as the checkpoint keeps it: everything but ledger
// rows, replies and reservations. The caller holds it.
func (a *account) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, checkpointVersion), a.seq)
	for _, v := range []int64{int64(a.day), a.dayUsed, a.period.Start, a.period.End, a.creditsUsed, a.lastAt, a.lastWall} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = appendWindow(dst, &a.window, a.lastAt)
	dst = appendWindow(dst, &a.usageWindow, a.lastAt)
	dst = binary.AppendUvarint(dst, uint64(len(a.keys)))
	for _, id := range slices.Sorted(maps.Keys(a.keys)) {
		key := a.keys[id]
		dst = binary.AppendVarint(appendText(dst, id), key.lastUse)
		dst = appendWindow(dst, &key.window, a.lastAt)
	}
	return dst
}

// decode fills a new account from its checkpoint.
func (a *account) decode(value []byte) error {
	r := reader{data: value}
	if version := r.bytes(1); len(version) == 0 || version[0] != checkpointVersion {
		r.fail()
	}
	a.seq = r.uvarint()
	a.day, a.dayUsed = Day(r.varint()), r.varint()
	a.period = Period{Start: r.varint(), End: r.varint()}
	a.creditsUsed = r.varint()
	a.lastAt, a.lastWall = r.varint(), r.varint()
	readWindow(&r, &a.window)
	readWindow(&r, &a.usageWindow)
	for range min(r.uvarint(), wal.MaxPayload) {
		id := r.text()
		if r.err != nil {
			break
		}
		key := a.key(id)
		key.lastUse = r.varint()
		readWindow(&r, &key.window)
	}
	return r.end()
}

// appendWindow appends the admissions that may still count: those within a
// minute of the account's latest one. Store time only runs forward from there.
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
	for range min(r.uvarint(), wal.MaxPayload) {
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
	k, v := reader{data: key}, reader{data: value}
	tenant = k.text()
	out = &reply{name: replyName{op: Operation(k.text()), key: k.text()}}
	if version := v.bytes(1); len(version) == 0 || version[0] != checkpointVersion {
		v.fail()
	}
	copy(out.body[:], v.bytes(len(out.body)))
	out.at = v.varint()
	out.data = slices.Clone(v.data)
	return tenant, out, cmp.Or(k.end(), v.err)
}
