package access

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// The checkpoint file has four buckets:
//
//	meta      "state" → version, last log record covered, store time, wall time
//	accounts  tenant → counters, windows and keys, and the last log record they hold
//	ledger    tenant, day, key, operation → calls, charged
//	replies   tenant, operation, idempotency key → an answered record
//
// One transaction writes all of it. An account may hold log records after the one of meta; replay
// leaves those out for that account.
var (
	metaBucket     = []byte("meta")
	accountsBucket = []byte("accounts")
	ledgerBucket   = []byte("ledger")
	repliesBucket  = []byte("replies")
	stateKey       = []byte("state")
)

const (
	checkpointVersion = 1
	// checkpointBytes is the length of log that brings a checkpoint forward.
	checkpointBytes = 16 << 20
	// bboltPatience is how long opening waits for a process that reads the file.
	bboltPatience = 5 * time.Second
)

// errBusy: another process reads the checkpoint file for longer than we wait. The next checkpoint
// takes its place.
var errBusy = errors.New("checkpoint file is being read")

// checkpointer writes a journal to its checkpoint file.
type checkpointer struct {
	journal  *journal
	path     string
	fault    func() error // tests: called before a checkpoint commits
	unsynced bool         // tests: fsync is left out
	mu       sync.Mutex   // one checkpoint at a time
}

// storedState is what the meta bucket holds.
type storedState struct {
	exists bool
	last   uint64 // last log record that every account holds
	at     moment // of the latest admission
}

// run writes checkpoints until stop closes. A failure ends metering, unless it is errBusy.
func (c *checkpointer) run(stop <-chan struct{}, options *EmbeddedOptions) {
	look := min(250*time.Millisecond, options.CheckpointEvery)
	log := c.journal.log
	ticker := time.NewTicker(look)
	defer ticker.Stop()

	reported := false
	waited := time.Duration(0)
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}

		waited += look
		due := waited >= options.CheckpointEvery || log.Size() >= checkpointBytes
		if due && log.Err() == nil {
			waited = 0
			if err := c.save(time.Second); err != nil && !errors.Is(err, errBusy) {
				_ = log.Fail(fmt.Errorf("cannot checkpoint log: %w", err)) // told below
			}
			// A tick that came meanwhile is dropped, so that readers of the file find a gap.
			ticker.Reset(look)
		}

		// Also a failure that a call met, and not a checkpoint.
		if err := unavailable(log.Err()); err != nil && !reported {
			reported = true
			options.Report(err)
		}
	}
}

// save writes a checkpoint and drops the log that it covers. The file is opened first, because
// taking the changes out of the accounts cannot be undone: a failure after that ends the store.
func (c *checkpointer) save(patience time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	m := c.journal.meter
	began := time.Now()

	// Readers hold the file for a moment. Until the next checkpoint the log has everything.
	db, err := c.open(patience)
	if errors.Is(err, errBusy) {
		m.busy.Add(1)
		return err
	}
	if err == nil {
		err = errors.Join(c.saveTo(db), db.Close())
	}

	m.time(timeCheckpoint, began)
	if err != nil {
		m.failed.Add(1)
		return err
	}
	m.savedAt.Store(time.Now().UnixNano())
	return nil
}

