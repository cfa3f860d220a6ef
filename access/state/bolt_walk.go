package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"

	"ninepocket/internal/wal"
)

// This file reads the pages of a bbolt file without bbolt, which trusts them: a damaged page makes it
// panic, read outside of the file or lose keys in silence. So a checkpoint file is walked here first
// (decision 1758).

const (
	pageHeader  = 16
	pageElement = 16
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	metaLength  = 56 // covered by its checksum

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketLeaf   = 0x01

	noFreelist = ^uint64(0)
)

// boltWalker is a bbolt file in memory.
type boltWalker struct {
	data []byte
	size int // of a page

	txid                uint64 // of the meta page in use
	root, freelist, end uint64
	seen                map[uint64]bool
	damage              []error // found so far; the reader continues after it
	visit               func(bucket string, key, value []byte)
}

// checkPages walks a checkpoint file, and returns the first thing that is not as bbolt writes it. A
// missing or empty file is good.
func checkPages(path string) error {
	bw, err := readPages(path)
	if bw == nil || err != nil {
		return err
	}
	damage := bw.walk(func(string, []byte, []byte) {})
	if len(damage) == 0 {
		return nil
	}
	return damage[0]
}

// readPages reads a file and selects its newest meta page; nil when there is no file yet.
func readPages(path string) (*boltWalker, error) {
	data, err := wal.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	bw := &boltWalker{data: data, seen: map[uint64]bool{0: true, 1: true}}

	// The page size is only in the pages: the usual sizes are tried first.
	for _, size := range []int{4096, 8192, 16384, 32768, 65536, 1024, 2048} {
		bw.useMeta(0, size)
		bw.useMeta(size, size)
		if bw.size != 0 {
			return bw, nil
		}
	}
	return nil, fmt.Errorf("%w: neither of its first two pages is whole", wal.ErrCorrupt)
}

