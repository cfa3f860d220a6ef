package keys

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Price is what a plan costs, in minor units of a currency, such as cents.
type Price struct {
	Month    int64
	Included int64 // charged requests of a month that Month pays for
	Overage  int64 // for 1,000 others
	Currency string
}

// decimals are the digits after the point of currencies that have not two of them.
var decimals = func() map[string]int {
	table := map[string]int{}
	for digits, currencies := range map[int]string{
		0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
		3: "BHD IQD JOD KWD LYD OMR TND",
	} {
		for currency := range strings.FieldsSeq(currencies) {
			table[currency] = digits
		}
	}
	return table
}()

func decimalsOf(currency string) int {
	if digits, other := decimals[currency]; other {
		return digits
	}
	return 2
}

// maxDigits bounds a price, so that bills stay far within 63 bits.
const maxDigits = 9

// ParseAmount reads an amount such as 49.00 as minor units of a currency.
func ParseAmount(text, currency string) (int64, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := decimalsOf(currency)
	switch {
	case whole == "" || point && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "":
		return 0, errors.New("want digits and at most a point, such as 49 or 49.00")
	case len(whole) > maxDigits:
		return 0, fmt.Errorf("want at most %d digits before the point", maxDigits)
	case len(fraction) > digits:
		return 0, fmt.Errorf("want at most %d digits after the point, as %s has", digits, currency)
	}
	return strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
}

// FormatAmount spells minor units of a currency with its point.
func FormatAmount(minor int64, currency string) string {
	digits := decimalsOf(currency)
	text := fmt.Sprintf("%0*d", digits+1, minor)
	if digits == 0 {
		return text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:]
}
