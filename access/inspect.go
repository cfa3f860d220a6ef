package access

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
)

// StateReport counts the contents of a state directory and lists its damage.
type StateReport struct {
	Keys    int      `json:"keys"`
	Tenants int      `json:"tenants"` // with calls
	Rows    int      `json:"ledger_rows"`
	Replies int      `json:"replies"`
	Records int      `json:"log_records"` // after the checkpoint
	Torn    int      `json:"torn_records"`
	Damage  []string `json:"damage"`
	Causes  []error  `json:"-"` // of the damage
}

func (r *StateReport) damaged(err error) {
	r.Damage = append(r.Damage, err.Error())
	r.Causes = append(r.Causes, err)
}

// VerifyState checks everything in a state directory, whether or not a server runs there, and changes
// nothing. Damage is in the report; the error is for files that could not be read at all.
func VerifyState(stateDir string) (StateReport, error) {
	report := StateReport{Damage: []string{}}
	file, err := keys.Read(stateDir)
	switch {
	case errors.Is(err, ErrCorrupt):
		report.damaged(err)
	case errors.Is(err, keys.ErrShared):
	case err != nil:
		return report, err
	default:
		report.Keys = len(file.Keys)
	}

	stored, found, err := state.Load(stateDir, newOfflineContent)
	switch {
	case errors.Is(err, ErrCorrupt):
		report.damaged(err)
		return report, nil
	case err != nil:
		return report, err
	}

	report.Rows = len(stored.rows)
	report.Records = found.Records
	report.Torn = found.Torn
	for _, a := range stored.usage.all("") {
		report.Tenants++
		report.Replies += a.replies.count
	}
	return report, nil
}

// ReadLedger returns the ledger rows of a state directory for a tenant ("" = all) between two days, in
// order. They include the last written call, whether or not a server runs there.
func ReadLedger(stateDir, tenant string, since, until calendar.Day) ([]LedgerRow, error) {
	stored, _, err := state.Load(stateDir, newOfflineContent)
	if err != nil {
		return nil, err
	}

	// The log continues where the rows of the checkpoint end: they add up.
	rows := sumRows(append(stored.rows, stored.usage.rowsOf(tenant, since)...), tenant, since)
	return slices.DeleteFunc(rows, func(row LedgerRow) bool { return row.Day > until }), nil
}

// HasTenant reports whether a state directory has calls of a tenant, whether or not a server runs there.
func HasTenant(stateDir, tenant string) (bool, error) {
	stored, _, err := state.Load(stateDir, newOfflineContent)
	if err != nil {
		return false, err
	}
	for _, e := range stored.usage.prepared.byClaim {
		if e.tenant == tenant {
			return true, nil
		}
	}
	return len(stored.usage.all(tenant)) > 0, nil
}

// ReadLastUse returns when each key of a state directory was last used, by key id, whether or not a
// server runs there. Unused keys are not in it.
func ReadLastUse(stateDir string) (map[string]time.Time, error) {
	stored, _, err := state.Load(stateDir, newOfflineContent)
	if err != nil {
		return nil, err
	}

	last := map[string]time.Time{}
	for _, a := range stored.usage.all("") {
		for id, key := range a.keys {
			when := time.UnixMilli(key.lastUse).UTC()
			if key.lastUse > 0 && when.After(last[id]) {
				last[id] = when
			}
		}
	}
	return last, nil
}

// BackupState makes a consistent copy of a state directory, whether or not a server runs there. The
// new directory must be missing or empty, and outside of the state directory. The copy is checked
// before BackupState returns; on an error nothing of it stays. Its files have the owners of the
// originals, if this user can set them.
func BackupState(stateDir, to string) (report StateReport, err error) {
	if _, err := keys.Read(stateDir); err != nil && !errors.Is(err, keys.ErrShared) {
		return report, err
	}
	err = state.Copy(stateDir, to, func() error {
		report, err = VerifyState(to)
		if err == nil && len(report.Damage) > 0 {
			err = fmt.Errorf("cannot use the copy in %q: %w: %s", to, ErrCorrupt, report.Damage[0])
		}
		return err
	})
	return report, err
}

// RepairReport is what a repair recovered and lost.
type RepairReport = state.Salvaged

// RepairState rebuilds a state directory from everything with a correct checksum, drops the rest,
// and reports the affected tenants. The old files are moved into a directory of their own. No server
// may run there.
//
// A keys file is not repaired value by value, because it is unknown which one is wrong: with
// believeKeys it is used as it is, which is for files that were edited. A missing one is then
// replaced by one without keys.
func RepairState(stateDir string, believeKeys bool, now time.Time) (report RepairReport, err error) {
	// New files have the owner of the old ones: the server has to read them.
	for _, name := range []string{statedir.KeysName, statedir.CheckpointName} {
		if err := statedir.CheckOwner(filepath.Join(stateDir, name)); err != nil {
			return report, err
		}
	}

	lock, err := statedir.LockState(stateDir, 0)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	report = RepairReport{Dropped: []string{}, Accounts: []string{}}
	dropped, err := keys.Repair(stateDir, believeKeys)
	if dropped != "" {
		report.Dropped = append(report.Dropped, dropped)
	}
	if err != nil {
		return report, err
	}

	found, err := VerifyState(stateDir)
	if err != nil || len(found.Damage) == 0 {
		return report, err
	}
	err = rebuildMetering(stateDir, &report, now)
	if len(report.Dropped) == 0 {
		report.Dropped = append(report.Dropped, found.Damage...) // a whole file is gone
	}
	return report, err
}

// rebuildMetering rebuilds checkpoint and log from their undamaged parts.
func rebuildMetering(stateDir string, report *RepairReport, now time.Time) error {
	ul := newUsageLog(0)
	recovered := &content{usage: ul, boot: func() Boot { return Boot{} }, withData: true}
	recovered.onRow = func(row LedgerRow) { *ul.tenant(row.Tenant).rowOf(row.name()) = row.Counts }
	if err := report.Salvage(stateDir, recovered); err != nil {
		return err
	}

	for _, a := range ul.all("") {
		a.dirty = true
	}
	return report.Rebuild(stateDir, recovered, now)
}
