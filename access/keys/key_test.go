package keys

import (
	"errors"
	"strings"
	"testing"
)

func TestKeyFormat(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for surface := Live; surface <= Preview; surface++ {
		for range 200 {
			text := Mint(surface)
			if len(text) != keyLength || !strings.HasPrefix(text, surfacePrefixes[surface]) || seen[text] {
				t.Fatalf("minted a %s key of %d bytes, seen before: %v", surface, len(text), seen[text])
			}
			seen[text] = true

			if got, err := checkKey(text); err != nil || got != surface {
				t.Fatalf("check: %v %v", got, err)
			}
			if got, err := checkKey([]byte(text)); err != nil || got != surface {
				t.Fatalf("check bytes: %v %v", got, err)
			}
		}
	}
}

// TestKeyMutations changes, drops and doubles every character of a key.
func TestKeyMutations(t *testing.T) {
	t.Parallel()
	text := Mint(Live)
	f := func(mutant string) {
		t.Helper()
		if mutant == text {
			return
		}
		if _, err := checkKey(mutant); !errors.Is(err, ErrInvalid) {
			t.Fatalf("mutant accepted: %v", err)
		}
	}

	for i := range len(text) {
		for c := range 256 {
			f(text[:i] + string([]byte{byte(c)}) + text[i+1:])
		}

		f(text[:i] + text[i+1:])
		f(text[:i] + text[i:i+1] + text[i:])
		if i+1 < len(text) && text[i] != text[i+1] {
			f(text[:i] + text[i+1:i+2] + text[i:i+1] + text[i+2:])
		}
	}

	f(text + text)
	f(" " + text)
	f(text + "\n")
	if _, err := checkKey(""); !errors.Is(err, ErrNoKey) {
		t.Fatalf("empty key: %v", err)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	f := func(raw string, want Surface) {
		t.Helper()
		if got := SurfaceOf(raw); got != want {
			t.Fatalf("KindOf(%q) = %v, want %v", raw, got, want)
		}
	}

	f("", NoSurface)
	f("npk_", NoSurface)
	f("npk_live", NoSurface)
	f("npk_live_", Live)
	f("npk_live_garbage", Live)
	f("npk_test_x", Sandbox)
	f("npk_prev_!", Preview)
	f("NPK_LIVE_x", NoSurface)
	for _, surface := range []Surface{Live, Sandbox, Preview} {
		if got, err := ParseSurface(surface.String()); err != nil || got != surface {
			t.Fatalf("ParseKind(%q): %v %v", surface, got, err)
		}
	}

	if _, err := ParseSurface(""); err == nil {
		t.Fatal("empty kind parsed")
	}
}

// fixedChecksum is the checksum of the key below.
const fixedChecksum = "218OAY"

// TestKeyFixed fixes the format: keys in customers' hands must stay valid.
func TestKeyFixed(t *testing.T) {
	t.Parallel()
	const fixed = "npk_live_0123456789ABCDEFGHIJKL"
	sum := checksum([]byte(fixed))
	if string(sum[:]) != fixedChecksum {
		t.Fatalf("checksum %q, want %q", sum, fixedChecksum)
	}
	if surface, err := checkKey(fixed + fixedChecksum); err != nil || surface != Live {
		t.Fatal(surface, err)
	}
}

func FuzzCheckKey(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("npk_live_"))
	f.Add([]byte("npk_prev_0123456789ABCDEFGHIJKLabcdef"))
	f.Add([]byte(Mint(Sandbox)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		surface, err := checkKey(raw)
		if (err == nil) != (surface != NoSurface) {
			t.Fatalf("kind %v with error %v", surface, err)
		}
		if err == nil && (len(raw) != keyLength || SurfaceOf(raw) != surface) {
			t.Fatalf("accepted a key of %d bytes as %v", len(raw), surface)
		}
	})
}
