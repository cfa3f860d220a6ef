package keys

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"ninepocket/internal/wal"
)

// File is the content of the keys file: tenants, and the hashes of their keys. Use [Update] to change
// the file of a state directory.
type File struct {
	Version int                `json:"version"`
	Tenants map[string]*Tenant `json:"tenants"`
	Keys    []*Key             `json:"keys"`
	// SHA256 is the checksum of the file without this member, in hexadecimal. A file without it is of
	// an earlier version, or was edited; the next change adds it.
	SHA256 string `json:"sha256,omitempty"`
}

// Tenant is an organization: plans and credits belong to it, not to a key (decision 14).
type Tenant struct {
	Plan string `json:"plan"` // of each surface that is not in Plans
	// Plans are the plans of surfaces, by name of the surface (decision 1765).
	Plans       map[string]string `json:"plans,omitempty"`
	Credits     *int64            `json:"credits,omitempty"`      // preview credits a period; absent: the plan's
	PeriodStart *time.Time        `json:"period_start,omitempty"` // both or neither; absent: the UTC calendar month.
	PeriodEnd   *time.Time        `json:"period_end,omitempty"`   // After the end, periods of the same length follow.

	// Units used before these instants do not count any more (decision 1757).
	DayResetAt     *time.Time `json:"day_reset_at,omitempty"`
	CreditsResetAt *time.Time `json:"credits_reset_at,omitempty"`

	Contact     string     `json:"contact,omitempty"` // free text: whom to write to
	SuspendedAt *time.Time `json:"suspended_at,omitempty"`
}

// PlanOf returns the plan of a tenant on a surface.
func (tenant *Tenant) PlanOf(surface string) string {
	return cmp.Or(tenant.Plans[surface], tenant.Plan)
}

