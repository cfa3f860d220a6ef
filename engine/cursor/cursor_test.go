package cursor_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ninepocket/engine/cursor"
)

var now = time.Date(2026, 3, 14, 20, 5, 30, 987_000_000, time.UTC)

func key(id byte) cursor.Key {
	k := cursor.Key{ID: id}
	copy(k.Secret[:], bytes.Repeat([]byte{id, 'k'}, cursor.KeyLen/2))
	return k
}

func signer(t testing.TB, keys ...cursor.Key) *cursor.Signer {
	t.Helper()
	s, err := cursor.NewSigner(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	s := signer(t, key(1))
	rapid.Check(t, func(t *rapid.T) {
		page := cursor.Page{
			Op:       cursor.Op(rapid.IntRange(1, 3).Draw(t, "op")),
			Snapshot: rapid.Uint64().Draw(t, "snapshot"),
			Position: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "position"),
		}

		bound := rapid.Uint64().Draw(t, "bound")
		at := time.UnixMilli(rapid.Int64Range(0, 1<<43).Draw(t, "at"))
		token := string(s.Append([]byte("x"), page, bound, at))[1:]
		if strings.ContainsFunc(token, func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", r)
		}) {
			t.Fatalf("%q does not go into a URL as it is", token)
		}

		got, err := s.Open(token, page.Op, bound, at)
		if err != nil || got.Op != page.Op || got.Snapshot != page.Snapshot ||
			!bytes.Equal(got.Position, page.Position) || !got.Issued.Equal(at) {
			t.Fatalf("%+v is read as %+v, %v", page, got, err)
		}
	})
}

var sample = cursor.Page{Op: cursor.Cards, Snapshot: 0x0123456789abcdef, Position: []byte("position of a card")}

// TestEveryChangeIsRefused changes each character of a cursor to every other byte, cuts it at each
// place and adds to it.
func TestEveryChangeIsRefused(t *testing.T) {
	s := signer(t, key(1), key(2))
	token := s.Append(nil, sample, 42, now)
	refuse := func(changed []byte) {
		t.Helper()
		if page, err := s.Open(string(changed), cursor.Cards, 42, now); !errors.Is(err, cursor.ErrMalformed) ||
			page.Position != nil {
			t.Errorf("%q is read as %+v, %v", changed, page, err)
		}
	}

	for i := range token {
		for b := range 256 {
			if byte(b) != token[i] {
				changed := bytes.Clone(token)
				changed[i] = byte(b)
				refuse(changed)
			}
		}

		refuse(token[:i])
		for _, extra := range []string{"A", "\n", "\r", " ", "="} {
			refuse([]byte(string(token[:i]) + extra + string(token[i:])))
		}
	}

	for _, extra := range []string{"A", "AA", "AAAA", "=", "==", "\n", "\r\n", "\x00"} {
		refuse(append(bytes.Clone(token), extra...))
	}
}

// TestReplace gives a signer another key, and then none: cursors of both keys open, and new ones are
// of the new key.
func TestReplace(t *testing.T) {
	s := signer(t, key(1))
	old := string(s.Append(nil, sample, 42, now))
	if err := s.Replace(key(2), key(1)); err != nil {
		t.Fatal(err)
	}
	if s.Replace() == nil || s.Replace(key(3), key(3)) == nil {
		t.Error("no key, or one twice, is taken")
	}

	fresh := string(s.Append(nil, sample, 42, now))
	for _, token := range []string{old, fresh} {
		if _, err := s.Open(token, cursor.Cards, 42, now); err != nil {
			t.Errorf("a cursor of a key that is about is refused: %v", err)
		}
	}
	if _, err := signer(t, key(1)).Open(fresh, cursor.Cards, 42, now); !errors.Is(err, cursor.ErrMalformed) {
		t.Errorf("the old key signs on: %v", err)
	}
}

