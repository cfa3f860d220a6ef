package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

// Read reads the keys file of a state directory. A missing file is ErrNoFile in a new directory,
// ErrMissing in one that a server has used, and ErrShared if that is a server of a fleet. A damaged
// file is wal.ErrCorrupt.
func Read(stateDir string) (*File, error) {
	path := filepath.Join(stateDir, statedir.KeysName)
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseFile(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read keys file %q: %w", path, err)
	}
	apart, err := readTenants(stateDir)
	if err != nil {
		return nil, err
	}
	f.join(apart)
	return f, nil
}

// readFile returns the content of a keys file. If it is not a regular file, that is damage.
func readFile(path string) ([]byte, error) {
	data, err := wal.ReadFile(path)
	if errors.Is(err, wal.ErrCorrupt) {
		err = fmt.Errorf("%w%s", ErrDamaged, strings.TrimPrefix(err.Error(), wal.ErrCorrupt.Error()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = missingReason(filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read keys file %q: %w", path, err)
	}
	return data, nil
}

// missingReason returns the error for a state directory without a keys file. No server starts without
// keys, so if one has metered there, there were some: a new file would lose the keys of all tenants.
func missingReason(stateDir string) error {
	metered, err := statedir.Metered(stateDir)
	switch {
	case err != nil:
		return err
	case !metered:
		return ErrNoFile
	}

	// A server of a fleet meters here, and its keys are elsewhere.
	if _, err := statedir.ReadServerID(stateDir); !errors.Is(err, fs.ErrNotExist) {
		return ErrShared
	}
	return ErrMissing
}

// Update changes the keys file of a state directory under a lock, and replaces it atomically. A new
// directory gets an empty one first. If change fails nothing is written. The file is on disk when
// Update returns. It keeps its owner, or gets that of the directory; if this user cannot set the
// owner, nothing is changed, and the error is statedir.ErrOwner.
func Update(stateDir string, change func(*File) error) error {
	if err := statedir.Make(stateDir); err != nil {
		return fmt.Errorf("cannot make state directory %q: %w", stateDir, err)
	}
	// A user who cannot write a file for the server gets the error before anything is changed.
	if err := statedir.CheckOwner(filepath.Join(stateDir, statedir.KeysName)); err != nil {
		return err
	}

	lock, err := statedir.LockWriters(stateDir)
	if err != nil {
		return fmt.Errorf("cannot lock keys file in %q: %w", stateDir, err)
	}
	defer func() { _ = lock.Unlock() }() // the result of the change is known by then

	// The first key makes the file.
	f, err := Read(stateDir)
	if errors.Is(err, ErrNoFile) {
		f = NewFile()
		err = nil
	}
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}

	return write(stateDir, f)
}

// Repair rewrites a damaged keys file if believe is set, and returns what was dropped, or "" when
// nothing was wrong. A missing file is replaced by one without keys.
func Repair(stateDir string, believe bool) (dropped string, err error) {
	_, err = Read(stateDir)
	if errors.Is(err, ErrShared) {
		return "", nil
	}
	if !errors.Is(err, wal.ErrCorrupt) || !believe {
		return "", err
	}

	if errors.Is(err, ErrMissing) {
		return "all keys, for keys.json is gone: create new ones", write(stateDir, NewFile())
	}

	path := filepath.Join(stateDir, statedir.KeysName)
	data, err := readFile(path)
	if err != nil {
		return "", err
	}
	f, err := decodeFile(data)
	if err != nil {
		return "", fmt.Errorf("cannot read keys file %q: %w", path, err)
	}
	dropped = "the sha256 member of keys.json, which did not fit"
	apart, err := readTenants(stateDir)
	if err != nil {
		dropped = "tenants.json: suspended keys are revoked, and contacts are lost"
	}
	f.join(apart)
	return dropped, write(stateDir, f)
}

func write(stateDir string, f *File) error {
	data, err := f.encode()
	if err != nil {
		return fmt.Errorf("cannot write keys file in %q: %w", stateDir, err)
	}
	path := filepath.Join(stateDir, statedir.KeysName)
	of, err := statedir.OwnerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	if err := writeTenants(stateDir, f, of); err != nil {
		return err
	}
	return statedir.ReplaceAs(path, data, of)
}

// tenantsFile is apart from the keys file, because earlier versions refuse unknown members of a
// keys file. They read of a suspension that the keys are revoked.
type tenantsFile struct {
	Tenants map[string]tenantRecord `json:"tenants"`
	// Suspended has times by key id. One counts only for a key that is revoked since that very time.
	Suspended map[string]time.Time `json:"suspended"`
}

type tenantRecord struct {
	Contact     string     `json:"contact,omitempty"`
	SuspendedAt *time.Time `json:"suspended_at,omitempty"`
}

// split returns the file as the keys file stores it, and the rest.
func (f *File) split() (*File, tenantsFile) {
	apart := tenantsFile{Tenants: map[string]tenantRecord{}, Suspended: map[string]time.Time{}}
	plain := *f
	plain.Tenants = maps.Clone(f.Tenants)
	for name, tenant := range f.Tenants {
		record := tenantRecord{tenant.Contact, tenant.SuspendedAt}
		if record != (tenantRecord{}) {
			apart.Tenants[name] = record
			bare := *tenant
			bare.Contact = ""
			bare.SuspendedAt = nil
			plain.Tenants[name] = &bare
		}
	}

	plain.Keys = slices.Clone(f.Keys)
	for i, key := range f.Keys {
		if key.SuspendedAt != nil {
			apart.Suspended[key.ID] = *key.SuspendedAt
			bare := *key
			bare.SuspendedAt = nil
			plain.Keys[i] = &bare
		}
	}
	return &plain, apart
}

// join adds what split took away.
func (f *File) join(apart tenantsFile) {
	for name, tenant := range f.Tenants {
		tenant.Contact = apart.Tenants[name].Contact
		tenant.SuspendedAt = apart.Tenants[name].SuspendedAt
	}
	for _, key := range f.Keys {
		at, found := apart.Suspended[key.ID]
		if found && key.RevokedAt != nil && key.RevokedAt.Equal(at) {
			key.SuspendedAt = &at
		}
	}
}

// readTenants reads the file of a state directory. Without one, its maps are nil.
func readTenants(stateDir string) (apart tenantsFile, err error) {
	path := filepath.Join(stateDir, statedir.TenantsName)
	data, err := wal.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return apart, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &apart)
	}
	if err != nil {
		return tenantsFile{}, fmt.Errorf("cannot read tenants file %q: %w: %w", path, ErrDamaged, err)
	}
	return apart, nil
}

// writeTenants writes the file before a change of the keys file, unless it would be the first one and empty.
func writeTenants(stateDir string, f *File, of statedir.Owner) error {
	_, apart := f.split()
	stored, err := readTenants(stateDir)
	if err == nil && stored.Tenants == nil && len(apart.Tenants)+len(apart.Suspended) == 0 {
		return nil
	}

	// Until the keys file is written, suspensions that the change takes back stay in force.
	if now, err := Read(stateDir); err == nil {
		_, before := now.split()
		maps.Copy(before.Suspended, apart.Suspended)
		apart.Suspended = before.Suspended
	}
	data, err := json.MarshalIndent(apart, "", "  ")
	if err != nil {
		return err
	}
	return statedir.ReplaceAs(filepath.Join(stateDir, statedir.TenantsName), append(data, '\n'), of)
}