func (c *checkpointer) saveTo(db *bbolt.DB) error {
	// The accounts hold every record of the old segments, which can go when the file is written.
	log := c.journal.log
	last, err := log.Rotate()
	if err != nil {
		return unavailable(err)
	}

	state := storedState{last: last}
	images := c.takeImages(&state)

	// What the images hold beyond last has to be in the log before it is in the file: numbers are
	// never used twice.
	if err := log.Sync(); err != nil {
		return unavailable(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		err := writeImages(tx, state, images)
		if err == nil && c.fault != nil {
			err = c.fault()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot write checkpoint %q: %w", c.path, err)
	}

	return log.RemoveThrough(last)
}

// open opens the file for writing; a file that another process reads for longer than patience is
// errBusy.
func (c *checkpointer) open(patience time.Duration) (*bbolt.DB, error) {
	options := bbolt.Options{
		Timeout: patience, FreelistType: bbolt.FreelistMapType, NoSync: c.unsynced, NoGrowSync: c.unsynced,
	}
	db, err := bbolt.Open(c.path, 0o600, &options)
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = errBusy
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open checkpoint %q: %w", c.path, err)
	}
	return db, nil
}

// image is what a checkpoint writes of one account.
type image struct {
	tenant  string
	account []byte
	rows    map[rowName]*Counts
	replies map[replyName][]byte // nil: to be deleted
}

// takeImages takes what changed out of all accounts, and notes the latest admission of any.
func (c *checkpointer) takeImages(state *storedState) (images []image) {
	for _, a := range c.journal.all("") {
		a.mu.Lock()
		state.at = state.at.later(a.last)
		if a.dirty || len(a.replies.touched) > 0 {
			images = append(images, a.image())
		}
		a.mu.Unlock()
	}
	return images
}

// image moves what changed since the last checkpoint from the account into an image. The caller
// holds the account's lock.
func (a *account) image() image {
	img := image{tenant: a.tenant, account: a.append(nil), rows: a.rows, replies: map[replyName][]byte{}}
	a.rows = map[rowName]*Counts{}
	a.row = nil
	a.dirty = false

	// A reply in flight has no data yet: an older one of its name is deleted.
	for name := range a.replies.touched {
		img.replies[name] = nil
		if r := a.replies.byName[name]; r != nil && r.data != nil {
			img.replies[name] = r.append(nil)
		}
	}
	clear(a.replies.touched)
	return img
}

func writeImages(tx *bbolt.Tx, state storedState, images []image) error {
	for _, name := range [][]byte{metaBucket, accountsBucket, ledgerBucket, repliesBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	if err := tx.Bucket(metaBucket).Put(stateKey, state.append(nil)); err != nil {
		return err
	}

	accounts := tx.Bucket(accountsBucket)
	ledger := tx.Bucket(ledgerBucket)
	replies := tx.Bucket(repliesBucket)
	for _, img := range images {
		err := accounts.Put([]byte(img.tenant), img.account)
		err = cmp.Or(err, writeRows(ledger, &img), writeReplies(replies, &img))
		if err != nil {
			return err
		}
	}
	return nil
}

// writeRows adds an account's new counts to the stored ones.
func writeRows(bucket *bbolt.Bucket, img *image) error {
	for name, counts := range img.rows {
		key := appendRowKey(nil, img.tenant, name)
		have, err := decodeCounts(bucket.Get(key))
		if err != nil {
			return err
		}

		value := binary.AppendVarint(nil, have.Calls+counts.Calls)
		value = binary.AppendVarint(value, have.Charged+counts.Charged)
		if err := bucket.Put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// writeReplies stores the replies that were kept since the last checkpoint and deletes those whose
// time is over.
func writeReplies(bucket *bbolt.Bucket, img *image) (err error) {
	for name, data := range img.replies {
		key := appendText(nil, img.tenant)
		key = appendText(key, string(name.op))
		key = appendText(key, name.key)
		if data == nil {
			err = cmp.Or(err, bucket.Delete(key))
		} else {
			err = cmp.Or(err, bucket.Put(key, data))
		}
	}
	return err
}

func appendRowKey(dst []byte, tenant string, name rowName) []byte {
	dst = appendText(dst, tenant)
	dst = binary.BigEndian.AppendUint32(dst, uint32(name.day))
	dst = appendText(dst, name.key)
	return append(dst, name.op...)
}

func decodeRowKey(key []byte) (LedgerRow, error) {
	r := reader{data: key}
	row := LedgerRow{Tenant: r.text()}
	if day := r.bytes(4); day != nil {
		row.Day = Day(binary.BigEndian.Uint32(day))
	}
	row.Key = r.text()
	row.Operation = Operation(r.data)
	return row, r.err
}

func decodeCounts(value []byte) (Counts, error) {
	if value == nil {
		return Counts{}, nil
	}
	r := reader{data: value}
	counts := Counts{Calls: r.varint(), Charged: r.varint()}
	return counts, r.end()
}

func (s *storedState) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, checkpointVersion), s.last)
	dst = binary.AppendVarint(dst, s.at.store)
	return binary.AppendVarint(dst, s.at.wall)
}

func decodeState(value []byte) (storedState, error) {
	if value == nil {
		return storedState{}, nil
	}
	r := reader{data: value}
	if version := r.bytes(1); len(version) == 0 || version[0] != checkpointVersion {
		return storedState{}, fmt.Errorf("%w: checkpoint version is not %d", ErrCorrupt, checkpointVersion)
	}
	s := storedState{exists: true, last: r.uvarint(), at: moment{store: r.varint(), wall: r.varint()}}
	return s, r.end()
}
