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
// One transaction writes all of it. An account may hold log records after the
// one of meta; replay leaves those out for that account.
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

// errBusy: another process reads the checkpoint file for longer than we wait.
// The next checkpoint takes its place.
var errBusy = errors.New("checkpoint file is being read")

// checkpointer writes a journal to its checkpoint file.
type checkpointer struct {
	journal *journal
	path    string
	fault   func() error
	mu      sync.Mutex // one checkpoint at a time
}

// storedState is what the meta bucket holds.
type storedState struct {
	exists bool
	last   uint64 // last log record that every account holds
	at     int64  // store time, and
	wall   int64  // the wall time that went with it
}

// run checkpoints until stop closes. A failure ends metering.
func (c *checkpointer) run(stop <-chan struct{}, options *EmbeddedOptions) {
	const look = 250 * time.Millisecond
	ticker := time.NewTicker(min(look, options.CheckpointEvery))
	defer ticker.Stop()
	reported := false
	waited := time.Duration(0)
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		waited += min(look, options.CheckpointEvery)
		if c.journal.log.Err() == nil && (waited >= options.CheckpointEvery || c.journal.log.Size() >= checkpointBytes) {
			waited = 0
			if err := c.save(time.Second); err != nil && !errors.Is(err, errBusy) {
				_ = c.journal.log.Fail(fmt.Errorf("cannot checkpoint log: %w", err)) // told below
			}
			ticker.Reset(min(look, options.CheckpointEvery)) // a tick that came meanwhile would leave readers of the file no gap
		}
		if err := unavailable(c.journal.log.Err()); err != nil && !reported {
			reported = true
			options.Report(err)
		}
	}
}

// image is what a checkpoint writes of one account.
type image struct {
	tenant  string
	account []byte
	rows    map[rowName]*Counts
	replies map[replyName][]byte // nil: to be deleted
}

// save writes a checkpoint and drops the log it covers. The file is opened
// first: after that, taking the changes out of the accounts cannot be undone,
// and a failure means the store is done.
func (c *checkpointer) save(patience time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, began := c.journal.meter, time.Now()
	db, err := openCheckpoint(c.path, patience)
	if errors.Is(err, errBusy) {
		m.busy.Add(1)
		return err
	}
	if err == nil {
		err = c.saveTo(db)
		err = errors.Join(err, db.Close())
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
	last, err := c.journal.log.Rotate()
	if err != nil {
		return unavailable(err)
	}
	state := storedState{last: last}
	var images []image
	for _, a := range c.journal.all("") {
		a.mu.Lock()
		if later(a.lastAt, a.lastWall, state.at, state.wall) {
			state.at, state.wall = a.lastAt, a.lastWall
		}
		if a.dirty || len(a.replies.touched) > 0 {
			images = append(images, a.image())
		}
		a.mu.Unlock()
	}
	// What the images hold beyond last has to be in the log before it is in the file:
	// numbers are never used twice.
	if err := c.journal.log.Sync(); err != nil {
		return unavailable(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if err := writeImages(tx, state, images); err != nil {
			return err
		}
		if c.fault != nil {
			return c.fault()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot write checkpoint %q: %w", c.path, err)
	}
	return c.journal.log.RemoveThrough(last)
}

// openCheckpoint opens the file for writing; a file that another process reads
// for longer than patience is errBusy.
func openCheckpoint(path string, patience time.Duration) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: patience, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, fmt.Errorf("cannot open checkpoint %q: %w", path, errBusy)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open checkpoint %q: %w", path, err)
	}
	return db, nil
}

// image takes what changed since the last checkpoint out of the account, which
// the caller holds.
func (a *account) image() image {
	img := image{tenant: a.tenant, account: a.append(nil), rows: a.rows, replies: map[replyName][]byte{}}
	a.rows, a.row, a.dirty = map[rowName]*Counts{}, nil, false
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
	buckets := map[string]*bbolt.Bucket{}
	for _, name := range [][]byte{metaBucket, accountsBucket, ledgerBucket, repliesBucket} {
		bucket, err := tx.CreateBucketIfNotExists(name)
		if err != nil {
			return err
		}
		buckets[string(name)] = bucket
	}
	if err := buckets["meta"].Put(stateKey, state.append(nil)); err != nil {
		return err
	}
	for _, img := range images {
		err := buckets["accounts"].Put([]byte(img.tenant), img.account)
		err = cmp.Or(err, writeRows(buckets["ledger"], &img), writeReplies(buckets["replies"], &img))
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
		if err := bucket.Put(key, binary.AppendVarint(value, have.Charged+counts.Charged)); err != nil {
			return err
		}
	}
	return nil
}

func writeReplies(bucket *bbolt.Bucket, img *image) error {
	for name, data := range img.replies {
		key := appendText(nil, img.tenant)
		key = appendText(key, string(name.op))
		key = appendText(key, name.key)
		var err error
		if data == nil {
			err = bucket.Delete(key)
		} else {
			err = bucket.Put(key, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	dst = binary.AppendVarint(dst, s.at)
	return binary.AppendVarint(dst, s.wall)
}

func decodeState(value []byte) (storedState, error) {
	if value == nil {
		return storedState{}, nil
	}
	r := reader{data: value}
	if version := r.bytes(1); len(version) == 0 || version[0] != checkpointVersion {
		return storedState{}, fmt.Errorf("%w: checkpoint version is not %d", ErrCorrupt, checkpointVersion)
	}
	s := storedState{exists: true, last: r.uvarint(), at: r.varint(), wall: r.varint()}
	return s, r.end()
}
