package access

import (
	"testing"

	"ninepocket/internal/mutationtest"
)

// planted are mistakes that somebody could make, each in one place. TestUniverse has to find every
// one of them.
var planted = []mutationtest.Mistake{
	{
		What: "a mended log begins behind what was written and never synced", File: "../internal/wal/recover.go",
		Text:    "l.open(l.synced.Load()+1, l.unsynced.all(l.cancelled))",
		Instead: "l.open(l.written.Load()+1, l.unsynced.all(l.cancelled))",
	},
	{
		What: "a mended log has the records that were given up", File: "../internal/wal/recover.go",
		Text:    "cancelled[seq] {",
		Instead: "cancelled[seq] && seq == 0 {",
	},
	{
		What: "a mended log lacks what the failed fsync was to cover", File: "../internal/wal/recover.go",
		Text:    "[][]byte{r.syncing, r.written, r.unwritten}",
		Instead: "[][]byte{r.written, r.unwritten}",
	},
	{
		What: "a reader goes on behind where the next segment begins", File: "../internal/wal/read.go",
		Text:    "at < len(data) && seq != next; seq++",
		Instead: "at < len(data); seq++",
	},
	{
		What: "a call that was answered 503 stays charged", File: "usage_log.go",
		Text:    "a.mu.Lock()\n\t\ta.undo(e)\n",
		Instead: "a.mu.Lock()\n",
	},
	{
		What: "a batch that was answered 503 keeps its reply", File: "idempotency.go",
		Text:    "a.replies.undoAdd(name, res.At)",
		Instead: "_ = name",
	},
	{
		What: "a checkpoint that fails loses the ledger's rows", File: "usage.go",
		Text:    "row.Charged += counts.Charged",
		Instead: "row.Charged += 0 * counts.Charged",
	},
	{
		What: "a checkpoint that took place is written again", File: "state/file.go",
		Text:    "if written {\n\t\tf.confirm()",
		Instead: "if written {\n\t\tf.durableNumber = f.startedNumber\n\t\tf.restore()",
	},
	{
		What: "a checkpoint leaves the replies out", File: "content.go",
		Text:    "for _, name := range slices.SortedFunc(maps.Keys(delta.replies), inOrder) {",
		Instead: "for _, name := range slices.SortedFunc(maps.Keys(map[ReplyKey]storedReply{}), inOrder) {",
	},
	{
		What: "a day far ahead is believed", File: "usage.go",
		Text:    "return start <= wall+calendar.DayMillis",
		Instead: "return start <= wall+1000*calendar.DayMillis",
	},
	{
		What: "a restart forgets the minute windows of the log", File: "content.go",
		Text:    "w.restore(burst{at: e.at, n: 1})",
		Instead: "_ = w",
	},
	{
		What: "a window admits again after 50 s", File: "window.go",
		Text:    "if age := at - w.nthNewest(w.limit); age < calendar.MinuteMillis {",
		Instead: "if age := at - w.nthNewest(w.limit); age < 50_000 {",
	},
	{
		What: "a reply is forgotten after nine minutes", File: "replies.go",
		Text:    "ReplyMillis = int64(600_000)",
		Instead: "ReplyMillis = int64(540_000)",
	},
	{
		What: "a failed call is charged when it is read back", File: "log_entry.go",
		Text:    "dst = binary.AppendVarint(dst, e.charged)",
		Instead: "dst = binary.AppendVarint(dst, 1)",
	},
}

// TestPlanted plants each mistake. make torture runs the simulation for each.
func TestPlanted(t *testing.T) {
	t.Parallel()
	mutationtest.Run(t, planted, "TestUniverse", "seed ", "NINEPOCKET_TORTURE=1")
}
