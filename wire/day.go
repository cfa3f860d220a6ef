package wire

import "ninepocket/snapshot"

// AppendDay appends a date as YYYY-MM-DD, without quotes. Years run from 0 to 9999, as snapshot.Validate holds. It is
// arithmetic on days rather than package time, because a load spells a date with every price.
func AppendDay(dst []byte, day snapshot.Day) []byte {
	// Days are counted from 0000-03-01, so that a leap day ends its year and months have the regular lengths of
	// 153 days in five (the proleptic Gregorian calendar repeats every 146,097 days).
	const daysPer400, toMarch = 146_097, 719_468
	n := int(day) + toMarch
	era := n / daysPer400
	if n < 0 {
		era = (n - daysPer400 + 1) / daysPer400
	}
	n -= era * daysPer400
	year := (n - n/1460 + n/36_524 - n/146_096) / 365
	n -= 365*year + year/4 - year/100
	month := (5*n + 2) / 153
	d := n - (153*month+2)/5 + 1
	year += 400 * era
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	return append(dst,
		byte('0'+year/1000), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-',
		byte('0'+month/10), byte('0'+month%10), '-', byte('0'+d/10), byte('0'+d%10))
}
