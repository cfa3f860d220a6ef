package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ninepocket/internal/wal"
)

// The checkpoint file has four buckets of sealed values:
//
//	meta      "state" → version, number, last log record covered, times, sums of the others
//	accounts  tenant → counters, windows and keys, and the last log record they hold
//	ledger    tenant, day, key, operation → calls, charged
//	answers   tenant, minute, name → an answered idempotency record
//
// One transaction writes all of it. An account may hold log records after the one of meta; replay
// leaves those out for that account. Version 1 had no checksums, and replies by their whole name.
var (
	metaBucket     = []byte("meta")
	accountsBucket = []byte("accounts")
	ledgerBucket   = []byte("ledger")
	answersBucket  = []byte("answers")
	repliesBucket  = []byte("replies") // of version 1
	stateKey       = []byte("state")
)

const (
	currentVersion = 2
	firstVersion   = 1 // is still read
)

// Bucket is what a stored value is of.
type Bucket uint8

const (
	// Accounts are the accounts: a tenant → its account.
	Accounts Bucket = iota
	// Ledger are the ledger's rows → calls and charges, see [DecodeCounts].
	Ledger
	// Replies are kept replies, by the keys that [Writer.Reply] was given.
	Replies
	// FirstReplies are kept replies as version 1 stored them, which the next checkpoint writes anew.
	FirstReplies
)

// buckets are the names of buckets, and what they hold.
var buckets = map[string]Bucket{"accounts": Accounts, "ledger": Ledger, "answers": Replies}

// Mark is where the content stood when a checkpoint was taken. Times are milliseconds.
type Mark struct {
	Last     uint64 // the last log record that all of it holds
	At, Wall int64  // of the latest admission: store time, and the wall time that went with it
	Store    int64  // the store time of the checkpoint
	Boot     string // of the machine then; "" = not known
	Up       int64  // since that boot
}

// header is what the meta bucket holds.
type header struct {
	version byte   // 0: nothing is stored
	number  uint64 // of the checkpoint
	Mark

	accounts, ledger, replies bucketChecksum
}

func (h *header) exists() bool { return h.version != 0 }

// checksumBuckets are the buckets of a checkpoint with their sums.
type checksumBuckets struct{ accounts, ledger, replies checksumBucket }

func (h *header) checksumBuckets(tx *bbolt.Tx) checksumBuckets {
	return checksumBuckets{
		accounts: checksumBucket{tx.Bucket(accountsBucket), &h.accounts},
		ledger:   checksumBucket{tx.Bucket(ledgerBucket), &h.ledger},
		replies:  checksumBucket{tx.Bucket(answersBucket), &h.replies},
	}
}

// Writer writes what changed into a checkpoint, over what the one before it holds. The first error
// sticks, and no checkpoint comes of it.
type Writer struct {
	checksumBuckets
	err error
}

// Account writes an account.
func (w *Writer) Account(tenant string, value []byte) {
	w.err = cmp.Or(w.err, w.accounts.put([]byte(tenant), value))
}

// Counts adds calls and charges to those of a row of the ledger.
func (w *Writer) Counts(key []byte, calls, charged int64) {
	if w.err != nil {
		return
	}
	value, err := w.ledger.get(key)
	if err == nil {
		var haveCalls, haveCharged int64
		haveCalls, haveCharged, err = DecodeCounts(value)
		value = binary.AppendVarint(nil, haveCalls+calls)
		value = binary.AppendVarint(value, haveCharged+charged)
	}
	if err == nil && (calls != 0 || charged != 0) {
		err = w.ledger.put(key, value)
	}
	w.err = err
}

// Reply writes a kept reply.
func (w *Writer) Reply(key, value []byte) { w.err = cmp.Or(w.err, w.replies.put(key, value)) }

// DropReplies deletes the replies whose keys begin with a prefix.
func (w *Writer) DropReplies(prefix []byte) {
	if w.err != nil {
		return
	}

	// Not while the cursor runs over them.
	var keys [][]byte
	cursor := w.replies.Cursor()
	for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
		keys = append(keys, bytes.Clone(key))
	}
	for _, key := range keys {
		w.err = cmp.Or(w.err, w.replies.remove(key))
	}
}

