package snapshot

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// column is one column of a section. Encoding, decoding and checking use one list of columns, so
// that they cannot diverge.
//
// A section is a msgpack map from column name to bin. Integers are little-endian and of fixed
// width.
type column struct {
	name  string
	data  any // a pointer to Strings, Lists, PackedPoints, or a slice of integers or days
	since int // the first format that has the column
}

// columnsOf are the columns of a table, in the order of its fields. Other fields have no name of a column.
func columnsOf(table any) (columns []column) {
	fields := reflect.ValueOf(table).Elem()
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		if name := field.Tag.Get("column"); name != "" {
			// A column without the tag is as old as the format.
			since, _ := strconv.Atoi(field.Tag.Get("since"))
			columns = append(columns, column{name, fields.Field(i).Addr().Interface(), since})
		}
	}
	return columns
}

// entries are the entries of a column in the map of its section, each with a slice of bytes or integers.
// Strings are two: the arena and the ends.
func (c column) entries() []column {
	switch data := c.data.(type) {
	case *Strings:
		return []column{{name: c.name, data: &data.arena}, {name: c.name + ".ends", data: &data.ends}}
	case *Lists:
		return []column{{name: c.name, data: &data.ends}}
	}
	return []column{c}
}

// size is how many bytes the column has.
func (c column) size() (n int) {
	for _, entry := range c.entries() {
		n += binary.Size(entry.data)
	}
	return n
}

// makeRoom makes room for so many rows in the columns of a table that are slices.
func makeRoom(table any, rows int) {
	for _, col := range columnsOf(table) {
		if slice := integers(col.data); slice.Kind() == reflect.Slice {
			slice.Grow(rows)
		}
	}
}

// rows is how many rows of its table a column has. Lists and points are not of its table.
func (c column) rows() (rows int, is bool) {
	switch data := c.data.(type) {
	case *Strings:
		return data.Len(), true
	case *Lists, *PackedPoints:
		return 0, false
	}
	return reflect.ValueOf(c.data).Elem().Len(), true
}

// countEntries is how many entries the map of a section has in a format.
func countEntries(columns []column, format int) (n int) {
	for _, col := range columns {
		if col.since <= format {
			n += len(col.entries())
		}
	}
	return n
}

// encodeSection encodes a table as the bytes of its section.
func encodeSection(columns []column) ([]byte, error) {
	// A buffer that grows to its size is copied, and lies in memory twice. Names and lengths take less than
	// 64 bytes a column.
	size := 64 * len(columns)
	for _, col := range columns {
		size += col.size()
	}
	buf := bytes.NewBuffer(make([]byte, 0, size))

	// A buffer takes everything. Only data that is not of fixed width is an error, and columns are.
	enc := msgpack.NewEncoder(buf)
	err := enc.EncodeMapLen(countEntries(columns, Format))
	for _, col := range columns {
		for _, entry := range col.entries() {
			err = cmp.Or(err, enc.EncodeString(entry.name), enc.EncodeBytesLen(binary.Size(entry.data)))
			b, failed := binary.Append(buf.AvailableBuffer(), binary.LittleEndian, integers(entry.data).Interface())
			err = cmp.Or(err, failed)
			_, _ = buf.Write(b)
		}
	}
	return buf.Bytes(), err
}

// integers is the slice of an entry, where a day is an integer and points are bytes.
func integers(data any) reflect.Value {
	switch slice := data.(type) {
	case *[]Day:
		// The encoder of a slice of days itself is ten times as slow.
		data = (*[]int32)(unsafe.Pointer(slice))
	case *PackedPoints:
		data = (*[]byte)(slice)
	}
	return reflect.ValueOf(data).Elem()
}

// decoder reads columns out of a section's bytes. After the first failure a call does nothing.
type decoder struct {
	rest *bytes.Buffer
	dec  *msgpack.Decoder
	step func()
	err  error
}

// decodeSection reads a table from the bytes of its section. It allocates only what the bytes really
// hold: it compares each length with the remaining bytes before it reads (docs/dev/SNAPSHOT.md).
// msgpack itself would allocate what five bytes declare.
//
// Columns are copies, so that the bytes of the section can be freed. Only the points of history are
// not copied, because they are most of a snapshot.
func decodeSection(data []byte, format int, step func(), columns []column) error {
	rest := bytes.NewBuffer(data)
	decoder := &decoder{rest: rest, dec: msgpack.NewDecoder(rest), step: step}

	n, err := decoder.dec.DecodeMapLen()
	if err != nil {
		return fmt.Errorf("is not a map: %w", err)
	}
	if want := countEntries(columns, format); n != want {
		return fmt.Errorf("has %d columns instead of %d", n, want)
	}

	for _, col := range columns {
		if col.since <= format {
			decoder.column(col)
		}
	}
	if decoder.err == nil && rest.Len() != 0 {
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
	if err != nil || n != len(name) || n > d.rest.Len() || string(d.rest.Next(n)) != name {
		return d.fail(name, "is not where it should be")
	}

	n, err = d.dec.DecodeBytesLen()
	if err != nil {
		return d.fail(name, "is not bytes: %v", err)
	}

	// A length is compared with the remaining bytes before memory is allocated.
	if n < 0 || n > d.rest.Len() {
		return d.fail(name, "declares %d bytes where %d are left", n, d.rest.Len())
	}
	if n%width != 0 {
		return d.fail(name, "has %d bytes, not a multiple of %d", n, width)
	}

	return d.rest.Next(n)
}

func (d *decoder) fail(name, format string, args ...any) []byte {
	d.err = fmt.Errorf("column %q %s", name, fmt.Sprintf(format, args...))
	return nil
}

func (d *decoder) column(col column) {
	for _, entry := range col.entries() {
		d.entry(entry.name, entry.data)
	}
	if texts, is := col.data.(*Strings); is && d.err == nil && !texts.ok() {
		d.fail(col.name, "has ends that do not fit its bytes")
	}
}

func (d *decoder) entry(name string, data any) {
	switch data := data.(type) {
	case *[]byte:
		*data = bytes.Clone(d.bin(name, 1))
	case *PackedPoints:
		*data = slices.Clip(d.bin(name, 1))

	default:
		column := integers(data)
		width := int(column.Type().Elem().Size())
		b := d.bin(name, width)
		rows := reflect.MakeSlice(column.Type(), len(b)/width, len(b)/width)
		for from := 0; from < rows.Len() && d.err == nil; from += rowsAtOnce {
			d.step()
			some := rows.Slice(from, min(from+rowsAtOnce, rows.Len()))
			_, d.err = binary.Decode(b[from*width:], binary.LittleEndian, some.Interface())
		}
		column.Set(rows)
	}
}

// rowsAtOnce is how many integers are decoded between two steps: they take ten microseconds or so.
const rowsAtOnce = 1 << 13
