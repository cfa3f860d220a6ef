// Package accesslog writes log lines without blocking requests: an access log with a line a
// request, and a log whose reader may hang.
package accesslog

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/server"
)

const (
	// maxWaitingEntries is how many lines wait for a slow disk; more are dropped and counted.
	maxWaitingEntries = 8192
	// flushInterval is the longest time before a line is written.
	flushInterval = time.Second
)

// Log writes a line a request on its own goroutine: no request waits for it.
type Log struct {
	path        string
	sampleEvery uint64
	stdout      io.Writer
	log         *slog.Logger

	lines     chan []byte
	freeLines sync.Pool
	seen      atomic.Uint64
	dropped   atomic.Uint64
	reopen    chan struct{}

	// Used by Run alone.
	out           io.WriteCloser
	buffer        *bufio.Writer
	buffered      uint64 // lines in the buffer
	errorReported bool   // a write error was logged
}

// Open opens an access log at path, - for stdout, with a line for one request in every; 5xx errors
// always have one. A file that cannot be written is an error here, and is logged later on.
func Open(path string, every int, stdout io.Writer, log *slog.Logger) (*Log, error) {
	l := &Log{
		path: path, sampleEvery: uint64(max(1, every)), stdout: stdout, log: log,
		lines: make(chan []byte, maxWaitingEntries), reopen: make(chan struct{}, 1),
	}
	file, err := l.open()
	if err != nil {
		return nil, err
	}
	return l, file.Close()
}

// Dropped returns how many lines a slow or failing disk has cost.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (l *Log) open() (io.WriteCloser, error) {
	if l.path == "-" {
		return nopCloser{l.stdout}, nil
	}
	return os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640) //nolint:gosec // for a group that reads logs
}

// Add queues a line for an entry. It never waits.
func (l *Log) Add(e server.AccessLogEntry) {
	if n := l.seen.Add(1); l.sampleEvery > 1 && n%l.sampleEvery != 0 && e.Status < 500 {
		return
	}

	line, _ := l.freeLines.Get().([]byte) // nil if there is none
	line = appendLine(line[:0], &e)
	select {
	case l.lines <- line:
	// A request never waits for a disk.
	default:
		l.dropped.Add(1)
		l.freeLines.Put(line) //nolint:staticcheck // a slice's header is cheap compared with the line
	}
}

// appendLine encodes an entry as a line. The texts are names from the program or an operator, or a
// validated id, so nothing needs an escape.
func appendLine(dst []byte, e *server.AccessLogEntry) []byte {
	text := func(before, value string) { dst = append(append(dst, before...), value...) }
	number := func(before string, value int64) { dst = strconv.AppendInt(append(dst, before...), value, 10) }

	dst = append(dst, `{"time":"`...)
	dst = e.At.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(append(dst, `","request_id":"`...), e.ID...)
	text(`","tenant":"`, e.Tenant)
	text(`","key":"`, e.Key)
	text(`","surface":"`, e.Surface)
	text(`","operation":"`, e.Operation)
	number(`","status":`, int64(e.Status))
	text(`,"snapshot_id":"`, e.Snapshot)
	number(`","bytes":`, int64(e.Bytes))
	number(`,"duration_us":`, e.Took.Microseconds())
	return append(dst, "}\n"...)
}

// Reopen lets Run open the file again, after a rotation.
func (l *Log) Reopen() {
	select {
	case l.reopen <- struct{}{}:
	default: // it is requested already
	}
}

// Run writes lines until done is closed, and then the queued ones.
func (l *Log) Run(done <-chan struct{}) {
	l.reopenFile()
	flush := time.Tick(flushInterval)

	for {
		select {
		case line := <-l.lines:
			l.write(line)
		case <-flush:
			l.flush()
		case <-l.reopen:
			l.reopenFile()
		case <-done:
			// No more lines are added.
			for len(l.lines) > 0 {
				l.write(<-l.lines)
			}
			l.flush()
			_ = l.out.Close()
			return
		}
	}
}

// reopenFile closes the file and opens it again.
func (l *Log) reopenFile() {
	if l.out != nil {
		l.flush()
		_ = l.out.Close()
	}

	var err error
	l.out, err = l.open()
	if err != nil {
		l.log.Error("the access log cannot be opened: its lines are dropped until a SIGHUP", slog.Any("cause", err))
		l.out = nopCloser{io.Discard}
	}
	l.buffer = bufio.NewWriterSize(l.out, 1<<16)
	l.errorReported = false
}

func (l *Log) write(line []byte) {
	if l.buffer.Available() < len(line) {
		l.flush()
	}
	l.buffered++
	_, _ = l.buffer.Write(line) // flush returns the error
	l.freeLines.Put(line)       //nolint:staticcheck // as above
}

// flush writes the buffer. Lines that a full disk refuses are dropped, and the next line is a new
// try.
func (l *Log) flush() {
	err := l.buffer.Flush()
	if err != nil {
		l.dropped.Add(l.buffered)
		l.buffer.Reset(l.out)
	}
	l.buffered = 0

	if err != nil && !l.errorReported {
		l.errorReported = true
		l.log.Error("the access log cannot be written: its lines are dropped", slog.Any("cause", err))
	}
}
