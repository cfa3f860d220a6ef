package cardvocab

import "testing"

func FuzzNumber(f *testing.F) {
	for _, s := range []string{
		"004/102", "OP05-119_p1", "P-001", "TG23/TG30", "#4", "½", "!", "0", "00-00", "a0-0b",
		"１２",
	} {
		f.Add(s, "4")
	}

	f.Fuzz(func(t *testing.T, a, b string) {
		key := NumberKey(a)
		if NumberKey(key) != key {
			t.Fatalf("%q has the key %q, that %q", a, key, NumberKey(key))
		}

		if key != "" && !matches(a, a) {
			t.Fatalf("%q does not match itself", a)
		}

		if matches(a, b) && key != NumberKey(b) && key != NumberBase(b) {
			t.Fatalf("%q matches %q", a, b)
		}

		NumberTail(key)
		if compareNatural(a, b) != -compareNatural(b, a) && (compareNatural(a, b) < 0) == (compareNatural(b, a) < 0) {
			t.Fatalf("%q and %q have no order", a, b)
		}

		if a != b && compareNatural(a, b) == 0 || compareNatural(a, a) != 0 {
			t.Fatalf("%q equals %q", a, b)
		}
	})
}
