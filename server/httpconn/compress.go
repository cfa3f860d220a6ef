package httpconn

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// compressFrom is the size from which bodies are compressed when asked for (decision 9): below it
// the headers weigh more than what is saved.
const compressFrom = 1 << 10

// A body is compressed in two parts: its beginning, and an end that follows as it is, in a block of
// its own. What of an answer is new each time is its end - a cursor, a request id - and all before
// it can be kept compressed (see packs). Nothing but the formats' own blocks is used: a reader sees
// one gzip member or one zstd frame.

// maxEnd is the longest end; RFC 1951 has 16 bits for the length of a stored block.
const maxEnd = 1 << 14

// gzipHead is the header of a gzip member without name and time (RFC 1952).
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// zstdHead is the header of a zstd frame of any length with a window of 128 KiB (RFC 8878,
// 3.1.1.1).
const zstdHead = "\x28\xb5\x2f\xfd\x00\x38"

// appender is an io.Writer that appends.
type appender struct{ text []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.text = append(a.text, p...)
	return len(p), nil
}

// take returns the text, and lets go of it.
func (a *appender) take() []byte {
	text := a.text
	a.text = nil
	return text
}

// packer compresses into memory. Both formats' writers are used in the same way.
type packer struct {
	appender
	to interface {
		io.Writer
		Reset(to io.Writer)
		Flush() error // to a whole byte
	}
}

var gzipPackers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // the level is a valid constant
	return &packer{to: w}
}}

var zstdPackers = sync.Pool{New: func() any {
	// The options are valid constants.
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<17),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	return &packer{to: w}
}}

// appendPacked appends the beginning of a body in an encoding; appendEnd has to follow.
func appendPacked(dst, content []byte, encoding string) []byte {
	// The head of a zstd frame is the encoder's own, where there is something to encode.
	packers := &gzipPackers
	switch {
	case encoding != "zstd":
		dst = append(dst, gzipHead...)
	case len(content) == 0:
		return append(dst, zstdHead...) // the encoder would wait for something to write
	default:
		packers = &zstdPackers
	}

	pack, _ := packers.Get().(*packer)
	defer packers.Put(pack)
	pack.text = dst
	pack.to.Reset(pack)
	_, _ = pack.to.Write(content) // an appender does not fail
	_ = pack.to.Flush()
	return pack.take()
}

// appendEnd appends the end of a body of so many bytes as it is. sum is the CRC-32 of what was
// before it, which gzip closes with.
func appendEnd(dst, end []byte, encoding string, sum uint32, size int) []byte {
	const last = 1
	if encoding == "zstd" { // RFC 8878, 3.1.1.2: a raw block
		header := uint32(len(end))<<3 | last
		dst = append(dst, byte(header), byte(header>>8), byte(header>>16))
		return append(dst, end...)
	}

	dst = append(dst, last) // RFC 1951, 3.2.4: a stored block
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(end)))
	dst = binary.LittleEndian.AppendUint16(dst, ^uint16(len(end)))
	dst = append(dst, end...)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Update(sum, crc32.IEEETable, end))
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// checksum is what appendEnd wants to know of the beginning.
func checksum(content []byte, encoding string) uint32 {
	if encoding == "zstd" {
		return 0 // zstd has one of its own, and TCP's suffices
	}
	return crc32.ChecksumIEEE(content)
}

// Compressed is a whole body in an encoding.
func Compressed(content []byte, encoding string) []byte {
	dst := appendPacked(make([]byte, 0, len(content)/3), content, encoding)
	return appendEnd(dst, nil, encoding, checksum(content, encoding), len(content))
}
