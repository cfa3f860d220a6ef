// Package registry reads and changes keys and bills: in the state directory of one machine, or in
// the database of a fleet.
package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/fleet/control"
	"ninepocket/internal/disk"
)

// Store has keys and bills.
type Store interface {
	// ReadKeys returns the keys; the error is not nil if there are none yet.
	ReadKeys(ctx context.Context) (*keys.File, error)
	UpdateKeys(ctx context.Context, change func(*keys.File) error) error
	// ReadLedger returns the rows of a tenant ("" = all) between two days, both included.
	ReadLedger(ctx context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error)
	// ReadLastUse returns when each key was last used, by key id.
	ReadLastUse(ctx context.Context) (map[string]time.Time, error)
	// AppendKeyLog appends a line to the log of commands that changed keys; KeyLog returns its
	// lines, the oldest first.
	AppendKeyLog(ctx context.Context, line []byte) error
	KeyLog(ctx context.Context) ([][]byte, error)
	// PlanChanges returns the changes of plans; those of one machine stand in its configuration.
	PlanChanges(ctx context.Context) ([]control.PlanChange, error)
	// DeleteTenant deletes a tenant, and moves its billing data to an opaque name. A server that
	// runs on the store follows.
	DeleteTenant(ctx context.Context, tenant, opaque string, now time.Time) error
}

// DryRun is a Store whose changes are tried and not kept.
type DryRun struct{ Store }

// UpdateKeys implements Store.
func (d DryRun) UpdateKeys(ctx context.Context, change func(*keys.File) error) error {
	file, err := d.ReadKeys(ctx)
	if errors.Is(err, keys.ErrNoFile) || errors.Is(err, ErrNoKeys) {
		file = keys.NewFile()
		err = nil
	}
	if err != nil {
		return err
	}
	return change(file)
}

// DeleteTenant implements Store.
func (DryRun) DeleteTenant(context.Context, string, string, time.Time) error { return nil }

// AppendKeyLog implements Store.
func (DryRun) AppendKeyLog(context.Context, []byte) error { return nil }

// ErrNoKeys reports a fleet's database without keys.
var ErrNoKeys = errors.New("it has none yet")

// DirStore is the state directory of one machine.
type DirStore string

// ReadKeys implements Store.
func (f DirStore) ReadKeys(context.Context) (*keys.File, error) { return keys.Read(string(f)) }

// UpdateKeys implements Store.
func (f DirStore) UpdateKeys(_ context.Context, change func(*keys.File) error) error {
	return keys.Update(string(f), change)
}

// ReadLedger implements Store.
func (f DirStore) ReadLedger(_ context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error) {
	return access.ReadLedger(string(f), tenant, since, until)
}

// ReadLastUse implements Store.
func (f DirStore) ReadLastUse(context.Context) (map[string]time.Time, error) {
	return access.ReadLastUse(string(f))
}

// PlanChanges implements Store.
func (DirStore) PlanChanges(context.Context) ([]control.PlanChange, error) { return nil, nil }

// AppendKeyLog implements Store.
func (f DirStore) AppendKeyLog(_ context.Context, line []byte) (err error) {
	// A deletion may be replacing the file.
	lock, err := statedir.LockWriters(string(f))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	name := filepath.Join(string(f), statedir.KeyRecordName)
	// The server's user must be able to write it: a new file gets the owner of the folder.
	file, err := disk.OS.Open(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// One write a line, so that concurrent commands do not mix their lines.
	_, err = file.Write(append(line, '\n'))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// KeyLog implements Store.
func (f DirStore) KeyLog(context.Context) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(string(f), statedir.KeyRecordName))
	// No command has changed keys yet.
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil
}

// ControlStore is the database of a fleet.
type ControlStore struct{ *control.DB }

// ReadKeys returns an error if there are no keys, as for a state directory.
func (f ControlStore) ReadKeys(ctx context.Context) (*keys.File, error) {
	file, err := f.DB.ReadKeys(ctx)
	if err == nil && len(file.Keys) == 0 {
		err = fmt.Errorf("cannot read keys from %s: %w", f.DB, ErrNoKeys)
	}
	return file, err
}

