package access

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/wal"
)

// StateReport is what a state directory holds, and what is wrong with it.
type StateReport struct {
	Keys    int      `json:"keys"`
	Tenants int      `json:"tenants"` // that made calls
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

// VerifyState checks everything that is stored in a state directory, whether or not a server runs
// there, and changes nothing. What is damaged is in the report; the error is of what could not be
// read at all.
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

	found, err := readBeside(stateDir)
	switch {
	case errors.Is(err, ErrCorrupt):
		report.damaged(err)
	case err != nil:
		return report, err
	}
	if found == nil {
		return report, nil
	}

	report.Rows = len(found.rows)
	report.Records = found.records
	report.Torn = found.end.Dropped
	for _, a := range found.all("") {
		report.Tenants++
		report.Replies += a.replies.count
	}
	return report, nil
}

// RepairReport is what a repair kept and lost.
type RepairReport struct {
	Dropped  []string `json:"dropped"`  // what was damaged, in words
	Accounts []string `json:"accounts"` // tenants whose figures may be wrong now
	Moved    string   `json:"moved_to"` // where the files from before are; "" when nothing was wrong
	Records  int      `json:"log_records"`
	Kept     int      `json:"kept"` // values of the checkpoint
}

// RepairState makes a state directory usable again: it keeps every stored value whose checksum is
// right and every whole record of the log, drops the rest, and says whose figures that touches. The
// files from before are moved into a directory of their own. No server may run there.
//
// A keys file is not repaired value by value, because nobody can say which one is wrong: with
// believeKeys it is taken as it reads, which is for files that were edited. One that is gone begins
// anew then, without keys.
func RepairState(stateDir string, believeKeys bool, now time.Time) (report RepairReport, err error) {
	// What is made anew belongs to who the old belongs to: the server has to read it.
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
	err = repairMeter(stateDir, &report, now)
	if len(report.Dropped) == 0 {
		report.Dropped = append(report.Dropped, found.Damage...) // a whole file is gone
	}
	return report, err
}

