package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"ninepocket/internal/wal"
)

// Every value of the checkpoint file ends with the CRC-32C of its key and itself, and the header has,
// for each bucket, the number of values and the sum of their checksums. So a value that is changed,
// missing or under a wrong key is found (decision 1756).

const checksumLength = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendChecksum appends the checksum of a key and its value to the value.
func appendChecksum(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.LittleEndian.AppendUint32(value, sum)
}

// verifyChecksum verifies the checksum of a stored value, and returns the value without it.
func verifyChecksum(key, stored []byte) ([]byte, error) {
	n := len(stored) - checksumLength
	if n < 0 {
		return nil, fmt.Errorf("%w: value without a checksum", wal.ErrCorrupt)
	}
	if crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, stored[:n]) != checksumOf(stored) {
		return nil, fmt.Errorf("%w: value with a wrong checksum", wal.ErrCorrupt)
	}
	return stored[:n:n], nil
}

func checksumOf(stored []byte) uint32 {
	return binary.LittleEndian.Uint32(stored[len(stored)-checksumLength:])
}

// bucketChecksum is the number of values of a bucket and the sum of their checksums.
type bucketChecksum struct{ count, sum uint64 }

func (sum *bucketChecksum) add(stored []byte) {
	sum.count++
	sum.sum += uint64(checksumOf(stored))
}

func (sum *bucketChecksum) remove(stored []byte) {
	sum.count--
	sum.sum -= uint64(checksumOf(stored))
}

// checksumBucket is a bucket of values with checksums. It updates the bucket's sum.
type checksumBucket struct {
	*bbolt.Bucket
	sum *bucketChecksum
}

// get returns a value, or nil when there is none.
func (v checksumBucket) get(key []byte) ([]byte, error) {
	stored := v.Get(key)
	if stored == nil {
		return nil, nil
	}
	return verifyChecksum(key, stored)
}

func (v checksumBucket) put(key, value []byte) error {
	if err := v.forget(key); err != nil {
		return err
	}
	stored := appendChecksum(key, value)
	v.sum.add(stored)
	return v.Put(key, stored)
}

func (v checksumBucket) remove(key []byte) error {
	if err := v.forget(key); err != nil {
		return err
	}
	return v.Delete(key)
}

// forget subtracts the value of a key from the sum.
func (v checksumBucket) forget(key []byte) error {
	stored := v.Get(key)
	if stored == nil {
		return nil
	}
	_, err := verifyChecksum(key, stored)
	if err == nil {
		v.sum.remove(stored)
	}
	return err
}

// keys returns copies of the keys that begin with a prefix: nothing may change under a cursor.
func (v checksumBucket) keys(prefix []byte) (keys [][]byte) {
	cursor := v.Cursor()
	for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
		keys = append(keys, bytes.Clone(key))
	}
	return keys
}

// check visits every value, and then compares the bucket with its sum.
func (v checksumBucket) check(name string, visit func(key, value []byte) error) error {
	var seen bucketChecksum
	err := v.ForEach(func(key, stored []byte) error {
		value, err := verifyChecksum(key, stored)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		seen.add(stored)
		return visit(key, value)
	})
	if err == nil && seen != *v.sum {
		err = fmt.Errorf("%w: %s: %d values, %d were stored", wal.ErrCorrupt, name, seen.count, v.sum.count)
	}
	return err
}
