package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/internal/wal"
)

// TestKilledServer kills a server at random moments under clients of both contracts, again and
// again: all answered calls are charged, and otherwise at most those in flight.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	const clients = 6
	rounds := 3
	if long() {
		rounds = 100
	}

	v := newFaultServer(t)
	v.fault = "kill -9"
	slowest := time.Duration(0)
	for range rounds {
		begun := time.Now()
		v.start(nil)
		slowest = max(slowest, time.Since(begun))
		before := v.charged(t)["acme"]

		var answered atomic.Int64
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				one := &visitor{address: v.address(), key: v.key}
				defer one.leave()
				for one.ask() == nil { // until the server dies
					answered.Add(1)
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		v.dies()
		all.Wait()

		after := v.charged(t)["acme"]
		if acked := answered.Load(); after-before < acked || after-before > acked+clients {
			t.Fatalf("%d calls are charged, %d were answered, and %d more may have been", after-before, acked, clients)
		}
		v.answered = after
	}
	v.start(nil)
	took := v.comesBack()
	v.agrees("of the last server", 0)
	t.Logf("%d times killed: %d calls; the longest start took %v, the last answer %v", rounds, v.answered,
		slowest.Round(time.Millisecond), took.Round(time.Millisecond))
}

// keysOnly is the damage that no repair fixes.
const keysOnly = "keys.json"

const checkpointOnly = "meter.db"

// TestDamagedUnderAServer flips a bit in each kind of file under a running server, which goes on. The
// next start is refused with exit code 3 and a hint that helps, or nothing was lost. After a repair it
// serves.
func TestDamagedUnderAServer(t *testing.T) {
	t.Parallel()
	kinds := []string{keysOnly, "cursor.key", checkpointOnly, filepath.Join("wal", "*.wal")}
	rounds := 1
	if long() {
		rounds = 40
	}

	for _, pattern := range kinds {
		t.Run(filepath.Base(pattern), func(t *testing.T) {
			t.Parallel()
			refused := 0
			for range rounds {
				v := newFaultServer(t)
				v.fault = "a flipped bit in " + pattern
				v.start(nil)
				v.rounds(50 * time.Millisecond)
				if pattern == checkpointOnly { // which has accounts from the second start on
					v.dies()
					v.start(nil)
				}
				if v.isDamaged(pattern) {
					refused++
				}
				v.dies()
			}
			t.Logf("%d of %d flips were refused at the next start", refused, rounds)
		})
	}
}

// isDamaged flips a bit of a file of a running server, ends it, and starts another one, after a repair
// where that is needed.
func (v *faultServer) isDamaged(pattern string) (refused bool) {
	v.t.Helper()
	v.rests(false)
	v.flip(pattern)
	v.rounds(100 * time.Millisecond)
	if v.refused > 0 { // a stored reply may be what was damaged
		v.t.Fatalf("%s: %d calls were refused\n%s", v.fault, v.refused, v.log)
	}
	time.Sleep(300 * time.Millisecond)
	v.rests(true)
	v.dies()

	status, _ := v.runs("state", "verify", "--state", "state")
	if status == exitOK {
		v.start(nil)
		v.comesBack()
		v.agrees("after a flip without effect", 0)
		return false
	}

	code, text := v.runs("serve", "--store", "store", "--state", "state", "--listen", "127.0.0.1:0", "--admin",
		"127.0.0.1:0")
	help := "state repair"
	if pattern == keysOnly {
		help = "from a copy"
	}
	if status != exitRefused || code != exitRefused || !strings.Contains(text, "hint: ") ||
		!strings.Contains(text, help) {
		v.t.Fatalf("%s: verify ends with %d, a start with %d and\n%s", v.fault, status, code, text)
	}

	if pattern == keysOnly {
		v.takeKeys()
	} else if code, text := v.runs("state", "repair", "--state", "state"); code != exitOK {
		v.t.Fatalf("%s: a repair ends with %d and\n%s", v.fault, code, text)
	}
	v.start(nil)
	v.comesBack()
	return true
}

// rests waits until the last record of the log is a mark: all before it is known to be on disk. A log that
// may be damaged by now need not come so far.
func (v *faultServer) rests(damaged bool) {
	v.t.Helper()
	dir := filepath.Join(v.dir, "state", "wal")
	v.eventually(v.t, "rest", func() bool {
		segments, err := wal.Segments(dir)
		if err != nil || len(segments) == 0 {
			return false
		}

		marked := true
		_, err = wal.Read(dir, segments[len(segments)-1]-1, func(_ uint64, payload []byte) error {
			marked = len(payload) == 0
			return nil
		})
		return err == nil && marked || damaged && errors.Is(err, wal.ErrCorrupt)
	})
}

// flip changes one bit of a file in place.
func (v *faultServer) flip(pattern string) {
	v.t.Helper()
	paths, err := filepath.Glob(filepath.Join(v.dir, "state", pattern))
	if err != nil || len(paths) == 0 {
		v.t.Fatalf("no file %s: %v", pattern, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		v.t.Fatal(err)
	}

	// Not in what was never written, and of a checkpoint, which is mostly unused, at an account.
	at := rand.IntN(len(bytes.TrimRight(data, "\x00")))
	if pattern == checkpointOnly {
		all := regexp.MustCompile("acme|partner").FindAllIndex(data, -1)
		at = all[rand.IntN(len(all))][0] + rand.IntN(16)
	}
	file, err := os.OpenFile(paths[0], os.O_RDWR, 0)
	if err == nil {
		_, err = file.WriteAt([]byte{data[at] ^ 1<<rand.IntN(8)}, int64(at))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Logf("byte %d of %s", at, paths[0])
}

// takeKeys puts the keys of the copy that this program began with in their place.
func (v *faultServer) takeKeys() {
	v.t.Helper()
	data, err := os.ReadFile(filepath.Join(prepared.folder, "state", keysOnly))
	if err == nil {
		err = os.WriteFile(filepath.Join(v.dir, "state", keysOnly), data, 0o600)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// runs runs ninepocket to its end.
func (v *faultServer) runs(args ...string) (code int, text string) {
	v.t.Helper()
	cmd := plainProcess(v.t, args...)
	cmd.Dir = v.dir
	out, err := cmd.CombinedOutput()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed:
		return exit.ExitCode(), string(out)
	case err != nil:
		v.t.Fatal(err)
	}
	return exitOK, string(out)
}
