package access

import (
	"encoding/binary"
	"fmt"

	"ninepocket/access/state"
	"ninepocket/calendar"
)

// entry is one finished call as a log record.
type entry struct {
	tenant  string
	key     string
	op      Operation
	window  Window // that it took a token of
	quota   QuotaKind
	charged int64
	at      int64 // store time of the admission
	wall    int64 // wall time of the admission
	day     calendar.Day
	period  calendar.Period // PeriodCredits only
	resets  resets          // known at the admission

	reply *replyRecord // Commit only

	// Of a batch whose charge is decided elsewhere: see [LocalStore.Prepare].
	claim      string // its id; "" = none
	recordKey  string
	isPrepared bool // not decided yet, and nothing is charged
}

// replyRecord is the idempotent reply in an entry.
type replyRecord struct {
	name string // the idempotency key
	body BodyHash
	data []byte
}

// The versions of an entry. The second one has a claim, and servers of the first version cannot read
// it.
const (
	entryVersion   = 1
	claimedVersion = 2
)

// The flags of an entry: optional parts that follow its fields.
const (
	withReply  = 1
	withResets = 2
	withClaim  = 4 // second version
	undecided  = 8 // second version
)

// append appends the entry as it is written to the log.
func (e *entry) append(dst []byte) []byte {
	head := len(dst)
	dst = append(dst, entryVersion, 0, byte(e.window), byte(e.quota)) // with the flags of the parts that follow
	dst = state.AppendText(dst, e.tenant)
	dst = state.AppendText(dst, e.key)
	dst = state.AppendText(dst, string(e.op))
	dst = binary.AppendVarint(dst, e.charged)
	dst = binary.AppendVarint(dst, e.at)
	dst = binary.AppendVarint(dst, e.wall)
	dst = binary.AppendVarint(dst, int64(e.day))

	// Only credits have a period: most entries are live calls, and stay short.
	if e.quota == PeriodCredits {
		dst = binary.AppendVarint(dst, e.period.Start)
		dst = binary.AppendVarint(dst, e.period.End)
	}
	if e.resets != (resets{}) {
		dst[head+1] |= withResets
		dst = binary.AppendVarint(dst, e.resets.day)
		dst = binary.AppendVarint(dst, e.resets.credits)
	}
	if e.reply != nil {
		dst[head+1] |= withReply
		dst = state.AppendText(dst, e.reply.name)
		dst = append(dst, e.reply.body[:]...)
		dst = binary.AppendUvarint(dst, uint64(len(e.reply.data)))
		dst = append(dst, e.reply.data...)
	}
	if e.claim != "" {
		dst[head] = claimedVersion
		dst[head+1] |= withClaim
		dst = state.AppendText(dst, e.claim)
		dst = state.AppendText(dst, e.recordKey)
	}
	if e.isPrepared {
		dst[head+1] |= undecided
	}
	return dst
}

// decodeEntry decodes an entry, which shares no memory with data.
func decodeEntry(data []byte) (entry, error) {
	in := state.Decoder{Data: data}
	head := in.Bytes(4)
	if in.Err != nil {
		return entry{}, in.Err
	}
	flags := byte(withReply | withResets)
	if head[0] == claimedVersion {
		flags |= withClaim | undecided
	}
	known := head[0] == entryVersion || head[0] == claimedVersion && head[1]&withClaim != 0
	if !known || head[1] > flags || head[2] > byte(UsageWindow) || head[3] > byte(PeriodCredits) {
		return entry{}, fmt.Errorf("%w: unknown log entry", ErrCorrupt)
	}

	// Go calls these in the order in which they are written.
	e := entry{
		window: Window(head[2]), quota: QuotaKind(head[3]),
		tenant: in.Text(), key: in.Text(), op: Operation(in.Text()),
		charged: in.Varint(), at: in.Varint(), wall: in.Varint(), day: calendar.Day(in.Varint()),
	}
	if e.quota == PeriodCredits {
		e.period = calendar.Period{Start: in.Varint(), End: in.Varint()}
	}
	if head[1]&withResets != 0 {
		e.resets = resets{day: in.Varint(), credits: in.Varint()}
	}
	if head[1]&withReply != 0 {
		e.reply = &replyRecord{name: in.Text()}
		copy(e.reply.body[:], in.Bytes(len(e.reply.body)))
		e.reply.data = append([]byte(nil), in.Bytes(in.Length())...)
	}
	if head[1]&withClaim != 0 {
		e.claim = in.Text()
		e.recordKey = in.Text()
		e.isPrepared = head[1]&undecided != 0
	}
	return e, in.End()
}
