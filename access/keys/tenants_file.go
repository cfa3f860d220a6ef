package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

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
