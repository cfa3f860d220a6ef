package access

import (
	"cmp"
	"encoding/binary"
	"maps"
	"ninepocket/calendar"
	"slices"
)

// append appends the account as the checkpoint keeps it: everything but ledger rows, replies and
// reservations. The caller holds it.
func (a *account) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, checkpointVersion), a.seq)
	for _, figure := range []int64{
		int64(a.day), a.dayUsed, a.period.Start, a.period.End, a.creditsUsed, a.last.store, a.last.wall,
	} {
		dst = binary.AppendVarint(dst, figure)
	}
	for _, figure := range []int64{
		a.dayBefore.of, a.dayBefore.used, a.periodBefore.of, a.periodBefore.used, a.resets.day, a.resets.credits,
		a.ended,
	} {
		dst = binary.AppendVarint(dst, figure)
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
	in := reader{data: value}
	version := in.bytes(1)
	if len(version) == 1 && version[0] != firstVersion && version[0] != checkpointVersion {
		in.fail()
	}
	a.seq = in.uvarint()
	a.day = calendar.Day(in.varint())
	a.dayUsed = in.varint()
	a.period = calendar.Period{Start: in.varint(), End: in.varint()}
	a.creditsUsed = in.varint()
	a.last = moment{store: in.varint(), wall: in.varint()}
	if len(version) == 1 && version[0] == checkpointVersion {
		a.dayBefore = spent{of: in.varint(), used: in.varint()}
		a.periodBefore = spent{of: in.varint(), used: in.varint()}
		a.resets = resets{day: in.varint(), credits: in.varint()}
		a.ended = in.varint()
	}
	readWindow(&in, &a.window)
	readWindow(&in, &a.usageWindow)

	for range in.length() {
		id := in.text()
		if in.err != nil {
			break // a length that damage made large ends here
		}

		key := a.key(id)
		key.lastUse = in.varint()
		readWindow(&in, &key.window)
	}
	return in.end()
}

// appendWindow appends the admissions that may still count: those within a minute of the account's
// latest one. Store time only runs forward from there.
func appendWindow(dst []byte, w *window, at int64) []byte {
	ticks := w.ticks(at)
	dst = binary.AppendUvarint(dst, uint64(len(ticks)))

	last := int64(0)
	for _, tick := range ticks {
		dst = binary.AppendVarint(dst, tick.at-last)
		dst = binary.AppendVarint(dst, tick.n)
		last = tick.at
	}
	return dst
}

func readWindow(in *reader, w *window) {
	last := int64(0)
	for range in.length() {
		if in.err != nil {
			return
		}
		last += in.varint()
		w.restored = append(w.restored, tick{at: last, n: in.varint()})
	}
}

// decodeReply reads an answered record of version 1 and the tenant it belongs to.
func decodeReply(key, value []byte) (tenant string, name replyName, out reply, err error) {
	inKey := reader{data: key}
	tenant = inKey.text()
	op := Operation(inKey.text())
	name = nameReply(op, inKey.text())

	inValue := reader{data: value}
	inValue.version(firstVersion)
	copy(out.body[:], inValue.bytes(len(out.body)))
	out.at = inValue.varint()
	out.data = slices.Clone(inValue.data)
	return tenant, name, out, cmp.Or(inKey.end(), inValue.err)
}
