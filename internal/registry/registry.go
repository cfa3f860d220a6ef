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
	"ninepocket/fleet/ledger"
	"ninepocket/internal/disk"
)

// Registry is a place of keys and bills.
type Registry interface {
	// ReadKeys returns the keys; an error where there are none yet.
	ReadKeys(ctx context.Context) (*keys.File, error)
	UpdateKeys(ctx context.Context, change func(*keys.File) error) error
	// ReadLedger returns the rows of a tenant ("" = all) from a day to another, both included.
	ReadLedger(ctx context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error)
	// ReadLastUse returns when each key was used last, by its id.
	ReadLastUse(ctx context.Context) (map[string]time.Time, error)
	// Note adds a line to the record of commands that changed keys; Notes are its lines, the oldest first.
	Note(ctx context.Context, line []byte) error
	Notes(ctx context.Context) ([][]byte, error)
}

// ErrNoKeys means: the database of a fleet has no keys yet.
var ErrNoKeys = errors.New("it has none yet")

// Folder is the state directory of one machine.
type Folder string

// ReadKeys implements Registry.
func (f Folder) ReadKeys(context.Context) (*keys.File, error) { return keys.Read(string(f)) }

// UpdateKeys implements Registry.
func (f Folder) UpdateKeys(_ context.Context, change func(*keys.File) error) error {
	return keys.Update(string(f), change)
}

// ReadLedger implements Registry.
func (f Folder) ReadLedger(_ context.Context, tenant string, since, until calendar.Day) ([]access.LedgerRow, error) {
	return access.ReadLedger(string(f), tenant, since, until)
}

// ReadLastUse implements Registry.
func (f Folder) ReadLastUse(context.Context) (map[string]time.Time, error) {
	return access.ReadLastUse(string(f))
}

// recordName is the file of a state directory that holds the commands that changed keys, a JSON
// object a line.
const recordName = "keys.log"

// Note implements Registry.
func (f Folder) Note(_ context.Context, line []byte) error {
	name := filepath.Join(string(f), recordName)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The server's user writes it too.
	disk.Keep(name)
	// One write a line, so that commands side by side do not mix theirs.
	_, err = file.Write(append(line, '\n'))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Notes implements Registry.
func (f Folder) Notes(context.Context) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(string(f), recordName))
	// No command changed keys so far.
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil
}

// Fleet is the database of a fleet.
type Fleet struct{ *ledger.DB }

// ReadKeys wants some to be there, as in a state directory.
func (f Fleet) ReadKeys(ctx context.Context) (*keys.File, error) {
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
func Record(ctx context.Context, in Registry, change Change) error {
	change.At = change.At.UTC().Truncate(time.Second)
	line, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return in.Note(ctx, line)
}

// Changes are those of the record, the oldest first. The lines that are none, such as a torn one, are
// left out; odd has their numbers.
func Changes(ctx context.Context, in Registry) (all []Change, odd []int, err error) {
	lines, err := in.Notes(ctx)
	all = []Change{}
	for i, line := range lines {
		var change Change
		if json.Unmarshal(line, &change) != nil {
			odd = append(odd, i+1)
			continue
		}
		all = append(all, change)
	}
	return all, odd, err
}
