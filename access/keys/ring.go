package keys

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/calendar"
)

// Principal is an authenticated key with its tenant's plan, scopes and credits. It is made by one
// reading of the keys file and never changed; a reservation may keep it.
type Principal struct {
	KeyID   string
	Tenant  string
	Surface Surface
	Plan    *Plan // never nil after Authenticate without error
	Scopes  Scope // preview
	Credits int64 // preview credits a period

	// StoreRef is for the store, which caches there a reference to this key's state, always of one type.
	StoreRef atomic.Value

	period       calendar.Period // zero: the UTC calendar month
	dayReset     int64           // Unix milliseconds; 0 = never, as of the next two
	creditsReset int64
	expires      int64
	revoked      bool
	suspended    bool
}

// Has reports whether a preview key has all of these scopes.
func (p *Principal) Has(scope Scope) bool { return p.Scopes&scope == scope }

// PeriodAt returns the credit period around a Unix time in milliseconds.
func (p *Principal) PeriodAt(wall int64) calendar.Period {
	if p.period == (calendar.Period{}) {
		return calendar.Month(wall)
	}
	return p.period.Around(wall)
}

// Resets returns the times of an operator's last resets of days and of credits, in Unix milliseconds;
// 0 = none. Units used before do not count.
func (p *Principal) Resets() (day, credits int64) { return p.dayReset, p.creditsReset }

// Ring has the keys of a keys file. A lookup does one atomic load and never locks. A reload builds a
// new table and swaps it; the old one is left to the garbage collector, because requests may still use
// its principals.
type Ring struct {
	path    string // of the keys file; "" = fixed, or from a source
	source  Source // nil = the keys file, or fixed
	current atomic.Pointer[keyTable]

	mu      sync.Mutex // guards the next four; not locked while a file is read
	plans   Plans      // as configured
	inForce Plans      // as the source has them
	file    *File
	content []byte // that file was parsed from

	// A read may hang for ever, as on a dead mount: it runs in its own goroutine, one at a time, and no caller
	// waits longer than [readTimeout].
	reading    chan struct{} // one slot: the goroutine that fills it reads the file, and owns the next three
	badContent []byte        // damaged content
	contentErr error         // of badContent, or of a source's keys; nil when the content is in use
	info       os.FileInfo

	readErr  atomic.Pointer[error] // of the last read; nil before it
	reloads  atomic.Uint64
	failures atomic.Uint64
}

// keyTable is immutable, except for its principals' StoreRef.
type keyTable struct {
	number uint64 // unique in the process; 0 = none
	keys   map[[sha256.Size]byte]*Principal
}

var tables atomic.Uint64

// KeyCache caches the last key of a connection, so that repeated requests need neither checksum nor
// hash. It is valid as long as the ring has the same table. One goroutine at a time uses it.
type KeyCache struct {
	table     uint64
	raw       [keyLength]byte
	principal *Principal
}

// OpenRing returns a ring over the keys file of a state directory. The plans must validate and are not
// changed afterwards. A missing file is an error as of [Read].
func OpenRing(stateDir string, plans Plans) (*Ring, error) {
	return initRing(&Ring{path: filepath.Join(stateDir, statedir.KeysName), plans: plans})
}

// initRing validates the plans and reads the keys for the first time.
func initRing(ring *Ring) (*Ring, error) {
	if err := ring.plans.Validate(); err != nil {
		return nil, err
	}

	ring.reading = make(chan struct{}, 1)
	if err := ring.Reload(); err != nil {
		return nil, err
	}
	return ring, nil
}

// Source provides keys that are not in a keys file.
type Source interface {
	// Read returns all keys, and whether they changed since its last call. The caller does not change
	// them, and does not use them after its next call.
	Read(ctx context.Context) (f *File, changed bool, err error)
	// String is the name of the source in messages.
	String() string
}

// PlanSource is a Source that has plans, too.
type PlanSource interface {
	// Plans returns the plans in force, given the configured ones. It does not wait.
	Plans(configured Plans) Plans
}

// use swaps the table. The plans in force are those of the source, if it has plans. The caller holds mu.
func (ring *Ring) use(f *File, configured Plans) {
	ring.file = f
	ring.plans = configured
	ring.inForce = configured
	if source, has := ring.source.(PlanSource); has {
		ring.inForce = source.Plans(configured)
	}
	ring.current.Store(newTable(f, ring.inForce))
}

// RingFrom returns a ring over the keys of a source.
func RingFrom(source Source, plans Plans) (*Ring, error) {
	return initRing(&Ring{source: source, plans: plans})
}

// FixedRing returns a ring over a key file in memory. Use the ring's Replace after changing the
// file.
func FixedRing(f *File, plans Plans) (*Ring, error) {
	ring, err := initRing(&Ring{plans: plans})
	if err == nil {
		err = ring.Replace(f)
	}
	return ring, err
}

// Replace replaces the ring's keys by those of f. The ring does not keep f itself.
func (ring *Ring) Replace(f *File) error {
	data, err := f.encode()
	if err != nil {
		return err
	}

	ring.mu.Lock()
	defer ring.mu.Unlock()
	_, apart := f.split()
	return ring.install(data, apart)
}

// Len returns the number of keys, expired and revoked ones included.
func (ring *Ring) Len() int { return len(ring.current.Load().keys) }