// repairMeter builds checkpoint and log anew from what is whole of them.
func repairMeter(stateDir string, report *RepairReport, now time.Time) error {
	j := newJournal(0)
	kept, err := j.salvage(filepath.Join(stateDir, statedir.CheckpointName), report)
	if err != nil {
		return err
	}

	walDir := filepath.Join(stateDir, statedir.LogName)
	last := kept.last
	lost, err := wal.Salvage(walDir, kept.last, func(seq uint64, payload []byte) error {
		last = max(last, seq)
		if len(payload) > 0 {
			report.Records++
		}
		if err := j.reapply(seq, payload); err != nil {
			report.Dropped = append(report.Dropped, fmt.Sprintf("log record %d: %v", seq, err))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, what := range lost {
		report.Dropped = append(report.Dropped, what+": whose calls they were is not known")
	}

	of, err := meterOwner(stateDir)
	if err != nil {
		return err
	}
	report.Moved = filepath.Join(stateDir, "damaged-"+now.UTC().Format("20060102T150405.000Z"))
	if err := moveAside(stateDir, report.Moved); err != nil {
		return err
	}
	slices.Sort(report.Accounts)
	report.Accounts = slices.Compact(report.Accounts)
	if err := j.writeAnew(stateDir, last); err != nil {
		return err
	}
	return giveMeter(of, stateDir, report.Moved)
}

// meterOwner returns who checkpoint and log belong to.
func meterOwner(stateDir string) (statedir.Owner, error) {
	for _, name := range []string{statedir.CheckpointName, statedir.LogName} {
		info, err := os.Stat(filepath.Join(stateDir, name))
		if err == nil {
			return statedir.OwnerOf(info, 0o600), nil
		}
	}
	return statedir.OwnerFor(filepath.Join(stateDir, statedir.CheckpointName))
}

// giveMeter lets checkpoint, log and a directory belong to their owner.
func giveMeter(of statedir.Owner, stateDir, aside string) error {
	walDir := filepath.Join(stateDir, statedir.LogName)
	segments, err := wal.Segments(walDir)
	if err == nil {
		err = of.GivePath(filepath.Join(stateDir, statedir.CheckpointName))
	}
	for _, first := range segments {
		err = cmp.Or(err, of.GivePath(filepath.Join(walDir, wal.SegmentName(first))))
	}

	of.Mode = 0o700
	return cmp.Or(err, of.GivePath(walDir), of.GivePath(aside))
}

// moveAside moves checkpoint and log into another directory.
func moveAside(stateDir, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, name := range []string{statedir.CheckpointName, statedir.LogName} {
		err := os.Rename(filepath.Join(stateDir, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return wal.SyncDir(stateDir)
}

// salvaged is what a damaged checkpoint still says.
type salvaged struct{ last uint64 }

// salvage fills the journal with every value of a checkpoint file whose checksum is right.
func (j *journal) salvage(path string, report *RepairReport) (salvaged, error) {
	var out salvaged
	drop := func(what, tenant string) {
		report.Dropped = append(report.Dropped, what)
		if tenant != "" {
			report.Accounts = append(report.Accounts, tenant)
		}
	}

	pg, err := readPages(path)
	if errors.Is(err, ErrCorrupt) {
		drop(fmt.Sprintf("the whole checkpoint: %v", err), "")
		return out, nil
	}
	if pg == nil || err != nil {
		return out, err
	}

	pg.lenient = true
	err = pg.walk(func(bucket string, key, sealed []byte) {
		value, err := unseal(key, sealed)
		if bucket == string(metaBucket) {
			var state storedState
			state, err = decodeState(sealed)
			out.last = state.last
		} else if err == nil {
			err = j.keepValue(bucket, key, value)
		}
		if err != nil {
			tenant := tenantOf(bucket, key)
			drop(fmt.Sprintf("a value of %s (tenant %q)", cmp.Or(bucket, "no bucket"), tenant), tenant)
			return
		}
		report.Kept++
	})
	for _, damage := range pg.damage {
		drop(damage.Error(), "")
	}
	return out, err
}

// keepValue takes a value of a checkpoint over.
func (j *journal) keepValue(bucket string, key, value []byte) error {
	switch bucket {
	case string(accountsBucket):
		a := j.account(string(key))
		return a.decode(value)

	case string(ledgerBucket):
		row, err := decodeRowKey(key)
		counts, bad := decodeCounts(value)
		err = cmp.Or(err, bad)
		if err == nil {
			a := j.account(row.Tenant)
			*a.rowOf(rowName{key: row.Key, day: row.Day, op: row.Operation}) = counts
		}
		return err

	case string(answersBucket):
		tenant, name, err := decodeAnswerKey(key)
		r, bad := decodeAnswer(value)
		err = cmp.Or(err, bad)
		if err == nil {
			r.data = slices.Clone(r.data)
			j.account(tenant).replies.keep(name, r)
		}
		return err
	}
	return fmt.Errorf("%w: unknown bucket", ErrCorrupt)
}

// tenantOf is whose a value is, as far as its key can be read.
func tenantOf(bucket string, key []byte) string {
	if bucket == string(accountsBucket) {
		return string(key)
	}
	in := reader{data: key}
	return in.text()
}

// writeAnew writes a checkpoint of everything in the journal, and an empty log behind record last.
func (j *journal) writeAnew(stateDir string, last uint64) error {
	walDir := filepath.Join(stateDir, statedir.LogName)
	if err := os.Mkdir(walDir, 0o700); err != nil {
		return err
	}
	log, err := wal.Start(walDir, last+1, wal.Options{})
	if err != nil {
		return err
	}
	defer log.Abandon()

	for _, a := range j.all("") {
		a.dirty = true
	}
	j.log = log
	j.boot = func() boot { return boot{} }
	cp := &checkpointer{journal: j, path: filepath.Join(stateDir, statedir.CheckpointName)}
	cp.begin(0)
	return cp.save(bboltPatience)
}
