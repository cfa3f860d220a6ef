package access

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
)

// KeyFile is the content of the keys file: tenants, and the hashes of their keys. It is a plain
// value; use [UpdateKeys] to change the one of a state directory.
type KeyFile struct {
	Version int                `json:"version"`
	Tenants map[string]*Tenant `json:"tenants"`
	Keys    []*Key             `json:"keys"`
	// SHA256 is of the file as it is without this member, in hexadecimal. A file without it is of an
	// earlier version, or was edited; the next change adds it.
	SHA256 string `json:"sha256,omitempty"`
}

// Tenant is an organization: plans and credits belong to it, not to a key (decision 14).
type Tenant struct {
	Plan string `json:"plan"` // of each surface that has none of its own
	// Plans are those of surfaces, by name (decision 1765).
	Plans       map[string]string `json:"plans,omitempty"`
	Credits     *int64            `json:"credits,omitempty"`      // preview credits a period; absent: the plan's
	PeriodStart *time.Time        `json:"period_start,omitempty"` // both or neither; absent: the UTC calendar month.
	PeriodEnd   *time.Time        `json:"period_end,omitempty"`   // After the end, periods of the same length follow.

	// What was used before these instants does not count any more (decision 1757).
	DayResetAt     *time.Time `json:"day_reset_at,omitempty"`
	CreditsResetAt *time.Time `json:"credits_reset_at,omitempty"`
}

// PlanOf returns the plan of a tenant on a surface.
func (t *Tenant) PlanOf(surface string) string { return cmp.Or(t.Plans[surface], t.Plan) }

// resets are what an operator reset.
func (t *Tenant) resets() (r resets) {
	if t.DayResetAt != nil {
		r.day = t.DayResetAt.UnixMilli()
	}
	if t.CreditsResetAt != nil {
		r.credits = t.CreditsResetAt.UnixMilli()
	}
	return r
}

// Key is what is kept of a key. The key itself is not.
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
	RotatedTo string     `json:"rotated_to,omitempty"` // id of the key that follows it
}

// Status returns active, revoked or expired at a time.
func (k *Key) Status(at time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !at.Before(*k.ExpiresAt):
		return "expired"
	}
	return "active"
}

const keysVersion = 1

// NewKeyFile returns an empty key file.
func NewKeyFile() *KeyFile { return &KeyFile{Version: keysVersion, Tenants: map[string]*Tenant{}} }

// NewKey is what [KeyFile.Create] needs to know.
type NewKey struct {
	Tenant     string
	Kind       Kind
	Plan       string     // "" = the tenant's
	ChangePlan bool       // let Plan replace the tenant's
	Scopes     Scope      // preview; 0 = all
	Name       string     // free text, at most 100 characters
	Expires    *time.Time // nil = never
	Credits    *int64     // preview; nil = leave as is
	Period     *[2]time.Time
}

// Create adds a key, and the tenant when it is new. It returns the key's record and, once, its
// text. A plan other than the tenant's is ErrPlanDiffers. The caller checks that the plan is
// configured.
func (f *KeyFile) Create(n NewKey, at time.Time) (*Key, string, error) {
	// Nothing changes before everything was judged.
	if err := n.Validate(at); err != nil {
		return nil, "", err
	}
	if err := f.enter(n); err != nil {
		return nil, "", err
	}

	key := &Key{
		ID: mintKeyID(), Tenant: n.Tenant, Name: n.Name, Surface: n.Kind.String(),
		CreatedAt: utcSeconds(at), ExpiresAt: utcPointer(n.Expires),
	}
	if n.Kind == Preview {
		key.Scopes = cmp.Or(n.Scopes, AllScopes).Names()
	}
	return key, f.add(key, n.Kind), nil
}

// add mints the text of a key record, stores its hash and returns the text.
func (f *KeyFile) add(key *Key, kind Kind) string {
	text := MintKey(kind)
	sum := hashKey(text)
	key.Hash = hex.EncodeToString(sum[:])
	f.Keys = append(f.Keys, key)
	return text
}

