package access

import (
	"errors"
	"path/filepath"
	"testing"
)

// Kill ends a store as the death of its process would: what is queued and not
// written is lost, nothing is saved.
func (s *Embedded) Kill() {
	s.once.Do(func() {
		close(s.stop)
		s.wg.Wait()
		s.closed.Store(true)
		s.log.abandon()
		s.lock.unlock()
	})
}

// SegmentFile is a log segment open for appending.
type SegmentFile = segmentFile

// WithSegments makes a store write its log through create.
func (o EmbeddedOptions) WithSegments(create func(path string) (SegmentFile, error)) EmbeddedOptions {
	o.create = create
	return o
}

// WithCheckpointFault makes a store call fault before each checkpoint commits.
func (o EmbeddedOptions) WithCheckpointFault(fault func() error) EmbeddedOptions {
	o.checkpoint = fault
	return o
}

// WriteSegment and MapSegment are the two ways to make segments.
var (
	WriteSegment = writeSegment
	MapSegment   = mapSegment
)

// SegmentKinds are those that can be made here, by name.
func SegmentKinds(t testing.TB) map[string]func(path string) (SegmentFile, error) {
	t.Helper()
	kinds := map[string]func(path string) (SegmentFile, error){"written": writeSegment}
	file, err := mapSegment(filepath.Join(t.TempDir(), "probe"))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		t.Logf("skipped: mapped segments, because they cannot be made here: %v", err)
	case err != nil:
		t.Fatal(err)
	default:
		kinds["mapped"] = mapSegment
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return kinds
}

// SaveCheckpoint writes a checkpoint now.
func (s *Embedded) SaveCheckpoint() error { return s.saver.save(bboltPatience) }
