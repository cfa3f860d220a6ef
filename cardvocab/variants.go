package cardvocab

import "strings"

// SameVariant reports whether two names of variants are equivalent. Case, spaces, hyphens and
// underscores do not matter (decision 17), and different names of one finish and edition are
// equivalent (decision 1809).
func SameVariant(a, b string) bool { return sameLetters(a, b) || SameFinish(a, b) }

func sameLetters(a, b string) bool {
	for {
		a = skipJoiners(a)
		b = skipJoiners(b)
		if a == "" || b == "" {
			return a == b
		}
		if Lower(a[0]) != Lower(b[0]) {
			return false
		}

		a = a[1:]
		b = b[1:]
	}
}

func skipJoiners(s string) string { return strings.TrimLeft(s, " -_") }
