package mirror

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// The kinds of signed texts. The kind is signed with the text, so that one cannot be used as another.
const (
	kindCurrent = "CURRENT"
	kindTrust   = "TRUST"
)

// maxSigned limits a signed text: a CURRENT has some 500 bytes, a TRUST 60 for each key, and what a day changes
// in the real catalog 300 kB.
const maxSigned = maxSmallObject

// algorithm begins the line of a signature.
const algorithm = "ed25519:"

// ErrBadSignature reports a text whose signature is missing or wrong.
var ErrBadSignature = errors.New("its signature is not of its text")

// signature is one line after a signed text.
type signature struct {
	by    string // id of the key
	bytes []byte
}

// signedText is a text with its signatures, which are not verified yet.
type signedText struct {
	kind       string
	body       []byte // ends with a line feed
	signatures []signature
}

// signedMessage returns the bytes that a signature covers.
func signedMessage(kind string, body []byte) []byte {
	return append([]byte("ninepocket "+kind+" 1\n"), body...)
}

// sign appends a signature to a copy of a text, which ends with a line feed.
func sign(kind string, body []byte, key *Key) []byte {
	made := ed25519.Sign(key.private, signedMessage(kind, body))
	return fmt.Appendf(bytes.Clone(body), "%s%s:%s\n", algorithm, key.ID, base64.StdEncoding.EncodeToString(made))
}

// cutSigned splits a signed text into its body and its signatures.
func cutSigned(kind string, b []byte) (signedText, error) {
	cannot := func(why string) (signedText, error) {
		return signedText{}, fmt.Errorf("%s is no signed text: %s: %w", kind, why, ErrBadSignature)
	}
	if len(b) > maxSigned {
		return cannot(fmt.Sprintf("it has more than %d bytes", maxSigned))
	}

	text := signedText{kind: kind, body: b}
	for {
		line, found := lastLine(text.body)
		if !found {
			break
		}
		made, err := parseSignature(line)
		if err != nil {
			return cannot(err.Error())
		}
		text.signatures = append(text.signatures, made)
		text.body = text.body[:len(text.body)-len(line)-1]
	}

	if len(text.signatures) == 0 || len(text.body) == 0 || text.body[len(text.body)-1] != '\n' {
		return cannot("a line with a signature is missing")
	}
	return text, nil
}

// lastLine returns the last line of a text, if it is a signature.
func lastLine(text []byte) (line string, found bool) {
	whole, ended := bytes.CutSuffix(text, []byte("\n"))
	if !ended {
		return "", false
	}
	line = string(whole[bytes.LastIndexByte(whole, '\n')+1:])
	return line, strings.HasPrefix(line, algorithm)
}

func parseSignature(line string) (signature, error) {
	id, text, _ := strings.Cut(strings.TrimPrefix(line, algorithm), ":")
	if !keyIDPattern.MatchString(id) {
		return signature{}, fmt.Errorf("a signature names the key %q", id)
	}

	made, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(made) != ed25519.SignatureSize {
		return signature{}, fmt.Errorf("the signature of %q is cut off", id)
	}
	return signature{id, made}, nil
}

// signer verifies the first signature by one of the publishers, and returns its key id.
func (text *signedText) signer(publishers []Publisher) (string, error) {
	for _, made := range text.signatures {
		for _, publisher := range publishers {
			if publisher.ID != made.by {
				continue
			}
			if !ed25519.Verify(publisher.Key, signedMessage(text.kind, text.body), made.bytes) {
				return "", fmt.Errorf("%s does not bear the signature of %q: %w", text.kind, made.by, ErrBadSignature)
			}
			return made.by, nil
		}
	}
	return "", &UntrustedError{Object: text.kind, Key: text.signatures[0].by}
}

// decode decodes and validates the body of a text.
func (text *signedText) decode(v interface{ problem() string }) error {
	if err := json.Unmarshal(text.body, v); err != nil {
		return fmt.Errorf("cannot read %s: %w: %w", text.kind, ErrVersion, err)
	}
	if problem := v.problem(); problem != "" {
		return fmt.Errorf("cannot read %s: it %s: %w", text.kind, problem, ErrVersion)
	}
	return nil
}

// UntrustedError reports a text that no trusted key signed.
type UntrustedError struct {
	Object string // "CURRENT" or "TRUST"
	Key    string
	// Retired is the version of TRUST that retired the key, 0 if none did.
	Retired uint64
}

func (e *UntrustedError) Error() string {
	if e.Retired > 0 {
		return fmt.Sprintf("%s is signed by %q, which TRUST %d retired", e.Object, e.Key, e.Retired)
	}
	return fmt.Sprintf("%s is signed by %q, which is not among publishers", e.Object, e.Key)
}
