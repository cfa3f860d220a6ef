package access

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

const (
	// checkpointBytes is the length of log that brings a checkpoint forward.
	checkpointBytes = 16 << 20
	// bboltPatience is how long opening waits for a process that reads the file.
	bboltPatience = 5 * time.Second
	// retryCheckpoint is when a checkpoint that failed is tried again. Until then the log has
	// everything.
	retryCheckpoint = time.Second
)

// errBusy: another process reads the checkpoint file for longer than we wait. The next checkpoint
// takes its place.
var errBusy = errors.New("checkpoint file is being read")

// checkpointer writes a journal to its checkpoint file.
type checkpointer struct {
	journal  *journal
	path     string
	fault    func() error // tests: called before a checkpoint commits
	after    func() error // tests: called when it has
	unsynced bool         // tests: fsync is left out
	started  time.Time

	mu       sync.Mutex // one checkpoint at a time
	number   uint64     // of the last one that was written, or may have been
	have     uint64     // of the last one that is known to be in the file; 0 = none
	torn     bool       // the file had pages that could not be read
	unsure   bool       // a checkpoint failed while it was written: see settle
	doubtful []image    // what it had to write
	reader   *boltFile  // the file, open for reading since a reply was read from it; nil when it is not
	ended    bool       // nothing is read any more
	// moved are the ledger's rows, without counts, that went into the file since they were asked for;
	// nil when nobody asks.
	moved map[LedgerRow]bool
}

// begin notes that the journal's time goes on from where it stands.
func (cp *checkpointer) begin(at int64) {
	cp.started = time.Now()
	cp.journal.opened = at
}

// run checkpoints until stop closes, and reports what goes wrong and when it is over. A checkpoint
// that fails is tried again: metering stays up as long as the log can be written.
func (cp *checkpointer) run(stop <-chan struct{}, options *EmbeddedOptions) {
	look := min(250*time.Millisecond, options.CheckpointEvery)
	log := cp.journal.log
	ticker := time.NewTicker(look)
	defer ticker.Stop()

	var told, failed error
	waited := time.Duration(0)
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}

		waited += look
		wait := options.CheckpointEvery
		if failed != nil {
			wait = min(wait, retryCheckpoint)
		}

		// A long log makes the next start slow: it brings the checkpoint forward. What was in a log that
		// somebody removed is in memory alone until there is a checkpoint of it.
		moved := cp.journal.place()
		lost := failed == nil && moved == nil && cp.lost(options.Report)
		// A disk that is full of the log has room again after a checkpoint.
		full := errors.Is(log.Err(), wal.ErrRoom)
		due := waited >= wait || lost || full || failed == nil && log.Size() >= checkpointBytes
		if due && moved == nil && (full || log.Err() == nil) {
			waited = 0
			failed = cp.save(time.Second)
			if errors.Is(failed, errBusy) {
				failed = nil
			}
			// A tick that came meanwhile is dropped, so that readers of the file find a gap.
			ticker.Reset(look)
		}

		// Told once, and again when the kind of trouble changes or all is well.
		now := moved
		if now == nil {
			now = unavailable(log.Err())
		}
		if now == nil {
			now = failed
		}
		if (now == nil) != (told == nil) || errors.Is(now, ErrUnavailable) != errors.Is(told, ErrUnavailable) {
			options.Report(now)
		}
		told = now
	}
}

// lost reports whether segments of the log are gone that are needed, and tells it.
func (cp *checkpointer) lost(report func(error)) bool {
	names := cp.journal.log.Lost()
	if len(names) == 0 {
		return false
	}
	cp.journal.meter.lost.Add(uint64(len(names)))
	report(fmt.Errorf("%w: %s", ErrLogLost, strings.Join(names, ", ")))
	return true
}

// save writes a checkpoint and drops the log it covers. When it fails, everything is as before.
func (cp *checkpointer) save(patience time.Duration) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.saveLocked(patience)
}

// saveLocked is save for a caller that holds the lock.
func (cp *checkpointer) saveLocked(patience time.Duration) error {
	if err := cp.journal.place(); err != nil {
		return err
	}
	m := cp.journal.meter
	began := time.Now()

	// Readers hold the file for a moment. Until the next checkpoint the log has everything.
	db, err := cp.open(patience)
	if errors.Is(err, errBusy) {
		m.busy.Add(1)
		return err
	}
	if err == nil {
		err = errors.Join(cp.saveTo(db), db.close())
	}
	cp.torn = err != nil && (cp.torn || errors.Is(err, errTorn))

	m.time(timeCheckpoint, began)
	if err != nil {
		m.failed.Add(1)
		return err
	}
	m.savedAt.Store(time.Now().UnixNano())
	return nil
}

func (cp *checkpointer) saveTo(db *boltFile) error {
	if err := cp.settle(db); err != nil {
		return err
	}

	// The accounts hold every record of the old segments, which can go when the file is written.
	log := cp.journal.log
	last, err := log.Rotate()
	if err != nil {
		return fmt.Errorf("cannot begin a checkpoint: %w", err)
	}

	// What is prepared is in no account: the new segment has it again.
	cp.journal.prepared.carry(log)

	// What the images hold beyond last has to be in the log before it is in the file: numbers are
	// never used twice.
	state, images := cp.takeImages()
	state.last = last
	if err := log.Sync(); err != nil {
		cp.journal.restore(images)
		return fmt.Errorf("cannot begin a checkpoint: %w", err)
	}

	cp.number++
	state.number = cp.number

	// From here on, an error does not tell whether the file has the checkpoint.
	cp.unsure = true
	cp.doubtful = images
	err = db.update(func(tx *bbolt.Tx) error { return cp.write(tx, state, images) })
	if err == nil && cp.after != nil {
		err = cp.after()
	}
	if err != nil {
		return fmt.Errorf("cannot write checkpoint %q: %w", cp.path, err)
	}

	cp.have = cp.number
	cp.forgetImages()
	return log.RemoveThrough(last)
}

