package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"ninepocket/snapshot"
)

// maxLine bounds a line of a text file: ten years of days in a wide history file are 40 KB, a JSON
// line a few hundred bytes.
const maxLine = 1 << 20

// errLongLine is the error of a line over maxLine; the reader continues with the next line.
var errLongLine = errors.New("line too long")

// lines reads a text file line by line. LF and CRLF both end a line, the last one may lack either,
// and a byte order mark before the first is dropped.
type lines struct {
	br *bufio.Reader
	n  int // the number of the line that next returned last
}

// lineBuffers keeps the buffers of files that were read, because a year of daily files would make a
// gigabyte of them.
var lineBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLine) }}

// newLines reads r; done gives its buffer back.
func newLines(r io.Reader) *lines {
	br, _ := lineBuffers.Get().(*bufio.Reader)
	br.Reset(r)
	return &lines{br: br}
}

func (l *lines) done() {
	l.br.Reset(nil)
	lineBuffers.Put(l.br)
	l.br = nil
}

// next returns the next line without its end, valid until the call after.
func (l *lines) next() ([]byte, error) {
	line, err := l.br.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		// The rest of the line is read to its end, so that the next one begins where it should.
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.br.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		l.n++
		return nil, errLongLine
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}

	l.n++
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}

	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// each calls use with every further line that is not empty. It refuses lines that are too long,
// and lines in which use finds an error.
func (l *lines) each(ctx context.Context, file string, to Sink, use func(at Location, line []byte) *recordError) error {
	for {
		line, err := l.next()
		at := Location{File: file, Line: l.n}
		var bad *recordError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			bad = &recordError{reason: ReasonTooLong, value: "line"}
		case err != nil:
			return err
		case len(line) > 0:
			bad = use(at, line)
		}

		if bad != nil {
			bad.quarantine(to, at)
		}

		// A build may be given up in the middle of a large file.
		if l.n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// readTable reads a CSV file: header takes the fields of its first line, row those of every other
// one, which must have as many. A header that is not understood is an error of the file: every
// value under it would be wrong.
func readTable(
	ctx context.Context, r io.Reader, file string, to Sink,
	header func(fields [][]byte) error, row func(at Location, fields [][]byte) *recordError,
) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot read %q: %w", file, err)
		}
	}()

	in := newLines(r)
	defer in.done()
	first, err := in.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return err
	}

	fields, ok := splitRow(nil, first)
	if !ok {
		return errors.New("header's quotes do not close")
	}
	if err := header(fields); err != nil {
		return err
	}

	width := len(fields)
	return in.each(ctx, file, to, func(at Location, line []byte) *recordError {
		// The fields of all rows reuse one slice.
		fields, ok = splitRow(fields[:0], line)
		if !ok || len(fields) != width {
			return &recordError{reason: ReasonBadRow, value: string(line)}
		}
		return row(at, fields)
	})
}

// splitRow appends the fields of a CSV line (RFC 4180) to dst. No value has a line break, so a
// quoted field ends on its line or the row is bad. Fields point into line, which is changed if a
// quoted field contains quotes.
func splitRow(dst [][]byte, line []byte) ([][]byte, bool) {
	// Nearly no line has quotes, and of such a line a comma ends every field.
	if bytes.IndexByte(line, '"') < 0 {
		from := 0
		for i, b := range line {
			if b == ',' {
				dst = append(dst, line[from:i])
				from = i + 1
			}
		}
		return append(dst, line[from:]), true
	}

	for more := true; more; {
		var field []byte
		var ok bool
		field, line, more, ok = cutField(line)
		if !ok {
			return dst, false
		}
		dst = append(dst, field)
	}
	return dst, true
}

// cutField cuts the first field off a line; more says that a comma followed it.
func cutField(line []byte) (field, rest []byte, more, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		field, rest, more = bytes.Cut(line, []byte{','})
		return field, rest, more, bytes.IndexByte(field, '"') < 0
	}

	out := line[1:1]
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			out = append(out, line[i])
			continue
		}

		// Two quotes within quotes are one.
		if i+1 < len(line) && line[i+1] == '"' {
			out = append(out, '"')
			i++
			continue
		}

		if i+1 == len(line) {
			return out, nil, false, true
		}

		return out, line[i+2:], true, line[i+1] == ','
	}

	return nil, nil, false, false
}

// parseCents reads a whole number of cents: digits only, as many as MaxCents has, and at most that.
func parseCents(b []byte) (int64, bool) {
	var v int64
	for _, c := range b[:min(len(b), 16)] {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, len(b) > 0 && len(b) <= 16 && v <= snapshot.MaxCents
}

// parseDay reads a date from 1970 on; the stored form has no earlier ones.
func parseDay(s string) (snapshot.Day, bool) {
	day, err := snapshot.ParseDay(s)
	if err != nil || day < 0 || len(s) != len(time.DateOnly) {
		return snapshot.NoDay, false
	}
	return day, true
}

// plainText reports whether text is valid UTF-8 without control characters.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// MaxRef bounds a reference in code points: the length of a path id (decision 4).
const MaxRef = 200

// validRef reports whether text may be a reference: plain, not empty, not padded with spaces,
// within MaxRef.
func validRef(s string) bool {
	return s != "" && s[0] != ' ' && s[len(s)-1] != ' ' && plainText(s) && utf8.RuneCountInString(s) <= MaxRef
}

// IsCode reports whether text is a code: lower-case letters, digits and underscores, at most
// MaxVariant.
func IsCode(s string) bool {
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' }
	return s != "" && len(s) <= snapshot.MaxVariant && !strings.ContainsFunc(s, isOther)
}

// variantCode turns a printing as TCGplayer names it ("1st Edition Holofoil") into a code
// ("1st_edition_holofoil"): letters and digits in lower case, everything between them one
// underscore. It is "" when nothing is left.
func variantCode(s string) string {
	// Letters beyond ASCII part words as well, so that lower case means a-z alone.
	words := strings.FieldsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.ToLower(strings.Join(words, "_"))
}
