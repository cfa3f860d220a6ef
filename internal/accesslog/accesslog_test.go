package accesslog

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/server"
)

// openLog opens an access log of a test.
func openLog(t *testing.T, path string, sample int) *Log {
	t.Helper()
	l, err := Open(path, sample, io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAccessLog writes lines, turns the file over in between, and wants each line once and whole.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 6, 20, 20, 5, 33, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "access.log")
	l := openLog(t, path, 1)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { defer close(ended); l.Run(done) }()
	add := func(id string) {
		l.Add(server.AccessLogEntry{
			At: at, Took: 1500 * time.Microsecond, ID: []byte(id), Tenant: "acme", Key: "key_a",
			Surface: "live", Operation: "cards_get", Status: 200, Bytes: 12, Snapshot: "s",
		})
	}

	add("req_one")
	waitFor(t, func() bool { return strings.Contains(content(path), "req_one") })
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.Reopen()
	waitFor(t, func() bool { _, err := os.Stat(path); return err == nil })
	add("req_two")
	close(done)
	<-ended

	if strings.Contains(content(path+".1"), "req_two") || strings.Contains(content(path), "req_one") {
		t.Errorf("the file was not turned over: %s / %s", content(path+".1"), content(path))
	}
	var line Line
	want := Line{at, "req_two", "acme", "key_a", "live", "cards_get", 200, "s", 12, 1500}
	if err := json.Unmarshal([]byte(content(path)), &line); err != nil || line != want.at(line.Time) {
		t.Errorf("%+v, %v", line, err)
	}
}

// at is the line with a time, which JSON has to the millisecond.
func (l Line) at(when time.Time) Line {
	if l.Time.Truncate(time.Millisecond).Equal(when) {
		l.Time = when
	}
	return l
}

// TestAccessLogNeverWaits fills the queue of a log that nobody writes: what is too much is dropped and
// counted.
func TestAccessLogNeverWaits(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "access.log"), 1)
	for range maxWaitingEntries + 10 {
		l.Add(server.AccessLogEntry{ID: []byte("req_x"), Status: 200})
	}
	if n := l.Dropped(); n != 10 {
		t.Errorf("%d lines are dropped, want 10", n)
	}
}

// TestAccessLogOnAFullDisk counts every line that the disk does not take.
func TestAccessLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("skipped: an access log on a full disk, because there is no /dev/full")
	}
	l := openLog(t, "/dev/full", 1)
	for range 2000 {
		l.Add(server.AccessLogEntry{ID: []byte("req_x"), Status: 200})
	}
	done := make(chan struct{})
	close(done)
	l.Run(done)
	if n := l.Dropped(); n != 2000 {
		t.Errorf("%d lines are counted as dropped, want 2000", n)
	}
}

// TestAccessLogSample writes one line in three, and every error of the server.
func TestAccessLogSample(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "access.log"), 3)
	for range 300 {
		l.Add(server.AccessLogEntry{Status: 200})
	}
	for range 30 {
		l.Add(server.AccessLogEntry{Status: 503})
	}
	if n := len(l.lines); n != 130 {
		t.Errorf("%d lines, want 130", n)
	}
	if _, err := Open(t.TempDir(), 1, io.Discard, nil); err == nil {
		t.Error("a folder is no log")
	}
}

func content(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// waitFor waits until something is so.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for range 3000 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come to be so within half a minute")
}
