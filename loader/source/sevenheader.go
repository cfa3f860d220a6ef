package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bodgit/sevenzip"
)

// The library makes room for what a 7z archive's header announces before it looks whether that can be: a forged number
// of files costs it minutes and tens of gigabytes. So the header is walked here first, and only handed on when every
// number in it is bounded by the bytes that must follow, or by a limit.

// Bounds of a 7z header beyond those of every archive.
const (
	// maxSevenHeader bounds the header in bytes: a day of all of TCGCSV takes 2 MB.
	maxSevenHeader = 32 << 20
	// maxSevenFiles bounds the entries, which cost the library some 200 bytes each.
	maxSevenFiles = 1 << 20
	// maxSevenMemory bounds what a method may ask for: PPMd's model, LZMA's dictionary.
	maxSevenMemory = 1 << 28
	// maxSevenSearch bounds entries times streams, since the library looks for every entry's stream from the first one.
	maxSevenSearch = 1 << 32
	// maxSevenCoders bounds the methods chained in one stream.
	maxSevenCoders = 4
)

// Methods by their ids. The archives are text, for which no filter is used; whatever else there is, is not read.
const (
	sevenCopy    = "\x00"
	sevenLZMA    = "\x03\x01\x01"
	sevenLZMA2   = "\x21"
	sevenPPMd    = "\x03\x04\x01"
	sevenDeflate = "\x04\x01\x08"
	sevenBzip2   = "\x04\x02\x02"
)

// Property ids of the format.
const (
	sevenEnd              = 0x00
	sevenHeader           = 0x01
	sevenMainStreams      = 0x04
	sevenFilesInfo        = 0x05
	sevenPackInfo         = 0x06
	sevenUnpackInfo       = 0x07
	sevenSubStreams       = 0x08
	sevenSize             = 0x09
	sevenCRC              = 0x0A
	sevenFolderList       = 0x0B
	sevenCodersUnpackSize = 0x0C
	sevenNumUnpackStream  = 0x0D
	sevenNames            = 0x11
	sevenEncodedHeader    = 0x17
)

const sevenSignature = "7z\xbc\xaf\x27\x1c"

// errSeven is the error of a header that does not add up.
var errSeven = errors.New("its header does not add up")

// checkSevenZip walks the header of an archive of size bytes.
func checkSevenZip(r io.ReaderAt, size int64, lim limits) error {
	var head [32]byte
	if n, err := r.ReadAt(head[:], 0); n < len(head) {
		return damaged(fmt.Errorf("no 7z header: %w", errors.Join(io.ErrUnexpectedEOF, err)))
	}
	if string(head[:6]) != sevenSignature {
		return damaged(errors.New("not a 7z archive"))
	}
	if crc32.ChecksumIEEE(head[12:]) != binary.LittleEndian.Uint32(head[8:]) {
		return damaged(errors.New("its header's checksum is wrong"))
	}
	offset, length := binary.LittleEndian.Uint64(head[12:]), binary.LittleEndian.Uint64(head[20:])
	if offset > uint64(size) || length > uint64(size) || offset+length+32 > uint64(size) {
		return damaged(io.ErrUnexpectedEOF)
	}
	if length == 0 || length > maxSevenHeader {
		return fmt.Errorf("its list of entries has %d bytes, the most allowed are %d", length, maxSevenHeader)
	}
	header := make([]byte, length)
	if n, err := r.ReadAt(header, int64(offset)+32); n < len(header) {
		return damaged(err)
	}
	if crc32.ChecksumIEEE(header) != binary.LittleEndian.Uint32(head[28:]) {
		return damaged(errors.New("its list's checksum is wrong"))
	}
	if header[0] == sevenEncodedHeader {
		var err error
		if header, err = unpackSevenHeader(r, header[1:], int64(offset), lim); err != nil {
			return damaged(err)
		}
	}
	w := sevenWalk{b: header, lim: lim}
	w.header()
	if w.err != nil {
		return damaged(w.err)
	}
	return nil
}