// Key is the record of a key. The key itself is not stored.
type Key struct {
	ID        string     `json:"id"` // public, key_…
	Tenant    string     `json:"tenant"`
	Name      string     `json:"name,omitempty"`
	Surface   string     `json:"surface"` // live, preview or sandbox
	Hash      string     `json:"hash"`    // SHA-256 in hexadecimal
	Scopes    []string   `json:"scopes,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	// SuspendedAt equals RevokedAt in a suspended key: servers that know the latter alone refuse it too.
	SuspendedAt *time.Time `json:"suspended_at,omitempty"`
	RotatedTo   string     `json:"rotated_to,omitempty"` // id of the key that replaces it
	// RevivedAt is when revocations up to it were taken back. Only keys of a fleet have it.
	RevivedAt *time.Time `json:"revived_at,omitempty"`
}

// Status returns active, suspended, revoked or expired at a time.
func (key *Key) Status(now time.Time) string {
	switch {
	case key.Suspended():
		return "suspended"
	case key.RevokedAt != nil:
		return "revoked"
	case key.ExpiresAt != nil && !now.Before(*key.ExpiresAt):
		return "expired"
	}
	return "active"
}

const fileVersion = 1

// NewFile returns an empty key file.
func NewFile() *File { return &File{Version: fileVersion, Tenants: map[string]*Tenant{}} }

// NewKey is a request for a key, for [File.Create].
type NewKey struct {
	Tenant     string
	Surface    Surface
	Plan       string     // "" = the tenant's
	ChangePlan bool       // let Plan and Credits replace the tenant's
	Scopes     Scope      // preview; 0 = all
	Name       string     // free text, at most 100 characters
	Expires    *time.Time // nil = never
	Credits    *int64     // preview; nil = leave as is
}

// Create adds a key, and its tenant if it is new. It returns the key's record and its text, which is
// not stored. A plan other than the tenant's is ErrPlanDiffers, other credits are ErrCreditsDiffer.
// The caller checks that the plan is configured.
func (f *File) Create(want NewKey, now time.Time) (*Key, string, error) {
	// Everything is checked before anything changes.
	if err := want.Validate(now); err != nil {
		return nil, "", err
	}
	if err := f.applyTenant(want); err != nil {
		return nil, "", err
	}

	key := &Key{
		ID: mintID(), Tenant: want.Tenant, Name: want.Name, Surface: want.Surface.String(),
		CreatedAt: utcSeconds(now),
	}
	if want.Expires != nil {
		key.ExpiresAt = new(want.Expires.UTC())
	}
	if f.Tenants[want.Tenant].SuspendedAt != nil {
		key.suspend(now)
	}
	if want.Surface == Preview {
		key.Scopes = cmp.Or(want.Scopes, AllScopes).Names()
	}
	return key, f.add(key, want.Surface), nil
}

// add mints the text of a key record, stores its hash and returns the text.
func (f *File) add(key *Key, surface Surface) string {
	text := Mint(surface)
	key.Hash = hashOf([]byte(text))
	f.Keys = append(f.Keys, key)
	return text
}

// Validate returns every problem of the request at an instant, whatever keys exist.
func (want NewKey) Validate(now time.Time) error {
	var wrong problems
	refuse := wrong.refuseIf

	refuse(!validName(want.Tenant), "create a key for tenant %q: want %s", want.Tenant, nameRule)
	refuse(want.Plan != "" && !validName(want.Plan), "create a key of plan %q: want %s", want.Plan, nameRule)
	refuse(want.Surface == NoSurface || want.Surface > Preview,
		"create a key: want a surface, live, preview or sandbox")

	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	refuse(len(want.Name) > 100 || strings.ContainsFunc(want.Name, control),
		"name a key %q: want at most 100 bytes without control characters", want.Name)

	other := want.Surface != Preview
	refuse(other && want.Scopes != 0, "create a %s key with scopes: only preview keys have them", want.Surface)
	refuse(other && want.Credits != nil,
		"create a %s key with credits or a period: only preview tenants have them", want.Surface)

	if want.Credits != nil {
		refuse(*want.Credits < 0, "give %d credits: want 0 or more", *want.Credits)
	}
	if want.Expires != nil {
		refuse(!want.Expires.After(now),
			"create a key that expires at %s: want a time to come", want.Expires.UTC().Format(time.RFC3339))
	}
	return errors.Join(wrong...)
}

// problems are the reasons why something cannot be done.
type problems []error

// refuseIf adds a problem.
func (p *problems) refuseIf(bad bool, format string, args ...any) {
	if bad {
		*p = append(*p, fmt.Errorf("cannot "+format, args...))
	}
}

// applyTenant adds or changes the tenant of a new key. The plans of other surfaces do not change.
func (f *File) applyTenant(want NewKey) error {
	tenant := f.Tenants[want.Tenant]
	surface := want.Surface.String()

	// Nobody could stop who calls under the id of a deleted tenant.
	if IsOpaque(want.Tenant) {
		return fmt.Errorf("cannot use tenant %q: it was deleted: %w", want.Tenant, ErrNoSuchTenant)
	}
	shared := f.hasKey(want.Tenant, surface) && !want.ChangePlan
	if shared && want.Credits != nil && (tenant.Credits == nil || *tenant.Credits != *want.Credits) {
		return fmt.Errorf("cannot create a key with credits of its own for tenant %q: %w, which all of its keys share",
			want.Tenant, ErrCreditsDiffer)
	}

	switch {
	case tenant == nil && want.Plan == "":
		return fmt.Errorf("cannot create tenant %q: want a plan", want.Tenant)
	case tenant == nil:
		tenant = &Tenant{Plan: want.Plan}
		f.Tenants[want.Tenant] = tenant
	case want.Plan == "" || want.Plan == tenant.PlanOf(surface):
	case shared:
		return fmt.Errorf("cannot create a key of plan %q for tenant %q: %w on this surface: %q",
			want.Plan, want.Tenant, ErrPlanDiffers, tenant.PlanOf(surface))
	default:
		if tenant.Plans == nil {
			tenant.Plans = map[string]string{}
		}
		tenant.Plans[surface] = want.Plan
	}

	// Fields that are not given do not change.
	if want.Credits != nil {
		tenant.Credits = new(*want.Credits)
	}
	return nil
}

// hasKey reports whether a tenant has a key of a surface.
func (f *File) hasKey(tenant, surface string) bool {
	return slices.ContainsFunc(f.Keys, func(key *Key) bool { return key.Tenant == tenant && key.Surface == surface })
}

// ResetDay resets the units used of a tenant's day quota, or with credits those of its period. The
// calls stay in the ledger.
func (f *File) ResetDay(tenant string, credits bool, now time.Time) error {
	found, err := f.tenant("reset the day of", tenant)
	if err != nil {
		return err
	}

	// A second reset within a millisecond, or after the clock was set back, has a later time too.
	next := func(was *time.Time) *time.Time {
		reset := now.UTC().Truncate(time.Millisecond)
		if was != nil && !reset.After(*was) {
			reset = was.Add(time.Millisecond)
		}
		return &reset
	}

	if credits {
		found.CreditsResetAt = next(found.CreditsResetAt)
	} else {
		found.DayResetAt = next(found.DayResetAt)
	}
	return nil
}

// find returns the key with an id, or ErrNoSuchKey.
func (f *File) find(id string) (*Key, error) {
	i := slices.IndexFunc(f.Keys, func(key *Key) bool { return key.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("cannot find key %q: %w", id, ErrNoSuchKey)
	}
	return f.Keys[i], nil
}

// Revoke ends a key at once, a suspended one for good. Revoking a revoked key changes nothing.
func (f *File) Revoke(id string, now time.Time) (*Key, error) {
	key, err := f.find(id)
	if err != nil {
		return nil, err
	}

	// A second revocation must not change the time of the first.
	key.revoke(now)
	return key, nil
}

// Revive takes the revocation of a key back, in a fleet: servers remember it. It stays suspended while
// its tenant is.
func (f *File) Revive(id string, now time.Time) (*Key, error) {
	key, err := f.find(id)
	if err != nil {
		return nil, err
	}
	tenant, err := f.tenant("revive a key of", key.Tenant)
	if err != nil {
		return nil, err
	}

	// The clock of the machine that revoked it may be ahead.
	key.RevivedAt = new(utcSeconds(now))
	if key.RevokedAt != nil && key.RevokedAt.After(*key.RevivedAt) {
		key.RevivedAt = key.RevokedAt
	}
	key.RevokedAt = nil
	key.SuspendedAt = nil
	if tenant.SuspendedAt != nil {
		key.suspend(now)
	}
	return key, nil
}

// Rotate makes a key that replaces an active one: same tenant, name, surface, scopes and expiry. The
// old key expires after overlap, or at its own expiry if that is earlier. It returns the new record
// and the key's text, which is not stored.
func (f *File) Rotate(id string, overlap time.Duration, now time.Time) (*Key, string, error) {
	old, err := f.find(id)
	if err != nil {
		return nil, "", err
	}
	switch status := old.Status(now); {
	case old.Suspended():
		return nil, "", fmt.Errorf("cannot rotate key %q: %w %q", id, ErrSuspendedTenant, old.Tenant)
	case status != "active":
		return nil, "", fmt.Errorf("cannot rotate key %q: it is %s; create a new one", id, status)
	case old.RotatedTo != "":
		return nil, "", fmt.Errorf("cannot rotate key %q: it was rotated to %q already", id, old.RotatedTo)
	case overlap < 0:
		return nil, "", fmt.Errorf("cannot rotate key %q with overlap %s: want 0 or more", id, overlap)
	}

	surface, err := ParseSurface(old.Surface)
	if err != nil {
		return nil, "", err
	}

	key := *old
	key.ID = mintID()
	key.CreatedAt = utcSeconds(now)
	key.RevivedAt = nil
	key.Scopes = slices.Clone(old.Scopes)

	text := f.add(&key, surface)

	// The overlap shortens the old key's validity and never extends it.
	old.RotatedTo = key.ID
	if end := now.Add(overlap).UTC(); old.ExpiresAt == nil || end.Before(*old.ExpiresAt) {
		old.ExpiresAt = &end
	}
	return &key, text, nil
}

// parseFile parses a keys file. Any problem is an error that wraps wal.ErrCorrupt: no part of a
// damaged file is used.
func parseFile(data []byte) (*File, error) {
	f, err := decodeFile(data)
	if err == nil && f.SHA256 != "" && f.SHA256 != f.checksum() {
		return nil, fmt.Errorf("%w: %w", wal.ErrCorrupt, ErrEdited)
	}
	return f, err
}

// ErrDamaged is a wal.ErrCorrupt of the keys file, and not of the metering data.
var ErrDamaged = fmt.Errorf("%w", wal.ErrCorrupt)

// ErrEdited reports that the keys file was changed by something other than this program, or by damage.
var ErrEdited = errors.New("its sha256 member does not fit the rest")

// decodeFile decodes a keys file and ignores its checksum.
func decodeFile(data []byte) (*File, error) {
	f := &File{Tenants: map[string]*Tenant{}}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // a misspelt revoked_at must not go unnoticed

	// A second document after the first is an error, too.
	err := decoder.Decode(f)
	if _, more := decoder.Token(); err == nil && more != io.EOF {
		err = errors.New("text after the end")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}

	if f.Version != fileVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", ErrDamaged, f.Version, fileVersion)
	}
	if f.Tenants == nil {
		f.Tenants = map[string]*Tenant{}
	}

	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return f, nil
}

// encode returns the keys file as stored.
func (f *File) encode() ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}

	whole, _ := f.split()
	whole.SHA256 = whole.checksum()
	data, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// checksum returns the SHA-256 of the file without its SHA256 member.
func (f *File) checksum() string {
	bare := *f
	bare.SHA256 = ""
	data, _ := json.Marshal(bare) // a file with an error cannot be encoded or parsed either
	return hashOf(data)
}

// hashOf returns the SHA-256 of data in hexadecimal.
func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// Validate returns every problem of the file.
func (f *File) Validate() error {
	var problems []error
	for name, tenant := range f.Tenants {
		problems = append(problems, tenant.validate(name))
	}

	// Two keys of one hash would be one key of two tenants.
	ids := map[string]bool{}
	hashes := map[string]bool{}
	for i, key := range f.Keys {
		if key == nil {
			problems = append(problems, fmt.Errorf("key %d: null", i))
			continue
		}
		if err := key.validate(f); err != nil {
			problems = append(problems, fmt.Errorf("key %d: %w", i, err))
		}
		if ids[key.ID] || hashes[key.Hash] {
			problems = append(problems, fmt.Errorf("key %d: id or hash occurs twice", i))
		}
		ids[key.ID] = true
		hashes[key.Hash] = true
	}
	return errors.Join(problems...)
}

func (tenant *Tenant) validate(name string) error {
	switch {
	case !validName(name):
		return fmt.Errorf("tenant %q: not a name", name)
	case tenant == nil:
		return fmt.Errorf("tenant %q: null", name)

	case !validName(tenant.Plan):
		return fmt.Errorf("tenant %q: plan %q is not a name", name, tenant.Plan)
	case !tenant.validPlans():
		return fmt.Errorf("tenant %q: plans %v are not names by surface", name, tenant.Plans)
	case len(tenant.Contact) > 200 || strings.ContainsFunc(tenant.Contact, unicode.IsControl):
		return fmt.Errorf("tenant %q: contact of more than 200 bytes, or with control characters", name)
	case tenant.Credits != nil && *tenant.Credits < 0:
		return fmt.Errorf("tenant %q: negative credits", name)
	case (tenant.PeriodStart == nil) != (tenant.PeriodEnd == nil):
		return fmt.Errorf("tenant %q: half a period", name)
	case tenant.PeriodStart != nil && tenant.PeriodEnd.UnixMilli() <= tenant.PeriodStart.UnixMilli():
		return fmt.Errorf("tenant %q: period ends before it starts", name)
	}
	return nil
}

func (tenant *Tenant) validPlans() bool {
	for surface, plan := range tenant.Plans {
		if _, err := ParseSurface(surface); err != nil || !validName(plan) {
			return false
		}
	}
	return true
}

func (key *Key) validate(f *File) error {
	if !validName(key.ID) {
		return errors.New("id is not a name")
	}
	if f.Tenants[key.Tenant] == nil {
		return fmt.Errorf("%q: tenant %q does not exist", key.ID, key.Tenant)
	}
	if _, err := ParseSurface(key.Surface); err != nil {
		return fmt.Errorf("%q: %w", key.ID, err)
	}
	if sum, err := hex.DecodeString(key.Hash); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%q: hash is not a SHA-256", key.ID)
	}

	if _, err := ParseScopes(key.Scopes); err != nil {
		return fmt.Errorf("%q: %w", key.ID, err)
	}
	return nil
}

func utcSeconds(when time.Time) time.Time { return when.UTC().Truncate(time.Second) }
