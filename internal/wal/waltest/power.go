package waltest

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ninepocket/internal/wal"
)

// PowerDisk models what a power cut leaves of a log: of each segment what was in it when its last
// finished sync began, and of every sector that changed since, either content. Sectors are lost in
// no order. It is safe for concurrent use.
type PowerDisk struct {
	Make Create

	mu     sync.Mutex
	synced map[string][]byte // content of each segment that was synced
}

type powerFile struct {
	wal.Segment
	path string
	disk *PowerDisk
}

const sector = 512

// unfinished ends the name of a segment that is being made.
const unfinished = ".new"

// Create makes a segment.
func (d *PowerDisk) Create(path string) (wal.Segment, error) {
	file, err := d.Make(path)
	// A segment has this name when it is whole.
	return &powerFile{Segment: file, path: strings.TrimSuffix(path, unfinished), disk: d}, err
}

func (f *powerFile) Sync() error {
	before, err := os.ReadFile(f.path + unfinished)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = os.ReadFile(f.path)
	}
	if err != nil {
		return err
	}

	err = f.Segment.Sync()

	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.synced == nil {
		f.disk.synced = map[string][]byte{}
	}

	f.disk.synced[f.path] = before
	return err
}

// Cut puts the segments below folder from into folder to, as a power cut could leave them, losing
// each changed sector with a probability. The folders of to have to be there.
func (d *PowerDisk) Cut(t testing.TB, from, to string, lose float64) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("power cut by seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	segments := d.segments()
	for _, path := range slices.Sorted(maps.Keys(segments)) {
		synced := segments[path]
		now, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a segment that was removed
		}

		name, outside := filepath.Rel(from, path)
		if err := errors.Join(err, outside); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), powerless(random, synced, now, lose), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Synced reports whether everything that was written is on disk.
func (d *PowerDisk) Synced() bool {
	for path, synced := range d.segments() {
		now, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(bytes.TrimRight(now, "\x00"), bytes.TrimRight(synced, "\x00")) {
			return false
		}
	}
	return true
}

func (d *PowerDisk) segments() map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.synced)
}

// powerless mixes a file's synced content with a later one. A length may be there without the data,
// which is zeros then.
func powerless(random *rand.Rand, synced, now []byte, lose float64) []byte {
	size := len(now)
	if random.Float64() < lose {
		size = len(synced)
	}

	out := make([]byte, size)
	copy(out, now)

	synced = append(bytes.Clone(synced), make([]byte, max(0, size-len(synced)))...)
	for at := 0; at < size; at += sector {
		if random.Float64() < lose {
			copy(out[at:min(at+sector, size)], synced[at:])
		}
	}
	return out
}
