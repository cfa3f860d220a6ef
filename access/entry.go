package access

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"ninepocket/calendar"
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
	day       calendar.Day
	period    calendar.Period // PeriodCredits only
	resets    resets          // that the admission saw

	reply *replyEntry // Commit only

	// Of a batch whose charge is decided elsewhere: see [Embedded.Prepare].
	claim    string // names it; "" = none
	record   string
	prepared bool // it is not decided yet, and nothing is charged
}

// replyEntry is the part of an entry that keeps an idempotent reply.
type replyEntry struct {
	name string // the idempotency key
	body BodyHash
	data []byte // compressed
}

// The versions of an entry. The second one has a claim, and no first server of before reads it.
const (
	entryVersion   = 1
	claimedVersion = 2
)

// The flags of an entry: what follows its fields.
const (
	withReply  = 1
	withResets = 2
	withClaim  = 4 // second version
	undecided  = 8 // second version
)

// append appends the entry as written to the log.
func (e *entry) append(dst []byte) []byte {
	version := byte(entryVersion)
	flags := byte(0)
	if e.reply != nil {
		flags = withReply
	}
	if e.resets != (resets{}) {
		flags |= withResets
	}
	if e.claim != "" {
		version = claimedVersion
		flags |= withClaim
	}
	if e.prepared {
		flags |= undecided
	}

	dst = append(dst, version, flags, byte(e.window), byte(e.allowance))
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
	if e.claim != "" {
		dst = appendText(dst, e.claim)
		dst = appendText(dst, e.record)
	}
	return dst
}

// decodeEntry reads an entry. What it returns shares nothing with data.
func decodeEntry(data []byte) (entry, error) {
	in := reader{data: data}
	head := in.bytes(4)
	if in.err != nil {
		return entry{}, in.err
	}
	most := byte(withReply | withResets)
	if head[0] == claimedVersion {
		most |= withClaim | undecided
	}
	known := head[0] == entryVersion || head[0] == claimedVersion && head[1]&withClaim != 0
	if !known || head[1] > most || head[2] > byte(UsageWindow) || head[3] > byte(PeriodCredits) {
		return entry{}, fmt.Errorf("%w: unknown log entry", ErrCorrupt)
	}

	// The fields are read in the order in which they stand here.
	e := entry{
		window: Window(head[2]), allowance: Allowance(head[3]),
		tenant: in.text(), key: in.text(), op: Operation(in.text()),
		charged: in.varint(), at: in.varint(), wall: in.varint(), day: calendar.Day(in.varint()),
	}
	if e.allowance == PeriodCredits {
		e.period = calendar.Period{Start: in.varint(), End: in.varint()}
	}
	if head[1]&withResets != 0 {
		e.resets = resets{day: in.varint(), credits: in.varint()}
	}
	if head[1]&withReply != 0 {
		e.reply = &replyEntry{name: in.text()}
		copy(e.reply.body[:], in.bytes(len(e.reply.body)))
		e.reply.data = append([]byte(nil), in.bytes(in.length())...)
	}
	if head[1]&withClaim != 0 {
		e.claim = in.text()
		e.record = in.text()
		e.prepared = head[1]&undecided != 0
	}
	return e, in.end()
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

func (in *reader) fail() {
	if in.err == nil {
		in.err = fmt.Errorf("%w: value cut short", ErrCorrupt)
	}
	in.data = nil
}

// version takes one byte that has to be the version of what follows.
func (in *reader) version(want byte) {
	if got := in.bytes(1); len(got) == 1 && got[0] != want {
		in.fail()
	}
}

// bytes returns the next n bytes, which alias the input.
func (in *reader) bytes(n int) []byte {
	if n < 0 || n > len(in.data) {
		in.fail()
		return nil
	}
	out := in.data[:n]
	in.data = in.data[n:]
	return out
}

func (in *reader) uvarint() uint64 {
	number, n := binary.Uvarint(in.data)
	in.bytes(cmp.Or(n, -1)) // none at all is a number cut short
	return number
}

func (in *reader) varint() int64 {
	number, n := binary.Varint(in.data)
	in.bytes(cmp.Or(n, -1))
	return number
}

// length reads a length, or a count. What damage made large stays small enough for an int.
func (in *reader) length() int { return int(min(in.uvarint(), wal.MaxPayload)) }

func (in *reader) text() string { return string(in.bytes(in.length())) }

// end returns the first problem, or one when something is left over.
func (in *reader) end() error {
	if in.err == nil && len(in.data) > 0 {
		return fmt.Errorf("%w: %d bytes left over", ErrCorrupt, len(in.data))
	}
	return in.err
}
