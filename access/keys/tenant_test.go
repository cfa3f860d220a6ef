package keys

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access/statedir"
)

// The keys file as 60ec478 reads it: unknown members are damage, and the checksum is of what it knows.
type oldFile struct {
	Version int                   `json:"version"`
	Tenants map[string]*oldTenant `json:"tenants"`
	Keys    []*oldKey             `json:"keys"`
	SHA256  string                `json:"sha256,omitempty"`
}

type oldTenant struct {
	Plan           string            `json:"plan"`
	Plans          map[string]string `json:"plans,omitempty"`
	Credits        *int64            `json:"credits,omitempty"`
	PeriodStart    *time.Time        `json:"period_start,omitempty"`
	PeriodEnd      *time.Time        `json:"period_end,omitempty"`
	DayResetAt     *time.Time        `json:"day_reset_at,omitempty"`
	CreditsResetAt *time.Time        `json:"credits_reset_at,omitempty"`
}

type oldKey struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Name      string     `json:"name,omitempty"`
	Surface   string     `json:"surface"`
	Hash      string     `json:"hash"`
	Scopes    []string   `json:"scopes,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	RotatedTo string     `json:"rotated_to,omitempty"`
}

// readOld reads a keys file as 60ec478 does.
func readOld(t *testing.T, dir string) *oldFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, statedir.KeysName))
	if err != nil {
		t.Fatal(err)
	}
	var file oldFile
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}

	bare := file
	bare.SHA256 = ""
	whole, err := json.Marshal(bare)
	sum := sha256.Sum256(whole)
	if err != nil || hex.EncodeToString(sum[:]) != file.SHA256 {
		t.Fatalf("the old reader finds an edited file: %v", err)
	}
	return &file
}

// lives is what a test knows of the keys of two tenants.
type lives struct {
	t         *testing.T
	dir       string
	ring      *Ring
	now       time.Time
	suspended map[string]bool // by tenant
	keys      []*lifeKey
}

type lifeKey struct {
	id, tenant, raw string
	revoked         bool
}

// TestLivesOfTenants creates, revokes, rotates, suspends, resumes and changes at random, each over
// the files of a state directory. A server of this version and one of 60ec478 admit the same keys
// at any time. A suspended tenant gets the message of a suspension, and no other tenant does.
func TestLivesOfTenants(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 3900))
			l := &lives{t: t, dir: t.TempDir(), now: testTime, suspended: map[string]bool{}}
			for _, tenant := range []string{"acme", "beta"} {
				l.create(tenant)
			}

			var err error
			l.ring, err = OpenRing(l.dir, DefaultPlans())
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				l.step(random)
				if err := l.ring.Reload(); err != nil {
					t.Fatal(err)
				}
				l.check()
			}
		})
	}
}

func (l *lives) update(change func(*File) error) error { return Update(l.dir, change) }

func (l *lives) create(tenant string) {
	l.t.Helper()
	err := l.update(func(f *File) error {
		key, raw, err := f.Create(NewKey{Tenant: tenant, Surface: Live, Plan: "pro", ChangePlan: true}, l.now)
		if err == nil {
			l.keys = append(l.keys, &lifeKey{id: key.ID, tenant: tenant, raw: raw})
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// step makes one change. Half of them happen within the same second.
func (l *lives) step(random *rand.Rand) {
	if random.IntN(2) == 0 {
		l.now = l.now.Add(time.Duration(random.IntN(3)) * time.Second)
	}
	key := l.keys[random.IntN(len(l.keys))]

	var err error
	switch random.IntN(6) {
	case 0:
		if len(l.keys) < 12 {
			l.create(key.tenant)
		}
	case 1:
		err = l.update(func(f *File) error { _, err := f.Revoke(key.id, l.now); return err })
		key.revoked = true
	case 2:
		wrong := l.update(func(f *File) error { _, _, err := f.Rotate(key.id, -1, l.now); return err })
		if wrong == nil || errors.Is(wrong, ErrSuspendedTenant) != (l.suspended[key.tenant] && !key.revoked) {
			l.t.Fatalf("a rotation: %v", wrong)
		}
	case 3:
		err = l.update(func(f *File) error { return f.Suspend(key.tenant, l.now) })
		l.suspended[key.tenant] = true
	case 4:
		err = l.update(func(f *File) error { return f.Resume(key.tenant, l.now) })
		l.suspended[key.tenant] = false
	case 5:
		contact := fmt.Sprint("contact ", random.IntN(9))
		err = l.update(func(f *File) error {
			f.Tenants[key.tenant].Contact = contact
			_, err := f.ChangeTenant(NewKey{Tenant: key.tenant, Surface: Live, Plan: "free"})
			return err
		})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lives) check() {
	l.t.Helper()
	old := map[string]bool{}
	for _, key := range readOld(l.t, l.dir).Keys {
		old[key.ID] = key.RevokedAt == nil
	}
	file, err := Read(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}

	for _, key := range l.keys {
		want := error(nil)
		status := "active"
		switch {
		case key.revoked:
			want = ErrRevoked
			status = "revoked"
		case l.suspended[key.tenant]:
			want = ErrSuspended
			status = "suspended"
		}
		_, err := l.ring.FindCached([]byte(key.raw), l.now.UnixMilli(), nil)
		i := slices.IndexFunc(file.Keys, func(k *Key) bool { return k.ID == key.id })
		if !errors.Is(err, want) || old[key.id] != (want == nil) || file.Keys[i].Status(l.now) != status {
			l.t.Fatalf("key of %s: %v, want %v; the old reader admits it: %t; it is listed as %s",
				key.tenant, err, want, old[key.id], file.Keys[i].Status(l.now))
		}
	}
}

// TestHalfASuspension has a command die between its two files, both ways: keys that the keys file
// revokes are refused, the others are admitted, and the command can be repeated.
func TestHalfASuspension(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := &lives{t: t, dir: dir, now: testTime, suspended: map[string]bool{}}
	l.create("acme")
	save := func(name string) func() {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		return func() {
			t.Helper()
			if err == nil {
				err = os.WriteFile(path, data, 0o600)
			} else {
				err = os.Remove(path)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	admitted := func() error {
		ring, err := OpenRing(dir, DefaultPlans())
		if err == nil {
			_, err = ring.FindCached([]byte(l.keys[0].raw), l.now.UnixMilli(), nil)
		}
		return err
	}

	// The keys file is the previous one.
	before := save(statedir.KeysName)
	suspend := func(f *File) error { return f.Suspend("acme", l.now) }
	resume := func(f *File) error { return f.Resume("acme", l.now) }
	if err := l.update(suspend); err != nil {
		t.Fatal(err)
	}
	before()
	if err := admitted(); err != nil {
		t.Errorf("half of a suspension: %v", err)
	}
	if err := errors.Join(l.update(suspend), admitted()); !errors.Is(err, ErrSuspended) {
		t.Errorf("a repeated suspension: %v", err)
	}

	suspended := save(statedir.KeysName)
	if err := l.update(resume); err != nil {
		t.Fatal(err)
	}
	suspended()
	if err := admitted(); !errors.Is(err, ErrSuspended) {
		t.Errorf("half of a resumption: %v", err)
	}
	if err := errors.Join(l.update(resume), admitted()); err != nil {
		t.Errorf("a repeated resumption: %v", err)
	}

	// Without the file of tenants the keys are revoked, and a damaged one is named and repaired.
	if err := l.update(suspend); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, statedir.TenantsName)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := admitted(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "tenants.json") {
		t.Errorf("a damaged file: %v", err)
	}
	if dropped, err := Repair(dir, true); err != nil || !strings.Contains(dropped, "tenants.json") {
		t.Errorf("a repair: %q, %v", dropped, err)
	}
	if err := admitted(); !errors.Is(err, ErrRevoked) {
		t.Errorf("after the repair: %v", err)
	}
}

// TestDelete leaves nothing of a tenant but plans, ids and times.
func TestDelete(t *testing.T) {
	t.Parallel()
	f := NewFile()
	key, raw := mustCreate(t, f, NewKey{Tenant: "acme", Surface: Live, Plan: "pro", Name: "of Ada"})
	hash := key.Hash
	contact := "ada@example.com"
	f.Tenants["acme"].Contact = contact
	if _, err := f.ChangeTenant(NewKey{Tenant: "acme", Surface: Live, Plan: "free"}); err != nil {
		t.Fatal(err)
	}
	opaque := MintOpaque()
	if err := f.Delete("acme", opaque, testTime); err != nil || !IsOpaque(opaque) {
		t.Fatal(opaque, err)
	}

	text, err := json.Marshal(f)
	for _, word := range []string{"acme", "Ada", contact, hash, raw[9:20]} {
		if err != nil || strings.Contains(string(text), word) {
			t.Errorf("%q is in %s, %v", word, text, err)
		}
	}
	if f.Validate() != nil || f.Tenants[opaque].PlanOf("live") != "free" || f.Keys[0].ID != key.ID {
		t.Errorf("%v: %s", f.Validate(), text)
	}
	for _, again := range []string{"acme", opaque} {
		if err := f.Delete(again, MintOpaque(), testTime); !errors.Is(err, ErrNoSuchTenant) {
			t.Errorf("a second deletion: %v", err)
		}
	}

	// Nobody comes back under the opaque name.
	_, _, err = f.Create(NewKey{Tenant: opaque, Surface: Live, Plan: "free"}, testTime)
	resetErr := f.ResetDay(opaque, false, testTime)
	if !errors.Is(err, ErrNoSuchTenant) || !errors.Is(resetErr, ErrNoSuchTenant) || len(f.KeysOf(opaque)) != 1 {
		t.Errorf("a key of a deleted tenant: %v, %v", err, resetErr)
	}
}

// TestAmounts reads and writes amounts, and refuses other text.
func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, currency string
		want           int64
		formatted      string
	}{
		{"49.00", "USD", 4900, "49.00"},
		{"49", "EUR", 4900, "49.00"},
		{"0.5", "USD", 50, "0.50"},
		{"0", "USD", 0, "0.00"},
		{"4900", "JPY", 4900, "4900"},
		{"1.234", "KWD", 1234, "1.234"},
		{"999999999.99", "USD", 99_999_999_999, "999999999.99"},
	} {
		got, err := ParseAmount(c.text, c.currency)
		if err != nil || got != c.want || FormatAmount(got, c.currency) != c.formatted {
			t.Errorf("%s %s is %d, spelt %s, %v", c.text, c.currency, got, FormatAmount(got, c.currency), err)
		}
	}

	for _, bad := range []string{
		"49,00", "-1", "+1", "", ".5", "5.", "1.005", "1e3", "49.00 USD", "1.2.3", "1000000000", "٤",
	} {
		if got, err := ParseAmount(bad, "USD"); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
	if _, err := ParseAmount("49.00", "JPY"); err == nil {
		t.Error("yen have cents")
	}
}