// unpackSevenHeader unpacks a packed header. It makes an archive of one file out of the packed bytes and their
// description, once that is found to be sound, and has the library read that file.
func unpackSevenHeader(r io.ReaderAt, streams []byte, packedSize int64, lim limits) ([]byte, error) {
	w := sevenWalk{b: streams, lim: lim}
	w.streams()
	if w.err == nil && (len(w.b) != 0 || w.folders != 1 || w.files != 1 || w.packs != 1) {
		w.err = errSeven
	}
	if w.err != nil {
		return nil, w.err
	}
	if w.unpacked > maxSevenHeader {
		return nil, fmt.Errorf("its list of entries is larger than the %d bytes allowed", maxSevenHeader)
	}
	if w.packPos > uint64(packedSize) || w.packed > uint64(packedSize)-w.packPos {
		return nil, io.ErrUnexpectedEOF
	}
	// Header, MainStreamsInfo as it stands, FilesInfo of one file with the name "h".
	list := append([]byte{sevenHeader, sevenMainStreams}, streams...)
	list = append(list, sevenFilesInfo, 1, sevenNames, 5, 0, 'h', 0, 0, 0, sevenEnd, sevenEnd)
	packed := make([]byte, w.packPos+w.packed)
	if n, err := r.ReadAt(packed, 32); n < len(packed) {
		return nil, err
	}
	start := binary.LittleEndian.AppendUint64(nil, uint64(len(packed)))
	start = binary.LittleEndian.AppendUint64(start, uint64(len(list)))
	start = binary.LittleEndian.AppendUint32(start, crc32.ChecksumIEEE(list))
	whole := append([]byte(sevenSignature), 0, 4)
	whole = binary.LittleEndian.AppendUint32(whole, crc32.ChecksumIEEE(start))
	whole = append(append(append(whole, start...), packed...), list...)
	var header []byte
	err := guarded(func() error {
		archive, err := sevenzip.NewReader(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			return err
		}
		if len(archive.File) != 1 {
			return errSeven
		}
		body, err := archive.File[0].Open()
		if err != nil {
			return err
		}
		header, err = io.ReadAll(&bounded{r: body, n: maxSevenHeader})
		return errors.Join(err, body.Close())
	})
	if err == nil && uint64(len(header)) != w.unpacked {
		err = io.ErrUnexpectedEOF
	}
	return header, err
}

// sevenWalk walks a header's bytes and keeps the first error, after which everything reads as zero.
type sevenWalk struct {
	b   []byte
	lim limits
	err error

	// What the streams have: packed streams and their place and size, folders, files in them, bytes after unpacking.
	packs, folders, files     int
	packPos, packed, unpacked uint64
	digests                   []bool // whether a folder has a checksum of its own
}

func (w *sevenWalk) fail(err error) {
	if w.err == nil {
		w.err, w.b = err, nil
	}
}

// take returns the next n bytes.
func (w *sevenWalk) take(n uint64) []byte {
	if n > uint64(len(w.b)) {
		w.fail(errSeven)
		return nil
	}
	head := w.b[:n]
	w.b = w.b[n:]
	return head
}

func (w *sevenWalk) byte() byte {
	if b := w.take(1); b != nil {
		return b[0]
	}
	return 0
}

// number reads the format's numbers: as many leading ones in the first byte as bytes follow.
func (w *sevenWalk) number() uint64 {
	first := w.byte()
	var v uint64
	for i := range 8 {
		if first&(0x80>>i) == 0 {
			return v | uint64(first&(0x80>>i-1))<<(8*i)
		}
		v |= uint64(w.byte()) << (8 * i)
	}
	return v
}

// count reads how many of something follow, each of which takes at least one byte.
func (w *sevenWalk) count() int {
	n := w.number()
	if n > uint64(len(w.b)) {
		w.fail(errSeven)
		return 0
	}
	return int(n)
}

func (w *sevenWalk) expect(id byte) {
	if w.byte() != id {
		w.fail(errSeven)
	}
}

// checksums passes over the checksums of n streams and says which have one.
func (w *sevenWalk) checksums(n int) []bool {
	if n > 8*len(w.b) {
		w.fail(errSeven)
		return nil
	}
	defined := make([]bool, n)
	all := w.byte() != 0
	var bits []byte
	if !all {
		bits = w.take(uint64(n+7) / 8)
	}
	sums := uint64(0)
	for i := range defined {
		if defined[i] = all || len(bits) > i/8 && bits[i/8]&(0x80>>(i%8)) != 0; defined[i] {
			sums++
		}
	}
	w.take(4 * sums)
	return defined
}

// header walks a whole unpacked header.
func (w *sevenWalk) header() {
	w.expect(sevenHeader)
	id := w.byte()
	if id == sevenMainStreams {
		w.streams()
		id = w.byte()
	}
	if id == sevenFilesInfo {
		w.filesInfo()
		id = w.byte()
	}
	if id != sevenEnd || len(w.b) != 0 {
		w.fail(errSeven)
	}
}

// filesInfo walks the list of entries. A name takes two bytes at least.
func (w *sevenWalk) filesInfo() {
	n := w.count()
	if n > w.lim.entries || n > maxSevenFiles {
		w.fail(fmt.Errorf("more than %d entries", min(w.lim.entries, maxSevenFiles)))
	}
	if uint64(n)*uint64(w.folders) > maxSevenSearch {
		w.fail(fmt.Errorf("%d entries in %d streams are more than is read: pack it solid", n, w.folders))
	}
	named := false
	for w.err == nil {
		id := w.byte()
		if id == sevenEnd {
			break
		}
		data := w.take(w.number())
		if id != sevenNames {
			continue
		}
		if len(data) < 1+2*n || named {
			w.fail(errSeven)
		}
		named = true
	}
	if n > 0 && !named {
		w.fail(errSeven)
	}
}

