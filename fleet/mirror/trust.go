package mirror

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// trustFormatVersion is the format version of TRUST that this program writes, and the only one that
	// it reads.
	trustFormatVersion = 1
	// maxKeys limits the keys of a TRUST, and its retired keys, so that it stays well below maxSigned.
	maxKeys = 200
	// maxVersions limits how many versions a server follows at once: a rotation a week for 20
	// years.
	maxVersions = 1000
)

// Trust is the content of TRUST: the keys that may sign CURRENT and the next TRUST. The keys of
// the configuration are version 0.
type Trust struct {
	Format  int         `json:"format"`
	Version uint64      `json:"version"` // the previous version plus one
	At      time.Time   `json:"at"`
	Keys    []Publisher `json:"keys"`
	Retired []Retired   `json:"retired,omitempty"`
}

// Retired is a key that may no longer sign.
type Retired struct {
	ID      string `json:"id"`
	Version uint64 `json:"version"` // of the first TRUST without it
}

// ErrTrustBroken reports a trust list whose version or signature does not follow from the trusted
// one.
var ErrTrustBroken = errors.New("it does not follow from what is trusted here")

// trustVersionName is the object with a version of TRUST.
func trustVersionName(version uint64) string { return fmt.Sprintf("%s%012d", trustPrefix, version) }

// parseTrust parses a TRUST, which one of its own keys must have signed.
func parseTrust(b []byte) (Trust, signedText, error) {
	text, err := cutSigned(kindTrust, b)
	if err != nil {
		return Trust{}, text, err
	}

	// The keys to verify it with are in the text itself.
	var t Trust
	if err := text.decode(&t); err != nil {
		return Trust{}, text, err
	}
	_, err = text.signer(t.Keys)
	return t, text, err
}

// problem returns the reason why a TRUST is invalid, "" if it is valid.
func (t *Trust) problem() string {
	switch {
	case t.Format != trustFormatVersion:
		return fmt.Sprintf("has format %d instead of %d", t.Format, trustFormatVersion)
	case t.Version < 1 || t.Version > maxEpoch:
		return fmt.Sprintf("has version %d", t.Version)
	case len(t.Keys) == 0 || len(t.Keys) > maxKeys || len(t.Retired) > maxKeys:
		return fmt.Sprintf("names %d keys and %d retired ones", len(t.Keys), len(t.Retired))
	}

	seen := map[string]bool{}
	for _, key := range t.Keys {
		if seen[key.ID] {
			return fmt.Sprintf("names key %q twice", key.ID)
		}
		seen[key.ID] = true
	}
	for _, retired := range t.Retired {
		if seen[retired.ID] {
			return fmt.Sprintf("names key %q twice", retired.ID)
		}
		seen[retired.ID] = true
	}
	return ""
}

// trusts reports whether a key may sign.
func (t *Trust) trusts(key Publisher) bool {
	same := func(other Publisher) bool { return other.ID == key.ID && other.Key.Equal(key.Key) }
	return slices.ContainsFunc(t.Keys, same)
}

// signer verifies a text, and returns the id of the trusted key that signed it.
func (t *Trust) signer(text *signedText) (string, error) {
	by, err := text.signer(t.Keys)
	if untrusted, ok := errors.AsType[*UntrustedError](err); ok {
		for _, retired := range t.Retired {
			if retired.ID == untrusted.Key {
				untrusted.Retired = retired.Version
			}
		}
	}
	return by, err
}

// verifyNext parses a newer TRUST. One of its own keys and one that t trusts must have signed it.
func (t *Trust) verifyNext(b []byte) (Trust, error) {
	next, text, err := parseTrust(b)
	if err != nil {
		return *t, err
	}
	if next.Version <= t.Version {
		return *t, fmt.Errorf("cannot load TRUST %d after TRUST %d: %w", next.Version, t.Version, ErrTrustBroken)
	}

	if _, err := t.signer(&text); err != nil {
		return *t, fmt.Errorf("cannot load TRUST %d: %w: %w", next.Version, ErrTrustBroken, err)
	}
	return next, nil
}

// verifyCurrent parses a CURRENT, which a trusted key must have signed.
func (t *Trust) verifyCurrent(content []byte) (verifiedCurrent, error) {
	text, err := cutSigned(kindCurrent, content)
	if err != nil {
		return verifiedCurrent{}, err
	}
	return t.verifyPointer(&text)
}

// verifyPointer is verifyCurrent of a text that is split already.
func (t *Trust) verifyPointer(text *signedText) (read verifiedCurrent, err error) {
	read.signer, err = t.signer(text)
	if err == nil {
		err = text.decode(&read.Pointer)
	}
	return read, err
}

// withoutKey returns the TRUST after t without a key.
func (t *Trust) withoutKey(id string, now time.Time) (Trust, error) {
	remaining := slices.DeleteFunc(slices.Clone(t.Keys), func(key Publisher) bool { return key.ID == id })
	if len(remaining) == len(t.Keys) {
		return *t, fmt.Errorf("cannot retire key %q: TRUST %d does not name it", id, t.Version)
	}

	version := t.Version + 1
	return Trust{
		trustFormatVersion, version, now.UTC(), remaining,
		append(slices.Clone(t.Retired), Retired{id, version}),
	}, nil
}

// withKey returns the TRUST after t with one more key.
func (t *Trust) withKey(key Publisher, now time.Time) (Trust, error) {
	next := Trust{trustFormatVersion, t.Version + 1, now.UTC(), append(slices.Clone(t.Keys), key), t.Retired}
	if problem := next.problem(); problem != "" {
		return *t, fmt.Errorf("cannot add key %q: TRUST %s", key.ID, problem)
	}
	return next, nil
}