// useMeta uses the meta page at an offset, if it is good and newer than the one in use.
func (bw *boltWalker) useMeta(off, size int) {
	if len(bw.data) < off+pageHeader+metaLength+8 {
		return
	}
	meta := bw.data[off+pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(meta[:metaLength])

	native := binary.NativeEndian
	good := native.Uint32(meta) == boltMagic && native.Uint32(meta[4:]) == boltVersion &&
		native.Uint32(meta[8:]) == uint32(size) && native.Uint64(meta[metaLength:]) == sum.Sum64()
	if txid := native.Uint64(meta[48:]); good && (bw.size == 0 || txid > bw.txid) {
		bw.size = size
		bw.txid = txid
		bw.root = native.Uint64(meta[16:])
		bw.freelist = native.Uint64(meta[32:])
		bw.end = native.Uint64(meta[40:])
	}
}

// walk visits every value of every bucket, and returns the damage.
func (bw *boltWalker) walk(visit func(bucket string, key, value []byte)) []error {
	bw.visit = visit
	if uint64(len(bw.data)) < bw.end*uint64(bw.size) {
		bw.report(0, "the file is cut short")
	}
	bw.walkTree(bw.root, "", nil, nil)
	if bw.freelist != noFreelist {
		bw.checkFreelist()
	}
	return bw.damage
}

// report records damage.
func (bw *boltWalker) report(id uint64, what string) {
	bw.damage = append(bw.damage, fmt.Errorf("%w: page %d: %s", wal.ErrCorrupt, id, what))
}

// page returns the bytes of a page, which must not have been reached before.
func (bw *boltWalker) page(id uint64) (page []byte, problem string) {
	off := id * uint64(bw.size)
	if id >= bw.end || off+uint64(bw.size) > uint64(len(bw.data)) {
		return nil, "beyond the end"
	}
	if bw.seen[id] {
		return nil, "reached twice"
	}

	page = bw.data[off:]
	if binary.NativeEndian.Uint64(page) != id {
		return nil, "has another number"
	}
	over := uint64(binary.NativeEndian.Uint32(page[12:]))
	if over >= bw.end-id || (over+1)*uint64(bw.size) > uint64(len(page)) {
		return nil, "runs over the end"
	}
	for n := range over + 1 {
		if bw.seen[id+n] {
			return nil, "runs into another"
		}
		bw.seen[id+n] = true
	}
	return page[:(over+1)*uint64(bw.size)], ""
}

// walkTree walks the pages of a bucket, whose keys are at least low and less than high.
func (bw *boltWalker) walkTree(id uint64, bucket string, low, high []byte) {
	page, problem := bw.page(id)
	if problem != "" {
		bw.report(id, problem)
		return
	}
	bw.walkElements(id, page, bucket, low, high)
}

// element returns the n-th element of a page: its flags, child page, key and value.
func element(page []byte, n int, leaf bool) (flags uint32, child uint64, key, value []byte, ok bool) {
	off := pageHeader + n*pageElement
	native := binary.NativeEndian
	el := page[off:]
	values := uint64(0)
	if leaf {
		flags = native.Uint32(el)
		values = uint64(native.Uint32(el[12:]))
		el = el[4:] // the rest is in the same order
	} else {
		child = native.Uint64(el[8:])
	}

	pos := uint64(native.Uint32(el))
	keys := uint64(native.Uint32(el[4:]))
	from := uint64(off) + pos
	if keys == 0 || from+keys+values > uint64(len(page)) {
		return 0, 0, nil, nil, false
	}
	return flags, child, page[from : from+keys], page[from+keys : from+keys+values], true
}

func (bw *boltWalker) walkElements(id uint64, page []byte, bucket string, low, high []byte) {
	kind := binary.NativeEndian.Uint16(page[8:])
	count := int(binary.NativeEndian.Uint16(page[10:]))
	leaf := kind == leafPage
	if !leaf && kind != branchPage || pageHeader+count*pageElement > len(page) || !leaf && count == 0 {
		bw.report(id, "is neither branch nor leaf")
		return
	}

	for n := range count {
		flags, child, key, value, ok := element(page, n, leaf)
		if !ok || flags > bucketLeaf {
			bw.report(id, "has an element that is none")
			continue
		}
		if n > 0 && bytes.Compare(key, low) <= 0 || n == 0 && bytes.Compare(key, low) < 0 ||
			high != nil && bytes.Compare(key, high) >= 0 {
			bw.report(id, "has keys out of order")
		}
		low = key

		switch {
		case !leaf:
			next := high
			if n+1 < count {
				if _, _, following, _, ok := element(page, n+1, leaf); ok {
					next = following
				}
			}
			bw.walkTree(child, bucket, key, next)
		case flags == bucketLeaf:
			bw.walkBucket(id, bucket, key, value)
		default:
			bw.visit(bucket, key, value)
		}
	}
}

// walkBucket walks a bucket, which is a tree of its own or a page within the value.
func (bw *boltWalker) walkBucket(id uint64, parent string, name, value []byte) {
	const head = 16
	switch {
	case parent == "" && len(value) >= head && binary.NativeEndian.Uint64(value) != 0:
		bw.walkTree(binary.NativeEndian.Uint64(value), string(name), nil, nil)
	case parent == "" && len(value) >= head+pageHeader:
		bw.walkElements(id, value[head:], string(name), nil, nil)
	default:
		bw.report(id, "has a bucket that is none")
	}
}

// checkFreelist checks the list of free pages: a used page in it would be overwritten.
func (bw *boltWalker) checkFreelist() {
	page, problem := bw.page(bw.freelist)
	if problem == "" && binary.NativeEndian.Uint16(page[8:]) != freelistPage {
		problem = "is no list of free pages"
	}
	if problem != "" {
		bw.report(bw.freelist, problem)
		return
	}

	count := uint64(binary.NativeEndian.Uint16(page[10:]))
	ids := page[pageHeader:]
	if count == 0xFFFF && len(ids) >= 8 {
		count = binary.NativeEndian.Uint64(ids)
		ids = ids[8:]
	}
	if count > uint64(len(ids)/8) {
		bw.report(bw.freelist, "is cut short")
		return
	}
	for n := range count {
		id := binary.NativeEndian.Uint64(ids[n*8:])
		if id >= bw.end || bw.seen[id] {
			bw.report(bw.freelist, "frees a page that is in use")
			return
		}
		bw.seen[id] = true
	}
}
