package site

import (
	"slices"
	"strings"

	"ninepocket/valuation"
)

// List receives a list of cards. It stores at most MaxListText bytes, the largest list that is
// valued, and counts all lines. If a list is longer, only its first maxHeadBytes stay stored.
type List struct {
	text    []byte // without the CR of line ends, which browsers add
	bytes   int    // in all
	tooLong bool   // it is too long to be stored

	lines, records             int  // non-empty ones; a record of an export may have several lines
	lineHasText, recordHasText bool // the last one of each is not empty
	quoted                     bool // the last record is within a quoted cell
	prevByte                   byte // the byte before this one

	settled bool   // the list is complete, and its text and rows are known
	clean   string // see Text
	rows    int    // see Rows
}

// Grow makes room for a list of n bytes, so that it is not copied while it grows.
func (l *List) Grow(n int) {
	n = min(n, MaxListText)
	if n > cap(l.text) && !l.tooLong {
		l.text = slices.Grow(l.text, n-len(l.text))
	}
}

// maxHeadBytes bounds the stored part of a list that is too long: its header and first row,
// which show whether it is an export.
const maxHeadBytes = 4 << 10

// Write adds the next part. It never fails.
func (l *List) Write(p []byte) (int, error) {
	l.bytes += len(p)
	for _, b := range p {
		switch b {
		case '\n':
			l.endLine()
		case '\r', ' ', '\t', 0:
		case '"':
			// A quoted cell begins with its quote, and a quote within is doubled.
			l.quoted = !l.quoted && strings.IndexByte(",;\t\n\"\x00", l.prevByte) >= 0
			l.lineHasText = true
		case ',', ';':
			l.lineHasText = true
		default:
			l.lineHasText = true
			l.recordHasText = true
		}

		l.store(b)
		l.prevByte = b
	}
	return len(p), nil
}

// store stores a byte, unless the list is too long.
func (l *List) store(b byte) {
	if l.tooLong {
		return
	}
	if b == '\n' && l.prevByte == '\r' {
		l.text = l.text[:len(l.text)-1]
	}
	l.text = append(l.text, b)

	// A CR at the end may be part of a line end.
	if len(l.text) > MaxListText+1 || len(l.text) > MaxListText && b != '\r' {
		l.tooLong = true
		l.text = slices.Clone(l.text[:maxHeadBytes])
	}
}

// endLine counts the line that ended.
func (l *List) endLine() {
	if l.lineHasText {
		l.lines++
	}
	l.lineHasText = false

	if l.recordHasText && !l.quoted {
		l.records++
		l.recordHasText = false
	}
}

// Empty reports whether the list has no text.
func (l *List) Empty() bool { return !l.tooLong && strings.TrimSpace(l.Text()) == "" }

// Text returns the list as it is shown and valued, "" if it is too long. The list is complete.
func (l *List) Text() string {
	l.settle()
	return l.clean
}

// settle sets the text and the rows of a complete list.
func (l *List) settle() {
	if l.settled {
		return
	}
	l.settled = true
	if !l.tooLong {
		l.clean = cleaned(string(l.text))
		l.text = nil
	}
	l.rows = l.countRows()
}

// RowsRead returns at least how many rows have been written so far.
func (l *List) RowsRead() int { return min(l.lines, l.records) }

// cleaned removes the characters of a text that a page cannot show.
func cleaned(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), "\r\n", "\n")
	return strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\uFEFF")
}

// Rows returns the number of lines to value: without the header of an export. The list is complete.
func (l *List) Rows() int {
	l.settle()
	return l.rows
}

// countRows counts the lines of a complete list.
func (l *List) countRows() int {
	if !l.tooLong {
		if _, rows, err := valuation.ReadExport(l.clean, 0); err == nil {
			return rows
		}
		lines := listRows{text: l.clean}
		for lines.next() { // only counted
		}
		return lines.count
	}

	counted := *l
	counted.quoted = false
	counted.endLine() // the last line may lack its end

	first, rest, _ := strings.Cut(cleaned(string(l.text)), "\n")
	second, _, _ := strings.Cut(rest, "\n")
	if _, _, err := valuation.ReadExport(first+"\n"+second, 0); err != nil {
		if isHeader(first) {
			counted.lines--
		}
		return counted.lines
	}
	if strings.Contains(first, "sep=") {
		counted.records--
	}
	return counted.records - 1
}
