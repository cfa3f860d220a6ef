package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"ninepocket/internal/disk"
)

// Store is a snapshot store in a directory; CURRENT names the published snapshot.
//
// Its files:
//
//	CURRENT                  names the published snapshot; renaming over it is the commit point
//	snapshots/ID/            the manifest and one file for each section; an empty file "pulled" if
//	                         the snapshot came from another store
//	PUBLICATIONS             what was published when, with the verdicts of the guards
//	REFUSALS                 which snapshots the guards refused, and why
//	DAILY                    how the last day's work ended
//	changes/EPOCH            the changes of a publication; only of the last publications
//	events/ID.json           an event for hooks; only of the last days
//	holds/ID                 an empty file for each snapshot that no retention removes
//	tmp/                     files that are being written
//	incoming/                sections that a follower of another store has downloaded so far
//	LOCK                     held by the writer
//
// Readers take no lock and list no folder: they load the snapshot that CURRENT names. Several
// goroutines and processes may use a Store.
type Store struct {
	root string
	disk disk.FS
}

// OpenStore returns the store at root. It need not exist yet: the first Write creates it.
func OpenStore(root string) *Store { return &Store{root: root, disk: disk.OS} }

// Exists returns ErrNoStore if there is no store at the root; the error names the missing part. Callers
// that list the store need it, because a mistyped folder looks like an empty store. Callers that
// name a snapshot do not need it.
func (d *Store) Exists() error {
	info, err := os.Stat(filepath.Join(d.root, "snapshots"))
	switch _, rootErr := os.Stat(d.root); {
	case err == nil && info.IsDir():
		return nil
	case errors.Is(rootErr, fs.ErrNotExist):
		return fmt.Errorf("cannot open store %q: %w, for the folder does not exist", d.root, ErrNoStore)
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("cannot open store %q: %w, for it has no folder \"snapshots\"", d.root, ErrNoStore)
	}

	return fmt.Errorf("cannot open store %q: %w", d.root, err)
}

// Root is the directory of the store.
func (d *Store) Root() string { return d.root }

// Path is the directory of a snapshot.
func (d *Store) Path(id string) string { return filepath.Join(d.root, "snapshots", id) }

// QuarantinePath is the file with a snapshot's quarantine report. Each line is a JSON object.
func (d *Store) QuarantinePath(id string) string { return filepath.Join(d.Path(id), quarantineFile) }

func (d *Store) tmp(name string) string { return filepath.Join(d.root, "tmp", name) }

// Current is the content of CURRENT.
type Current struct {
	Epoch       uint64    `json:"epoch"` // grows with each release, a rollback included
	ID          string    `json:"id"`
	PublishedAt time.Time `json:"published_at"`
	Previous    string    `json:"previous,omitempty"` // the snapshot that was current before
	// Discarded are days such as 2026-08-22, with spaces between them. A rollback withdrew these days,
	// and their archived prices stay out of the history.
	Discarded string `json:"discarded,omitempty"`

	// ActivateAt is when all servers activate the snapshot. PreviousUntil is when the previous snapshot
	// was current for the last time. The store that this store follows sets both; in other stores
	// they are zero.
	ActivateAt    time.Time `json:"activate_at,omitzero"`
	PreviousUntil time.Time `json:"previous_until,omitzero"`
	PreviousEpoch uint64    `json:"previous_epoch,omitempty"` // of Previous, when it is known
}

// Current reads CURRENT. It returns ErrNoCurrent if no snapshot is published. It returns a
// *DamageError if this program did not write the file.
func (d *Store) Current() (Current, error) {
	var cur Current
	err := d.readChecksummed("CURRENT", &cur)
	_, noFile := errors.AsType[*disk.NotRegularError](err)

	switch {
	case noFile:
		err = &DamageError{"CURRENT", "is not a regular file"}
	case errors.Is(err, fs.ErrNotExist):
		err = ErrNoCurrent
	case err == nil && !ValidID(cur.ID):
		err = &DamageError{"CURRENT", "does not name a snapshot"}
	case err == nil:
		return cur, nil
	case !errors.Is(err, ErrDamaged):
		return Current{}, fmt.Errorf("cannot read the current snapshot of store %q: %w", d.root, err)
	}
	return Current{}, fmt.Errorf("store %q: %w", d.root, err)
}

// Manifest reads a snapshot's manifest.
func (d *Store) Manifest(id string) (*Manifest, error) {
	if !ValidID(id) {
		return nil, fmt.Errorf("snapshot %q: %w", id, ErrNotFound)
	}

	path := filepath.Join(d.Path(id), "manifest")
	b, err := disk.ReadFile(d.disk, path)
	if errors.Is(err, fs.ErrNotExist) {
		// A folder without a manifest is damage. Without a folder, there is no such snapshot.
		if _, err := os.Stat(d.Path(id)); err == nil {
			return nil, fmt.Errorf("snapshot %q: %w", id, &DamageError{"manifest", "is missing"})
		}
		return nil, fmt.Errorf("snapshot %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifest of snapshot %q: %w", id, err)
	}

	m, err := ParseManifest(b, id)
	if err != nil {
		return nil, fmt.Errorf("snapshot %q: %w", id, err)
	}

	// The bytes do not say when they were made, so that equal input has equal bytes (decision 34).
	if info, err := os.Stat(path); err == nil {
		m.CreatedAt = info.ModTime().UTC()
	}

	return m, nil
}