// Validate says what is wrong with the request for a key at an instant, whatever keys there are.
func (n NewKey) Validate(at time.Time) error {
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("cannot "+format, args...))
		}
	}

	refuse(!validName(n.Tenant), "create a key for tenant %q: want %s", n.Tenant, nameRule)
	refuse(n.Plan != "" && !validName(n.Plan), "create a key of plan %q: want %s", n.Plan, nameRule)
	refuse(n.Kind == NoKind || n.Kind > Preview, "create a key: want a surface, live, preview or sandbox")

	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	refuse(len(n.Name) > 100 || strings.ContainsFunc(n.Name, control),
		"name a key %q: want at most 100 bytes without control characters", n.Name)

	other := n.Kind != Preview
	refuse(other && n.Scopes != 0, "create a %s key with scopes: only preview keys have them", n.Kind)
	refuse(other && (n.Credits != nil || n.Period != nil),
		"create a %s key with credits or a period: only preview tenants have them", n.Kind)
	if n.Credits != nil {
		refuse(*n.Credits < 0, "give %d credits: want 0 or more", *n.Credits)
	}
	if n.Expires != nil {
		refuse(!n.Expires.After(at),
			"create a key that expires at %s: want a time to come", n.Expires.UTC().Format(time.RFC3339))
	}
	if n.Period != nil {
		refuse(!n.Period[1].After(n.Period[0]),
			"use a period that ends at %s: want an end after its start", n.Period[1].UTC().Format(time.RFC3339))
	}
	return errors.Join(problems...)
}

// enter makes or changes the tenant of a new key. Another surface's plan stays as it is.
func (f *KeyFile) enter(n NewKey) error {
	tenant := f.Tenants[n.Tenant]
	surface := n.Kind.String()
	switch {
	case tenant == nil && n.Plan == "":
		return fmt.Errorf("cannot create tenant %q: want a plan", n.Tenant)
	case tenant == nil:
		tenant = &Tenant{Plan: n.Plan}
		f.Tenants[n.Tenant] = tenant
	case n.Plan == "" || n.Plan == tenant.PlanOf(surface):
	case f.has(n.Tenant, surface) && !n.ChangePlan:
		return fmt.Errorf("cannot create a key of plan %q for tenant %q: %w on this surface: %q",
			n.Plan, n.Tenant, ErrPlanDiffers, tenant.PlanOf(surface))
	default:
		if tenant.Plans == nil {
			tenant.Plans = map[string]string{}
		}
		tenant.Plans[surface] = n.Plan
	}

	// What is not given stays as it is.
	if n.Credits != nil {
		tenant.Credits = new(*n.Credits)
	}
	if n.Period != nil {
		tenant.PeriodStart = utcPointer(&n.Period[0])
		tenant.PeriodEnd = utcPointer(&n.Period[1])
	}
	return nil
}

// has reports whether a tenant has a key of a surface.
func (f *KeyFile) has(tenant, surface string) bool {
	return slices.ContainsFunc(f.Keys, func(k *Key) bool { return k.Tenant == tenant && k.Surface == surface })
}

// ResetDay makes the day's quota of a tenant whole again at an instant, or the credits of its period.
// What was called stays in the ledger.
func (f *KeyFile) ResetDay(tenant string, credits bool, at time.Time) error {
	t := f.Tenants[tenant]
	if t == nil {
		return fmt.Errorf("cannot reset the day of tenant %q: %w", tenant, ErrNoSuchTenant)
	}

	// A second reset within a millisecond, or by a clock that was set back, is one more all the same.
	next := func(was *time.Time) *time.Time {
		now := at.UTC().Truncate(time.Millisecond)
		if was != nil && !now.After(*was) {
			now = was.Add(time.Millisecond)
		}
		return &now
	}
	if credits {
		t.CreditsResetAt = next(t.CreditsResetAt)
	} else {
		t.DayResetAt = next(t.DayResetAt)
	}
	return nil
}

// find returns the key with an id, or ErrNoSuchKey.
func (f *KeyFile) find(id string) (*Key, error) {
	for _, key := range f.Keys {
		if key.ID == id {
			return key, nil
		}
	}
	return nil, fmt.Errorf("cannot find key %q: %w", id, ErrNoSuchKey)
}

// Revoke ends a key at once. Revoking a revoked key changes nothing.
func (f *KeyFile) Revoke(id string, at time.Time) (*Key, error) {
	key, err := f.find(id)
	if err != nil {
		return nil, err
	}
	if key.RevokedAt == nil {
		key.RevokedAt = new(utcSeconds(at))
	}
	return key, nil
}

// Rotate makes a key that follows an active one: same tenant, name, surface, scopes and expiry. The
// old key expires after overlap, or earlier if it did already. It returns the new record and, once,
// its text.
func (f *KeyFile) Rotate(id string, overlap time.Duration, at time.Time) (*Key, string, error) {
	old, err := f.find(id)
	if err != nil {
		return nil, "", err
	}
	if status := old.Status(at); status != "active" {
		return nil, "", fmt.Errorf("cannot rotate key %q: it is %s; create a new one", id, status)
	}
	if old.RotatedTo != "" {
		return nil, "", fmt.Errorf("cannot rotate key %q: it was rotated to %q already", id, old.RotatedTo)
	}
	if overlap < 0 {
		return nil, "", fmt.Errorf("cannot rotate key %q with overlap %s: want 0 or more", id, overlap)
	}
	kind, err := ParseKind(old.Surface)
	if err != nil {
		return nil, "", err
	}

	key := *old
	key.ID = mintKeyID()
	key.CreatedAt = utcSeconds(at)
	key.Scopes = slices.Clone(old.Scopes)
	text := f.add(&key, kind)

	// The overlap shortens the old key's life and never lengthens it.
	old.RotatedTo = key.ID
	if end := at.Add(overlap).UTC(); old.ExpiresAt == nil || end.Before(*old.ExpiresAt) {
		old.ExpiresAt = &end
	}
	return &key, text, nil
}

