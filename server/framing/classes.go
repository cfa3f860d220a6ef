package framing

import "encoding/binary"

// Classes of bytes, as bits.
const (
	inMethod = 1 << iota // token characters except lower-case letters: a method is case-sensitive, and none has these
	inTarget             // visible ASCII except #, and non-ASCII bytes: all parsers end the line at the same place
	inName               // token characters (RFC 9110, 5.6.2)
	inHost               // characters of a host and a port (RFC 3986, 3.2.2)
)

// classes has the classes of each byte.
var classes = func() (table [256]uint8) {
	for c := byte('!'); c <= '~'; c++ {
		table[c] = inTarget
	}
	for c := 0x80; c <= 0xff; c++ {
		table[c] = inTarget
	}
	table['#'] = 0

	set := func(chars string, class uint8) {
		for _, c := range []byte(chars) {
			table[c] |= class
		}
	}

	const (
		upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		lower  = "abcdefghijklmnopqrstuvwxyz"
		digits = "0123456789"
	)
	set("!#$%&'*+-.^_`|~"+digits+upper+lower, inName)
	set(upper+digits+"-_", inMethod)
	set("-._~%!$&'()*+,;=:[]"+digits+upper+lower, inHost)
	return table
}()

// classPrefix returns how many of the first bytes of b are of a class.
func classPrefix(b []byte, class uint8) int {
	for i, c := range b {
		if classes[c]&class == 0 {
			return i
		}
	}
	return len(b)
}

// isValue reports whether b has no control characters except tabs.
func isValue(b []byte) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0

	// Eight bytes at a time. The high bit of a byte of low marks a byte less than a space, in del a
	// DEL. A borrow may also mark the byte above a marked one, but none if no byte is marked; the
	// loop below decides.
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		del := x ^ 0x7f*ones
		if low := (x - ' '*ones) &^ x & highs; low|(del-ones)&^del&highs != 0 {
			break
		}
	}

	for _, c := range b[i:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
