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
	// pointerVersion is the format version of CURRENT that this program writes, and the only one that
	// it reads.
	pointerVersion = 1
	// maxEpoch leaves room for further epochs: the next push has the next number.
	maxEpoch = 1 << 53
	// MaxLead limits how far ahead a scheduled activation may be. A server that waited longer would show
	// prices of the day before.
	MaxLead = 24 * time.Hour
)

// Pointer is the content of CURRENT.
type Pointer struct {
	Format         int       `json:"format"`
	Epoch          uint64    `json:"epoch"` // greater than the epoch before
	ID             string    `json:"id"`
	ManifestSHA256 string    `json:"manifest_sha256"`
	PublishedAt    time.Time `json:"published_at"`
	// ActivateAt is when all servers begin to serve the snapshot; zero means at once.
	ActivateAt    time.Time `json:"activate_at,omitzero"`
	Previous      string    `json:"previous,omitempty"`
	PreviousUntil time.Time `json:"previous_until,omitzero"` // when Previous was current for the last time
	// Freeze refuses further pushes until one has PushOptions.Unfreeze.
	Freeze bool `json:"hold,omitempty"`
}

// ErrVersion reports an object that is not in the format that this program reads.
var ErrVersion = errors.New("this program does not read it")

// encodeSigned encodes v with its signature.
func encodeSigned(kind string, v any, key *Key) ([]byte, error) {
	body, err := encode(v)
	return sign(kind, body, key), err
}

// encode encodes v as a text that can be signed.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(body, '\n'), err
}

// problem returns the reason why a pointer is invalid, "" if it is valid.
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

// current returns the pointer as a directory store has it.
func (p *Pointer) current() snapshot.Current {
	return snapshot.Current{
		Epoch: p.Epoch, ID: p.ID, PublishedAt: p.PublishedAt.UTC(), Previous: p.Previous,
		ActivateAt: p.ActivateAt.UTC(), PreviousUntil: p.PreviousUntil.UTC(),
	}
}

// epochName is the object with the CURRENT of an epoch.
func epochName(epoch uint64) string { return fmt.Sprintf("%s%012d", epochPrefix, epoch) }

// Names of objects, and their prefixes.
const (
	currentName    = "CURRENT"
	trustName      = "TRUST"
	epochPrefix    = "epochs/"
	blobPrefix     = "blobs/sha256/"
	manifestPrefix = "manifests/"
	probePrefix    = "probes/"
	trustPrefix    = "trust/"
	eventPrefix    = "events/"
	changesPrefix  = "changes/"
)
