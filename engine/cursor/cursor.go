// Package cursor signs and opens the positions that clients send back to get the next page
// (decision 29).
//
// A cursor is base64url over version, key id, operation, expiry, hash of the snapshot, hash of the
// bound parameters, the position, and an HMAC-SHA256. The HMAC covers all other parts and is
// truncated to 128 bits. Nothing in a cursor is secret, and no client can change it.
package cursor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Lifetime is how long a cursor is valid after its issue, to the millisecond (docs/API.md, Paging).
const Lifetime = 15 * time.Minute

const (
	version  = 1
	headLen  = 3 + 8 + 8 + 8
	macLen   = 16
	minBytes = headLen + macLen
	// KeyLen is the length of a signing key in bytes.
	KeyLen = 32
)

// Errors of Open. All of them mean: start again from the first page.
var (
	ErrMalformed = errors.New("cursor is not one that this service issued")
	ErrExpired   = errors.New("cursor has expired")
	ErrMismatch  = errors.New("cursor was issued for other parameters or to another organization")
)

// Op is the operation that a cursor belongs to.
type Op uint8

// The operations that have pages.
const (
	Cards Op = iota + 1
	Sets
	Products
	// ToolCards and ToolSets are pages of MCP tools: their cursors do not open pages of REST, nor
	// the other way round.
	ToolCards
	ToolSets
	Changes
)

// Key is a signing key; ID names the key in a cursor.
type Key struct {
	ID     uint8
	Secret [KeyLen]byte
}

// Signer signs with its first key and accepts all of its keys. So a key can be replaced while
// cursors signed with the old one are in use.
type Signer struct{ keys atomic.Pointer[[]signingKey] }

// signingKey is a key with pooled HMAC states: to set one up costs more than to sign.
type signingKey struct {
	id   uint8
	macs *sync.Pool
}

// NewSigner returns a signer. It needs at least one key, each with a different id.
func NewSigner(keys ...Key) (*Signer, error) {
	s := &Signer{}
	if err := s.Replace(keys...); err != nil {
		return nil, err
	}
	return s, nil
}

// Replace sets other keys while the signer is in use. On an error its keys stay.
func (s *Signer) Replace(keys ...Key) error {
	if len(keys) == 0 {
		return errors.New("cannot sign cursors without a key")
	}

	ready := make([]signingKey, len(keys))
	for i, k := range keys {
		if slices.ContainsFunc(ready[:i], func(earlier signingKey) bool { return earlier.id == k.ID }) {
			return fmt.Errorf("two cursor keys have the id %d", k.ID)
		}
		ready[i] = signingKey{k.ID, &sync.Pool{New: func() any { return hmac.New(sha256.New, k.Secret[:]) }}}
	}

	s.keys.Store(&ready)
	return nil
}

// Page is the content of a cursor.
type Page struct {
	Op       Op
	Snapshot uint64 // Hash of the snapshot's id
	Position []byte
	Issued   time.Time // of a cursor that was opened
}

// Hash hashes the parameters that a cursor is bound to, or a snapshot's id. Different lists of
// parts never have the same bytes.
func Hash(parts ...string) uint64 {
	var d xxhash.Digest
	d.Reset()
	var length [4]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint32(length[:], uint32(len(p)))
		_, _ = d.Write(length[:])
		_, _ = d.WriteString(p)
	}

	return d.Sum64()
}

// Append appends a cursor for page, issued at now. bound is the Hash of the parameters that it is
// bound to.
func (s *Signer) Append(dst []byte, page Page, bound uint64, now time.Time) []byte {
	key := &(*s.keys.Load())[0]
	// The signature covers everything that a cursor is bound to.
	raw := make([]byte, 0, headLen+len(page.Position)+sha256.Size)
	raw = append(raw, version, key.id, byte(page.Op))
	raw = binary.BigEndian.AppendUint64(raw, uint64(now.Add(Lifetime).UnixMilli()))
	raw = binary.BigEndian.AppendUint64(raw, page.Snapshot)
	raw = binary.BigEndian.AppendUint64(raw, bound)
	raw = append(raw, page.Position...)
	raw = key.appendMAC(raw, raw)
	return base64.RawURLEncoding.AppendEncode(dst, raw)
}

// appendMAC appends the signature of b.
func (ours *signingKey) appendMAC(dst, b []byte) []byte {
	h, _ := ours.macs.Get().(hash.Hash)
	defer ours.macs.Put(h)
	h.Reset()
	_, _ = h.Write(b)

	whole := h.Sum(dst)
	return whole[:len(dst)+macLen]
}

// Open verifies a cursor and returns its content.
func (s *Signer) Open(token string, op Op, bound uint64, now time.Time) (Page, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// The base64 decoder ignores line ends.
	if err != nil || len(raw) < minBytes || raw[0] != version || strings.ContainsAny(token, "\r\n") {
		return Page{}, ErrMalformed
	}

	body := raw[:len(raw)-macLen]
	mac := raw[len(raw)-macLen:]
	keys := *s.keys.Load()
	i := slices.IndexFunc(keys, func(key signingKey) bool { return key.id == body[1] })
	if i < 0 || !hmac.Equal(keys[i].appendMAC(nil, body), mac) {
		return Page{}, ErrMalformed
	}
	if int64(binary.BigEndian.Uint64(body[3:])) <= now.UnixMilli() {
		return Page{}, ErrExpired
	}
	if Op(body[2]) != op || binary.BigEndian.Uint64(body[19:]) != bound {
		return Page{}, ErrMismatch
	}

	return Page{
		Op: op, Snapshot: binary.BigEndian.Uint64(body[11:]), Position: body[headLen:],
		Issued: time.UnixMilli(int64(binary.BigEndian.Uint64(body[3:]))).Add(-Lifetime),
	}, nil
}
