package wire

import "ninepocket/snapshot"

// AppendDay appends a date as YYYY-MM-DD, without quotes. Years run from 0 to 9999, as
// snapshot.Validate holds. It calculates with days and not with package time, because a load
// encodes a date with every price.
func AppendDay(dst []byte, day snapshot.Day) []byte {
	// Days are counted from -400-03-01. Then a leap day ends its year, a month is a linear function
	// of the days, and nothing is negative (Neri and Schneider, Euclidean affine functions and
	// applications to calendar algorithms). The divisors are constants, so that the compiler
	// multiplies instead.
	const (
		epoch = 719_468 + 146_097
		era   = 400
	)
	n := 4*uint32(int(day)+epoch) + 3
	century := n / 146_097
	ofCentury := n%146_097 | 3
	product := uint64(ofCentury) * 2_939_745
	year := 100*century + uint32(product>>32)
	linear := 2141*(uint32(product)/2_939_745/4) + 197_913
	month := linear >> 16
	if month > 12 {
		month -= 12
		year++
	}

	year -= era

	low := &twoDigits[year%100]
	m := &twoDigits[month]
	dd := &twoDigits[linear&0xffff/2141+1]
	return append(dst, byte('0'+year/1000), byte('0'+year/100%10), low[0], low[1], '-', m[0], m[1], '-', dd[0], dd[1])
}
