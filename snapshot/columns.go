package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// columns is one pass over the columns of a section, in the order of the format. Encoding and
// decoding walk through the same table (see sections.go), so that the two cannot drift apart. After
// the first failure a call does nothing.
//
// A section is a msgpack map from column name to bin. Integers are little-endian and of fixed
// width.
type columns interface {
	strings(name string, texts *Strings)
	lists(name string, l *Lists)
	bytes(name string, b *[]byte)
	u8(name string, v *[]uint8)
	u16(name string, v *[]uint16)
	u32(name string, v *[]uint32)
	i32(name string, v *[]int32)
	i64(name string, v *[]int64)
	days(name string, v *[]Day)
	// since reports whether the section is of this format or a newer one.
	since(format int) bool
}

// encoder writes columns.
type encoder struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
	err error
}

// encodeSection spells a table as the bytes of its section.
func encodeSection(walk func(columns)) ([]byte, error) {
	size := &measure{format: Format}
	walk(size)

	e := &encoder{}
	e.enc = msgpack.NewEncoder(&e.buf)
	e.err = e.enc.EncodeMapLen(size.entries)
	walk(e)
	return e.buf.Bytes(), e.err
}

func (e *encoder) bin(name string, b []byte) {
	if e.err == nil {
		e.err = e.enc.EncodeString(name)
	}
	if e.err != nil {
		return
	}

	if b == nil {
		// msgpack spells a nil slice as nil, and not as an empty bin.
		b = []byte{}
	}

	e.err = e.enc.EncodeBytes(b)
}

func (e *encoder) strings(name string, texts *Strings) {
	e.bin(name, texts.arena)
	e.u32(name+".ends", &texts.ends)
}
func (e *encoder) lists(name string, l *Lists)  { e.u32(name, &l.ends) }
func (e *encoder) bytes(name string, b *[]byte) { e.bin(name, *b) }
func (e *encoder) u8(name string, v *[]uint8)   { e.bin(name, *v) }
func (e *encoder) u16(name string, v *[]uint16) { e.bin(name, littleEndian(*v)) }
func (e *encoder) u32(name string, v *[]uint32) { e.bin(name, littleEndian(*v)) }
func (e *encoder) i32(name string, v *[]int32)  { e.bin(name, littleEndian(*v)) }
func (e *encoder) i64(name string, v *[]int64)  { e.bin(name, littleEndian(*v)) }
func (e *encoder) days(name string, v *[]Day)   { e.bin(name, littleEndian(*v)) }
func (e *encoder) since(int) bool               { return true }

// decoder reads columns out of a section's bytes.
type decoder struct {
	format int
	data   []byte
	r      *bytes.Reader
	dec    *msgpack.Decoder
	step   func()
	err    error
}

// decodeSection reads a table from the bytes of its section. It allocates only what the bytes
// really hold: it compares each length with what is left before it reads (docs/SNAPSHOT.md, What a
// reader must check). msgpack itself would allocate what five bytes declare.
//
// Columns are copies, so that the bytes of the section can be freed. Only the points of history are
// not copied, because they are most of a snapshot.
func decodeSection(data []byte, format int, step func(), walk func(columns)) error {
	decoder := &decoder{format: format, data: data, r: bytes.NewReader(data), step: step}
	decoder.dec = msgpack.NewDecoder(decoder.r)

	want := &measure{format: format}
	walk(want)

	n, err := decoder.dec.DecodeMapLen()
	if err != nil {
		return fmt.Errorf("is not a map: %w", err)
	}
	if n != want.entries {
		return fmt.Errorf("has %d columns instead of %d", n, want.entries)
	}

	walk(decoder)
	if decoder.err == nil && decoder.r.Len() != 0 {
		decoder.err = errors.New("has bytes after its last column")
	}

	return decoder.err
}

// bin returns the bytes of the next column. The column must have the given name and whole elements,
// each of width bytes.
func (d *decoder) bin(name string, width int) []byte {
	if d.err != nil {
		return nil
	}

	// The name is read like the value, as bytes of the section: the length of a string may be
	// forged, too.
	n, err := d.dec.DecodeBytesLen()
	if err != nil || n != len(name) || n > d.r.Len() || string(d.next(n)) != name {
		return d.fail(name, "is not where it should be")
	}

	n, err = d.dec.DecodeBytesLen()
	if err != nil {
		return d.fail(name, "is not bytes: %v", err)
	}

	// A length is compared with what is left before anybody makes room for it.
	if n < 0 || n > d.r.Len() {
		return d.fail(name, "declares %d bytes where %d are left", n, d.r.Len())
	}
	if n%width != 0 {
		return d.fail(name, "has %d bytes, not a multiple of %d", n, width)
	}

	return d.next(n)
}

