package disktest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/internal/disk"
)

// Disk is a [disk.FS] over the files of this machine. It calls a rule before each operation. It is safe
// for concurrent use.
type Disk struct {
	// Unsynced skips all syncs, for tests that do not need them from the machine.
	Unsynced bool
	// Written makes log files that are written, as on systems that cannot map them.
	Written bool

	rule      atomic.Pointer[Rule]
	disturbed atomic.Int64

	mu    sync.Mutex
	model *model // nil without power cuts
	open  map[*file]bool
}

// New returns a disk with a rule; nil lets everything pass.
func New(rule Rule) *Disk {
	d := &Disk{open: map[*file]bool{}}
	d.Set(rule)
	return d
}

// Unsynced returns a disk of this machine that syncs nothing, for tests without power cuts. Its log
// files are written or mapped.
func Unsynced(mapped bool) *Disk {
	d := New(nil)
	d.Unsynced = true
	d.Written = !mapped
	return d
}

// Set replaces the rule; nil lets everything pass.
func (d *Disk) Set(rule Rule) {
	if rule == nil {
		rule = func(Call) Effect { return Effect{} }
	}
	d.rule.Store(&rule)
}

// SyncsNothing is for [disk.Unsynced].
func (d *Disk) SyncsNothing() bool { return d.Unsynced }

// Disturbed returns how many calls failed or waited until now.
func (d *Disk) Disturbed() int64 { return d.disturbed.Load() }

// judge calls the rule, waits as it says, and returns its effect.
func (d *Disk) judge(call Call) Effect {
	effect := (*d.rule.Load())(call)
	if effect != (Effect{}) {
		d.disturbed.Add(1)
	}
	time.Sleep(effect.Wait)
	return effect
}

// do makes a call as the rule says, and records it in the model.
func (d *Disk) do(call Call, really func() error) error {
	effect := d.judge(call)
	if effect.Fail != nil {
		return &fs.PathError{Op: call.Op, Path: call.Path, Err: effect.Fail}
	}
	if effect.Lie {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := really()
	if err == nil && d.model != nil {
		d.model.do(call)
	}
	return err
}

// Open implements [disk.FS].
func (d *Disk) Open(name string, flag int, mode fs.FileMode) (disk.File, error) {
	call := Call{Op: "open", Path: name, Change: flag&(os.O_WRONLY|os.O_RDWR) != 0}
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		call.Op = "create"
	}
	return d.opened(call, flag&os.O_APPEND != 0, func() (disk.File, error) { return machine.Open(name, flag, mode) })
}

// Append implements [disk.FS].
func (d *Disk) Append(name string, mapped bool) (disk.File, error) {
	if mapped && d.Written {
		return nil, errors.ErrUnsupported
	}
	call := Call{Op: "create", Path: name, Mapped: mapped}
	return d.opened(call, true, func() (disk.File, error) { return machine.Append(name, mapped) })
}

// machine is the real disk, also while disk.OS is a faulty one.
var machine = disk.OS

