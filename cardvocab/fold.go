package cardvocab

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the letters and digits of s alone: HTML entities unescaped, diacritics dropped, in
// lower case. Two texts that fold alike are the same rarity, series or set name (decision 23):
// "Double Rare", "double-rare" and "DoubleRare" all fold to "doublerare".
func Fold(s string) string {
	if isFolded(s) {
		return s
	}

	plain := appendPlainText(make([]byte, 0, len(s)), Unescape(s))
	// Writing never overtakes reading.
	folded := plain[:0]
	for i := 0; i < len(plain); {
		r, size := utf8.DecodeRune(plain[i:])
		if IsWordRune(r) {
			folded = append(folded, plain[i:i+size]...)
		}
		i += size
	}

	return string(folded)
}

func isFolded(s string) bool {
	for i := range len(s) {
		if !IsWordByte(s[i]) {
			return false
		}
	}
	return true
}

// Unescape decodes HTML entities. Only terminated ones count: "pikachu&zekrom" is no entity.
func Unescape(s string) string {
	amp := strings.IndexByte(s, '&')
	if amp < 0 || strings.IndexByte(s[amp:], ';') < 0 {
		return s
	}
	return html.UnescapeString(s)
}

// appendPlainText appends every character of s in the way of AppendPlain.
func appendPlainText(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		dst = AppendPlain(dst, s[i:i+size], r)
		i += size
	}

	return dst
}

// AppendPlain appends one character c (decoded: r) in lower case, decomposed (NFKD) and without its diacritics.
// Hiragana becomes katakana, whose voicing marks stay. Signs are unchanged, or become spaces; the caller decides
// which separate words (docs/dev/SEARCH.md, Normalise).
func AppendPlain(dst []byte, c string, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(dst, Lower(byte(r)))
	}

	if s, ok := wholeLetters[r]; ok {
		return append(dst, s...)
	}

	// This decomposes ligatures, fractions and letters with diacritics.
	d := norm.NFKD.PropertiesString(c).Decomposition()
	if d == nil {
		return appendBase(dst, r)
	}

	for len(d) > 0 {
		r, size := utf8.DecodeRune(d)
		dst = appendBase(dst, r)
		d = d[size:]
	}

	return dst
}

func appendBase(dst []byte, r rune) []byte {
	if unicode.Is(unicode.M, r) && !IsVoicing(r) || r == utf8.RuneError {
		return dst
	}

	r = unicode.ToLower(r)
	if 'ぁ' <= r && r <= 'ゖ' {
		r += 'ァ' - 'ぁ'
	}
	if s, ok := wholeLetters[r]; ok {
		return append(dst, s...)
	}

	return utf8.AppendRune(dst, r)
}

// wholeLetters are the letters that Unicode does not decompose but people type as others, and marks
// that are no letters although they decompose into some.
var wholeLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l",
	'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th", 'ı': "i",
	'™': " ", '℠': " ", '´': "", '¨': " ", '¯': " ", '¸': " ",
}

// IsApostrophe reports whether a character is one of the many signs for an apostrophe.
func IsApostrophe(r rune) bool {
	switch r {
	case '\'', '`', '’', '‘', '‛', 'ʼ', 'ʹ', '′', '´', '＇':
		return true
	}
	return false
}

// IsWordByte reports whether a byte is an ASCII letter in lower case or an ASCII digit.
func IsWordByte(b byte) bool { return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' }

// IsWordRune reports whether a character is a letter or a digit.
func IsWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return IsWordByte(byte(r))
	}
	return !IsApostrophe(r) && (unicode.IsLetter(r) || unicode.IsDigit(r) || IsVoicing(r))
}

// IsVoicing reports whether a character is a mark that makes another kana of the one before it: ka, ga.
func IsVoicing(r rune) bool { return r == '\u3099' || r == '\u309a' }

// IsDigit reports whether a byte is an ASCII digit.
func IsDigit(b byte) bool { return '0' <= b && b <= '9' }

// IsYear reports whether a text is a year in which cards appeared: 1996, 2025.
func IsYear[T ~string | ~[]byte](text T) bool {
	return len(text) == 4 && IsInteger(text) && string(text) >= "1996" && string(text) <= "2039"
}

// IsInteger reports whether text consists of ASCII digits alone.
func IsInteger[T ~string | ~[]byte](text T) bool {
	for i := range len(text) {
		if !IsDigit(text[i]) {
			return false
		}
	}

	return len(text) > 0
}
