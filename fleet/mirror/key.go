package mirror

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// keyIDPattern is the syntax of a key's id, such as ops-2026.
var keyIDPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// keyFileHeader is the first word in the file of a private key.
const keyFileHeader = "ninepocket-publisher-key"

// ErrKey reports an invalid key of a publisher.
var ErrKey = errors.New("it is no key of a publisher")

// Publisher is the public half of a signing key. Its text is ID:KEY, the key in base64.
type Publisher struct {
	ID  string
	Key ed25519.PublicKey
}

// ParsePublisher reads the text of a publisher.
func ParsePublisher(text string) (Publisher, error) {
	id, encoded, _ := strings.Cut(text, ":")
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !keyIDPattern.MatchString(id) || err != nil || len(key) != ed25519.PublicKeySize {
		return Publisher{}, fmt.Errorf("cannot use publisher %q: want ID:KEY, as `snapshot trust init` prints: %w",
			text, ErrKey)
	}
	return Publisher{id, key}, nil
}

func (p Publisher) String() string { return p.ID + ":" + base64.StdEncoding.EncodeToString(p.Key) }

// MarshalText encodes the publisher as ParsePublisher reads it.
func (p Publisher) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePublisher.
func (p *Publisher) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePublisher(string(text))
	return err
}

// Key is a private key that signs releases.
type Key struct {
	ID      string
	private ed25519.PrivateKey
}

// Publisher returns the public half of the key.
func (k *Key) Publisher() Publisher {
	return Publisher{k.ID, ed25519.PublicKey(k.private[ed25519.SeedSize:])}
}

// CreateKey generates a key and writes it to a file that must not exist. Only its owner can read the file.
func CreateKey(path, id string) (*Key, error) {
	if !keyIDPattern.MatchString(id) {
		const text = "cannot name a key %q: want lower-case letters, digits, '.', '_' and '-', 64 at most: %w"
		return nil, fmt.Errorf(text, id, ErrKey)
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}

	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write a key: %w", err)
	}
	_, err = fmt.Fprintf(file, "%s %s %s\n", keyFileHeader, id, base64.StdEncoding.EncodeToString(private.Seed()))
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("cannot write a key: %w", err)
	}

	return &Key{id, private}, nil
}

// ReadKey reads the file of a key. Errors do not contain the key.
func ReadKey(path string) (*Key, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key of a publisher: %w", err)
	}

	fields := strings.Fields(string(b))
	var seed []byte
	if len(fields) == 3 && fields[0] == keyFileHeader && keyIDPattern.MatchString(fields[1]) {
		seed, err = base64.StdEncoding.Strict().DecodeString(fields[2])
	}
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("cannot read the key of a publisher from %q: %w", path, ErrKey)
	}

	return &Key{fields[1], ed25519.NewKeyFromSeed(seed)}, nil
}
