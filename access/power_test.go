package access

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// powerDisk remembers how much of each segment was synced: what a power cut leaves
// at the least.
type powerDisk struct {
	mu     sync.Mutex
	size   map[string]int64
	synced map[string]int64
}

type powerFile struct {
	segmentFile
	path string
	disk *powerDisk
}

func (d *powerDisk) create(path string) (segmentFile, error) {
	file, err := createSegment(path)
	return &powerFile{segmentFile: file, path: path, disk: d}, err
}

func (f *powerFile) Write(p []byte) (int, error) {
	n, err := f.segmentFile.Write(p)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.size[f.path] += int64(n)
	return n, err
}

func (f *powerFile) Sync() error {
	f.disk.mu.Lock()
	size := f.disk.size[f.path]
	f.disk.mu.Unlock()
	err := f.segmentFile.Sync()
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.synced[f.path] = max(f.disk.synced[f.path], size)
	return err
}

// cut copies a state directory as a power cut would leave it.
func (d *powerDisk) cut(t *testing.T, dir string) string {
	t.Helper()
	out := t.TempDir()
	if err := os.Mkdir(filepath.Join(out, walDirName), 0o700); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string]int64{filepath.Join(dir, checkpointName): 1 << 62}
	maps.Copy(files, d.synced)
	for path, size := range files {
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // a segment that was dropped
		}
		name, _ := filepath.Rel(dir, path)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), data[:min(size, int64(len(data)))], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestPowerCut cuts the power right after acknowledged credits: all of them, and
// the replies of batches, are on disk. Live calls are there within 100 ms.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	live, preview := faultKeys(t)
	disk := &powerDisk{size: map[string]int64{}, synced: map[string]int64{}}
	dir := t.TempDir()
	s := &faultScript{t: t, live: live, preview: preview, now: instant(testTime), tried: map[string]int64{}, told: map[string]int64{}, replies: map[string]string{}}
	var err error
	s.store, err = OpenEmbedded(dir, EmbeddedOptions{Now: s.now, CheckpointEvery: time.Hour, create: disk.create})
	if err != nil {
		t.Fatal(err)
	}
	defer s.store.Close()
	look := func(p *Principal, replyKey string) {
		t.Helper()
		after, err := OpenEmbedded(disk.cut(t, dir), EmbeddedOptions{Now: s.now})
		if err != nil {
			t.Fatal(err)
		}
		defer after.Close()
		usage, err := after.Usage(p, RuleFor(p, UsageGet), s.now)
		if err != nil || usage.Used != s.told[p.Tenant] {
			t.Fatalf("after a power cut %d used, %d acknowledged (%v)", usage.Used, s.told[p.Tenant], err)
		}
		if replyKey == "" {
			return
		}
		claim, err := after.Begin(Ticket{Principal: p, Rule: RuleFor(p, PricesBatch)}, replyKey, BodyHash{1}, s.now)
		if err != nil || claim.Outcome != Replay {
			t.Fatalf("after a power cut: %+v (%v)", claim, err)
		}
	}
	for i := range 5 {
		s.call(live, CardsGet, true)
		s.call(preview, ProductsList, true)
		look(preview, "")
		s.batch(string(rune('a' + i)))
		look(preview, string(rune('a'+i)))
		if i == 2 {
			if err := s.store.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
			look(preview, "a")
		}
	}
	s.call(live, CardsGet, true)
	deadline := time.Now().Add(5 * time.Second) // 100 ms where nothing else runs
	for s.store.log.synced.Load() < s.store.log.written.Load() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	look(live, "")
}
