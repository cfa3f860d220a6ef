package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planted are mistakes that somebody could make, each in one place. TestUniverse has to find every
// one of them.
var planted = []struct{ what, file, text, instead string }{
	{
		"a mended log begins behind what was written and never synced", "../internal/wal/recover.go",
		"l.open(l.synced.Load()+1, l.unsynced.all(l.cancelled))",
		"l.open(l.written.Load()+1, l.unsynced.all(l.cancelled))",
	},
	{
		"a mended log has the records that were given up", "../internal/wal/recover.go",
		"cancelled[seq] {", "cancelled[seq] && seq == 0 {",
	},
	{
		"a mended log lacks what the failed fsync was to cover", "../internal/wal/recover.go",
		"[][]byte{r.syncing, r.written, r.unwritten}", "[][]byte{r.written, r.unwritten}",
	},
	{
		"a reader goes on behind where the next segment begins", "../internal/wal/read.go",
		"at < len(data) && seq != next; seq++", "at < len(data); seq++",
	},
	{
		"a call that was answered 503 stays charged", "usage_log.go",
		"a.mu.Lock()\n\t\ta.undo(e)\n", "a.mu.Lock()\n",
	},
	{
		"a batch that was answered 503 keeps its reply", "idempotency.go",
		"a.replies.undoAdd(name, res.At)", "_ = name",
	},
	{
		"a checkpoint that fails loses the ledger's rows", "content.go",
		"row.Charged += counts.Charged", "row.Charged += 0 * counts.Charged",
	},
	{
		"a checkpoint that took place is written again", "state/file.go",
		"if written {\n\t\tf.confirm()", "if written {\n\t\tf.durableNumber = f.startedNumber\n\t\tf.restore()",
	},
	{
		"a checkpoint leaves the replies out", "content.go",
		"for name, r := range delta.replies {", "for name, r := range map[ReplyKey]storedReply{} {",
	},
	{
		"a day far ahead is believed", "usage.go",
		"return start <= wall+calendar.DayMillis", "return start <= wall+1000*calendar.DayMillis",
	},
	{
		"a restart forgets the minute windows of the log", "content.go",
		"w.restore(burst{at: e.at, n: 1})", "_ = w",
	},
	{
		"a window admits again after 50 s", "window.go",
		"if age := at - w.nthNewest(w.limit); age < calendar.MinuteMillis {",
		"if age := at - w.nthNewest(w.limit); age < 50_000 {",
	},
	{
		"a reply is forgotten after nine minutes", "replies.go",
		"ReplyMillis = int64(600_000)", "ReplyMillis = int64(540_000)",
	},
	{
		"a failed call is charged when it is read back", "log_entry.go",
		"dst = binary.AppendVarint(dst, e.charged)", "dst = binary.AppendVarint(dst, 1)",
	},
}

// TestPlanted plants each mistake and runs the simulation, which has to fail within a minute. That
// takes minutes: without NINEPOCKET_TORTURE it only sees to it that each can still be planted.
func TestPlanted(t *testing.T) {
	t.Parallel()
	for _, bug := range planted {
		t.Run(strings.ReplaceAll(bug.what, " ", "_"), func(t *testing.T) {
			source, err := os.ReadFile(bug.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte(bug.text)); n != 1 {
				t.Fatalf("%s has %q %d times", bug.file, bug.text, n)
			}
			if os.Getenv("NINEPOCKET_TORTURE") == "" {
				return
			}

			text := bytes.Replace(source, []byte(bug.text), []byte(bug.instead), 1)
			if out, found := plant(t, bug.file, text); !found {
				t.Errorf("nobody found it:\n%s", out)
			}
		})
	}
}

// plant runs the simulation with another text of a file.
func plant(t *testing.T, file string, text []byte) (out []byte, found bool) {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	err = errors.Join(os.WriteFile(changed, text, 0o600),
		os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	if err != nil {
		t.Fatal(err)
	}

	binary := filepath.Join(dir, "planted.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary,
		"-overlay", filepath.Join(dir, "overlay.json"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mistake does not compile: %s", out)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-test.run", "^TestUniverse$")
	run.Env = append(os.Environ(), "NINEPOCKET_TORTURE=1")
	out, err = run.CombinedOutput()
	return out, err != nil && ctx.Err() == nil && bytes.Contains(out, []byte("seed "))
}
