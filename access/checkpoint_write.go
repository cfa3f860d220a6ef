package access

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"ninepocket/calendar"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
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
	checkpointVersion = 2
	firstVersion      = 1 // is still read
)

// storedState is what the meta bucket holds.
type storedState struct {
	version byte   // 0: nothing is stored
	number  uint64 // of the checkpoint
	last    uint64 // last log record that every account holds
	at      moment // of the latest admission
	boot    boot   // when the checkpoint was taken
	store   int64  // the store time then

	accounts, ledger, answers bucketSum
}

func (state *storedState) exists() bool { return state.version != 0 }

// vaults are the buckets of a checkpoint with their sums.
type vaults struct{ accounts, ledger, answers vault }

func (state *storedState) vaults(tx *bbolt.Tx) vaults {
	return vaults{
		accounts: vault{tx.Bucket(accountsBucket), &state.accounts},
		ledger:   vault{tx.Bucket(ledgerBucket), &state.ledger},
		answers:  vault{tx.Bucket(answersBucket), &state.answers},
	}
}

// writeImages writes a checkpoint over the one before it.
func writeImages(tx *bbolt.Tx, state storedState, images []image) error {
	before, err := readState(tx)
	var rows []LedgerRow
	if err == nil && before.version == firstVersion {
		// Accounts and replies of that version are in memory, all of them to be written.
		before = storedState{}
		rows, err = firstRows(tx)
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

	state.accounts = before.accounts
	state.ledger = before.ledger
	state.answers = before.answers
	vs := state.vaults(tx)
	for _, row := range rows {
		key := appendRowKey(nil, row.Tenant, rowName{key: row.Key, day: row.Day, op: row.Operation})
		err = cmp.Or(err, vs.addCounts(key, row.Counts))
	}
	for _, img := range images {
		err = cmp.Or(err, vs.accounts.put([]byte(img.of.tenant), img.account), vs.write(&img))
	}
	if err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(stateKey, seal(stateKey, state.append(nil)))
}

// firstRows are the ledger's rows as version 1 stored them.
func firstRows(tx *bbolt.Tx) (rows []LedgerRow, err error) {
	err = tx.Bucket(ledgerBucket).ForEach(func(key, value []byte) error {
		row, err := decodeRowKey(key)
		if err == nil {
			row.Counts, err = decodeCounts(value)
		}
		rows = append(rows, row)
		return err
	})
	return rows, err
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

// write writes what changed of an account beside itself.
func (vs *vaults) write(img *image) error {
	for name, counts := range img.rows {
		if err := vs.addCounts(appendRowKey(nil, img.of.tenant, name), *counts); err != nil {
			return err
		}
	}

	for name, r := range img.replies {
		if err := vs.answers.put(answerKey(img.of.tenant, minuteOf(r.at), name), r.append(nil)); err != nil {
			return err
		}
	}

	for _, minute := range img.gone {
		if err := vs.dropMinute(img.of.tenant, minute); err != nil {
			return err
		}
	}
	return nil
}

// addCounts adds new counts to the stored ones of a row.
func (vs *vaults) addCounts(key []byte, counts Counts) error {
	value, err := vs.ledger.get(key)
	if err != nil {
		return err
	}
	have, err := decodeCounts(value)
	if err != nil || counts == (Counts{}) {
		return err
	}

	value = binary.AppendVarint(nil, have.Calls+counts.Calls)
	return vs.ledger.put(key, binary.AppendVarint(value, have.Charged+counts.Charged))
}

// dropMinute deletes a tenant's replies of a minute.
func (vs *vaults) dropMinute(tenant string, minute int64) error {
	prefix := answerKey(tenant, minute, replyName{})
	prefix = prefix[:len(prefix)-len(replyName{})]

	// Not while the cursor runs over them.
	var keys [][]byte
	cursor := vs.answers.Cursor()
	for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
		keys = append(keys, append([]byte(nil), key...))
	}
	for _, key := range keys {
		if err := vs.answers.remove(key); err != nil {
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
	in := reader{data: key}
	row := LedgerRow{Tenant: in.text()}
	if day := in.bytes(4); day != nil {
		row.Day = calendar.Day(binary.BigEndian.Uint32(day))
	}
	row.Key = in.text()
	row.Operation = Operation(in.data)
	return row, in.err
}

func decodeCounts(value []byte) (Counts, error) {
	if value == nil {
		return Counts{}, nil
	}
	in := reader{data: value}
	counts := Counts{Calls: in.varint(), Charged: in.varint()}
	return counts, in.end()
}

// answerKey names a kept reply in the file. Those of a minute stand together, so that they are
// deleted together.
func answerKey(tenant string, minute int64, name replyName) []byte {
	key := appendText(nil, tenant)
	key = binary.BigEndian.AppendUint64(key, uint64(minute))
	return append(key, name[:]...)
}

func decodeAnswerKey(key []byte) (tenant string, name replyName, err error) {
	in := reader{data: key}
	tenant = in.text()
	in.bytes(8)
	copy(name[:], in.bytes(len(name)))
	return tenant, name, in.end()
}

// append appends a reply as the checkpoint keeps it.
func (r *reply) append(dst []byte) []byte {
	dst = append(dst, r.body[:]...)
	dst = binary.AppendVarint(dst, r.at)
	return append(dst, r.data...)
}

// decodeAnswer reads a kept reply, whose data aliases value.
func decodeAnswer(value []byte) (reply, error) {
	in := reader{data: value}
	var r reply
	copy(r.body[:], in.bytes(len(r.body)))
	r.at = in.varint()
	r.data = in.data
	return r, in.err
}

func (state *storedState) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, checkpointVersion), state.number)
	dst = binary.AppendUvarint(dst, state.last)
	for _, figure := range []int64{state.at.store, state.at.wall, state.boot.at, state.store} {
		dst = binary.AppendVarint(dst, figure)
	}
	dst = appendText(dst, state.boot.id)
	for _, sum := range []bucketSum{state.accounts, state.ledger, state.answers} {
		dst = binary.AppendUvarint(dst, sum.count)
		dst = binary.AppendUvarint(dst, sum.sum)
	}
	return dst
}

// decodeState reads the state as it is stored, sealed unless it is of version 1.
func decodeState(value []byte) (state storedState, err error) {
	if len(value) > 0 && value[0] == firstVersion {
		in := reader{data: value[1:]}
		state = storedState{version: firstVersion, last: in.uvarint()}
		state.at = moment{store: in.varint(), wall: in.varint()}
		return state, in.end()
	}

	value, err = unseal(stateKey, value)
	if err != nil {
		return state, fmt.Errorf("state: %w", err)
	}
	in := reader{data: value}
	version := in.bytes(1)
	if len(version) == 0 || version[0] != checkpointVersion {
		return state, fmt.Errorf("%w: checkpoint version is not %d", ErrCorrupt, checkpointVersion)
	}

	state = storedState{version: checkpointVersion, number: in.uvarint(), last: in.uvarint()}
	for _, figure := range []*int64{&state.at.store, &state.at.wall, &state.boot.at, &state.store} {
		*figure = in.varint()
	}
	state.boot.id = in.text()
	for _, sum := range []*bucketSum{&state.accounts, &state.ledger, &state.answers} {
		sum.count = in.uvarint()
		sum.sum = in.uvarint()
	}
	return state, in.end()
}
