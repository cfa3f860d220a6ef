package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
)

// ErrNameStays reports that the server of a state directory has not written the checkpoint that drops the
// name of a deleted tenant.
var ErrNameStays = errors.New("its server has written no checkpoint yet")

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
	return f.dropName(ctx, tenant)
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
func (f DirStore) dropName(ctx context.Context, tenant string) error {
	metered, err := statedir.Metered(string(f))
	if err != nil || !metered {
		return err
	}

	late := time.After(deleteTimeout)
	for {
		err := f.renameDeleted()
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
			return fmt.Errorf("cannot see the name of the tenant dropped from %q: %w", string(f), ErrNameStays)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renameDeleted opens the state as a server does, so that it is locked meanwhile, and drops the names of
// deleted tenants.
func (f DirStore) renameDeleted() error {
	store, err := access.OpenLocal(string(f), access.LocalOptions{Now: access.StartMachineClock().At(time.Now())})
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
