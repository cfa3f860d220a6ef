package state

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"ninepocket/internal/wal"
)

// AppendText appends a string and its length, as [Decoder.Text] reads it.
func AppendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// Decoder reads consecutive values from Data. The first error sticks, and wraps [wal.ErrCorrupt];
// every length is checked against the rest before anything is allocated.
type Decoder struct {
	Data []byte // the rest
	Err  error
}

// Fail records that the data are damaged.
func (in *Decoder) Fail() {
	if in.Err == nil {
		in.Err = fmt.Errorf("%w: value cut short", wal.ErrCorrupt)
	}
	in.Data = nil
}

// Bytes returns the next n bytes, which alias the input.
func (in *Decoder) Bytes(n int) []byte {
	if n < 0 || n > len(in.Data) {
		in.Fail()
		return nil
	}
	out := in.Data[:n]
	in.Data = in.Data[n:]
	return out
}

// Uvarint reads a number as binary.AppendUvarint writes it.
func (in *Decoder) Uvarint() uint64 {
	number, n := binary.Uvarint(in.Data)
	in.Bytes(cmp.Or(n, -1)) // n is 0 for a number that is cut short
	return number
}

// Varint reads a number as binary.AppendVarint writes it.
func (in *Decoder) Varint() int64 {
	number, n := binary.Varint(in.Data)
	in.Bytes(cmp.Or(n, -1))
	return number
}

// Length reads a length or a count. One that damage made large is limited to fit into an int.
func (in *Decoder) Length() int { return int(min(in.Uvarint(), wal.MaxPayload)) }

// Text reads a string.
func (in *Decoder) Text() string { return string(in.Bytes(in.Length())) }

// End returns the first error, or one if data are left over.
func (in *Decoder) End() error {
	if in.Err == nil && len(in.Data) > 0 {
		return fmt.Errorf("%w: %d bytes left over", wal.ErrCorrupt, len(in.Data))
	}
	return in.Err
}
