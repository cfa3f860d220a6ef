// Package tombstone remembers in a backup folder which tenants were deleted, without their names.
package tombstone

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"ninepocket/internal/disk"
)

// Name is the file in a backup folder, a JSON object a line.
const Name = "tombstones.jsonl"

// domain keeps the hash of a tenant's name apart from other hashes of the same text.
const domain = "ninepocket deleted tenant\x00"

// Tombstone is a deleted tenant. A restore gives what it finds under the name to the opaque id.
type Tombstone struct {
	At           time.Time `json:"at"`
	TenantSHA256 string    `json:"tenant_sha256"`
	Opaque       string    `json:"opaque"` // tenant_…, the id that counters stay under
	Sum          string    `json:"sum"`    // of the rest, so that a flipped bit shows
}

// New returns the tombstone of a tenant.
func New(tenant, opaque string, at time.Time) Tombstone {
	t := Tombstone{At: at.UTC().Truncate(time.Second), TenantSHA256: hashOf(tenant), Opaque: opaque}
	t.Sum = t.sum()
	return t
}

// sum returns the checksum of the other fields.
func (t Tombstone) sum() string {
	return hashOf(t.At.Format(time.RFC3339) + t.TenantSHA256 + t.Opaque)[:16]
}

// Of reports whether this is the tombstone of a tenant of that name.
func (t Tombstone) Of(tenant string) bool { return t.TenantSHA256 == hashOf(tenant) }

func hashOf(tenant string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(domain+tenant))) }

// Append writes a tombstone into a backup folder. It is on disk when Append returns.
func Append(folder string, t Tombstone) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	name := filepath.Join(folder, Name)
	file, err := disk.OS.Open(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write tombstone: %w", err)
	}

	// A line that was torn before must not swallow this one: empty lines are passed over.
	_, err = file.Write([]byte("\n" + string(line) + "\n"))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = disk.OS.SyncDir(folder)
	}
	if err != nil {
		return fmt.Errorf("cannot write tombstone: %w", err)
	}
	return nil
}

// Read returns the tombstones of a backup folder, the oldest first; none if it has no such file. It returns
// the readable ones also with an error, which names every other line.
func Read(folder string) (all []Tombstone, err error) {
	name := filepath.Join(folder, Name)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read tombstones: %w", err)
	}

	var problems []error
	for i, line := range bytes.Split(text, []byte("\n")) {
		var t Tombstone
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		// Names of members are read exactly: a flipped bit may change a letter to its capital.
		case json.Unmarshal(line, &t) != nil || t.Sum != t.sum():
			problems = append(problems, fmt.Errorf("cannot read line %d of %q: want a tombstone", i+1, name))
		default:
			all = append(all, t)
		}
	}
	return all, errors.Join(problems...)
}
