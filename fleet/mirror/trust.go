package mirror

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// trustFormatVersion is the form of TRUST that this program writes, and the newest that it
	// reads.
	trustFormatVersion = 1
	// maxKeys bounds the keys of a TRUST, and those that it retired: each text stays well below
	// the bound of signed texts.
	maxKeys = 200
	// maxVersions bounds how many versions a server follows at once: a rotation a week for 20
	// years.
	maxVersions = 1000
)

// Trust is what TRUST says: which keys may sign CURRENT and the next TRUST. Before the first one there
// are the keys that the configuration names, as version 0.
type Trust struct {
	Format  int         `json:"format"`
	Version uint64      `json:"version"` // one above the version before
	At      time.Time   `json:"at"`
	Keys    []Publisher `json:"keys"`
	Retired []Retired   `json:"retired,omitempty"`
}

// Retired is a key that may no longer sign.
type Retired struct {
	ID      string `json:"id"`
	Version uint64 `json:"version"` // of the TRUST that left it out first
}

// ErrTrustBroken reports a trust list whose version or signature does not follow from the trusted
// one.
var ErrTrustBroken = errors.New("it does not follow from what is trusted here")

func trustVersion(version uint64) string { return fmt.Sprintf("%s%012d", trustLog, version) }

// parseTrust reads a TRUST. One of its own keys must have signed it.
func parseTrust(b []byte) (Trust, signedText, error) {
	text, err := cutSigned(kindTrust, b)
	if err != nil {
		return Trust{}, text, err
	}

	var t Trust
	if err := json.Unmarshal(text.body, &t); err != nil {
		return Trust{}, text, fmt.Errorf("cannot read TRUST: %w: %w", ErrVersion, err)
	}
	if problem := t.problem(); problem != "" {
		return Trust{}, text, fmt.Errorf("cannot read TRUST: it %s: %w", problem, ErrVersion)
	}

	_, err = text.signer(t.Keys)
	return t, text, err
}

// problem says what is wrong with a TRUST; "" means nothing.
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

// currentSigner returns which trusted key signed a text.
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

// next takes a TRUST up. It must be signed by a key that was trusted until now, and by one of its
// own. A TRUST that is not newer is none to take up.
func (t *Trust) next(b []byte) (Trust, error) {
	next, text, err := parseTrust(b)
	if err != nil {
		return *t, err
	}
	if next.Version <= t.Version {
		return *t, fmt.Errorf("cannot take up TRUST %d after TRUST %d: %w", next.Version, t.Version, ErrTrustBroken)
	}

	if _, err := t.signer(&text); err != nil {
		return *t, fmt.Errorf("cannot take up TRUST %d: %w: %w", next.Version, ErrTrustBroken, err)
	}
	return next, nil
}

// current reads a CURRENT that a trusted key signed.
func (t *Trust) current(content []byte) (signedPointer, error) {
	text, err := cutSigned(kindCurrent, content)
	if err != nil {
		return signedPointer{}, err
	}
	return t.pointer(&text)
}

// pointer is current of a text that was taken apart.
func (t *Trust) pointer(text *signedText) (read signedPointer, err error) {
	read.by, err = t.signer(text)
	if err == nil {
		read.Pointer, err = parsePointer(text.body)
	}
	return read, err
}

// without is the TRUST after t that leaves a key out.
func (t *Trust) without(id string, now time.Time) (Trust, error) {
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

// with is the TRUST after t that names one key more.
func (t *Trust) with(key Publisher, now time.Time) (Trust, error) {
	next := Trust{trustFormatVersion, t.Version + 1, now.UTC(), append(slices.Clone(t.Keys), key), t.Retired}
	if problem := next.problem(); problem != "" {
		return *t, fmt.Errorf("cannot add key %q: TRUST %s", key.ID, problem)
	}
	return next, nil
}