// streams walks the description of the packed streams.
func (w *sevenWalk) streams() {
	id := w.byte()
	if id == sevenPackInfo {
		w.packInfo()
		id = w.byte()
	}
	if id == sevenUnpackInfo {
		w.unpackInfo()
		w.files = w.folders
		id = w.byte()
	}
	if id == sevenSubStreams {
		w.subStreams()
		id = w.byte()
	}
	if id != sevenEnd {
		w.fail(errSeven)
	}
}

func (w *sevenWalk) packInfo() {
	w.packPos, w.packs = w.number(), w.count()
	id := w.byte()
	if id == sevenSize {
		for range w.packs {
			n := w.number()
			if w.packed += n; w.packed < n {
				w.fail(errSeven)
			}
		}
		id = w.byte()
	}
	if id == sevenCRC {
		w.checksums(w.packs)
		id = w.byte()
	}
	if id != sevenEnd {
		w.fail(errSeven)
	}
}

func (w *sevenWalk) unpackInfo() {
	w.expect(sevenFolderList)
	w.folders = w.count()
	w.expect(0) // in this place, not elsewhere
	coders := make([]int, 0, min(w.folders, 1024))
	for range w.folders {
		coders = append(coders, w.folder())
	}
	w.expect(sevenCodersUnpackSize)
	for _, n := range coders {
		most := uint64(0)
		for range n {
			most = max(most, w.number())
		}
		if most > uint64(w.lim.total) || w.unpacked+most > uint64(w.lim.total) {
			w.fail(errTooBig)
		}
		w.unpacked += most
	}
	w.digests = make([]bool, w.folders)
	id := w.byte()
	if id == sevenCRC {
		w.digests = w.checksums(w.folders)
		id = w.byte()
	}
	if id != sevenEnd {
		w.fail(errSeven)
	}
}

// folder walks the methods of one stream: a chain of simple ones.
func (w *sevenWalk) folder() (coders int) {
	coders = w.count()
	if coders < 1 || coders > maxSevenCoders {
		w.fail(errSeven)
		return 0
	}
	for range coders {
		flags := w.byte()
		id := string(w.take(uint64(flags & 0x0F)))
		var properties []byte
		if flags&0x20 != 0 {
			properties = w.take(w.number())
		}
		if flags&0xD0 != 0 {
			w.fail(errors.New("packed with a method of several streams, which is not read"))
		}
		if w.err == nil {
			w.method(id, properties)
		}
	}
	for range coders - 1 {
		if in, out := w.number(), w.number(); in >= uint64(coders) || out >= uint64(coders) {
			w.fail(errSeven)
		}
	}
	return coders
}

// method bounds the memory that a method asks for.
func (w *sevenWalk) method(id string, properties []byte) {
	memory := uint32(0)
	switch {
	case id == sevenCopy, id == sevenDeflate, id == sevenBzip2:
	case (id == sevenLZMA || id == sevenPPMd) && len(properties) == 5:
		memory = binary.LittleEndian.Uint32(properties[1:])
	case id == sevenLZMA2 && len(properties) == 1 && properties[0] <= 40:
		if memory = 1<<32 - 1; properties[0] < 40 {
			memory = uint32(2|properties[0]&1) << (properties[0]/2 + 11)
		}
	default:
		w.fail(fmt.Errorf("packed with method %x, which is not read: use PPMd or LZMA", id))
	}
	if memory > maxSevenMemory {
		w.fail(fmt.Errorf("unpacking it takes %d bytes of memory, the most allowed are %d", memory, maxSevenMemory))
	}
}

func (w *sevenWalk) subStreams() {
	streams := make([]int, w.folders)
	for i := range streams {
		streams[i] = 1
	}
	id := w.byte()
	if id == sevenNumUnpackStream {
		w.files = 0
		for i := range streams {
			n := w.number()
			if n > uint64(maxSevenFiles) || w.files+int(n) > maxSevenFiles || n > uint64(len(w.b))+1 {
				w.fail(errSeven)
				return
			}
			streams[i] = int(n)
			w.files += int(n)
		}
		id = w.byte()
	}
	if id == sevenSize {
		for _, n := range streams {
			for range n - 1 {
				w.number()
			}
		}
		id = w.byte()
	}
	if id == sevenCRC {
		open := 0
		for i, n := range streams {
			if n != 1 || !w.digests[i] {
				open += n
			}
		}
		w.checksums(open)
		id = w.byte()
	}
	if id != sevenEnd {
		w.fail(errSeven)
	}
}
