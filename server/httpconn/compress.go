package httpconn

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the size from which bodies are compressed for clients that accept it (decision
// 9): below it the headers cost more than compression saves.
const minCompressed = 1 << 10

// A body is compressed in two parts: its beginning, and a tail that follows uncompressed in its own
// block. Only the tail of a response varies - a cursor, a request id - and all before it can be
// cached compressed (see CompressedCache). The blocks are those of the formats: a reader sees one
// gzip member or one zstd frame.

// maxPlainTail is the longest uncompressed tail; RFC 1951 has 16 bits for the length of a stored
// block.
const maxPlainTail = 1 << 14

// gzipHead is the header of a gzip member without name and time (RFC 1952).
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// zstdHead is the header of a zstd frame of any length with a window of 128 KiB (RFC 8878,
// 3.1.1.1).
const zstdHead = "\x28\xb5\x2f\xfd\x00\x38"

// compressor compresses into memory. The writers of both formats are used in the same way.
type compressor struct {
	bytes.Buffer
	writer interface {
		io.Writer
		Reset(to io.Writer)
		Flush() error // to a whole byte
	}
}

var gzipCompressors = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails only for an invalid level
	return &compressor{writer: w}
}}

var zstdCompressors = sync.Pool{New: func() any {
	// NewWriter fails only for invalid options.
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<17),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	return &compressor{writer: w}
}}

// appendCompressed appends the beginning of a body in an encoding; appendTail must follow.
func appendCompressed(dst, content []byte, encoding string) []byte {
	// The encoder writes the head of a zstd frame itself, if there is something to encode.
	packers := &gzipCompressors
	switch {
	case encoding != "zstd":
		dst = append(dst, gzipHead...)
	case len(content) == 0:
		return append(dst, zstdHead...) // the encoder writes nothing for no content
	default:
		packers = &zstdCompressors
	}

	pack, _ := packers.Get().(*compressor)
	defer packers.Put(pack)
	pack.Buffer = *bytes.NewBuffer(dst)
	pack.writer.Reset(pack)
	_, _ = pack.writer.Write(content) // a buffer takes everything
	_ = pack.writer.Flush()

	packed := pack.Bytes()
	pack.Buffer = bytes.Buffer{} // the caller has its bytes
	return packed
}

// appendTail appends the uncompressed end of a body of size bytes. sum is the CRC-32 of the
// beginning, which the end of a gzip member needs.
func appendTail(dst, end []byte, encoding string, sum uint32, size int) []byte {
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

// checksum returns the sum of the beginning that appendTail needs.
func checksum(content []byte, encoding string) uint32 {
	if encoding == "zstd" {
		return 0 // the zstd frame has none, and TCP's suffices
	}
	return crc32.ChecksumIEEE(content)
}

// Compressed returns a whole body in an encoding.
func Compressed(content []byte, encoding string) []byte {
	dst := appendCompressed(make([]byte, 0, len(content)/3), content, encoding)
	return appendTail(dst, nil, encoding, checksum(content, encoding), len(content))
}
