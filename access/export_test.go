package access

import (
	"path/filepath"
	"time"

	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
)

// Kill ends a store as the death of its process would: what is queued and not written is lost,
// nothing is saved.
func (store *LocalStore) Kill() {
	store.closeOnce.Do(func() {
		_ = store.dir.Stop(false)
		store.closed.Store(true)
		_ = store.dir.Release()
	})
}

// On puts a store on another disk.
func (o LocalOptions) On(disk disk.FS) LocalOptions {
	o.Seams.Disk = disk
	return o
}

// Unsynced makes a store leave fsync out, for tests that do not cut the power.
func (o LocalOptions) Unsynced(mapped bool) LocalOptions {
	o.Seams.Disk = disktest.Unsynced(mapped)
	o.boot = noBoot
	return o
}

// quick is a disk whose files for logs are mapped, and on which nothing is synced.
func quick() state.Seams { return state.Seams{Disk: disktest.Unsynced(true)} }

// verb names a call to the disk as the tests of a store do: a checkpoint has two moments, before it
// takes place and when it has. Other calls on its file or on a folder have no name.
func verb(call disktest.Call) string {
	checkpoint := filepath.Base(call.Path) == statedir.CheckpointName
	switch {
	case checkpoint && call.Op == "sync":
		return "checkpoint"
	case call.Op == "syncdir" && filepath.Base(call.Path) != statedir.LogName:
		return "committed"
	case checkpoint:
		return ""
	}
	return call.Op
}

// noBoot is for tests whose time is not the machine's.
func noBoot() Boot { return Boot{} }

// SaveCheckpoint writes a checkpoint now.
func (store *LocalStore) SaveCheckpoint() error { return store.dir.Save(5 * time.Second) }