// next steps over n bytes that are known to be there and returns them.
func (d *decoder) next(n int) []byte {
	at := len(d.data) - d.r.Len()
	// A bytes.Reader seeks forward without failing.
	_, _ = d.r.Seek(int64(n), 1)
	return d.data[at : at+n : at+n]
}

func (d *decoder) fail(name, format string, args ...any) []byte {
	d.err = fmt.Errorf("column %q %s", name, fmt.Sprintf(format, args...))
	return nil
}

func (d *decoder) strings(name string, texts *Strings) {
	texts.arena = bytes.Clone(d.bin(name, 1))
	d.u32(name+".ends", &texts.ends)
	if d.err == nil && !texts.ok() {
		d.fail(name, "has ends that do not fit its bytes")
	}
}
func (d *decoder) lists(name string, l *Lists)  { d.u32(name, &l.ends) }
func (d *decoder) bytes(name string, b *[]byte) { *b = d.bin(name, 1) }
func (d *decoder) u8(name string, v *[]uint8)   { *v = bytes.Clone(d.bin(name, 1)) }
func (d *decoder) u16(name string, v *[]uint16) {
	*v = fromLittleEndian[uint16](d.bin(name, 2), d.step)
}

func (d *decoder) u32(name string, v *[]uint32) {
	*v = fromLittleEndian[uint32](d.bin(name, 4), d.step)
}

func (d *decoder) i32(name string, v *[]int32) { *v = fromLittleEndian[int32](d.bin(name, 4), d.step) }

func (d *decoder) i64(name string, v *[]int64) { *v = fromLittleEndian[int64](d.bin(name, 8), d.step) }

func (d *decoder) days(name string, v *[]Day) { *v = fromLittleEndian[Day](d.bin(name, 4), d.step) }
func (d *decoder) since(format int) bool      { return d.format >= format }

type integer interface {
	~uint16 | ~uint32 | ~int32 | ~int64
}

// littleEndian spells integers in the format's byte order.
func littleEndian[T integer](v []T) []byte {
	width := int(unsafe.Sizeof(T(0)))
	b := make([]byte, 0, len(v)*width)
	for _, x := range v {
		switch width {
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		default:
			b = binary.LittleEndian.AppendUint64(b, uint64(x))
		}
	}

	return b
}

func fromLittleEndian[T integer](b []byte, step func()) []T {
	width := int(unsafe.Sizeof(T(0)))
	v := make([]T, len(b)/width)
	for i := range v {
		if i&(1<<14-1) == 0 {
			// 16,384 elements take ten microseconds or so.
			step()
		}

		switch width {
		case 2:
			v[i] = T(binary.LittleEndian.Uint16(b[i*2:]))
		case 4:
			v[i] = T(binary.LittleEndian.Uint32(b[i*4:]))
		default:
			v[i] = T(binary.LittleEndian.Uint64(b[i*8:]))
		}
	}

	return v
}

// measure counts the entries that the map of a section has in a format, and the bytes of memory
// that its columns take.
type measure struct {
	format  int
	entries int
	memory  int64
}

func (m *measure) add(entries, memory int) {
	m.entries += entries
	m.memory += int64(memory)
}

func (m *measure) strings(_ string, texts *Strings) { m.add(2, cap(texts.arena)+4*cap(texts.ends)) }
func (m *measure) lists(_ string, l *Lists)         { m.add(1, 4*cap(l.ends)) }
func (m *measure) bytes(_ string, b *[]byte)        { m.add(1, cap(*b)) }
func (m *measure) u8(_ string, v *[]uint8)          { m.add(1, cap(*v)) }
func (m *measure) u16(_ string, v *[]uint16)        { m.add(1, 2*cap(*v)) }
func (m *measure) u32(_ string, v *[]uint32)        { m.add(1, 4*cap(*v)) }
func (m *measure) i32(_ string, v *[]int32)         { m.add(1, 4*cap(*v)) }
func (m *measure) i64(_ string, v *[]int64)         { m.add(1, 8*cap(*v)) }
func (m *measure) days(_ string, v *[]Day)          { m.add(1, 4*cap(*v)) }
func (m *measure) since(format int) bool            { return m.format >= format }
