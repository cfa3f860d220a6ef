package text

// NaturalLess orders collector numbers and names as people count: 2 before 10, 4 before 4a, TG2 before TG10, ignoring
// case (decision 22). Digits come before letters, other signs count for nothing, and texts that are alike in all this
// are ordered byte by byte, so that the order is total.
func NaturalLess(a, b string) bool { return NaturalCompare(a, b) < 0 }

// NaturalCompare is NaturalLess as a comparison: negative, zero (for equal strings only) or positive.
func NaturalCompare(a, b string) int {
	i, j := 0, 0
	for {
		i, j = skipSigns(a, i), skipSigns(b, j)
		if i == len(a) || j == len(b) {
			break
		}
		if isDigit(a[i]) && isDigit(b[j]) {
			var c int
			if c, i, j = compareDigits(a, i, b, j); c != 0 {
				return c
			}
			continue
		}
		if c := int(lower(a[i])) - int(lower(b[j])); c != 0 {
			return c
		}
		i, j = i+1, j+1
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

// compareDigits compares the numbers that begin at a[i] and b[j], of any length, and returns where they end.
func compareDigits(a string, i int, b string, j int) (order, ai, bj int) {
	for i < len(a) && a[i] == '0' {
		i++
	}
	for j < len(b) && b[j] == '0' {
		j++
	}
	for i < len(a) && isDigit(a[i]) && j < len(b) && isDigit(b[j]) {
		if order == 0 {
			order = int(a[i]) - int(b[j])
		}
		i, j = i+1, j+1
	}
	switch {
	case i < len(a) && isDigit(a[i]):
		return 1, i, j
	case j < len(b) && isDigit(b[j]):
		return -1, i, j
	}
	return order, i, j
}

func skipSigns(s string, i int) int {
	for i < len(s) && !isWordByte(lower(s[i])) && s[i] < 0x80 {
		i++
	}
	return i
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
