package keys

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// This file is the life of a tenant after its first key.

// ChangeTenant changes the plan and the credits of a tenant as [File.Create] with ChangePlan does, and returns
// the plan before. The keys stay.
func (f *File) ChangeTenant(want NewKey) (before string, err error) {
	tenant, err := f.tenant("change", want.Tenant)
	if err != nil {
		return "", err
	}
	before = tenant.PlanOf(want.Surface.String())
	want.ChangePlan = true
	return before, f.applyTenant(want)
}

// tenant returns a tenant that exists and was not deleted, or ErrNoSuchTenant.
func (f *File) tenant(verb, name string) (*Tenant, error) {
	if f.Tenants[name] == nil || IsOpaque(name) {
		return nil, fmt.Errorf("cannot %s tenant %q: %w", verb, name, ErrNoSuchTenant)
	}
	return f.Tenants[name], nil
}

// KeysOf returns the keys of a tenant, in the order of their creation.
func (f *File) KeysOf(tenant string) (all []*Key) {
	for _, key := range f.Keys {
		if key.Tenant == tenant {
			all = append(all, key)
		}
	}
	return all
}

// Suspended reports whether a key is refused until its tenant is resumed.
func (key *Key) Suspended() bool {
	return key.SuspendedAt != nil && key.RevokedAt != nil && key.SuspendedAt.Equal(*key.RevokedAt)
}

func (key *Key) suspend(now time.Time) {
	key.RevokedAt = new(utcSeconds(now))
	key.SuspendedAt = key.RevokedAt
}

// revoke ends a key for good, unless it was revoked before.
func (key *Key) revoke(now time.Time) {
	if key.RevokedAt == nil {
		key.RevokedAt = new(utcSeconds(now))
	}
	// One at the time of a revival would be taken back by it.
	if key.RevivedAt != nil && !key.RevokedAt.After(*key.RevivedAt) {
		key.RevokedAt = new(key.RevivedAt.Add(time.Second))
	}
	// The time of a suspension would still mean one.
	if key.Suspended() {
		key.RevokedAt = new(key.RevokedAt.Add(time.Second))
		key.SuspendedAt = nil
	}
}

// Suspend makes the keys of a tenant refused until [File.Resume]: those that are not revoked, and new ones.
func (f *File) Suspend(name string, now time.Time) error {
	tenant, err := f.tenant("suspend", name)
	if err != nil {
		return err
	}

	// A second suspension must not change the time of the first.
	if tenant.SuspendedAt == nil {
		tenant.SuspendedAt = new(utcSeconds(now))
	}
	for _, key := range f.KeysOf(name) {
		if key.RevokedAt == nil {
			key.suspend(now)
		}
	}
	return nil
}

// Resume takes a suspension back. Keys that were revoked stay so.
func (f *File) Resume(name string, _ time.Time) error {
	tenant, err := f.tenant("resume", name)
	if err != nil {
		return err
	}

	tenant.SuspendedAt = nil
	for _, key := range f.KeysOf(name) {
		if key.Suspended() {
			key.RevokedAt = nil
			key.SuspendedAt = nil
		}
	}
	return nil
}

const opaquePrefix = "tenant_"

// MintOpaque returns a new name for a deleted tenant.
func MintOpaque() string { return opaquePrefix + strings.ToLower(randomBase62(16)) }

// IsOpaque reports whether a name is of the form of [MintOpaque].
func IsOpaque(name string) bool {
	return strings.HasPrefix(name, opaquePrefix) && len(name) == len(opaquePrefix)+16
}

// Delete gives what a tenant leaves to an opaque name: its plans and the ids of its keys, which bills
// need. The keys are revoked, and their hashes are replaced by random ones.
func (f *File) Delete(name, opaque string, now time.Time) error {
	tenant, err := f.tenant("delete", name)
	if err != nil {
		return err
	}

	delete(f.Tenants, name)
	f.Tenants[opaque] = &Tenant{Plan: tenant.Plan, Plans: tenant.Plans}
	for _, key := range f.KeysOf(name) {
		// Every key has a hash; nobody has this one's.
		key.Hash = hashOf([]byte(rand.Text()))
		key.Tenant = opaque
		key.Name = ""
		key.revoke(now)
	}
	return nil
}
