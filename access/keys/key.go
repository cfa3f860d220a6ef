package keys

import (
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// Surface is the API surface that a key opens, visible in its prefix (decision 1).
type Surface uint8

const (
	// NoSurface is the zero Surface: the text has no known prefix.
	NoSurface Surface = iota
	// Live keys open the live surface and MCP.
	Live
	// Sandbox keys open nothing; the live surface answers 403.
	Sandbox
	// Preview keys open the preview surface.
	Preview
)

var surfaceNames = [...]string{NoSurface: "", Live: "live", Sandbox: "sandbox", Preview: "preview"}

var surfacePrefixes = [...]string{NoSurface: "", Live: "npk_live_", Sandbox: "npk_test_", Preview: "npk_prev_"}

// String returns live, sandbox, preview, or "" for NoSurface.
func (surface Surface) String() string {
	if int(surface) >= len(surfaceNames) {
		return ""
	}
	return surfaceNames[surface]
}

// ParseSurface parses live, sandbox or preview.
func ParseSurface(s string) (Surface, error) {
	k := slices.Index(surfaceNames[:], s)
	if k <= int(NoSurface) {
		return NoSurface, fmt.Errorf("cannot read surface %q: want live, preview or sandbox", s)
	}
	return Surface(k), nil
}

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	prefixLength = 9
	bodyLength   = 22 // 131 bits of randomness
	checkLength  = 6
	keyLength    = prefixLength + bodyLength + checkLength
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

var isBase62 = func() (table [256]bool) {
	for i := range len(base62) {
		table[base62[i]] = true
	}
	return table
}()

// SurfaceOf returns the surface of raw's prefix, whether or not the rest is a key. It selects the
// error format for an invalid key (decision 1).
func SurfaceOf[T string | []byte](raw T) Surface {
	if len(raw) < prefixLength {
		return NoSurface
	}
	return Surface(max(0, slices.Index(surfacePrefixes[:], string(raw[:prefixLength]))))
}

// checkKey returns the surface of a well-formed key: prefix, 22 base62 characters and the six
// characters of their CRC (decision 2). It returns ErrNoKey for an empty key and ErrInvalid
// otherwise. It does not allocate when given bytes.
func checkKey[T string | []byte](raw T) (Surface, error) {
	if len(raw) == 0 {
		return NoSurface, ErrNoKey
	}
	surface := SurfaceOf(raw)
	text := []byte(raw)
	if surface == NoSurface || len(text) != keyLength {
		return NoSurface, ErrInvalid
	}
	body := text[:keyLength-checkLength]
	check := text[keyLength-checkLength:]

	for _, c := range body[prefixLength:] {
		if !isBase62[c] {
			return NoSurface, ErrInvalid
		}
	}

	// The checksum finds typing errors before any key is looked up.
	if checksum(body) != [checkLength]byte(check) {
		return NoSurface, ErrInvalid
	}
	return surface, nil
}

// Mint returns a new random key of a surface. The text is a secret: show it once, store only its hash.
func Mint(surface Surface) string {
	text := surfacePrefixes[surface] + randomBase62(bodyLength)
	sum := checksum([]byte(text))
	return text + string(sum[:])
}

// mintID returns a new public key id.
func mintID() string { return "key_" + strings.ToLower(randomBase62(16)) }

// checksum encodes the CRC-32C of text as six base62 characters.
func checksum(text []byte) (out [checkLength]byte) {
	sum := crc32.Checksum(text, checksums)
	for i := checkLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}

// randomBase62 returns n characters, each equally likely.
func randomBase62(n int) string {
	out := make([]byte, 0, n)
	var random [64]byte
	for len(out) < n {
		rand.Read(random[:]) // never fails: the runtime aborts instead
		for _, b := range random {
			// 4 × 62 is the largest multiple of 62 in a byte: higher values would favour some characters.
			if b < 4*62 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// Scope is a set of the preview surface's scopes.
type Scope uint8

const (
	// CatalogRead opens products.
	CatalogRead Scope = 1 << iota
	// PricesRead opens batch prices.
	PricesRead
	// UsageRead opens usage.
	UsageRead
	// AllScopes is every scope.
	AllScopes = CatalogRead | PricesRead | UsageRead
)

var scopeNames = []string{"catalog:read", "prices:read", "usage:read"}

// ParseScopes parses scope names; unknown names are an error.
func ParseScopes(names []string) (Scope, error) {
	var set Scope
	for _, name := range names {
		i := slices.Index(scopeNames, name)
		if i < 0 {
			return 0, fmt.Errorf("cannot read scope %q: want catalog:read, prices:read or usage:read", name)
		}
		set |= 1 << i
	}
	return set, nil
}

// Names returns the names of the scopes in the set.
func (scope Scope) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if scope&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
