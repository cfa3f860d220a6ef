package wire

import "math/bits"

// Percent is 100·part/whole in hundredths of a percent, rounded half away from zero (decision 8), and its sign.
// whole must be positive. It is exact: the product is a 128-bit integer.
func Percent(part, whole int64) (hundredths uint64, negative bool) {
	magnitude := uint64(part)
	if part < 0 {
		magnitude, negative = uint64(-part), true
	}
	hi, lo := bits.Mul64(magnitude, 10_000)
	lo, carry := bits.Add64(lo, uint64(whole)/2, 0)
	hi += carry
	if hi >= uint64(whole) {
		return 1<<64 - 1, negative // beyond 1.8e17 percent: no price in bounds gets there
	}
	// Adding half of whole before dividing rounds halves up for an even whole; for an odd whole there are no halves.
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return q, negative
}