// parseKeyFile reads a keys file. Anything out of place is an error that wraps ErrCorrupt: a
// damaged file is never half believed.
func parseKeyFile(data []byte) (*KeyFile, error) {
	f, err := decodeKeyFile(data)
	if err == nil && f.SHA256 != "" && f.SHA256 != f.sum() {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, ErrKeysEdited)
	}
	return f, err
}

// ErrKeysDamaged is an ErrCorrupt of the keys file, and not of what meters.
var ErrKeysDamaged = fmt.Errorf("%w", ErrCorrupt)

// ErrKeysEdited means: the keys file was changed by something else than this program, or by damage.
var ErrKeysEdited = errors.New("its sha256 member does not fit the rest")

// decodeKeyFile reads a keys file whatever its checksum says.
func decodeKeyFile(data []byte) (*KeyFile, error) {
	f := &KeyFile{Tenants: map[string]*Tenant{}}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // a misspelt revoked_at must not go unnoticed

	// A second document behind the first would go unnoticed, too.
	err := decoder.Decode(f)
	if _, more := decoder.Token(); err == nil && more != io.EOF {
		err = errors.New("text after the end")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeysDamaged, err)
	}

	if f.Version != keysVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", ErrKeysDamaged, f.Version, keysVersion)
	}
	if f.Tenants == nil {
		f.Tenants = map[string]*Tenant{}
	}
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeysDamaged, err)
	}
	return f, nil
}

// encode returns the keys file as stored.
func (f *KeyFile) encode() ([]byte, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	whole := *f
	whole.SHA256 = f.sum()
	data, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// sum is the SHA-256 of what the file says, spelt as it is written.
func (f *KeyFile) sum() string {
	bare := *f
	bare.SHA256 = ""
	data, err := json.Marshal(bare)
	if err != nil {
		return "cannot be spelt" // which no file says
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (f *KeyFile) validate() error {
	var problems []error
	for name, tenant := range f.Tenants {
		if err := tenant.validate(name); err != nil {
			problems = append(problems, err)
		}
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

func (t *Tenant) validate(name string) error {
	switch {
	case !validName(name):
		return fmt.Errorf("tenant %q: not a name", name)
	case t == nil:
		return fmt.Errorf("tenant %q: null", name)
	}

	switch {
	case !validName(t.Plan):
		return fmt.Errorf("tenant %q: plan %q is not a name", name, t.Plan)
	case !t.validPlans():
		return fmt.Errorf("tenant %q: plans %v are not names by surface", name, t.Plans)
	case t.Credits != nil && *t.Credits < 0:
		return fmt.Errorf("tenant %q: negative credits", name)
	case (t.PeriodStart == nil) != (t.PeriodEnd == nil):
		return fmt.Errorf("tenant %q: half a period", name)
	case t.PeriodStart != nil && t.PeriodEnd.UnixMilli() <= t.PeriodStart.UnixMilli():
		return fmt.Errorf("tenant %q: period ends before it starts", name)
	}
	return nil
}

func (t *Tenant) validPlans() bool {
	for surface, plan := range t.Plans {
		if _, err := ParseKind(surface); err != nil || !validName(plan) {
			return false
		}
	}
	return true
}

func (k *Key) validate(f *KeyFile) error {
	if !validName(k.ID) {
		return errors.New("id is not a name")
	}
	if f.Tenants[k.Tenant] == nil {
		return fmt.Errorf("%q: tenant %q does not exist", k.ID, k.Tenant)
	}
	if _, err := ParseKind(k.Surface); err != nil {
		return fmt.Errorf("%q: %w", k.ID, err)
	}
	if sum, err := hex.DecodeString(k.Hash); err != nil || len(sum) != len(BodyHash{}) {
		return fmt.Errorf("%q: hash is not a SHA-256", k.ID)
	}

	if _, err := ParseScopes(k.Scopes); err != nil {
		return fmt.Errorf("%q: %w", k.ID, err)
	}
	return nil
}

func utcSeconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

func utcPointer(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}
