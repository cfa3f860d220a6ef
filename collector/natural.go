package collector

import "cmp"

// CompareNumbers orders collector numbers as people count, cards without one last (decision 22).
// The result is negative, zero (for equal strings only) or positive.
func CompareNumbers(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a)) // one of them is 0
	}

	return compareNatural(a, b)
}

// compareNatural orders texts in the natural way: 2 before 10, 4 before 4a, TG2 before TG10,
// ignoring case. Digits come before letters, other signs count for nothing, and texts that are
// alike in all this are ordered byte by byte, so that the order is total.
func compareNatural(a, b string) int {
	i := 0
	j := 0
	for {
		i = skipSigns(a, i)
		j = skipSigns(b, j)
		if i == len(a) || j == len(b) {
			break
		}

		// Runs of digits are numbers, of any length.
		if IsDigit(a[i]) && IsDigit(b[j]) {
			var c int
			c, i, j = compareDigits(a, i, b, j)
			if c != 0 {
				return c
			}
			continue
		}

		if c := int(Lower(a[i])) - int(Lower(b[j])); c != 0 {
			return c
		}

		i++
		j++
	}

	switch {
	case i < len(a):
		return 1
	case j < len(b):
		return -1
	case a < b:
		return -1
	case a > b:
		return 1
	}

	return 0
}

// compareDigits compares the numbers that begin at a[i] and b[j], of any length, and returns where
// they end.
func compareDigits(a string, i int, b string, j int) (order, ai, bj int) {
	// Padding zeros say nothing.
	for i < len(a) && a[i] == '0' {
		i++
	}

	for j < len(b) && b[j] == '0' {
		j++
	}

	for i < len(a) && IsDigit(a[i]) && j < len(b) && IsDigit(b[j]) {
		if order == 0 {
			order = int(a[i]) - int(b[j])
		}
		i++
		j++
	}

	switch {
	case i < len(a) && IsDigit(a[i]):
		return 1, i, j
	case j < len(b) && IsDigit(b[j]):
		return -1, i, j
	}

	return order, i, j
}

func skipSigns(s string, i int) int {
	for i < len(s) && !IsWordByte(Lower(s[i])) && s[i] < 0x80 {
		i++
	}
	return i
}

// Lower is an ASCII letter in lower case, and any other byte as it is.
func Lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
