// Package registry is where keys and bills are kept: the state directory of one machine, or the database of a fleet.
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
	"ninepocket/calendar"
	"ninepocket/fleet/control"
	"ninepocket/internal/disk"
)

// Store is a place of keys and bills.
type Store interface {
	// ReadKeys returns the keys; an error where there are none yet.
	ReadKeys(ctx context.Context) (*keys.File, error)
	UpdateKeys(ctx context.Context, change func(*keys.File) error) error
	// ReadLedger returns the rows of a tenant ("" = all) from a day to another, both included.
	ReadLedger(ctx context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error)
	// ReadLastUse returns when each key was used last, by its id.
	ReadLastUse(ctx context.Context) (map[string]time.Time, error)
	// AppendKeyLog adds a line to the record of commands that changed keys; Notes are its lines,
	// the oldest first.
	AppendKeyLog(ctx context.Context, line []byte) error
	KeyLog(ctx context.Context) ([][]byte, error)
}

// ErrNoKeys means: the database of a fleet has no keys yet.
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

// keyLogName is the file of a state directory that holds the commands that changed keys, a JSON
// object a line.
const keyLogName = "keys.log"

// AppendKeyLog implements Store.
func (f DirStore) AppendKeyLog(_ context.Context, line []byte) error {
	name := filepath.Join(string(f), keyLogName)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The server's user writes it too.
	disk.InheritOwner(name)
	// One write a line, so that commands side by side do not mix theirs.
	_, err = file.Write(append(line, '\n'))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// KeyLog implements Store.
func (f DirStore) KeyLog(context.Context) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(string(f), keyLogName))
	// No command changed keys so far.
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

// ReadKeys wants some to be there, as in a state directory.
func (f ControlStore) ReadKeys(ctx context.Context) (*keys.File, error) {
	file, err := f.DB.ReadKeys(ctx)
	if err == nil && len(file.Keys) == 0 {
		err = fmt.Errorf("cannot read keys from %s: %w", f.DB, ErrNoKeys)
	}
	return file, err
}

// Change is a command that changed keys, as the record has it. It holds neither a key nor its hash.
type Change struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Command string    `json:"command"` // create, rotate, revoke or reset-day
	Tenant  string    `json:"tenant"`
	Key     string    `json:"key,omitempty"`  // its id
	From    string    `json:"from,omitempty"` // the key that a rotation follows
	Surface string    `json:"surface,omitempty"`
	Plan    string    `json:"plan,omitempty"`
	What    string    `json:"what,omitempty"` // that was reset
}

// Record notes a change, to the second.
func Record(ctx context.Context, in Store, change Change) error {
	change.At = change.At.UTC().Truncate(time.Second)
	line, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return in.AppendKeyLog(ctx, line)
}

// Changes are those of the record, the oldest first. The lines that are none, such as a torn one, are
// left out; odd has their numbers.
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
