package accesslog

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// stallingWriter is a reader of lines that takes none before it is let go.
type stallingWriter struct {
	gone chan struct{}

	mu   sync.Mutex
	text strings.Builder
}

func (h *stallingWriter) Write(text []byte) (int, error) {
	<-h.gone
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(text)
}

func (h *stallingWriter) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestAsyncWriter writes more lines than the buffer holds for a reader that hangs. Writers never
// wait. Lines beyond the buffer are dropped, counted and reported once the reader is back, and the
// others arrive in order.
func TestAsyncWriter(t *testing.T) {
	t.Parallel()
	const more = 50
	out := &stallingWriter{gone: make(chan struct{})}
	p := NewAsyncWriter(out)
	lost := make(chan uint64, 1)
	p.OnResume = func(dropped uint64) { lost <- dropped }

	begun := time.Now()
	for i := range maxQueuedLines + more {
		if n, err := fmt.Fprintf(p, "line %d\n", i); n == 0 || err != nil {
			t.Fatalf("line %d: %d, %v", i, n, err)
		}
	}
	if took := time.Since(begun); took > maxQueuedLines/8*writeTimeout { // for the first line, not for each
		t.Errorf("lines that nobody reads took %v", took)
	}

	// The one that is being written has left the queue, most likely.
	dropped := p.dropped.Load()
	if dropped != more && dropped != more-1 {
		t.Errorf("%d lines are dropped, want %d", dropped, more-1)
	}
	close(out.gone)
	if dropReports := <-lost; dropReports != dropped {
		t.Errorf("%d lines are told to be lost, want %d", dropReports, dropped)
	}
	var want strings.Builder
	for i := range maxQueuedLines + more - dropped {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got := out.String(); got != want.String() {
		t.Errorf("the reader has %d bytes, want %d", len(got), want.Len())
	}

	// It is as before: who logs waits for the line.
	if p.stalled.Load() {
		t.Error("the reader is back and taken for one that hangs")
	}
	_, err := p.Write([]byte("after\n"))
	if err != nil || !p.stalled.Load() && !strings.HasSuffix(out.String(), "after\n") {
		t.Errorf("a line is not written when Write returns: %v", err)
	}
}
