package mirror

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"
)

// fixedKey is always the same key.
func fixedKey(id string) *Key {
	return &Key{id, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))}
}

func samplePointer() *Pointer {
	return &Pointer{
		Format: 1, Epoch: 42, ID: "20260401T120000Z-0123456789abcdef", ManifestSHA256: strings.Repeat("0f", 32),
		PublishedAt: day, ActivateAt: day.Add(time.Minute), Previous: "20260331T120000Z-0123456789abcdef",
		PreviousUntil: day.Add(time.Minute), Freeze: true,
	}
}

// FuzzCurrent reads any bytes as a CURRENT. Accepted bytes can be encoded and read again unchanged,
// and no other bytes are accepted with the same signature.
func FuzzCurrent(f *testing.F) {
	key := fixedKey("ops-2026")
	publishers := []Publisher{key.Publisher()}
	signed, err := encodeSigned(kindCurrent, samplePointer(), key)
	if err != nil {
		f.Fatal(err)
	}

	f.Add(signed)
	f.Add(signed[:len(signed)-1])
	f.Add(append(bytes.Clone(signed), '\n'))
	f.Add(bytes.Replace(signed, []byte("42"), []byte("43"), 1))
	f.Add(bytes.Replace(signed, []byte("ops-2026"), []byte("ops-2027"), 1))
	f.Add([]byte("{}\ned25519::\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := cutSigned(kindCurrent, b)
		if err != nil {
			return
		}
		_, err = text.signer(publishers)
		if err == nil && !bytes.HasPrefix(b, signed[:bytes.Index(signed, []byte(algorithm))]) {
			t.Fatalf("%q passes for what was signed", b)
		}

		// The body is decoded only after a trusted key signed it: here every body is.
		var p, q Pointer
		if text.decode(&p) != nil {
			return
		}
		again, err := encodeSigned(kindCurrent, &p, key)
		if err != nil {
			t.Fatal(err)
		}
		back, err := cutSigned(kindCurrent, again)
		if err == nil {
			_, err = back.signer(publishers)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = back.decode(&q)
		if err != nil || !q.PublishedAt.Equal(p.PublishedAt) || q.Epoch != p.Epoch || q.ID != p.ID ||
			q.Freeze != p.Freeze {
			t.Fatalf("%+v became %+v (%v)", p, q, err)
		}
	})
}

// FuzzFlip changes one byte of a signed CURRENT: it must be refused.
func FuzzFlip(f *testing.F) {
	key := fixedKey("ops-2026")
	publishers := []Publisher{key.Publisher()}
	signed, err := encodeSigned(kindCurrent, samplePointer(), key)
	if err != nil {
		f.Fatal(err)
	}

	for at := 0; at < len(signed); at += 16 {
		f.Add(uint(at), byte(1))
	}
	f.Fuzz(func(t *testing.T, at uint, with byte) {
		changed := bytes.Clone(signed)
		changed[at%uint(len(changed))] ^= with
		text, err := cutSigned(kindCurrent, changed)
		if err == nil {
			_, err = text.signer(publishers)
		}
		if (err == nil) != (with == 0) {
			t.Errorf("byte %d changed by %d: %v", at, with, err)
		}
	})
}

// FuzzTrust reads any bytes as a TRUST, signed by a key that it names.
func FuzzTrust(f *testing.F) {
	key := fixedKey("a")
	good := Trust{
		Format: 1, Version: 3, At: day, Keys: []Publisher{key.Publisher()}, Retired: []Retired{{"b", 2}},
	}
	body, err := encode(&good)
	if err != nil {
		f.Fatal(err)
	}

	f.Add(body)
	f.Add(bytes.Replace(body, []byte(`"b"`), []byte(`"a"`), 1))
	f.Add([]byte(`{"format":1,"version":1,"keys":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 || body[len(body)-1] != '\n' {
			body = append(bytes.Clone(body), '\n')
		}
		read, _, err := parseTrust(sign(kindTrust, body, key))
		if err != nil {
			return
		}
		if problem := read.problem(); problem != "" {
			t.Fatalf("a TRUST was taken that %s", problem)
		}

		// Without a signature, or as another object, it is none.
		if _, _, err := parseTrust(body); err == nil && !bytes.Contains(body, []byte(algorithm)) {
			t.Fatal("a TRUST was taken without a signature")
		}
		if _, _, err := parseTrust(sign(kindCurrent, body, key)); err == nil {
			t.Fatal("what was signed as a CURRENT passes for a TRUST")
		}
	})
}

// FuzzPlace reads any text as the URL of a bucket. Errors contain no password.
func FuzzPlace(f *testing.F) {
	for _, text := range []string{
		"s3://cards/prod?endpoint=https://s3.example&region=eu-central-1", "s3://cards", "s3://cards/a/b/",
		"s3://user:secret-word@cards/prod", "s3://cards/../x", "https://cards/prod", "s3://c?endpoint=ftp://x",
		"s3://cards/?endpoint=https://u:secret-word@h", "s3://cards?x=1",
	} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		location, err := ParseLocation(text)
		if err != nil {
			if strings.HasPrefix(text, "s3://user:secret-word@") && strings.Contains(err.Error(), "secret-word") {
				t.Errorf("%v tells a password", err)
			}
			return
		}
		if !bucketName.MatchString(location.Bucket) || strings.Contains(location.Prefix, "..") ||
			location.Prefix != "" && !strings.HasSuffix(location.Prefix, "/") {
			t.Errorf("%q is taken as %+v", text, location)
		}
	})
}
