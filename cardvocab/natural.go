package cardvocab

import (
	"cmp"
	"strings"
)

// CompareNumbers orders collector numbers as people count, cards without one last (decision 22).
// The result is negative, zero (for equal strings only) or positive.
func CompareNumbers(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a)) // either is 0
	}

	return compareNatural(a, b)
}

// compareNatural orders texts in the natural way: 2 before 10, 4 before 4a, TG2 before TG10,
// ignoring case. Digits come before letters, other signs count for nothing, and texts that are
// alike in all this are ordered byte by byte, so that the order is total.
func compareNatural(a, b string) int {
	x := skipSigns(a)
	y := skipSigns(b)
	for x != "" && y != "" {
		var order int
		if IsDigit(x[0]) && IsDigit(y[0]) {
			// Runs of digits are numbers of any length: the longer one is greater.
			var n, m string
			n, x = cutDigits(x)
			m, y = cutDigits(y)
			order = cmp.Or(cmp.Compare(len(n), len(m)), strings.Compare(n, m))
		} else {
			order = cmp.Compare(Lower(x[0]), Lower(y[0]))
			x = x[1:]
			y = y[1:]
		}
		if order != 0 {
			return order
		}

		x = skipSigns(x)
		y = skipSigns(y)
	}

	// The text that ends first is less.
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// cutDigits cuts the digits off the front of s, without padding zeros, which mean nothing.
func cutDigits(s string) (digits, rest string) {
	s = strings.TrimLeft(s, "0")
	rest = strings.TrimLeftFunc(s, func(r rune) bool { return '0' <= r && r <= '9' })
	return s[:len(s)-len(rest)], rest
}

func skipSigns(s string) string {
	for s != "" && !IsWordByte(Lower(s[0])) && s[0] < 0x80 {
		s = s[1:]
	}
	return s
}

// Lower converts an ASCII letter to lower case; other bytes are unchanged.
func Lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
