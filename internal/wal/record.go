package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"
)

// A segment is a header and records, all little-endian:
//
//	header: magic "npkwal01" | number of the first record, 8 | CRC-32C of both, 4
//	record: CRC-32C of the rest, 4 | payload length, 4 | number, 8 | last number known to be on disk, 8 | payload
//
// The fourth field distinguishes damage from a torn end. After a power cut, records that were never
// synced may be missing while later ones exist. A record may not be missing if a later one has its
// number as on disk.
const (
	segmentMagic  = "npkwal01"
	segmentHeader = 20
	recordHeader  = 24

	// MaxPayload is the longest payload that can be read.
	MaxPayload = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, SegmentName(first))
}

// SegmentName returns the file name of the segment that begins with a record.
func SegmentName(first uint64) string { return fmt.Sprintf("%020d.wal", first) }

// segmentFirst returns the number of the first record in a file name.
func segmentFirst(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, ".wal")
	if !ok || len(digits) != 20 {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
}

func encodeHeader(first uint64) []byte {
	dst := append(make([]byte, 0, segmentHeader), segmentMagic...)
	dst = binary.LittleEndian.AppendUint64(dst, first)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

// appendRecord appends a record; encode appends its payload.
func appendRecord(dst []byte, seq, synced uint64, encode func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, 8)...) // checksum and length follow
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = binary.LittleEndian.AppendUint64(dst, synced)
	dst = encode(dst)

	binary.LittleEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-recordHeader))
	binary.LittleEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

// record is a parsed record; payload aliases the data that it was parsed from.
type record struct {
	seq     uint64
	synced  uint64
	payload []byte
	size    int
}

// parseRecord parses the record at the start of data, if there is an undamaged one.
func parseRecord(data []byte) (record, bool) {
	if len(data) < recordHeader {
		return record{}, false
	}
	length := binary.LittleEndian.Uint32(data[4:])
	if length > MaxPayload || int(length) > len(data)-recordHeader {
		return record{}, false
	}

	size := recordHeader + int(length)
	if binary.LittleEndian.Uint32(data) != crc32.Checksum(data[4:size], castagnoli) {
		return record{}, false
	}
	return record{
		seq: binary.LittleEndian.Uint64(data[8:]), synced: binary.LittleEndian.Uint64(data[16:]),
		payload: data[recordHeader:size], size: size,
	}, true
}

// recordAt parses the record at an offset, if there is an undamaged one whose number is at least first
// and less than end. Checking the number first saves the checksum at most offsets.
func recordAt(data []byte, at int, first, end uint64) (record, bool) {
	if at+recordHeader > len(data) {
		return record{}, false
	}
	seq := binary.LittleEndian.Uint64(data[at+8:])
	if seq < first || seq >= end {
		return record{}, false
	}
	return parseRecord(data[at:])
}

// provesSynced reports whether an undamaged record in data shows that the broken record was on disk.
// data begins at the broken record.
func provesSynced(data []byte, broken uint64) bool {
	used := len(bytes.TrimRight(data, "\x00")) // no record begins after it: its number would be 0
	for i := range used {
		if r, ok := recordAt(data, i, broken+1, broken+uint64(len(data))+1); ok && r.synced >= broken {
			return true
		}
	}
	return false
}

// countTorn returns how many records data had, which begins at the broken record: that one, and the
// undamaged ones after it.
func countTorn(data []byte, broken uint64) (n int) {
	used := len(bytes.TrimRight(data, "\x00"))
	if used == 0 {
		return 0
	}

	n = 1
	for i := 1; i < used; i++ {
		if r, ok := recordAt(data, i, broken+1, broken+uint64(len(data))+1); ok {
			n++
			i += r.size - 1
		}
	}
	return n
}
