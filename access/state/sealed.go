package state

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"ninepocket/internal/wal"
)

// What the checkpoint file holds is sealed: every value ends with the CRC-32C of its key and itself,
// and the state has, for each bucket, how many values there are and the sum of their checksums. So
// neither a changed value nor one that is missing, or in a wrong place, is believed (decision 1756).

const sealLength = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends the checksum of a key and its value to the value.
func seal(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.LittleEndian.AppendUint32(value, sum)
}

// unseal returns a value without its checksum, which has to be right.
func unseal(key, sealed []byte) ([]byte, error) {
	n := len(sealed) - sealLength
	if n < 0 {
		return nil, fmt.Errorf("%w: value without a checksum", wal.ErrCorrupt)
	}
	if crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, sealed[:n]) != sealOf(sealed) {
		return nil, fmt.Errorf("%w: value with a wrong checksum", wal.ErrCorrupt)
	}
	return sealed[:n:n], nil
}

func sealOf(sealed []byte) uint32 { return binary.LittleEndian.Uint32(sealed[len(sealed)-sealLength:]) }

// bucketSum is what the state knows of a bucket.
type bucketSum struct{ count, sum uint64 }

func (sum *bucketSum) add(sealed []byte) {
	sum.count++
	sum.sum += uint64(sealOf(sealed))
}

func (sum *bucketSum) remove(sealed []byte) {
	sum.count--
	sum.sum -= uint64(sealOf(sealed))
}

// vault is a bucket of sealed values that keeps its sum.
type vault struct {
	*bbolt.Bucket
	sum *bucketSum
}

// get returns a value, or nil when there is none.
func (v vault) get(key []byte) ([]byte, error) {
	sealed := v.Get(key)
	if sealed == nil {
		return nil, nil
	}
	return unseal(key, sealed)
}

func (v vault) put(key, value []byte) error {
	if err := v.forget(key); err != nil {
		return err
	}
	sealed := seal(key, value)
	v.sum.add(sealed)
	return v.Put(key, sealed)
}

func (v vault) remove(key []byte) error {
	if err := v.forget(key); err != nil {
		return err
	}
	return v.Delete(key)
}

// forget takes the value of a key out of the sum.
func (v vault) forget(key []byte) error {
	sealed := v.Get(key)
	if sealed == nil {
		return nil
	}
	_, err := unseal(key, sealed)
	if err == nil {
		v.sum.remove(sealed)
	}
	return err
}

// check visits every value, and then compares the bucket with its sum.
func (v vault) check(name string, visit func(key, value []byte) error) error {
	var seen bucketSum
	err := v.ForEach(func(key, sealed []byte) error {
		value, err := unseal(key, sealed)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		seen.add(sealed)
		return visit(key, value)
	})
	if err == nil && seen != *v.sum {
		err = fmt.Errorf("%w: %s: %d values, %d were stored", wal.ErrCorrupt, name, seen.count, v.sum.count)
	}
	return err
}
