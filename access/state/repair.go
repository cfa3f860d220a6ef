package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// Salvaged is what was recovered and lost of a damaged state directory.
type Salvaged struct {
	Dropped   []string `json:"dropped"`  // damaged parts, in words
	Accounts  []string `json:"accounts"` // tenants whose figures may be wrong now, in order
	BackupDir string   `json:"moved_to"` // directory of the old files; "" when nothing was wrong
	Records   int      `json:"log_records"`
	Recovered int      `json:"kept"` // values of the checkpoint

	last uint64 // record of the log
}

// Salvage passes every value of the checkpoint with a correct checksum, and every undamaged record of
// the log, to a Loader. No process may write the directory.
func (out *Salvaged) Salvage(dir string, into Loader) error {
	if err := out.checkpoint(filepath.Join(dir, statedir.CheckpointName), into); err != nil {
		return err
	}

	covered := out.last
	lost, err := wal.Salvage(filepath.Join(dir, statedir.LogName), covered, func(seq uint64, record []byte) error {
		out.last = max(out.last, seq)
		if len(record) > 0 {
			out.Records++
		}
		if err := into.Replay(seq, record); err != nil {
			out.Dropped = append(out.Dropped, fmt.Sprintf("log record %d: %v", seq, err))
		}
		return nil
	})
	for _, what := range lost {
		out.Dropped = append(out.Dropped, what+": whose calls they were is not known")
	}
	slices.Sort(out.Accounts)
	out.Accounts = slices.Compact(out.Accounts)
	return err
}

// checkpoint salvages a checkpoint file.
func (out *Salvaged) checkpoint(path string, into Loader) error {
	bw, err := readPages(path)
	if errors.Is(err, wal.ErrCorrupt) {
		out.Dropped = append(out.Dropped, fmt.Sprintf("the whole checkpoint: %v", err))
		return nil
	}
	if bw == nil || err != nil {
		return err
	}

	damaged := bw.walk(func(bucket string, key, stored []byte) {
		if err := out.value(bucket, key, stored, into); err != nil {
			tenant := tenantOf(bucket, key)
			what := fmt.Sprintf("a value of %s (tenant %q)", cmp.Or(bucket, "no bucket"), tenant)
			out.Dropped = append(out.Dropped, what)
			if tenant != "" {
				out.Accounts = append(out.Accounts, tenant)
			}
			return
		}
		out.Recovered++
	})
	for _, damage := range damaged {
		out.Dropped = append(out.Dropped, damage.Error())
	}
	return nil
}

// value loads a value whose checksum is correct.
func (out *Salvaged) value(bucket string, key, stored []byte, into Loader) error {
	if bucket == string(metaBucket) {
		h, err := decodeHeader(stored)
		out.last = h.Last
		return err
	}

	value, err := verifyChecksum(key, stored)
	if err != nil {
		return err
	}
	of, known := buckets[bucket]
	if !known {
		return fmt.Errorf("%w: unknown bucket", wal.ErrCorrupt)
	}
	return into.Load(of, key, value)
}

// tenantOf returns the tenant of a value, as far as its key can be read.
func tenantOf(bucket string, key []byte) string {
	if bucket == string(accountsBucket) {
		return string(key)
	}
	in := Decoder{Data: key}
	return in.Text()
}

// Rebuild moves checkpoint and log of a state directory aside, and writes new ones with the salvaged
// content and the same owner. The log is empty. No process may write the state directory.
func (out *Salvaged) Rebuild(dir string, content Content, now time.Time) error {
	owner, err := meteringOwner(dir)
	if err != nil {
		return err
	}
	out.BackupDir = filepath.Join(dir, "damaged-"+now.UTC().Format("20060102T150405.000Z"))
	if err := moveAside(dir, out.BackupDir); err != nil {
		return err
	}

	walDir := filepath.Join(dir, statedir.LogName)
	if err := disk.OS.Mkdir(walDir, 0o700); err != nil {
		return err
	}
	log, err := wal.Start(walDir, out.last+1, wal.Options{})
	if err != nil {
		return err
	}
	defer log.CloseNow()

	path := filepath.Join(dir, statedir.CheckpointName)
	d := &Dir{Log: log, content: content, metrics: newMetrics(), options: Options{Seams: Seams{Disk: disk.OS}}}
	d.file = &File{path: path, content: content, options: &d.options}
	db, err := d.file.open(openTimeout)
	if err == nil {
		err = errors.Join(d.saveTo(db), db.close())
	}
	if err != nil {
		return err
	}
	return chownMetering(owner, dir, out.BackupDir)
}

// meteringOwner returns the owner of checkpoint and log.
func meteringOwner(dir string) (statedir.Owner, error) {
	for _, name := range []string{statedir.CheckpointName, statedir.LogName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			return statedir.OwnerOf(info, 0o600), nil
		}
	}
	return statedir.OwnerFor(filepath.Join(dir, statedir.CheckpointName))
}

// chownMetering sets the owner of checkpoint, log and the directory of the old files.
func chownMetering(owner statedir.Owner, dir, aside string) error {
	walDir := filepath.Join(dir, statedir.LogName)
	segments, err := wal.Segments(walDir)
	if err == nil {
		err = owner.ChownPath(filepath.Join(dir, statedir.CheckpointName))
	}
	for _, first := range segments {
		err = cmp.Or(err, owner.ChownPath(filepath.Join(walDir, wal.SegmentName(first))))
	}

	owner.Mode = 0o700
	return cmp.Or(err, owner.ChownPath(walDir), owner.ChownPath(aside))
}

// moveAside moves checkpoint and log into another directory.
func moveAside(dir, to string) error {
	if err := disk.OS.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, name := range []string{statedir.CheckpointName, statedir.LogName} {
		err := disk.OS.Rename(filepath.Join(dir, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return disk.OS.SyncDir(dir)
}
