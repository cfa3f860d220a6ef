package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What keeps a rotation from happening.
var (
	ErrTrustExists    = errors.New("the store has a TRUST")
	ErrNoTrust        = errors.New("the store has no TRUST")
	ErrInUse          = errors.New("the key is still in use")
	ErrNotTrustMember = errors.New("another key signed what is published")
)

// InitTrust writes the first TRUST, which names one key. When anew is set it may follow one that is
// there: for operators who lost all keys, and whose servers have another publisher configured.
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

// AddTrustedKey lets one key more sign.
func (b *Bucket) AddTrustedKey(ctx context.Context, key *Key, added Publisher, now time.Time) (Trust, error) {
	return b.rotate(ctx, key, func(t *Trust) (Trust, error) { return t.with(added, now) })
}

// RetireTrustedKey takes a key out. It must not be the one that signs, nor that of the CURRENT that
// is there: servers would then refuse what is published.
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
	return b.rotate(ctx, key, func(t *Trust) (Trust, error) { return t.without(id, now) })
}

// currentSigner names the key that signed the CURRENT that is there; "" = there is none that can be
// read.
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
		return "", nil //nolint:nilerr // who signed it is not known
	}
	return text.all[0].by, nil
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

// trust reads a TRUST under one of its names, unless its tag is the given one.
func (b *Bucket) trust(ctx context.Context, name, unless string) (t Trust, content []byte, tag string, err error) {
	content, tag, err = b.get(ctx, name, unless)
	if err == nil {
		t, _, err = parseTrust(content)
	}
	return t, content, tag, err
}

// newestTrust reads the newest TRUST and the tag of the object. A rotation that was cut off wrote
// the copy of its version and not the object: the object is then brought up to that.
func (b *Bucket) newestTrust(ctx context.Context) (t Trust, tag string, err error) {
	t, _, tag, err = b.trust(ctx, trustName, "")
	if err != nil && !errors.Is(err, errNotFound) {
		return t, "", err
	}

	for {
		next, content, _, err := b.trust(ctx, trustVersion(t.Version+1), "")
		if errors.Is(err, errNotFound) && t.Version > 0 {
			return t, tag, nil
		}
		if err != nil {
			return t, "", err
		}

		t = next
		tag, err = b.put(ctx, trustName, content, condition{absent: tag == "", tag: tag})
		if err != nil {
			return t, "", err
		}
	}
}

// writeTrust writes a TRUST. Its version exists once: of two rotations at the same time one is
// refused.
func (b *Bucket) writeTrust(ctx context.Context, next *Trust, tag string, key *Key) error {
	if err := b.probe(ctx); err != nil {
		return err
	}
	signed, err := appendSignature(kindTrust, next, key)
	if err != nil {
		return err
	}

	err = b.putImmutable(ctx, trustVersion(next.Version), signed)
	if errors.Is(err, ErrContentDiffers) {
		return fmt.Errorf("cannot write TRUST %d: %w", next.Version, ErrTooLate)
	}
	if err != nil {
		return err
	}

	// Where somebody was faster, they began from the copy above, and wrote what follows it.
	_, err = b.put(ctx, trustName, signed, condition{absent: tag == "", tag: tag})
	if err != nil && !errors.Is(err, errPreconditionFailed) {
		return fmt.Errorf("TRUST %d is decided and servers do not see it yet: run a trust command again: %w",
			next.Version, err)
	}
	return nil
}