// Change is a line of the key log: a command that changed keys. It has neither a key nor its hash.
type Change struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Command string    `json:"command"` // create, rotate, revoke, reset-day, or one of tenants
	Tenant  string    `json:"tenant"`
	Key     string    `json:"key,omitempty"`  // its id
	From    string    `json:"from,omitempty"` // the rotated key, whose successor is Key
	Surface string    `json:"surface,omitempty"`
	Plan    string    `json:"plan,omitempty"`
	// PlanBefore is the plan of the surface that this command replaced: bills go by both.
	PlanBefore string `json:"plan_before,omitempty"`
	What       string `json:"what,omitempty"`   // the quota that was reset, or the new value
	Reason     string `json:"reason,omitempty"` // as the operator gave it
}

// Record appends a change to the key log, with its time in seconds.
func Record(ctx context.Context, in Store, change Change) error {
	change.At = change.At.UTC().Truncate(time.Second)
	line, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return in.AppendKeyLog(ctx, line)
}

// Changes returns the changes of the key log, the oldest first. Invalid lines, such as a torn one,
// are left out; unreadable has their numbers.
func Changes(ctx context.Context, in Store) (all []Change, unreadable []int, err error) {
	lines, err := in.KeyLog(ctx)
	all = []Change{}
	for i, line := range lines {
		var change Change
		if json.Unmarshal(line, &change) != nil {
			unreadable = append(unreadable, i+1)
			continue
		}
		all = append(all, change)
	}
	return all, unreadable, err
}

// ErrNameStays reports that a tenant is deleted, and its name stays in the state directory until the next
// checkpoint of a server.
var ErrNameStays = errors.New("the next checkpoint of a server does")

const (
	// deleteTimeout is how long a deletion waits for the checkpoint of a running server: three of them.
	deleteTimeout  = 30 * time.Second
	deleteInterval = 250 * time.Millisecond
)

// DeleteTenant implements Store. It returns when no file has the name, but those that were set aside.
func (f DirStore) DeleteTenant(ctx context.Context, tenant, opaque string, now time.Time) error {
	err := keys.Update(string(f), func(file *keys.File) error {
		err := file.Delete(tenant, opaque, now)
		if err == nil {
			err = f.rewriteKeyLog(tenant, opaque)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := f.dropName(ctx, tenant, now); err != nil {
		return fmt.Errorf("cannot drop the name of the tenant from %q: %w: %w", string(f), ErrNameStays, err)
	}
	return nil
}

// rewriteKeyLog gives the lines of a tenant to an opaque name. Reasons may name people, and go; so do torn lines.
// The caller has the lock of writers.
func (f DirStore) rewriteKeyLog(tenant, opaque string) error {
	changes, torn, err := Changes(context.Background(), f)
	if err != nil || len(changes)+len(torn) == 0 {
		return err
	}

	var text bytes.Buffer
	for _, change := range changes {
		if change.Tenant == tenant {
			change.Tenant = opaque
			change.Reason = ""
		}
		if err := json.NewEncoder(&text).Encode(change); err != nil {
			return err
		}
	}
	name := filepath.Join(string(f), statedir.KeyRecordName)
	of, err := statedir.OwnerFor(name)
	if err != nil {
		return err
	}
	return statedir.ReplaceAs(name, text.Bytes(), of)
}

// dropName waits until the server of the state directory has dropped the name of a deleted tenant, or does so
// itself where none runs.
func (f DirStore) dropName(ctx context.Context, tenant string, now time.Time) error {
	metered, err := statedir.Metered(string(f))
	if err != nil || !metered {
		return err
	}

	late := time.After(deleteTimeout)
	for {
		err := f.renameDeleted(now)
		if err == nil || !errors.Is(err, statedir.ErrLocked) {
			return err
		}
		// A server runs.
		if has, err := access.HasTenant(string(f), tenant); err != nil || !has {
			return err
		}

		select {
		case <-time.After(deleteInterval):
		case <-late:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renameDeleted opens the state as a server does, so that it is locked meanwhile, and drops the names of
// deleted tenants.
func (f DirStore) renameDeleted(now time.Time) error {
	store, err := access.OpenLocal(string(f), access.LocalOptions{Now: access.StartClock(now).At(now)})
	if err != nil {
		return err
	}
	// The ring knows whose the ids of keys are now.
	ring, err := keys.OpenRing(string(f), keys.DefaultPlans())
	if err == nil {
		err = store.RenameDeleted(ring.Deleted())
	}
	return errors.Join(err, store.Close())
}

// DeleteTenant implements Store. The state directories of the servers follow at their next checkpoints.
func (f ControlStore) DeleteTenant(ctx context.Context, tenant, opaque string, now time.Time) error {
	return f.DB.DeleteTenant(ctx, tenant, opaque, func(file *keys.File) error {
		return file.Delete(tenant, opaque, now)
	})
}