// FindCached returns the principal of a key at a wall time in Unix milliseconds. Its errors are
// ErrNoKey, ErrInvalid, ErrRevoked and ErrExpired; ErrSuspended, ErrSandbox and ErrUnavailable, when the
// plan is not configured, come with the principal. It caches the key in last, including raw; nil caches
// nothing. It keeps no other part of raw and does not allocate.
func (ring *Ring) FindCached(raw []byte, wall int64, last *KeyCache) (*Principal, error) {
	p, err := ring.find(raw, last)
	if err != nil {
		return nil, err
	}

	// Expiry and plan are checked for a cached key, too.
	switch {
	case p.revoked && !p.suspended:
		return nil, ErrRevoked
	case p.expires != 0 && wall >= p.expires:
		return nil, ErrExpired
	case p.suspended:
		return p, ErrSuspended
	case p.Surface == Sandbox:
		return p, ErrSandbox
	case p.Plan == nil:
		return p, ErrUnavailable
	}
	return p, nil
}

// find returns the principal of a key in any state.
func (ring *Ring) find(raw []byte, last *KeyCache) (*Principal, error) {
	table := ring.current.Load()
	// In constant time: the duration must not reveal how much of a guess is right.
	if last != nil && last.table == table.number && subtle.ConstantTimeCompare(raw, last.raw[:]) == 1 {
		return last.principal, nil
	}

	if _, err := checkKey(raw); err != nil {
		return nil, err
	}

	p := table.keys[sha256.Sum256(raw)]
	if p == nil {
		return nil, ErrInvalid
	}
	if last != nil {
		*last = KeyCache{table.number, [keyLength]byte(raw), p}
	}
	return p, nil
}

// install parses data and uses it. The caller holds mu.
func (ring *Ring) install(data []byte, apart tenantsFile) error {
	f, err := parseFile(data)
	if err != nil {
		return err
	}
	f.join(apart)

	ring.use(f, ring.plans)
	ring.content = data
	ring.reloads.Add(1)
	return nil
}

// SetPlans changes the plans, as after a reload of the configuration. On an error nothing changes.
func (ring *Ring) SetPlans(plans Plans) error {
	if err := plans.Validate(); err != nil {
		return err
	}

	ring.mu.Lock()
	defer ring.mu.Unlock()
	ring.use(ring.file, plans)
	return nil
}

// WithoutPlan is the active keys of a tenant whose plan is not configured. They get ErrUnavailable;
// all others work.
type WithoutPlan struct {
	Tenant string
	Plan   string
	Keys   []string // ids
}

// WithoutPlan returns the keys that cannot be used at a time, by tenant.
func (ring *Ring) WithoutPlan(now time.Time) (out []WithoutPlan) {
	ring.mu.Lock()
	defer ring.mu.Unlock()

	// Sandbox keys are refused with any plan.
	ids := map[[2]string][]string{} // by tenant and plan
	for _, key := range ring.file.Keys {
		plan := ring.file.Tenants[key.Tenant].PlanOf(key.Surface)
		if ring.inForce[plan] == nil && key.Surface != Sandbox.String() && key.Status(now) == "active" {
			of := [2]string{key.Tenant, plan}
			ids[of] = append(ids[of], key.ID)
		}
	}

	for of, keys := range ids {
		out = append(out, WithoutPlan{Tenant: of[0], Plan: of[1], Keys: keys})
	}
	slices.SortFunc(out, func(a, b WithoutPlan) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Plan, b.Plan))
	})
	return out
}

// Deleted returns the opaque names of deleted tenants by the ids of the keys that they had.
func (ring *Ring) Deleted() map[string]string {
	ring.mu.Lock()
	defer ring.mu.Unlock()
	names := map[string]string{}
	for _, key := range ring.file.Keys {
		if IsOpaque(key.Tenant) {
			names[key.ID] = key.Tenant
		}
	}
	return names
}

func newTable(f *File, plans Plans) *keyTable {
	table := &keyTable{number: tables.Add(1), keys: make(map[[sha256.Size]byte]*Principal, len(f.Keys))}
	for _, key := range f.Keys {
		var sum [sha256.Size]byte
		_, _ = hex.Decode(sum[:], []byte(key.Hash)) // checked by parseFile
		table.keys[sum] = newPrincipal(key, f.Tenants[key.Tenant], plans)
	}
	return table
}

func newPrincipal(key *Key, tenant *Tenant, plans Plans) *Principal {
	surface, _ := ParseSurface(key.Surface) // checked by parseFile, as the scopes are
	scopes, _ := ParseScopes(key.Scopes)
	p := &Principal{
		KeyID: key.ID, Tenant: key.Tenant, Surface: surface, Scopes: scopes,
		Plan: plans[tenant.PlanOf(key.Surface)], revoked: key.RevokedAt != nil, suspended: key.Suspended(),
		dayReset: millis(tenant.DayResetAt), creditsReset: millis(tenant.CreditsResetAt),
		expires: millis(key.ExpiresAt),
	}

	switch {
	case tenant.Credits != nil:
		p.Credits = *tenant.Credits
	case p.Plan != nil:
		p.Credits = p.Plan.Credits
	}

	if tenant.PeriodStart != nil {
		p.period = calendar.Period{Start: tenant.PeriodStart.UnixMilli(), End: tenant.PeriodEnd.UnixMilli()}
	}
	return p
}

// millis returns a time in Unix milliseconds, and 0 for none.
func millis(when *time.Time) int64 {
	if when == nil {
		return 0
	}
	return when.UnixMilli()
}
