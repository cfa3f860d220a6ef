package site

import (
	"slices"
	"strings"

	"ninepocket/valuation"
)

// List is a list on its way in, written to as it comes. As much of it is kept as may be valued, and all of it
// is counted. Of one that is too long only its beginning is kept.
type List struct {
	text    []byte // without the CR of line ends, which browsers add and which do not count
	bytes   int    // in all
	tooLong bool   // it is too long to be kept

	lines, records int  // that say something: of a list, and of an export, whose cells may have several lines
	line, record   bool // the last one of each says something
	quoted         bool // the last record is within a quoted cell
	prevByte       byte // the byte before this one
}

// headBytes is what is kept of a list that is too long: its header and first row, which tell an export.
const headBytes = 4 << 10

// Write takes the next part. It never fails.
func (l *List) Write(p []byte) (int, error) {
	l.bytes += len(p)
	for _, b := range p {
		switch b {
		case '\n':
			l.endLine()
		case '\r', ' ', '\t', 0:
		case '"':
			// A cell is quoted from its beginning, and a quote within is written twice.
			l.quoted = !l.quoted && strings.IndexByte(",;\t\n\"\x00", l.prevByte) >= 0
			l.line = true
		case ',', ';':
			l.line = true
		default:
			l.line = true
			l.record = true
		}

		l.add(b)
		l.prevByte = b
	}
	return len(p), nil
}

// add keeps a byte, while the list may be valued.
func (l *List) add(b byte) {
	if l.tooLong {
		return
	}
	if b == '\n' && l.prevByte == '\r' {
		l.text = l.text[:len(l.text)-1]
	}
	l.text = append(l.text, b)

	// A CR at the end may yet be that of a line end.
	if len(l.text) > ValueText+1 || len(l.text) > ValueText && b != '\r' {
		l.tooLong = true
		l.text = slices.Clone(l.text[:headBytes])
	}
}

// endLine counts the line that is over.
func (l *List) endLine() {
	if l.line {
		l.lines++
	}
	l.line = false

	if l.record && !l.quoted {
		l.records++
		l.record = false
	}
}

// Empty reports whether the list says nothing.
func (l *List) Empty() bool { return !l.tooLong && strings.TrimSpace(l.Text()) == "" }

// Text is the list as it is shown and valued; "" of one that is too long to be kept.
func (l *List) Text() string {
	if l.tooLong {
		return ""
	}
	return cleaned(string(l.text))
}

// cleaned is a text without what a page cannot show.
func cleaned(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), "\r\n", "\n")
	return strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\uFEFF")
}

// Rows is how many lines the list has that are to be valued: those of an export without its header.
func (l *List) Rows() int {
	if text := l.Text(); text != "" {
		if _, rows, err := valuation.ReadExport(text, 0); err == nil {
			return rows
		}
		return len(readLines(text))
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
