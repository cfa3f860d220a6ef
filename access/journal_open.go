package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ninepocket/internal/wal"
)

// openJournal opens the journal of a state directory and goes on where it ended; see
// [OpenEmbedded].
func openJournal(stateDir string, options *EmbeddedOptions) (*journal, error) {
	if err := os.MkdirAll(filepath.Join(stateDir, walDirName), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make state directory %q: %w", stateDir, err)
	}
	lock, err := lockFile(filepath.Join(stateDir, serverLockName), 0)
	if err != nil {
		return nil, fmt.Errorf("cannot lock state directory %q for one server: %w", stateDir, err)
	}

	j := newJournal(0)
	j.lock = lock
	j.stop = make(chan struct{})
	if err := j.recover(stateDir, options); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open metering in %q: %w", stateDir, err), lock.unlock())
	}

	j.wg.Go(func() { j.saver.run(j.stop, options) })
	return j, nil
}

// recover reads what is stored, then starts a new log segment and a checkpoint, so that the old
// segments are not needed again.
func (j *journal) recover(stateDir string, options *EmbeddedOptions) error {
	j.saver = &checkpointer{
		journal: j, path: filepath.Join(stateDir, checkpointName),
		fault: options.checkpoint, unsynced: options.unsynced,
	}
	stored, err := j.saver.load()
	if err != nil {
		return err
	}

	// The log goes on where the checkpoint ends. What a crash tore off was never acknowledged.
	walDir := filepath.Join(stateDir, walDirName)
	if err := stored.checkLog(walDir); err != nil {
		return err
	}
	end, err := wal.Read(walDir, stored.last, j.reapply)
	if err != nil {
		return err
	}
	if err := end.Trim(); err != nil {
		return err
	}
	j.setOffset(stored, options.Now)

	j.log, err = wal.Start(walDir, end.Last+1, wal.Options{Create: options.create, OnSync: j.meter.synced})
	if err != nil {
		return err
	}

	// A checkpoint at once shows that one can be written, before anything is charged.
	if err := j.saver.save(bboltPatience); err != nil {
		j.log.Abandon()
		return err
	}
	return nil
}

// checkLog refuses a state directory whose log or checkpoint is gone.
func (s *storedState) checkLog(walDir string) error {
	firsts, err := wal.Segments(walDir)
	if err != nil {
		return err
	}
	if s.exists && len(firsts) == 0 {
		return fmt.Errorf("cannot read log %q: %w: it has no segment", walDir, ErrCorrupt)
	}
	if !s.exists && len(firsts) > 0 && slices.Min(firsts) > 1 {
		return fmt.Errorf("cannot read checkpoint beside log %q: %w: it is gone", walDir, ErrCorrupt)
	}
	return nil
}

// setOffset makes the store time go on where it ended, by as much as the wall clock went on since,
// but never backwards.
func (j *journal) setOffset(stored storedState, now Instant) {
	last := stored.at
	for _, a := range j.all("") {
		last = last.later(a.last)
	}
	if last.store == 0 { // nothing is stored
		last = moment{store: max(now.Wall, memoryEpoch), wall: now.Wall}
	}
	j.offset = last.store + max(0, now.Wall-last.wall) - now.Mono
}

// reapply applies a call read back from the log, unless the account's checkpoint holds it already.
func (j *journal) reapply(seq uint64, payload []byte) error {
	e, err := decodeEntry(payload)
	if err != nil {
		return err
	}
	a := j.account(e.tenant)
	if seq <= a.seq {
		return nil
	}

	a.seq = seq
	a.apply(&e)
	if w := a.windowOf(a.key(e.key), e.window); w != nil {
		w.restore(tick{at: e.at, n: 1})
	}
	if e.reply != nil {
		name := replyName{op: e.op, key: e.reply.name}
		a.replies.restore(&reply{name: name, body: e.reply.body, data: e.reply.data, at: e.at})
	}
	return nil
}

// restore puts a stored reply in place of an older one of its name.
func (rs *replies) restore(r *reply) {
	if old := rs.byName[r.name]; old != nil {
		rs.drop(old)
	}
	rs.add(r)
	rs.order = append(rs.order, r)
	rs.touch(r.name)
}
