package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
)

const (
	// revokeTimeout bounds the statement that revokes keys again: the reading of keys waits for it.
	revokeTimeout = time.Second
	// retryInterval is the time until what failed is tried again.
	retryInterval = 10 * time.Second
)

// revocations are the keys that a server knows to be revoked. They only grow, whatever database comes
// after: an older copy must bring no key back to life. An operator may revive one.
type revocations struct {
	path   string // of the file; "" = none
	server string // name of the server
	report func(lost []string, err error)

	times    map[string]time.Time // when they were revoked, by key id
	unsaved  bool
	lost     []string     // ids that the database has as not revoked
	tryAfter time.Time    // after an error
	total    atomic.Int64 // of ids that were lost
}

// RememberRevocations makes a source refuse every key that was revoked once, also after a restart and in
// an older copy of the database. It is called before the first Read, and that one writes nothing yet.
// report gets the ids of keys that the database has as not revoked, and else why they cannot be stored
// or revoked again.
func (source *KeySource) RememberRevocations(
	stateDir, server string, report func(lost []string, err error),
) error {
	own := &source.revoked
	own.path = filepath.Join(stateDir, statedir.RevokedName)
	own.server = server
	own.report = report

	data, err := disk.ReadFile(disk.OS, own.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &own.times)
	}
	if err == nil && own.times == nil {
		err = errors.New("it has no keys, not even none")
	}
	if err != nil {
		return fmt.Errorf("cannot read revoked keys from %q: %w; where the database is no older copy, remove the file",
			own.path, err)
	}
	return nil
}

// MissingRevocations returns how many revoked keys the database had as not revoked.
func (source *KeySource) MissingRevocations() int64 { return source.revoked.total.Load() }

// apply returns a file in which every key is revoked that was once, and remembers new revocations. The
// file itself is not changed.
func (own *revocations) apply(file *keys.File) *keys.File {
	var lost []string
	out := *file
	out.Keys = slices.Clone(file.Keys)

	for i, key := range out.Keys {
		at, known := own.times[key.ID]
		// A suspension goes both ways; what only grows is a revocation.
		ended := key.RevokedAt != nil && !key.Suspended()
		switch {
		case ended && !known:
			own.times[key.ID] = *key.RevokedAt
			own.unsaved = true
		case ended || !known:
		case key.RevivedAt != nil && !key.RevivedAt.Before(at):
			delete(own.times, key.ID)
			own.unsaved = true
		default:
			revoked := *key
			revoked.RevokedAt = &at
			revoked.SuspendedAt = nil
			out.Keys[i] = &revoked
			lost = append(lost, key.ID)
		}
	}

	// Each is reported once.
	fresh := slices.DeleteFunc(slices.Clone(lost), func(id string) bool { return slices.Contains(own.lost, id) })
	own.lost = lost
	if len(fresh) > 0 {
		own.total.Add(int64(len(fresh)))
		own.report(fresh, nil)
	}
	return &out
}

// settle stores new revocations, and repeats those that the database lost.
func (own *revocations) settle(ctx context.Context, db *DB, now time.Time) {
	if own.path == "" || now.Before(own.tryAfter) {
		return
	}
	// First the disk: a crash must not forget what the database lacks.
	err := own.save()
	if len(own.lost) > 0 {
		err = errors.Join(err, own.revokeAgain(ctx, db))
	}
	if err != nil {
		own.tryAfter = now.Add(retryInterval)
		own.report(nil, err)
	}
}

// save stores the revocations that the file does not have.
func (own *revocations) save() error {
	if !own.unsaved {
		return nil
	}
	data, err := json.Marshal(own.times)
	if err == nil {
		err = statedir.Make(filepath.Dir(own.path))
	}
	if err == nil {
		err = statedir.ReplaceFile(own.path, data)
	}
	own.unsaved = err != nil
	return err
}

// revokeAgain writes the lost revocations to the database. Those of keys that were revived meanwhile
// change nothing.
func (own *revocations) revokeAgain(ctx context.Context, db *DB) error {
	times := make([]string, len(own.lost))
	for i, id := range own.lost {
		times[i] = own.times[id].Format(time.RFC3339Nano)
	}
	return db.exec(ctx, revokeTimeout, "select ninepocket.revoke_again($1, $2, $3)", own.server, own.lost, times)
}

// RevokedAgain returns the ids of the keys that servers revoked again since an instant.
func (db *DB) RevokedAgain(ctx context.Context, since time.Time) (ids []string, err error) {
	var id string
	err = db.each(ctx, db.timeout, []any{&id}, func() { ids = append(ids, id) },
		`select distinct entry->>'key' from ninepocket.key_log
		where entry->>'command' = 'revoke-again' and (entry->>'at')::timestamptz >= $1 order by 1`, since)
	return ids, err
}
