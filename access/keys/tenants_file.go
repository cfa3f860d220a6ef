package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

// tenantsFile is what a state directory has apart from the keys file, in which earlier versions refuse a
// member that they do not know. They read of a suspension that the keys are revoked.
type tenantsFile struct {
	Version int                     `json:"version"`
	Tenants map[string]tenantRecord `json:"tenants,omitempty"`
	// Suspended has times by key id. One counts only if the key is revoked since that very time: so the
	// file is written before the keys file, and old entries do no harm.
	Suspended map[string]time.Time `json:"suspended,omitempty"`
}

type tenantRecord struct {
	Contact     string     `json:"contact,omitempty"`
	SuspendedAt *time.Time `json:"suspended_at,omitempty"`
}

// split returns the file as the keys file stores it, and the rest.
func (f *File) split() (*File, tenantsFile) {
	apart := tenantsFile{Version: 1, Tenants: map[string]tenantRecord{}, Suspended: map[string]time.Time{}}
	plain := f.clone()
	for name, tenant := range plain.Tenants {
		if tenant.Contact != "" || tenant.SuspendedAt != nil {
			apart.Tenants[name] = tenantRecord{tenant.Contact, tenant.SuspendedAt}
		}
		tenant.Contact = ""
		tenant.SuspendedAt = nil
	}

	for _, key := range plain.Keys {
		if key.Suspended() {
			apart.Suspended[key.ID] = *key.SuspendedAt
		}
		key.SuspendedAt = nil
	}
	return plain, apart
}

// join adds what split took away.
func (f *File) join(apart tenantsFile) {
	for name, record := range apart.Tenants {
		if tenant := f.Tenants[name]; tenant != nil {
			tenant.Contact = record.Contact
			tenant.SuspendedAt = record.SuspendedAt
		}
	}

	for _, key := range f.Keys {
		at, found := apart.Suspended[key.ID]
		if found && key.RevokedAt != nil && key.RevokedAt.Equal(at) {
			key.SuspendedAt = &at
		}
	}
}

// readTenants reads the file of a state directory. It is empty if there is none.
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
// Suspensions of the keys file as it is stay in it.
func writeTenants(stateDir string, f *File, of statedir.Owner) error {
	_, apart := f.split()
	stored, err := readTenants(stateDir)
	if err == nil && stored.Version == 0 && len(apart.Tenants)+len(apart.Suspended) == 0 {
		return nil
	}

	// Without a good file there is none to go on with.
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