func TestExpiry(t *testing.T) {
	s := signer(t, key(1))
	token := string(s.Append(nil, sample, 42, now))
	f := func(after time.Duration, want error) {
		t.Helper()
		if _, err := s.Open(token, cursor.Cards, 42, now.Add(after)); !errors.Is(err, want) {
			t.Errorf("after %v: %v, want %v", after, err, want)
		}
	}

	f(0, nil)
	f(-time.Hour, nil) // the clock went back
	f(15*time.Minute-time.Second, nil)
	f(15*time.Minute-time.Millisecond, nil)
	f(15*time.Minute, cursor.ErrExpired)
	f(15*time.Minute+time.Millisecond, cursor.ErrExpired)
	f(24*time.Hour, cursor.ErrExpired)
}

func TestBinding(t *testing.T) {
	s := signer(t, key(1))
	token := string(s.Append(nil, sample, 42, now))
	for _, op := range []cursor.Op{cursor.Sets, cursor.Products, 0} {
		if _, err := s.Open(token, op, 42, now); !errors.Is(err, cursor.ErrMismatch) {
			t.Errorf("for operation %d: %v", op, err)
		}
	}

	for _, bound := range []uint64{0, 41, 43, 1 << 63} {
		if _, err := s.Open(token, cursor.Cards, bound, now); !errors.Is(err, cursor.ErrMismatch) {
			t.Errorf("for parameters %d: %v", bound, err)
		}
	}

	// An expired cursor is reported as expired for any parameters, and an unsigned cursor never is.
	if _, err := s.Open(token, cursor.Sets, 1, now.Add(time.Hour)); !errors.Is(err, cursor.ErrExpired) {
		t.Errorf("expired and for another operation: %v", err)
	}
}

func TestKeyRotation(t *testing.T) {
	before := signer(t, key(1))
	during := signer(t, key(2), key(1))
	after := signer(t, key(2))
	old := string(before.Append(nil, sample, 42, now))
	young := string(during.Append(nil, sample, 42, now))
	f := func(s *cursor.Signer, token string, want error) {
		t.Helper()
		if _, err := s.Open(token, cursor.Cards, 42, now); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", token, err, want)
		}
	}

	f(during, old, nil)
	f(during, young, nil)
	f(after, young, nil)
	f(after, old, cursor.ErrMalformed)
	f(before, young, cursor.ErrMalformed)

	// An id alone does not make a key.
	other := key(1)
	other.Secret[5] ^= 1
	f(signer(t, other), old, cursor.ErrMalformed)
	if _, err := cursor.NewSigner(); err == nil {
		t.Error("a signer without keys")
	}
	if _, err := cursor.NewSigner(key(1), key(2), key(1)); err == nil {
		t.Error("two keys of one id")
	}
}

func TestHash(t *testing.T) {
	seen := map[uint64][]string{}
	for _, parts := range [][]string{
		{},
		{""},
		{"", ""},
		{"ab"},
		{"a", "b"},
		{"a", "", "b"},
		{"b", "a"},
		{"a\x00b"},
		{"ab", ""},
		{"", "ab"},
		{"\x02\x00\x00\x00ab"},
	} {
		h := cursor.Hash(parts...)

		if other, ok := seen[h]; ok || h != cursor.Hash(parts...) {
			t.Errorf("%q and %q have one hash", parts, other)
		}

		seen[h] = parts
	}
}

func FuzzOpen(f *testing.F) {
	s := signer(f, key(1), key(2))
	token := string(s.Append(nil, sample, 42, now))
	f.Add(token)

	f.Add(token[:len(token)-1])
	f.Add("")
	f.Add(strings.Repeat("A", 512))

	f.Fuzz(func(t *testing.T, token string) {
		page, err := s.Open(token, cursor.Cards, 42, now)
		if err == nil {
			// Only issued cursors are valid, each in its only form.
			if again := string(s.Append(nil, page, 42, now)); again != token {
				t.Fatalf("%q is taken, and spelt %q", token, again)
			}
		} else if !errors.Is(err, cursor.ErrMalformed) && !errors.Is(err, cursor.ErrExpired) &&
			!errors.Is(err, cursor.ErrMismatch) {
			t.Fatalf("%q: %v", token, err)
		}
	})
}
