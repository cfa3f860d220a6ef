package wire

import "strconv"

// Decimal returns an integer in decimal.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Percent is 100·part/whole, rounded half away from zero to hundredths (decision 8). It returns
// whole percents, hundredths of one, and the sign. whole must be positive, and both within
// ±MaxCents: then nothing here overflows, and it is exact.
func Percent(part, whole int64) (units, hundredths uint64, negative bool) {
	negative = part < 0
	if negative {
		part = -part
	}

	scaled := uint64(part) * 100
	base := uint64(whole)
	units = scaled / base
	// Adding half of the base before dividing rounds halves up.
	hundredths = (scaled%base*200 + base) / (2 * base)
	return units + hundredths/100, hundredths % 100, negative
}