// List returns the intact manifests of all snapshots, newest first.
func (d *Store) List() ([]*Manifest, error) {
	entries, err := d.disk.List(filepath.Join(d.root, "snapshots"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list store %q: %w", d.root, err)
	}

	var all []*Manifest
	for _, e := range entries {
		// Damaged snapshots, and other folders, are left out. Unlisted names the damaged ones.
		if m, err := d.Manifest(e.Name()); err == nil {
			all = append(all, m)
		}
	}

	slices.SortFunc(all, func(a, b *Manifest) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return all, nil
}

// ListErrors gives the error of each snapshot that List leaves out.
func (d *Store) ListErrors() (problems []error) {
	// When the folder cannot be read, List returns the reason.
	entries, _ := d.disk.List(filepath.Join(d.root, "snapshots"))
	for _, e := range entries {
		if _, err := d.Manifest(e.Name()); err != nil && ValidID(e.Name()) {
			problems = append(problems, err)
		}
	}
	return problems
}

// Load reads a snapshot. It compares every section with its quick checksum before it decodes the
// section. Load calls step every ten microseconds or so, and step may pause, so that other work runs.
// With a step, Load reads one section after the other, on the caller's goroutine. Without a step, it
// reads all sections at once. If the context ends first, Load returns the context's error.
func (d *Store) Load(ctx context.Context, id string, step func()) (*Catalog, error) {
	stored, err := d.read(ctx, id, decodeOptions{step: step})
	return stored.Catalog, err
}

// LoadStored is Load without a step, with the manifest. With an error, the snapshot is empty but not nil.
func (d *Store) LoadStored(ctx context.Context, id string) (*StoredSnapshot, error) {
	return d.read(ctx, id, decodeOptions{})
}

// Verify reads all files of a snapshot and compares them with their strong checksums. Its error
// names the section that is damaged.
func (d *Store) Verify(id string) error {
	_, err := d.read(context.Background(), id, decodeOptions{verifySHA256: true})
	return err
}

// LoadBase verifies a snapshot and returns its catalog for a build: the tables that every build computes again
// are empty.
func (d *Store) LoadBase(ctx context.Context, id string) (*Catalog, error) {
	stored, err := d.read(ctx, id, decodeOptions{verifySHA256: true, base: true})
	return stored.Catalog, err
}

// read reads a snapshot and its manifest from its files. With an error, the returned snapshot is empty but
// not nil.
func (d *Store) read(ctx context.Context, id string, reading decodeOptions) (*StoredSnapshot, error) {
	m, err := d.Manifest(id)
	if err != nil {
		return &StoredSnapshot{}, err
	}

	// The report of a pulled snapshot stays with its builder.
	_, own := os.Stat(filepath.Join(d.Path(id), pulledMarker))
	reading.withQuarantine = reading.verifySHA256 && errors.Is(own, fs.ErrNotExist)
	reading.file = sectionsOf(d, id)

	c, err := decode(ctx, m, reading)
	if err != nil {
		return &StoredSnapshot{}, fmt.Errorf("snapshot %q: %w", id, err)
	}

	return &StoredSnapshot{m, c}, nil
}

// sectionsOf returns the function that reads the files of a snapshot's sections.
func sectionsOf(store *Store, id string) func(Section) ([]byte, error) {
	return func(s Section) ([]byte, error) {
		b, err := disk.ReadFile(store.disk, filepath.Join(store.Path(id), s.File))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &DamageError{s.Name, "is missing"}
		}
		return b, err
	}
}

// prepare creates the store's folders. It syncs a new store and the folder above at once, because a
// crash must not remove the store with all its snapshots.
func (d *Store) prepare() error {
	// The lock is the last thing that the first writer makes.
	if _, err := os.Stat(filepath.Join(d.root, "LOCK")); err == nil {
		return nil
	}

	for _, folder := range []string{"", "snapshots", "tmp"} {
		if err := disk.MkdirAll(d.disk, filepath.Join(d.root, folder), 0o755); err != nil {
			return err
		}
	}

	// First the content of the store, then the store itself.
	if err := d.disk.SyncDir(d.root); err != nil {
		return err
	}

	return d.disk.SyncDir(filepath.Dir(d.root))
}

// lock creates the store's folders and takes the lock of writers. It waits while another writer
// holds it.
func (d *Store) lock() (unlock func(), err error) {
	if err := d.prepare(); err != nil {
		return nil, fmt.Errorf("cannot create store %q: %w", d.root, err)
	}

	lock, err := disk.TakeLock(filepath.Join(d.root, "LOCK"), 0o644, disk.Forever)
	if err != nil {
		return nil, fmt.Errorf("cannot lock store %q: %w", d.root, err)
	}

	// The work under the lock is done.
	return func() { _ = lock.Unlock() }, nil
}
