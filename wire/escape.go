package wire

// AppendEscaped appends s percent-encoded: everything but the unreserved characters of RFC 3986.
func AppendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		b := s[i]
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '.', b == '_', b == '~':
			dst = append(dst, b)
		default:
			dst = append(dst, '%', "0123456789ABCDEF"[b>>4], "0123456789ABCDEF"[b&15])
		}
	}

	return dst
}
