package keys

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Price is what a plan costs, in minor units of a currency, such as cents.
type Price struct {
	Month    int64  `json:"month"`
	Included int64  `json:"included"` // charged requests of a month that Month pays for
	Overage  int64  `json:"overage"`  // for 1,000 others
	Currency string `json:"currency"`
}

// The currencies that have not two digits after the point.
const (
	noDigits    = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
	threeDigits = "BHD IQD JOD KWD LYD OMR TND"
)

func digitsOf(currency string) int {
	switch {
	case strings.Contains(noDigits, currency):
		return 0
	case strings.Contains(threeDigits, currency):
		return 3
	}
	return 2
}

// maxDigits bounds a price, so that bills stay far within 63 bits.
const maxDigits = 9

// ParseAmount reads an amount such as 49.00 as minor units of a currency.
func ParseAmount(text, currency string) (int64, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := digitsOf(currency)
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

// FormatAmount writes minor units of a currency with its point.
func FormatAmount(minor int64, currency string) string {
	digits := digitsOf(currency)
	text := fmt.Sprintf("%0*d", digits+1, minor)
	return strings.TrimSuffix(text[:len(text)-digits]+"."+text[len(text)-digits:], ".")
}
