package cardvocab

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// NumberKey returns the canonical form of a collector number, which the number filter compares
// (decision 23). It is lower case, without spaces, signs, padding zeros and the "/total". "004/102"
// and "#4" give "4", "TG 07/TG30" gives "tg7", "OP01-016" and "op1-16" give "op1-16", "OP05-119_p1"
// gives "op5-119p1". A number without a letter or digit (Unown's "!" and "?") is its own key; an
// empty number has an empty key.
func NumberKey(number string) string {
	var buf [48]byte
	return string(appendNumberKey(buf[:0], number))
}

// NumberBase returns the key of the number that a parallel belongs to: "op5-119" for "OP05-119_p1"
// and for "OP05-119" itself. Indexing a card under both its NumberKey and its NumberBase makes a
// base number match its parallels (decision 23).
func NumberBase(number string) string { return NumberKey(TrimParallel(number)) }

// NumberTotal returns the canonical form of the total behind the slash of a number, "" without one:
// "102" for "4/102", "tg30" for "TG23/TG30".
func NumberTotal(number string) string {
	_, total, _ := strings.Cut(number, "/")
	return NumberKey(total)
}

// TrimParallel removes the "_p1" or "_r2" that marks a parallel in One Piece numbers.
func TrimParallel(number string) string {
	number = strings.TrimSpace(number)
	i := strings.LastIndexByte(number, '_')
	// A letter for the kind, and digits up to the end.
	if i >= 0 && i+2 < len(number) && strings.IndexByte("pPrR", number[i+1]) >= 0 && IsInteger(number[i+2:]) {
		return number[:i]
	}
	return number
}

// appendNumberKey appends NumberKey(number) to an empty key. It is separate, so that NumberKey is
// inlined and a key that its caller only looks up needs no memory. A "-" stays between two runs of
// digits, and only there.
func appendNumberKey(key []byte, number string) []byte {
	// The total is compared separately.
	printed, _, _ := strings.Cut(number, "/")
	var buf [48]byte

	plain := appendPlainText(buf[:0], printed)
	// Whether a sign follows the last letter or digit.
	split := false
	for i := 0; i < len(plain); {
		r, size := utf8.DecodeRune(plain[i:])
		if IsWordRune(r) {
			mark := len(key)
			key = NormaliseLastDigit(append(key, plain[i:i+size]...), mark, split)
		}
		split = !IsWordRune(r)
		i += size
	}

	if len(key) == 0 {
		return append(key, bytes.TrimSpace(plain)...)
	}
	return key
}

// NormaliseLastDigit normalises the last digit of a key. A digit that follows digits across a sign
// gets a "-" before it, and a digit that follows a leading zero replaces it.
func NormaliseLastDigit(dst []byte, mark int, split bool) []byte {
	c := dst[mark]
	if !IsDigit(c) || mark == 0 || len(dst) != mark+1 || !IsDigit(dst[mark-1]) {
		return dst
	}
	if split {
		return append(dst[:mark], '-', c)
	}

	if dst[mark-1] == '0' && (mark == 1 || !IsDigit(dst[mark-2])) {
		dst[mark-1] = c
		return dst[:mark]
	}

	return dst
}

// NumberTail returns the number within its set from a key like "op5-119" ("119"), or "" for another
// kind of key.
func NumberTail(key string) string {
	head, tail, ok := strings.Cut(key, "-")
	if !ok {
		// A letter and a number behind a dash, like P-001, have the key "p1".
		head = strings.TrimRight(key, "0123456789")
		if len(head) != 1 || head == key {
			return ""
		}
		return key[len(head):]
	}

	if head == "" || IsDigit(head[0]) {
		return ""
	}

	return tail[:len(tail)-len(strings.TrimLeft(tail, "0123456789"))]
}
