package keys

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file is the life of a tenant after its first key: plan, suspension, deletion.

// TenantChange is a request for [File.ChangeTenant]; what is nil or "" stays.
type TenantChange struct {
	Surface Surface
	Plan    string
	Credits *int64  // preview
	Contact *string // "" removes it
}

// Validate returns every problem of the request, whatever tenants exist.
func (want *TenantChange) Validate() error {
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("cannot "+format, args...))
		}
	}

	refuse(want.Plan == "" && want.Credits == nil && want.Contact == nil,
		"change a tenant: want a plan, credits or a contact")
	refuse(want.Credits != nil && want.Surface != Preview,
		"give credits on the %s surface: only preview tenants have them", want.Surface)
	refuse(want.Credits != nil && *want.Credits < 0, "give negative credits: want 0 or more")
	if want.Contact != nil {
		control := strings.ContainsFunc(*want.Contact, func(r rune) bool { return r < ' ' || r == 0x7f })
		refuse(control || len(*want.Contact) > 200,
			"use this contact: want at most 200 bytes without control characters")
	}
	return errors.Join(problems...)
}

// ChangeTenant changes the plan of a tenant on a surface, its credits or its contact. Its keys stay.
func (f *File) ChangeTenant(name string, want TenantChange) error {
	tenant, err := f.tenant("change", name)
	if err != nil {
		return err
	}

	if want.Plan != "" && want.Plan != tenant.PlanOf(want.Surface.String()) {
		tenant.setPlan(want.Surface.String(), want.Plan)
	}
	if want.Credits != nil {
		tenant.Credits = new(*want.Credits)
	}
	if want.Contact != nil {
		tenant.Contact = *want.Contact
	}
	return nil
}

// tenant returns a tenant that exists and was not deleted, or ErrNoSuchTenant.
func (f *File) tenant(verb, name string) (*Tenant, error) {
	if f.Tenants[name] == nil || IsOpaque(name) {
		return nil, fmt.Errorf("cannot %s tenant %q: %w", verb, name, ErrNoSuchTenant)
	}
	return f.Tenants[name], nil
}

func (tenant *Tenant) setPlan(surface, plan string) {
	if tenant.Plans == nil {
		tenant.Plans = map[string]string{}
	}
	tenant.Plans[surface] = plan
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

// Suspend makes the keys of a tenant refused until [File.Resume]: those that are not revoked, and new ones.
func (f *File) Suspend(name string, now time.Time) error {
	tenant, err := f.tenant("suspend", name)
	if err != nil {
		return err
	}

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
func (f *File) Resume(name string) error {
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
		var hash [32]byte
		rand.Read(hash[:]) // never fails
		key.Hash = hex.EncodeToString(hash[:])
		key.Tenant = opaque
		key.Name = ""
		key.SuspendedAt = nil
		if key.RevokedAt == nil {
			key.RevokedAt = new(utcSeconds(now))
		}
	}
	return nil
}

// clone returns a copy whose tenants and keys can be changed.
func (f *File) clone() *File {
	out := *f
	out.Tenants = make(map[string]*Tenant, len(f.Tenants))
	for name, tenant := range f.Tenants {
		out.Tenants[name] = new(*tenant)
	}
	out.Keys = slices.Clone(f.Keys)
	for i, key := range out.Keys {
		out.Keys[i] = new(*key)
	}
	return &out
}
