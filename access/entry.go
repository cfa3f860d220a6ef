package access

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"ninepocket/internal/wal"
)

// entry is one finished call, as the log holds it.
type entry struct {
	tenant    string
	key       string
	op        Operation
	window    Window // that it took a token of
	allowance Allowance
	charged   int64
	at        int64 // store time of the admission
	wall      int64 // wall time of the admission
	day       Day
	period    Period // PeriodCredits only
	resets    resets // that the admission saw

	reply *replyEntry // Commit only
}

// replyEntry is the part of an entry that keeps an idempotent reply.
type replyEntry struct {
	name string // the idempotency key
	body BodyHash
	data []byte // compressed
}

const entryVersion = 1

// The flags of an entry: what follows its fields.
const (
	withReply  = 1
	withResets = 2
)

// append appends the entry as written to the log.
func (e *entry) append(dst []byte) []byte {
	flags := byte(0)
	if e.reply != nil {
		flags = withReply
	}
	if e.resets != (resets{}) {
		flags |= withResets
	}

	dst = append(dst, entryVersion, flags, byte(e.window), byte(e.allowance))
	dst = appendText(dst, e.tenant)
	dst = appendText(dst, e.key)
	dst = appendText(dst, string(e.op))
	dst = binary.AppendVarint(dst, e.charged)
	dst = binary.AppendVarint(dst, e.at)
	dst = binary.AppendVarint(dst, e.wall)
	dst = binary.AppendVarint(dst, int64(e.day))

	// Only credits have a period: most entries are live calls, and stay short.
	if e.allowance == PeriodCredits {
		dst = binary.AppendVarint(dst, e.period.Start)
		dst = binary.AppendVarint(dst, e.period.End)
	}
	if e.resets != (resets{}) {
		dst = binary.AppendVarint(dst, e.resets.day)
		dst = binary.AppendVarint(dst, e.resets.credits)
	}
	if e.reply != nil {
		dst = appendText(dst, e.reply.name)
		dst = append(dst, e.reply.body[:]...)
		dst = binary.AppendUvarint(dst, uint64(len(e.reply.data)))
		dst = append(dst, e.reply.data...)
	}
	return dst
}

// decodeEntry reads an entry. What it returns shares nothing with data.
func decodeEntry(data []byte) (entry, error) {
	r := reader{data: data}
	head := r.bytes(4)
	if r.err != nil {
		return entry{}, r.err
	}
	if head[0] != entryVersion || head[1] > withReply|withResets || head[2] > byte(UsageWindow) ||
		head[3] > byte(PeriodCredits) {
		return entry{}, fmt.Errorf("%w: unknown log entry", ErrCorrupt)
	}

	// The fields are read in the order in which they stand here.
	e := entry{
		window: Window(head[2]), allowance: Allowance(head[3]),
		tenant: r.text(), key: r.text(), op: Operation(r.text()),
		charged: r.varint(), at: r.varint(), wall: r.varint(), day: Day(r.varint()),
	}
	if e.allowance == PeriodCredits {
		e.period = Period{Start: r.varint(), End: r.varint()}
	}
	if head[1]&withResets != 0 {
		e.resets = resets{day: r.varint(), credits: r.varint()}
	}
	if head[1]&withReply != 0 {
		e.reply = &replyEntry{name: r.text()}
		copy(e.reply.body[:], r.bytes(len(e.reply.body)))
		e.reply.data = append([]byte(nil), r.bytes(r.length())...)
	}
	return e, r.end()
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// reader decodes what the append functions wrote. The first problem sticks; every length is checked
// against what is left before anything is allocated.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: value cut short", ErrCorrupt)
	}
	r.data = nil
}

// version takes one byte that has to be the version of what follows.
func (r *reader) version(want byte) {
	if got := r.bytes(1); len(got) == 1 && got[0] != want {
		r.fail()
	}
}

// bytes returns the next n bytes, which alias the input.
func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.fail()
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	r.bytes(cmp.Or(n, -1)) // none at all is a number cut short
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	r.bytes(cmp.Or(n, -1))
	return v
}

// length reads a length, or a count. What damage made large stays small enough for an int.
func (r *reader) length() int { return int(min(r.uvarint(), wal.MaxPayload)) }

func (r *reader) text() string { return string(r.bytes(r.length())) }

// end returns the first problem, or one when something is left over.
func (r *reader) end() error {
	if r.err == nil && len(r.data) > 0 {
		return fmt.Errorf("%w: %d bytes left over", ErrCorrupt, len(r.data))
	}
	return r.err
}
