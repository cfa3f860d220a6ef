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

// moment is an instant in the formats of a page.
type moment struct {
	ISO  string // for machines
	Text string // for people
	Day  string // the day alone, for people
}

func momentOf(ms int64) moment {
	t := time.UnixMilli(ms).UTC()
	return moment{
		ISO: t.Format("2006-01-02T15:04:05Z"), Text: t.Format("2 Jan 2006, 15:04") + " UTC",
		Day: t.Format("2 Jan 2006"),
	}
}

// date returns a day as text: 20 Nov 2026.
func date(day snapshot.Day) string {
	year, month, n := day.Time().Date()
	return strconv.Itoa(n) + " " + month.String()[:3] + " " + strconv.Itoa(year)
}

// minus is the minus sign. It is not a hyphen, because screen readers do not read hyphens.
const minus = "−"

// dollars returns an amount as text: $1,234.50.
func dollars(cents int64) string {
	var buf [32]byte
	dst := buf[:0]
	if cents < 0 {
		dst = append(dst, minus...)
		cents = -cents
	}

	dst = append(dst, '$')
	from := len(dst)
	dst = strconv.AppendInt(dst, cents/100, 10)
	for i := len(dst) - 3; i > from; i -= 3 {
		dst = slices.Insert(dst, i, ',')
	}
	return string(append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10)))
}

// signedDollars returns a price change as text: +$1.00.
func signedDollars(cents int64) string { return plus(cents) + dollars(cents) }

// signedPercent returns a price change in percent. It uses wire.AppendPercent, so that it agrees
// with the API.
func signedPercent(part, whole int64) string {
	percent := string(wire.AppendPercent(nil, part, whole))
	return plus(part) + strings.Replace(percent, "-", minus, 1) + "\u00a0%"
}

// plus returns the sign of a positive number; a negative one is formatted with its own.
func plus(n int64) string {
	if n > 0 {
		return "+"
	}
	return ""
}

// changeClass returns the CSS class of a price change.
func changeClass(base, cents int64) string {
	return [...]string{"down", "even", "up"}[cmp.Compare(cents, base)+1]
}

// decimal returns a price for programs: 1234.50.
func decimal(cents int64) string {
	return strconv.FormatInt(cents/100, 10) + "." + string([]byte{byte('0' + cents/10%10), byte('0' + cents%10)})
}

// displayName returns a code for people: 1st_edition_holofoil becomes 1st Edition Holofoil.
func displayName(code string) string {
	words := []byte(strings.ReplaceAll(code, "_", " "))
	for i, b := range words {
		if 'a' <= b && b <= 'z' && (i == 0 || words[i-1] == ' ') {
			words[i] = b - 'a' + 'A'
		}
	}
	return string(words)
}

// capitalize makes the first letter of a sentence a capital.
func capitalize(s string) string {
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// separator separates the facts of one line.
const separator = " · "

// joined joins the parts that are not empty.
func joined(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, separator)
}

// plural returns a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped returns a number with commas between thousands.
func grouped(n int) string {
	if 0 <= n && n < 1000 {
		return strconv.Itoa(n)
	}
	s := dollars(int64(n) * 100)
	return strings.TrimSuffix(strings.TrimPrefix(s, "$"), ".00")
}
