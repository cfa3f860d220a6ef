package mirror

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

const (
	// pointerVersion is the form of CURRENT that this program writes, and the newest that it reads.
	pointerVersion = 1
	// maxEpoch keeps epochs countable: what is pushed next is one above.
	maxEpoch = 1 << 53
	// MaxLead bounds how far ahead an activation may lie. A server that waited longer would show
	// prices of the day before.
	MaxLead = 24 * time.Hour
)

// Pointer is what CURRENT says.
type Pointer struct {
	Format         int       `json:"format"`
	Epoch          uint64    `json:"epoch"` // one above the epoch before
	ID             string    `json:"id"`
	ManifestSHA256 string    `json:"manifest_sha256"`
	PublishedAt    time.Time `json:"published_at"`
	// ActivateAt is when all servers begin to serve it; zero is at once.
	ActivateAt    time.Time `json:"activate_at,omitzero"`
	Previous      string    `json:"previous,omitempty"`
	PreviousUntil time.Time `json:"previous_until,omitzero"` // when Previous was current for the last time
	// Hold keeps the next push out until somebody releases it.
	Freeze bool `json:"hold,omitempty"`
}

// ErrVersion means: an object is not of the form that this program reads.
var ErrVersion = errors.New("this program does not read it")

// appendSignature spells v with its signatures.
func appendSignature(kind string, v any, keys ...*Key) ([]byte, error) {
	body, err := encode(v)
	return sign(kind, body, keys...), err
}

// encode writes v as a text that can be signed.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(body, '\n'), err
}

// parsePointer reads a pointer whose signature was checked.
func parsePointer(body []byte) (Pointer, error) {
	var p Pointer
	if err := json.Unmarshal(body, &p); err != nil {
		return Pointer{}, fmt.Errorf("cannot read CURRENT: %w: %w", ErrVersion, err)
	}
	if problem := p.problem(); problem != "" {
		return Pointer{}, fmt.Errorf("cannot read CURRENT: it %s: %w", problem, ErrVersion)
	}
	return p, nil
}

// problem says what is wrong with a pointer; "" means nothing.
func (p *Pointer) problem() string {
	lead := p.ActivateAt.Sub(p.PublishedAt)

	switch sum, err := hex.DecodeString(p.ManifestSHA256); {
	case p.Format != pointerVersion:
		return fmt.Sprintf("has format %d instead of %d", p.Format, pointerVersion)
	case p.Epoch < 1 || p.Epoch > maxEpoch:
		return fmt.Sprintf("has epoch %d", p.Epoch)
	case !snapshot.ValidID(p.ID):
		return "does not name a snapshot"
	case err != nil || len(sum) != 32 || hex.EncodeToString(sum) != p.ManifestSHA256:
		return "does not have the SHA-256 of a manifest"
	case p.PublishedAt.IsZero():
		return "does not say when it was published"
	case !p.ActivateAt.IsZero() && (lead < 0 || lead > MaxLead):
		return fmt.Sprintf("begins %s after its publication", lead)
	case p.Previous != "" && !snapshot.ValidID(p.Previous):
		return "does not name the snapshot before"
	}
	return ""
}

// current is what a directory store keeps of the pointer.
func (p *Pointer) current() snapshot.Current {
	return snapshot.Current{
		Epoch: p.Epoch, ID: p.ID, PublishedAt: p.PublishedAt.UTC(), Previous: p.Previous,
		ActivateAt: p.ActivateAt.UTC(), PreviousUntil: p.PreviousUntil.UTC(),
	}
}

// epochName is the object that keeps the CURRENT of an epoch.
func epochName(epoch uint64) string { return fmt.Sprintf("%s%012d", epochs, epoch) }

// The names of objects.
const (
	currentName = "CURRENT"
	trustName   = "TRUST"
	epochs      = "epochs/"
	blobs       = "blobs/sha256/"
	manifests   = "manifests/"
	probes      = "probes/"
	trustLog    = "trust/"
)