func (d *Disk) opened(call Call, log bool, open func() (disk.File, error)) (disk.File, error) {
	f := &file{disk: d, path: call.Path, log: log, mapped: call.Mapped}
	err := d.do(call, func() (err error) {
		f.File, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[f] = true
	if d.model != nil {
		f.node = d.model.find(call.Path)
	}
	return f, nil
}

// Mkdir implements [disk.FS].
func (d *Disk) Mkdir(name string, mode fs.FileMode) error {
	return d.do(Call{Op: "mkdir", Path: name}, func() error { return machine.Mkdir(name, mode) })
}

// Link implements [disk.FS].
func (d *Disk) Link(from, to string, symbolic bool) error {
	call := Call{Op: "link", Path: from, To: to}
	if symbolic {
		call.Op = "symlink"
	}
	return d.do(call, func() error { return machine.Link(from, to, symbolic) })
}

// Rename implements [disk.FS].
func (d *Disk) Rename(from, to string) error {
	return d.do(Call{Op: "rename", Path: from, To: to}, func() error {
		err := machine.Rename(from, to)
		for f := range d.open {
			if err == nil && f.path == from {
				f.path = to
			}
		}
		return err
	})
}

// Remove implements [disk.FS].
func (d *Disk) Remove(name string) error {
	return d.do(Call{Op: "remove", Path: name}, func() error { return machine.Remove(name) })
}

// List implements [disk.FS].
func (d *Disk) List(name string) (entries []fs.DirEntry, err error) {
	err = d.do(Call{Op: "list", Path: name}, func() (err error) {
		entries, err = machine.List(name)
		return err
	})
	return entries, err
}

// SyncDir implements [disk.FS].
func (d *Disk) SyncDir(name string) error {
	return d.do(Call{Op: "syncdir", Path: name}, func() error {
		if d.Unsynced {
			return nil
		}
		return machine.SyncDir(name)
	})
}

// file is an open file of a disk.
type file struct {
	disk.File
	disk   *Disk
	path   string // its present name
	log    bool   // writes append
	mapped bool   // writes are copies into a mapping
	node   *node  // nil without a model

	size, saved int64 // of a log: length, and the length that is on disk
	at          int   // offset of the next write, of another file
}

// Below returns the file of the machine, for [disk.Raw].
func (f *file) Below() disk.File {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.node != nil {
		f.node.raw = f.path // its writes are not seen
	}
	return f.File
}

func (f *file) call(op string, data []byte) Call {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return Call{Op: op, Path: f.path, Data: data, Mapped: f.mapped && op == "write"}
}

func (f *file) Read(p []byte) (int, error) {
	if effect := f.disk.judge(f.call("read", nil)); effect.Fail != nil {
		return 0, effect.Fail
	}
	return f.File.Read(p)
}

// Write writes only a part where the rule says so.
func (f *file) Write(p []byte) (int, error) {
	effect := f.disk.judge(f.call("write", p))
	if effect.Fail != nil {
		p = p[:effect.Part]
	}

	n := 0
	var err error
	if len(p) > 0 || effect.Fail == nil {
		n, err = f.File.Write(p)
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.size += int64(n)
	if f.node != nil {
		if f.log {
			f.at = len(f.node.data)
		}
		f.node.write(f.at, p[:n])
		f.at += n
	}
	if effect.Fail != nil {
		return n, effect.Fail
	}
	return n, err
}

func (f *file) WriteAt(p []byte, at int64) (int, error) {
	if effect := f.disk.judge(f.call("write", p)); effect.Fail != nil {
		return 0, effect.Fail
	}
	n, err := f.File.WriteAt(p, at)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.node != nil {
		f.node.write(int(at), p[:n])
	}
	return n, err
}

func (f *file) Truncate(size int64) error {
	if effect := f.disk.judge(f.call("truncate", nil)); effect.Fail != nil {
		return effect.Fail
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.node != nil {
		f.node.data = slices.Clone(f.node.data[:min(int(size), len(f.node.data))])
	}
	return f.File.Truncate(size)
}

// Sync puts on disk the data that were written before it began.
func (f *file) Sync() error {
	call := f.call("sync", nil)
	f.disk.mu.Lock()
	size := f.size
	var content []byte
	if f.node != nil {
		content = f.node.data
	}
	f.disk.mu.Unlock()

	effect := f.disk.judge(call)
	if effect.Lie {
		return nil
	}
	if effect.Fail == nil && !f.disk.Unsynced {
		effect.Fail = f.File.Sync()
	}

	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if effect.Fail != nil {
		if effect.Forget {
			f.forget()
		}
		return effect.Fail
	}
	f.saved = max(f.saved, size)
	if f.node != nil {
		f.node.synced = content
	}
	return nil
}

// forget overwrites with zeros the data that a log lost when a sync failed.
func (f *file) forget() {
	if !f.log || f.size == f.saved {
		return
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		return // the data stay
	}
	_, _ = file.WriteAt(make([]byte, f.size-f.saved), f.saved)
	_ = file.Close()
	if f.node != nil {
		f.node.data = append(bytes.Clone(f.node.data[:f.saved]), make([]byte, f.size-f.saved)...)
	}
}

func (f *file) Close() error {
	f.disk.mu.Lock()
	delete(f.disk.open, f)
	f.disk.mu.Unlock()
	return f.File.Close()
}

// Watch makes the disk record what is synced in a folder, so that its power can be cut. The present
// content is taken as synced.
func (d *Disk) Watch(folder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.model = modelOf(filepath.Clean(folder))
}

// Kinds returns the kinds of log files that work here, by name, and whether they are mapped.
func Kinds(t testing.TB) map[string]bool {
	t.Helper()
	ways := map[string]bool{"written": false}
	if Maps(t) {
		ways["mapped"] = true
	}
	return ways
}

// OfKind returns a disk with a rule whose log files are mapped or written.
func OfKind(mapped bool, rule Rule) *Disk {
	d := New(rule)
	d.Written = !mapped
	return d
}

// Maps reports whether log files can be mapped here; if not, it logs what is skipped.
func Maps(t testing.TB) bool {
	t.Helper()
	file, err := machine.Append(filepath.Join(t.TempDir(), "probe"), true)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Logf("skipped: mapped segments, because they cannot be made here: %v", err)
		return false
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}
