package api

import (
	"hash/maphash"
	"strings"
	"unicode/utf8"
	"unsafe"

	"ninepocket/wire"
)

// scanner is a fast path for JSON: it reads the expected members, and strings without escapes. On
// anything else, valid or not, it returns false. The caller then reads the body again with
// jsonwalk, which knows all of JSON and explains problems. Strings alias the body.
type scanner struct {
	text string
	at   int
}

// scan returns a scanner for a body, which must not change while its strings are used.
func scan(body []byte) scanner {
	return scanner{text: unsafe.String(unsafe.SliceData(body), len(body))}
}

// next skips white space and reads a character, if it comes next.
func (s *scanner) next(char byte) bool {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case char:
			s.at++
			return true
		case ' ', '\n', '\r', '\t':
		default:
			return false
		}
	}
	return false
}

// expect skips the name of a member and its colon, if exactly they come next.
func (s *scanner) expect(name string) bool {
	rest := s.text[s.at:]
	end := len(name) + 1
	if len(rest) < end+2 || rest[0] != '"' || rest[1:end] != name || rest[end] != '"' || rest[end+1] != ':' {
		return false
	}
	s.at += end + 2
	return true
}

// str reads a string.
func (s *scanner) str() (string, bool) {
	if !s.next('"') {
		return "", false
	}
	from := s.at
	ascii := true

	// Plain characters are skipped eight at a time.
	for {
		s.at += wire.SafePrefixLen(s.text[s.at:])
		switch {
		case s.at == len(s.text):
			return "", false
		case s.text[s.at] == '"':
			text := s.text[from:s.at]
			s.at++
			return text, ascii || utf8.ValidString(text)
		case s.text[s.at] < utf8.RuneSelf: // an escape, or an invalid control character
			return "", false
		}
		ascii = false
		s.at++
	}
}

// key reads a member's name.
func (s *scanner) key() (string, bool) {
	name, ok := s.str()
	return name, ok && s.next(':')
}

// list reads an object that is one member, an array of 1 to limit elements. element reads one.
func (s *scanner) list(member string, limit int, element func(*scanner) bool) bool {
	if !s.next('{') {
		return false
	}
	if name, ok := s.key(); !ok || name != member || !s.next('[') {
		return false
	}

	// The decoder reports one element more than allowed.
	for n := 0; ; n++ {
		if n == limit || !element(s) {
			return false
		}
		if !s.next(',') {
			break
		}
	}

	// Only white space may follow.
	return s.next(']') && s.next('}') && strings.TrimLeft(s.text[s.at:], " \n\r\t") == ""
}

// duplicateSet finds duplicates in a list. Its zero value is for a list of up to 200 elements, the
// most ids that a batch may have.
type duplicateSet struct {
	rows [512]uint8 // hash table of element indexes plus 1
}

// duplicateSeed prevents clients from sending elements with equal hashes.
var duplicateSeed = maphash.MakeSeed()

// add adds element i with a hash, and returns an earlier one that is the same.
func (d *duplicateSet) add(hash uint64, i int, same func(earlier int) bool) (earlier int, again bool) {
	for ; ; hash++ {
		row := &d.rows[hash%uint64(len(d.rows))]
		if *row == 0 {
			*row = uint8(i + 1)
			return 0, false
		}
		if same(int(*row) - 1) {
			return int(*row) - 1, true
		}
	}
}
