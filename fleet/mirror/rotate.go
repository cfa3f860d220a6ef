package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reasons why a rotation is refused.
var (
	ErrTrustExists    = errors.New("the store has a TRUST")
	ErrNoTrust        = errors.New("the store has no TRUST")
	ErrInUse          = errors.New("the key is still in use")
	ErrNotTrustMember = errors.New("another key signed what is published")
)

// InitTrust writes the first TRUST, which names one key. With force it may follow an existing TRUST:
// for operators who lost all keys, and whose servers have another publisher configured.
func (b *Bucket) InitTrust(ctx context.Context, key *Key, force bool, now time.Time) (Trust, error) {
	version := uint64(1)
	old, tag, err := b.newestTrust(ctx)
	switch {
	case err == nil && !force:
		return Trust{}, fmt.Errorf("cannot begin with key %q: %w", key.ID, ErrTrustExists)
	case err == nil:
		version = old.Version + 1
	case !errors.Is(err, errNotFound):
		return Trust{}, err
	}
	by, err := b.currentSigner(ctx)
	if err != nil {
		return Trust{}, err
	}
	if !force && by != "" && by != key.ID {
		return Trust{},
			fmt.Errorf("cannot begin with key %q: CURRENT is signed by %q: %w", key.ID, by, ErrNotTrustMember)
	}

	first := Trust{Format: trustFormatVersion, Version: version, At: now.UTC(), Keys: []Publisher{key.Publisher()}}
	err = b.writeTrust(ctx, &first, tag, key)
	return first, err
}

// AddTrustedKey writes a TRUST with one more key.
func (b *Bucket) AddTrustedKey(ctx context.Context, key *Key, added Publisher, now time.Time) (Trust, error) {
	return b.rotate(ctx, key, func(t *Trust) (Trust, error) { return t.withKey(added, now) })
}

// RetireTrustedKey writes a TRUST without a key. That must not be the key that signs it, nor the key of
// the present CURRENT: servers would then refuse the release.
func (b *Bucket) RetireTrustedKey(ctx context.Context, key *Key, id string, now time.Time) (Trust, error) {
	if id == key.ID {
		return Trust{}, fmt.Errorf("cannot retire key %q: sign with another one: %w", id, ErrInUse)
	}

	by, err := b.currentSigner(ctx)
	if err != nil {
		return Trust{}, err
	}
	if by == id {
		return Trust{}, fmt.Errorf("cannot retire key %q: it signed the CURRENT that is there: %w", id, ErrInUse)
	}
	return b.rotate(ctx, key, func(t *Trust) (Trust, error) { return t.withoutKey(id, now) })
}

// currentSigner returns the id of the key that signed the present CURRENT, "" if there is none that can
// be read.
func (b *Bucket) currentSigner(ctx context.Context) (string, error) {
	content, _, err := b.get(ctx, currentName, "")
	if errors.Is(err, errNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}

	text, err := cutSigned(kindCurrent, content)
	if err != nil {
		return "", nil //nolint:nilerr // the signer is unknown
	}
	return text.signatures[0].by, nil
}

// rotate writes the TRUST that follows the newest one.
func (b *Bucket) rotate(ctx context.Context, key *Key, change func(*Trust) (Trust, error)) (Trust, error) {
	old, tag, err := b.newestTrust(ctx)
	if errors.Is(err, errNotFound) {
		return Trust{}, fmt.Errorf("cannot change who may publish: %w", ErrNoTrust)
	}
	if err != nil {
		return Trust{}, err
	}
	if !old.trusts(key.Publisher()) {
		return Trust{}, fmt.Errorf("cannot sign with key %q: TRUST %d does not name it: %w", key.ID, old.Version,
			ErrNotPublisher)
	}

	next, err := change(&old)
	if err != nil {
		return Trust{}, err
	}
	err = b.writeTrust(ctx, &next, tag, key)
	return next, err
}

// trust reads the TRUST in an object, as get does.
func (b *Bucket) trust(ctx context.Context, name, knownTag string) (t Trust, content []byte, tag string, err error) {
	content, tag, err = b.get(ctx, name, knownTag)
	if err == nil {
		t, _, err = parseTrust(content)
	}
	return t, content, tag, err
}

// newestTrust reads the newest TRUST and the ETag of the object. An interrupted rotation may have
// written the copy of its version alone: newestTrust then writes the object.
func (b *Bucket) newestTrust(ctx context.Context) (t Trust, tag string, err error) {
	t, _, tag, err = b.trust(ctx, trustName, "")
	if err != nil && !errors.Is(err, errNotFound) {
		return t, "", err
	}

	for {
		next, content, _, err := b.trust(ctx, trustVersionName(t.Version+1), "")
		if errors.Is(err, errNotFound) && t.Version > 0 {
			return t, tag, nil
		}
		if err != nil {
			return t, "", err
		}

		t = next
		tag, err = b.put(ctx, trustName, content, writeCondition{absent: tag == "", tag: tag})
		if err != nil {
			return t, "", err
		}
	}
}

// writeTrust writes a TRUST. A version is written once: of two concurrent rotations one is refused.
func (b *Bucket) writeTrust(ctx context.Context, next *Trust, tag string, key *Key) error {
	if err := b.probe(ctx); err != nil {
		return err
	}
	signed, err := encodeSigned(kindTrust, next, key)
	if err != nil {
		return err
	}

	err = b.putImmutable(ctx, trustVersionName(next.Version), signed)
	if errors.Is(err, ErrContentDiffers) {
		return fmt.Errorf("cannot write TRUST %d: %w", next.Version, ErrTooLate)
	}
	if err != nil {
		return err
	}

	// A failed condition is no error: another rotation has continued from the copy above.
	_, err = b.put(ctx, trustName, signed, writeCondition{absent: tag == "", tag: tag})
	if err != nil && !errors.Is(err, errPreconditionFailed) {
		return fmt.Errorf("TRUST %d is decided and servers do not see it yet: run a trust command again: %w",
			next.Version, err)
	}
	return nil
}
