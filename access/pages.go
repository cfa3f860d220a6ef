package access

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
)

// The pages of a bbolt file, read without bbolt: it trusts what it reads, and a damaged page makes it
// panic, read beside the file or lose keys in silence. So a checkpoint file is walked here first
// (decision 1758).

const (
	pageHeader  = 16
	pageElement = 16
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	metaLength  = 56 // that its checksum covers

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10
	bucketLeaf   = 0x01

	noFreelist = ^uint64(0)
)

// pages is a bbolt file in memory.
type pages struct {
	data []byte
	size int // of a page

	root, freelist, end uint64
	seen                map[uint64]bool
	lenient             bool    // go on behind damage, and note it
	damage              []error // lenient
	visit               func(bucket string, key, value []byte)
}

// checkPages walks the file of a checkpoint, and finds anything that is not as bbolt writes it. A file
// that is not there, or empty, is good.
func checkPages(path string) error {
	p, err := readPages(path)
	if p == nil || err != nil {
		return err
	}
	return p.walk(func(string, []byte, []byte) {})
}

// readPages reads a file and finds its newest state; nil when there is no file yet.
func readPages(path string) (*pages, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	p := &pages{data: data, seen: map[uint64]bool{0: true, 1: true}}
	newest := uint64(0)
	for _, size := range []int{4096, 8192, 16384, 32768, 65536, 1024, 2048} {
		for at := range 2 {
			txid, ok := p.meta(data, at*size, size)
			if ok && (p.size == 0 || txid > newest) {
				newest = txid
				p.take(data[at*size+pageHeader:], size)
			}
		}
		if p.size != 0 {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w: neither of its first two pages is whole", ErrCorrupt)
}

// meta reports whether a good meta page stands at a place, and its number.
func (p *pages) meta(data []byte, at, size int) (txid uint64, ok bool) {
	if len(data) < at+pageHeader+metaLength+8 {
		return 0, false
	}
	m := data[at+pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaLength])
	e := binary.NativeEndian
	ok = e.Uint32(m) == boltMagic && e.Uint32(m[4:]) == boltVersion && e.Uint32(m[8:]) == uint32(size) &&
		e.Uint64(m[metaLength:]) == sum.Sum64()
	return e.Uint64(m[48:]), ok
}

func (p *pages) take(m []byte, size int) {
	e := binary.NativeEndian
	p.size = size
	p.root = e.Uint64(m[16:])
	p.freelist = e.Uint64(m[32:])
	p.end = e.Uint64(m[40:])
}

// walk visits every value of every bucket of the newest state.
func (p *pages) walk(visit func(bucket string, key, value []byte)) error {
	p.visit = visit
	if uint64(len(p.data)) < p.end*uint64(p.size) {
		if err := p.bad(0, "the file is cut short"); err != nil {
			return err
		}
	}
	if err := p.tree(p.root, "", nil, nil); err != nil {
		return err
	}
	if p.freelist == noFreelist {
		return nil
	}
	return p.free()
}

// bad notes damage, and returns it unless the walk goes on.
func (p *pages) bad(id uint64, what string) error {
	err := fmt.Errorf("%w: page %d: %s", ErrCorrupt, id, what)
	if p.lenient {
		p.damage = append(p.damage, err)
		return nil
	}
	return err
}

// page returns the bytes of a page that nothing else led to.
func (p *pages) page(id uint64) (page []byte, problem string) {
	at := id * uint64(p.size)
	if id >= p.end || at+uint64(p.size) > uint64(len(p.data)) {
		return nil, "beyond the end"
	}
	if p.seen[id] {
		return nil, "reached twice"
	}

	page = p.data[at:]
	if binary.NativeEndian.Uint64(page) != id {
		return nil, "has another number"
	}
	over := uint64(binary.NativeEndian.Uint32(page[12:]))
	if over >= p.end-id || (over+1)*uint64(p.size) > uint64(len(page)) {
		return nil, "runs over the end"
	}
	for n := range over + 1 {
		if p.seen[id+n] {
			return nil, "runs into another"
		}
		p.seen[id+n] = true
	}
	return page[:(over+1)*uint64(p.size)], ""
}

// tree walks the pages of a bucket, whose keys lie from low on and below high.
func (p *pages) tree(id uint64, bucket string, low, high []byte) error {
	page, problem := p.page(id)
	if problem != "" {
		return p.bad(id, problem)
	}
	return p.elements(id, page, bucket, low, high)
}

// element returns the n-th element of a page: its flags or none, its key, and what follows the key.
func element(page []byte, n int, leaf bool) (flags uint32, child uint64, key, value []byte, ok bool) {
	at := pageHeader + n*pageElement
	e := binary.NativeEndian
	el := page[at:]
	pos := uint64(e.Uint32(el))
	keys := uint64(e.Uint32(el[4:]))
	values := uint64(0)
	if leaf {
		flags = e.Uint32(el)
		pos = uint64(e.Uint32(el[4:]))
		keys = uint64(e.Uint32(el[8:]))
		values = uint64(e.Uint32(el[12:]))
	} else {
		child = e.Uint64(el[8:])
	}

	from := uint64(at) + pos
	if keys == 0 || from+keys+values > uint64(len(page)) {
		return 0, 0, nil, nil, false
	}
	return flags, child, page[from : from+keys], page[from+keys : from+keys+values], true
}

func (p *pages) elements(id uint64, page []byte, bucket string, low, high []byte) error {
	kind := binary.NativeEndian.Uint16(page[8:])
	count := int(binary.NativeEndian.Uint16(page[10:]))
	leaf := kind == leafPage
	if !leaf && kind != branchPage || pageHeader+count*pageElement > len(page) || !leaf && count == 0 {
		return p.bad(id, "is neither branch nor leaf")
	}

	for n := range count {
		flags, child, key, value, ok := element(page, n, leaf)
		if !ok || flags > bucketLeaf {
			if err := p.bad(id, "has an element that is none"); err != nil {
				return err
			}
			continue
		}
		if n > 0 && bytes.Compare(key, low) <= 0 || n == 0 && bytes.Compare(key, low) < 0 ||
			high != nil && bytes.Compare(key, high) >= 0 {
			if err := p.bad(id, "has keys out of order"); err != nil {
				return err
			}
		}
		low = key

		err := error(nil)
		switch {
		case !leaf:
			next := high
			if n+1 < count {
				if _, _, following, _, ok := element(page, n+1, leaf); ok {
					next = following
				}
			}
			err = p.tree(child, bucket, key, next)
		case flags == bucketLeaf:
			err = p.bucket(id, bucket, key, value)
		default:
			p.visit(bucket, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket walks a bucket, which is a tree of its own or a page within the value.
func (p *pages) bucket(id uint64, in string, name, value []byte) error {
	if in != "" || len(value) < 16 {
		return p.bad(id, "has a bucket that is none")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return p.tree(root, string(name), nil, nil)
	}
	if len(value) < 16+pageHeader {
		return p.bad(id, "has a bucket that is none")
	}
	return p.elements(id, value[16:], string(name), nil, nil)
}

// free checks the list of free pages: one of them in use would be written over.
func (p *pages) free() error {
	page, problem := p.page(p.freelist)
	if problem == "" && binary.NativeEndian.Uint16(page[8:]) != freelistPage {
		problem = "is no list of free pages"
	}
	if problem != "" {
		return p.bad(p.freelist, problem)
	}

	count := uint64(binary.NativeEndian.Uint16(page[10:]))
	ids := page[pageHeader:]
	if count == 0xFFFF && len(ids) >= 8 {
		count = binary.NativeEndian.Uint64(ids)
		ids = ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return p.bad(p.freelist, "is cut short")
	}
	for n := range count {
		id := binary.NativeEndian.Uint64(ids[n*8:])
		if id >= p.end || p.seen[id] {
			return p.bad(p.freelist, "frees a page that is in use")
		}
		p.seen[id] = true
	}
	return nil
}
