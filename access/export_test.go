package access

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

// CreateSegment is how segments are made without WithSegments.
var CreateSegment = createSegment

// SaveCheckpoint writes a checkpoint now.
func (s *Embedded) SaveCheckpoint() error { return s.saver.save(bboltPatience) }
