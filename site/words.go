package site

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// moment is an instant as a page shows it.
type moment struct {
	ISO  string // for machines
	Text string // for people
	Day  string // of it
}

func momentOf(ms int64) moment {
	t := time.UnixMilli(ms).UTC()
	return moment{
		ISO: t.Format("2006-01-02T15:04:05Z"), Text: t.Format("2 Jan 2006, 15:04") + " UTC",
		Day: t.Format("2 Jan 2006"),
	}
}

// date is a day as people read it.
func date(day snapshot.Day) string { return day.Time().Format("2 Jan 2006") }

// minus is the sign, not a hyphen: screen readers say it.
const minus = "−"

// dollars spells an amount: $1,234.50.
func dollars(cents int64) string {
	var buf [32]byte
	return string(appendDollars(buf[:0], cents))
}

func appendDollars(dst []byte, cents int64) []byte {
	if cents < 0 {
		dst = append(dst, minus...)
		cents = -cents
	}

	dst = append(dst, '$')
	from := len(dst)
	dst = strconv.AppendInt(dst, cents/100, 10)
	for i := len(dst) - 3; i > from; i -= 3 {
		dst = append(dst, 0)
		copy(dst[i+1:], dst[i:])
		dst[i] = ','
	}
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// signedDollars spells the difference between two prices: +$1.00.
func signedDollars(cents int64) string { return plus(cents) + dollars(cents) }

// share spells the same as a percentage, that of wire.AppendPercent, so that it agrees with the API's.
func share(part, whole int64) string {
	percent := string(wire.AppendPercent(nil, part, whole))
	return plus(part) + strings.Replace(percent, "-", minus, 1) + "\u00a0%"
}

// plus is the sign of what is above zero; what is below brings its own.
func plus(n int64) string {
	if n > 0 {
		return "+"
	}
	return ""
}

// direction is the class of a change.
func direction(base, cents int64) string {
	return [...]string{"down", "even", "up"}[cmp.Compare(cents, base)+1]
}

// decimal is a price as structured data has it: 1234.50.
func decimal(cents int64) string {
	return strconv.FormatInt(cents/100, 10) + "." + string([]byte{byte('0' + cents/10%10), byte('0' + cents%10)})
}

// title spells a code as people do: 1st_edition_holofoil is 1st Edition Holofoil.
func title(code string) string {
	words := []byte(strings.ReplaceAll(code, "_", " "))
	for i, b := range words {
		if 'a' <= b && b <= 'z' && (i == 0 || words[i-1] == ' ') {
			words[i] = b - 'a' + 'A'
		}
	}
	return string(words)
}

// capital is a sentence with a capital letter.
func capital(s string) string {
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// separator stands between facts of one line.
const separator = " · "

// joined puts what is there of parts behind each other.
func joined(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, separator)
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped is a number with commas between its thousands.
func grouped(n int) string {
	s := dollars(int64(n) * 100)
	return strings.TrimSuffix(strings.TrimPrefix(s, "$"), ".00")
}
