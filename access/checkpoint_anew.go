package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Checkpoint writes a checkpoint at once. Where the file of the last one is gone, damaged or another,
// that fails with ErrCorrupt, unless anew says that a new file shall begin: with everything that is in
// memory, which is what every account has used and may use. The ledger's rows of before are lost, with
// the replies that were in the file alone: their repetitions are refused, and not charged. A file that
// is there is moved aside, and its name returned (decision 1768).
func (j *journal) Checkpoint(anew bool, now time.Time) (aside string, err error) {
	if j.saver == nil {
		return "", errors.ErrUnsupported
	}
	return j.saver.saveNow(anew, now)
}

// saveNow is Checkpoint. It is one step for others that write checkpoints: what one of them has just
// begun anew must not be taken for lost.
func (cp *checkpointer) saveNow(anew bool, now time.Time) (aside string, err error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	err = cp.saveLocked(bboltPatience)
	if errors.Is(err, errTorn) {
		err = cp.saveLocked(bboltPatience) // a page that could not be read once is no damage
	}

	// bbolt has errors of its own for a file that is none of its. What is not there may be the log.
	_, gone := os.Stat(cp.path)
	if err != nil && (errors.Is(gone, fs.ErrNotExist) || errors.Is(checkPages(cp.path), ErrCorrupt)) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if !anew || !errors.Is(err, ErrCorrupt) {
		return "", err
	}

	aside, err = cp.beginAnew(now)
	if err != nil {
		return "", err
	}
	return aside, cp.saveLocked(bboltPatience)
}

// beginAnew makes the next checkpoint begin a file and hold all that is in memory. The caller holds
// the lock.
func (cp *checkpointer) beginAnew(now time.Time) (aside string, err error) {
	if err := cp.journal.place(); err != nil {
		return "", err
	}

	aside = cp.path + now.UTC().Format(".damaged-20060102T150405.000Z")
	err = os.Rename(cp.path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		aside = ""
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot move checkpoint %q aside: %w", cp.path, err)
	}

	cp.have = 0
	cp.torn = false
	cp.unsure = false
	cp.journal.restore(cp.doubtful)
	cp.doubtful = nil
	for _, a := range cp.journal.all("") {
		a.mu.Lock()
		a.dirty = true
		a.replies.rewrite()
		a.mu.Unlock()
	}
	return aside, nil
}
