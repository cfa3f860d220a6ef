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

// The checkpoint file has four buckets of values with checksums:
//
//	meta      "state" → version, number, last log record covered, times, sums of the others
//	accounts  tenant → counters, windows and keys, and the last log record they hold
//	ledger    tenant, day, key, operation → calls, charged
//	answers   tenant, minute, name → an answered idempotency record
//
// One transaction writes all of it. An account may include log records after the one of meta; replay
// skips those for that account. Version 1 had no checksums, and keyed replies by their full name.
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

// Bucket is the kind of a stored value.
type Bucket uint8

const (
	// Accounts are the states of tenants, by tenant.
	Accounts Bucket = iota
	// Ledger are the ledger rows, see [DecodeCounts].
	Ledger
	// Replies are stored replies, by the keys given to [Writer.Reply].
	Replies
	// FirstReplies are stored replies of version 1, which the next checkpoint writes in the new version.
	FirstReplies
)

// buckets are the kinds of values by the names of buckets.
var buckets = map[string]Bucket{"accounts": Accounts, "ledger": Ledger, "answers": Replies}

// Mark is the position of a checkpoint in the log and in time. Times are milliseconds.
type Mark struct {
	Last     uint64 // the last log record that all values include
	At, Wall int64  // store time and wall time of the latest admission
	Store    int64  // store time of the checkpoint
	Boot     string // id of the machine's boot; "" = unknown
	Up       int64  // since that boot
}

// header is the value of the meta bucket.
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

// Writer writes changes into a checkpoint, over the values of the previous one. The first error sticks,
// and discards the checkpoint.
type Writer struct {
	checksumBuckets
	err   error
	scrub bool // what it removes must not stay in free pages
}

// Account writes the state of a tenant.
func (w *Writer) Account(tenant string, value []byte) {
	w.err = cmp.Or(w.err, w.accounts.put([]byte(tenant), value))
}

// Counts adds calls and charges to a ledger row.
func (w *Writer) Counts(key []byte, calls, charged int64) {
	value, err := w.ledger.get(key)
	haveCalls, haveCharged, decodeErr := DecodeCounts(value)
	w.err = cmp.Or(w.err, err, decodeErr)
	if w.err == nil && (calls != 0 || charged != 0) {
		value = binary.AppendVarint(nil, haveCalls+calls)
		w.err = w.ledger.put(key, binary.AppendVarint(value, haveCharged+charged))
	}
}

// Reply writes a stored reply.
func (w *Writer) Reply(key, value []byte) { w.err = cmp.Or(w.err, w.replies.put(key, value)) }

// DropReplies deletes the replies whose keys begin with a prefix.
func (w *Writer) DropReplies(prefix []byte) {
	for _, key := range w.replies.keys(prefix) {
		w.err = cmp.Or(w.err, w.replies.remove(key))
	}
}

// Rename removes the state and the replies of a tenant, and gives its ledger rows to another. Nothing of the
// name stays in the file.
func (w *Writer) Rename(from, to string) {
	w.scrub = true
	w.err = cmp.Or(w.err, w.accounts.remove([]byte(from)))
	prefix := AppendText(nil, from)
	w.DropReplies(prefix)

	for _, key := range w.ledger.keys(prefix) {
		value, err := w.ledger.get(key)
		calls, charged, decodeErr := DecodeCounts(value)
		w.err = cmp.Or(w.err, err, decodeErr, w.ledger.remove(key))
		w.Counts(append(AppendText(nil, to), key[len(prefix):]...), calls, charged)
	}
}

// DecodeCounts decodes the calls and charges of a ledger row; nil has none.
func DecodeCounts(value []byte) (calls, charged int64, err error) {
	if value == nil {
		return 0, 0, nil
	}
	in := Decoder{Data: value}
	calls = in.Varint()
	charged = in.Varint()
	return calls, charged, in.End()
}

// writeCheckpoint writes a checkpoint over the previous one. It reports whether free pages have to be
// scrubbed.
func writeCheckpoint(tx *bbolt.Tx, next header, content Content) (scrub bool, err error) {
	before, err := readHeader(tx)
	rows := map[string][]byte{}
	if err == nil && before.version == firstVersion {
		// All accounts and replies of that version are in memory, and will be written.
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
		return false, err
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
		return false, into.err
	}
	return into.scrub, tx.Bucket(metaBucket).Put(stateKey, appendChecksum(stateKey, next.append(nil)))
}

// dropFirstVersion removes the buckets of version 1.
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

// decodeHeader decodes the stored header, which has a checksum unless it is of version 1.
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