// DecodeCounts reads the calls and charges of a row of the ledger; of nil, none.
func DecodeCounts(value []byte) (calls, charged int64, err error) {
	if value == nil {
		return 0, 0, nil
	}
	in := Decoder{Data: value}
	calls = in.Varint()
	charged = in.Varint()
	return calls, charged, in.End()
}

// writeCheckpoint writes a checkpoint over the one before it.
func writeCheckpoint(tx *bbolt.Tx, next header, content Content) error {
	before, err := readHeader(tx)
	rows := map[string][]byte{}
	if err == nil && before.version == firstVersion {
		// Accounts and replies of that version are in memory, all of them to be written.
		before = header{}
		err = tx.Bucket(ledgerBucket).ForEach(func(key, value []byte) error {
			rows[string(key)] = bytes.Clone(value)
			return nil
		})
		err = cmp.Or(err, dropFirstVersion(tx))
	}
	for _, name := range [][]byte{metaBucket, accountsBucket, ledgerBucket, answersBucket} {
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(name)
		}
	}
	if err != nil {
		return err
	}

	next.accounts = before.accounts
	next.ledger = before.ledger
	next.replies = before.replies
	into := &Writer{checksumBuckets: next.checksumBuckets(tx)}
	for key, value := range rows {
		calls, charged, err := DecodeCounts(value)
		into.err = cmp.Or(into.err, err)
		into.Counts([]byte(key), calls, charged)
	}

	content.Write(into)
	if into.err != nil {
		return into.err
	}
	return tx.Bucket(metaBucket).Put(stateKey, appendChecksum(stateKey, next.append(nil)))
}

// dropFirstVersion removes what an earlier version wrote.
func dropFirstVersion(tx *bbolt.Tx) error {
	for _, name := range [][]byte{accountsBucket, ledgerBucket, repliesBucket} {
		if err := tx.DeleteBucket(name); err != nil && !errors.Is(err, bbolterrors.ErrBucketNotFound) {
			return err
		}
	}
	return nil
}

func (h *header) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, currentVersion), h.number)
	dst = binary.AppendUvarint(dst, h.Last)
	for _, figure := range []int64{h.At, h.Wall, h.Up, h.Store} {
		dst = binary.AppendVarint(dst, figure)
	}
	dst = AppendText(dst, h.Boot)
	for _, sum := range []bucketChecksum{h.accounts, h.ledger, h.replies} {
		dst = binary.AppendUvarint(dst, sum.count)
		dst = binary.AppendUvarint(dst, sum.sum)
	}
	return dst
}

// decodeHeader reads the header as it is stored, sealed unless it is of version 1.
func decodeHeader(value []byte) (h header, err error) {
	if len(value) > 0 && value[0] == firstVersion {
		in := Decoder{Data: value[1:]}
		h.version = firstVersion
		h.Last = in.Uvarint()
		h.At = in.Varint()
		h.Wall = in.Varint()
		return h, in.End()
	}

	value, err = verifyChecksum(stateKey, value)
	if err != nil {
		return h, fmt.Errorf("state: %w", err)
	}
	in := Decoder{Data: value}
	version := in.Bytes(1)
	if len(version) == 0 || version[0] != currentVersion {
		return h, fmt.Errorf("%w: checkpoint version is not %d", wal.ErrCorrupt, currentVersion)
	}

	h.version = currentVersion
	h.number = in.Uvarint()
	h.Last = in.Uvarint()
	for _, figure := range []*int64{&h.At, &h.Wall, &h.Up, &h.Store} {
		*figure = in.Varint()
	}
	h.Boot = in.Text()
	for _, sum := range []*bucketChecksum{&h.accounts, &h.ledger, &h.replies} {
		sum.count = in.Uvarint()
		sum.sum = in.Uvarint()
	}
	return h, in.End()
}