func (cp *checkpointer) write(tx *bbolt.Tx, state storedState, images []image) error {
	err := writeImages(tx, state, images)
	if err == nil && cp.fault != nil {
		err = cp.fault()
	}
	return err
}

// settle wants the file to be the one that the last checkpoint was written to, for what is in it is
// nowhere else, and finds out what became of a checkpoint that failed while it was written. The file
// says whether that took place, but it may say so from memory alone: the two pages that tell are
// written again before anything else changes the file (decision 1752).
func (cp *checkpointer) settle(db *boltFile) error {
	var state storedState
	err := db.view(func(tx *bbolt.Tx) (err error) {
		state, err = readState(tx)
		return err
	})

	written := cp.unsure && state.number == cp.number
	if err == nil && !written && state.number != cp.have {
		err = fmt.Errorf("%w: it has checkpoint %d, not %d: the file is gone, or another is in its place",
			ErrCorrupt, state.number, cp.have)
	}
	if err == nil && cp.unsure {
		err = rewriteMeta(cp.path, db.Info().PageSize)
	}
	if err != nil {
		return fmt.Errorf("cannot settle checkpoint %q: %w", cp.path, err)
	}

	if written {
		cp.have = cp.number
		cp.forgetImages()
	}
	cp.journal.restore(cp.doubtful)
	cp.doubtful = nil
	cp.unsure = false
	return nil
}

// forgetImages lets go of what is in the file.
func (cp *checkpointer) forgetImages() {
	for _, img := range cp.doubtful {
		img.of.mu.Lock()
		img.of.replies.saved()
		img.of.mu.Unlock()
		cp.noteMoved(&img)
	}
	cp.doubtful = nil
	cp.unsure = false
}

// rewriteMeta writes the first two pages of a bbolt file again as they are, and syncs them.
func rewriteMeta(path string, pageSize int) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}

	pages := make([]byte, 2*pageSize)
	_, err = file.ReadAt(pages, 0)
	if err == nil {
		_, err = file.WriteAt(pages, 0)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// open opens the file for writing; a file that another process reads for longer than patience is
// errBusy. Once there was one, no other is begun.
func (cp *checkpointer) open(patience time.Duration) (*boltFile, error) {
	// Our own lock for reading would keep us out.
	err := cp.endReading()
	if err == nil {
		err = wal.CheckFile(cp.path)
	}
	// Each look at damaged pages through a mapping would leave the mapping.
	if err == nil && cp.torn {
		err = checkPages(cp.path)
	}

	var db *boltFile
	if err == nil {
		db, err = openBolt(cp.path, bbolt.Options{
			Timeout: patience, FreelistType: bbolt.FreelistMapType, NoSync: cp.unsynced, NoGrowSync: cp.unsynced,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				// A new file in place of a lost one would pass for all that was ever charged.
				if cp.have > 0 {
					flag &^= os.O_CREATE
				}
				file, err := os.OpenFile(name, flag, mode)
				if err == nil && cp.have == 0 {
					disk.Keep(name) // the next server may be that user's
				}
				return file, err
			},
		})
	}

	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = errBusy
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open checkpoint %q: %w", cp.path, err)
	}
	return db, nil
}

// image is what a checkpoint writes of one account.
type image struct {
	of      *account
	account []byte
	rows    map[rowName]*Counts
	replies map[replyName]reply
	gone    []int64 // minutes whose replies are deleted
}

// takeImages takes what changed out of all accounts, and notes the latest admission of any.
func (cp *checkpointer) takeImages() (state storedState, images []image) {
	j := cp.journal
	all := j.all("")
	for _, a := range all {
		a.mu.Lock()
		state.at = state.at.later(a.last)
		a.mu.Unlock()
	}

	// Replies leave also when nobody calls.
	now := max(state.at.store, j.opened+time.Since(cp.started).Milliseconds())
	for _, a := range all {
		a.mu.Lock()
		state.at = state.at.later(a.last)
		a.replies.purge(now)
		if a.dirty || len(a.replies.fresh) > 0 || len(a.replies.gone) > 0 {
			images = append(images, a.image())
		}
		a.mu.Unlock()
	}

	state.boot = j.boot()
	state.store = now
	return state, images
}

// image moves what changed since the last checkpoint from the account into an image. The caller
// holds the account's lock.
func (a *account) image() image {
	img := image{of: a, account: a.append(nil), rows: a.rows}
	a.rows = map[rowName]*Counts{}
	a.row = nil
	a.dirty = false

	img.replies, img.gone = a.replies.takeFresh()
	return img
}

// restore puts what a checkpoint took back into the accounts.
func (j *journal) restore(images []image) {
	for _, img := range images {
		a := img.of
		a.mu.Lock()
		// Calls that came meanwhile have rows already: the counts add up.
		for name, counts := range img.rows {
			row := a.rowOf(name)
			row.Calls += counts.Calls
			row.Charged += counts.Charged
		}

		a.dirty = true
		a.replies.restore(img.replies, img.gone)
		a.mu.Unlock()
	}
}
