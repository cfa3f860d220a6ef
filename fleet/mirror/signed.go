package mirror

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// The kinds of signed texts. The kind is signed with the text, so that none passes for another.
const (
	kindCurrent = "CURRENT"
	kindTrust   = "TRUST"
)

// maxSigned bounds a signed text: a CURRENT has some 500 bytes, a TRUST 60 for each key.
const maxSigned = 64 << 10

// algorithm begins a line with a signature.
const algorithm = "ed25519:"

// ErrBadSignature means: a text is not what its signature is of, or it has none.
var ErrBadSignature = errors.New("its signature is not of its text")

// signature is one line behind a signed text.
type signature struct {
	by    string // id of the key
	bytes []byte
}

// signedText is a text with its signatures, of which none is checked yet.
type signedText struct {
	kind string
	body []byte // ends with a line feed
	all  []signature
}

// message is what is signed of a text.
func message(kind string, body []byte) []byte {
	return append([]byte("ninepocket "+kind+" 1\n"), body...)
}

// sign adds the signatures of the keys to a text, which ends with a line feed.
func sign(kind string, body []byte, keys ...*Key) []byte {
	signed := bytes.Clone(body)
	for _, key := range keys {
		made := ed25519.Sign(key.private, message(kind, body))
		signed = fmt.Appendf(signed, "%s%s:%s\n", algorithm, key.ID, base64.StdEncoding.EncodeToString(made))
	}
	return signed
}

// cutSigned takes a text and its signatures apart.
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
		text.all = append(text.all, made)
		text.body = text.body[:len(text.body)-len(line)-1]
	}

	if len(text.all) == 0 || len(text.body) == 0 || text.body[len(text.body)-1] != '\n' {
		return cannot("a line with a signature is missing")
	}
	return text, nil
}

// lastLine is the last line of a text, where it is one of a signature.
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
	if !keyID.MatchString(id) {
		return signature{}, fmt.Errorf("a signature names the key %q", id)
	}

	made, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(made) != ed25519.SignatureSize {
		return signature{}, fmt.Errorf("the signature of %q is cut off", id)
	}
	return signature{id, made}, nil
}

// currentSigner returns the first of the publishers that signed the text.
func (text *signedText) signer(publishers []Publisher) (string, error) {
	for _, made := range text.all {
		for _, publisher := range publishers {
			if publisher.ID != made.by {
				continue
			}
			if !ed25519.Verify(publisher.Key, message(text.kind, text.body), made.bytes) {
				return "", fmt.Errorf("%s does not bear the signature of %q: %w", text.kind, made.by, ErrBadSignature)
			}
			return made.by, nil
		}
	}
	return "", &UntrustedError{Object: text.kind, Key: text.all[0].by}
}

// UntrustedError says that a text is signed by a key that nobody trusts.
type UntrustedError struct {
	Object string // "CURRENT" or "TRUST"
	Key    string
	// Retired is the version of TRUST that the key is no longer in; 0 when it never was.
	Retired uint64
}

func (e *UntrustedError) Error() string {
	if e.Retired > 0 {
		return fmt.Sprintf("%s is signed by %q, which TRUST %d retired", e.Object, e.Key, e.Retired)
	}
	return fmt.Sprintf("%s is signed by %q, which is not among publishers", e.Object, e.Key)
}
