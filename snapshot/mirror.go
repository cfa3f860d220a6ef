package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"ninepocket/internal/disk"
)

// pulledMarker marks a snapshot that ImportSnapshot brought: it has no quarantine report.
const pulledMarker = "pulled"

// StaleEpochError reports that a remote release is older than the local release.
type StaleEpochError struct {
	Published Current // by the other store
	Here      Current
}

func (e *StaleEpochError) Error() string {
	if e.Published.Epoch == e.Here.Epoch {
		return fmt.Sprintf("epoch %d is published as snapshot %q, and was served here as %q: refused; publish again",
			e.Published.Epoch, e.Published.ID, e.Here.ID)
	}
	return fmt.Sprintf("epoch %d is published, %d was served here: refused as a rollback; publish again to go back",
		e.Published.Epoch, e.Here.Epoch)
}

// ManifestBytes returns the manifest of a snapshot as it is stored.
func (d *Store) ManifestBytes(id string) ([]byte, error) {
	// It is read as a manifest first, so that damage is reported as such.
	if _, err := d.Manifest(id); err != nil {
		return nil, err
	}
	return disk.ReadFile(d.disk, filepath.Join(d.Path(id), "manifest"))
}

// ServingSections are the sections that a server needs: all but the quarantine report, which stays
// with the builder.
func (m *Manifest) ServingSections() []Section { return m.Sections[:len(m.Sections)-1] }

// Has reports whether the store has the served sections of a snapshot whole, as their strong
// checksums say.
func (d *Store) Has(id string) bool {
	m, err := d.Manifest(id)
	if err != nil {
		return false
	}

	for _, s := range m.ServingSections() {
		file, err := d.disk.Open(filepath.Join(d.Path(id), s.File), os.O_RDONLY, 0)
		if err != nil {
			return false
		}
		err = copySection(io.Discard, file, &s)
		_ = file.Close()
		if err != nil {
			return false
		}
	}
	return true
}

// ImportSnapshot stores a snapshot of another store. open gives the bytes of a section's file,
// which are compared with the strong checksum while they are copied. After an error or a crash the
// snapshot is not there. It is not published: see PublishFrom. The quarantine report is left out.
func (d *Store) ImportSnapshot(id string, manifest []byte, open func(Section) (io.ReadCloser, error)) error {
	m, err := ParseManifest(manifest, id)
	if err != nil {
		return fmt.Errorf("cannot import snapshot %q: %w", id, err)
	}

	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	if d.Has(id) {
		return nil
	}

	err = d.place(id, manifest, func(folder string) error {
		for _, s := range m.ServingSections() {
			if err := d.stageSection(filepath.Join(folder, s.File), &s, open); err != nil {
				return err
			}
		}
		return disk.Create(d.disk, filepath.Join(folder, pulledMarker), nil, 0o644)
	})
	if err != nil {
		return fmt.Errorf("cannot import snapshot %q: %w", id, err)
	}
	return nil
}

// stageSection copies a section into a new file.
func (d *Store) stageSection(path string, s *Section, open func(Section) (io.ReadCloser, error)) error {
	from, err := open(*s)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // only read

	fill := func(into disk.File) error { return copySection(into, from, s) }
	return disk.Create(d.disk, path, nil, 0o644, fill)
}

// copySection copies the file of a section and compares it with its length and strong checksum.
func copySection(into io.Writer, from io.Reader, s *Section) error {
	sum := sha256.New()
	// One byte more than the manifest says is enough to see that there is too much.
	n, err := io.Copy(io.MultiWriter(into, sum), io.LimitReader(from, s.Bytes+1))
	switch {
	case err != nil:
		return err
	case n != s.Bytes:
		return &DamageError{s.Name, fmt.Sprintf("does not have %d bytes", s.Bytes)}
	case hex.EncodeToString(sum.Sum(nil)) != s.SHA256:
		return &DamageError{s.Name, "does not have the checksum it was written with"}
	}
	return nil
}

// PublishFrom publishes the release of another store, with its epoch. The guards ran in that
// store, so they do not run here. An epoch below the last adopted one is a *StaleEpochError; an
// equal epoch with another snapshot is one, too. To adopt a release again changes nothing.
func (d *Store) PublishFrom(next Current, by string, r Retention) error {
	if _, err := d.Manifest(next.ID); err != nil {
		return fmt.Errorf("cannot adopt a snapshot: %w", err)
	}
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	old, damaged, err := d.pointer()
	if err != nil {
		return err
	}
	if old.Epoch == unknownEpoch {
		// No record names the served snapshots, so every epoch is new.
		old = Current{}
	}

	switch {
	case next.Epoch == old.Epoch && next.ID == old.ID && !damaged:
		return nil
	case next.Epoch < old.Epoch, next.Epoch == old.Epoch && next.ID != old.ID:
		return fmt.Errorf("cannot adopt snapshot %q: %w", next.ID, &StaleEpochError{next, old})
	}

	// An epoch may be a second release of one snapshot.
	switch {
	case next.PreviousEpoch != 0:
	case old.ID == next.Previous:
		next.PreviousEpoch = old.Epoch
	case old.ID == next.ID && old.Previous == next.Previous:
		next.PreviousEpoch = old.PreviousEpoch
	}

	// A previously released snapshot is a rollback. A fallback then takes the last withdrawn snapshot.
	made := Publication{Current: next, Action: ActionPublish, By: by}
	past := d.publications(old)
	before := func(publication Publication) bool { return publication.ID == next.ID }
	if next.ID != old.ID && slices.ContainsFunc(past, before) {
		made.Action = ActionRollback
	}
	_, err = d.commit(made, old, r)
	return err
}
