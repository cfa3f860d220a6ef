package access

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// powerDisk models what a power cut leaves of the log: of each segment what was in it when its last finished sync
// began, and of every sector that changed since, either content. Sectors are lost in no order.
type powerDisk struct {
	make func(path string) (segmentFile, error)

	mu     sync.Mutex
	synced map[string][]byte // content of each segment that was synced
}

type powerFile struct {
	segmentFile
	path string
	disk *powerDisk
}

const sector = 512

func (d *powerDisk) create(path string) (segmentFile, error) {
	file, err := d.make(path)
	return &powerFile{segmentFile: file, path: path, disk: d}, err
}

func (f *powerFile) Sync() error {
	before, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	err = f.segmentFile.Sync()
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.synced[f.path] = before
	return err
}

// cut copies a state directory as a power cut could leave it, losing each changed sector with a probability.
func (d *powerDisk) cut(t *testing.T, dir string, lose float64) string {
	t.Helper()
	out := t.TempDir()
	if err := os.Mkdir(filepath.Join(out, walDirName), 0o700); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := map[string][]byte{}
	for path, synced := range d.synced {
		now, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // a segment that was dropped
		}
		if err != nil {
			t.Fatal(err)
		}
		left[path] = powerless(synced, now, lose)
	}
	stored := filepath.Join(dir, checkpointName)
	data, err := os.ReadFile(stored)
	if err != nil {
		t.Fatal(err)
	}
	left[stored] = data
	for path, data := range left {
		name, _ := filepath.Rel(dir, path)
		if err := os.WriteFile(filepath.Join(out, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// powerless mixes a file's synced content with a later one. A length may be there without the data, which is zeros then.
func powerless(synced, now []byte, lose float64) []byte {
	size := len(now)
	if rand.Float64() < lose {
		size = len(synced)
	}
	out := make([]byte, size)
	copy(out, now)
	synced = append(bytes.Clone(synced), make([]byte, max(0, size-len(synced)))...)
	for at := 0; at < size; at += sector {
		if rand.Float64() < lose {
			copy(out[at:min(at+sector, size)], synced[at:])
		}
	}
	return out
}

// TestPowerCut cuts the power right after acknowledged credits: all of them, and
// the replies of batches, are on disk. Live calls are there within 100 ms.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for kind, create := range SegmentKinds(t) {
		t.Run(kind, func(t *testing.T) { t.Parallel(); cutPower(t, create) })
	}
}

func cutPower(t *testing.T, create func(string) (segmentFile, error)) {
	t.Helper()
	live, preview := faultKeys(t)
	disk := &powerDisk{make: create, synced: map[string][]byte{}}
	dir := t.TempDir()
	s := &faultScript{t: t, live: live, preview: preview, now: instant(testTime), tried: map[string]int64{}, told: map[string]int64{}, replies: map[string]string{}}
	var err error
	s.store, err = OpenEmbedded(dir, EmbeddedOptions{Now: s.now, CheckpointEvery: time.Hour, create: disk.create})
	if err != nil {
		t.Fatal(err)
	}
	defer s.store.Close()
	lookOnce := func(p *Principal, replyKey string, lose float64) {
		t.Helper()
		after, err := OpenEmbedded(disk.cut(t, dir, lose), EmbeddedOptions{Now: s.now, create: create})
		if err != nil {
			t.Fatal(err)
		}
		defer after.Close()
		usage, err := after.Usage(p, RuleFor(p, UsageGet), s.now)
		if err != nil || usage.Used != s.told[p.Tenant] {
			t.Fatalf("after a power cut %d used, %d acknowledged (%v)", usage.Used, s.told[p.Tenant], err)
		}
		if usage, err := after.Usage(s.live, RuleFor(s.live, UsageGet), s.now); err != nil || usage.Used > s.told[s.live.Tenant] {
			t.Fatalf("after a power cut %d live calls, %d acknowledged (%v)", usage.Used, s.told[s.live.Tenant], err)
		}
		if replyKey == "" {
			return
		}
		claim, err := after.Begin(Ticket{Principal: p, Rule: RuleFor(p, PricesBatch)}, replyKey, BodyHash{1}, s.now)
		if err != nil || claim.Outcome != Replay {
			t.Fatalf("after a power cut: %+v (%v)", claim, err)
		}
	}
	look := func(p *Principal, replyKey string) {
		t.Helper()
		for _, lose := range []float64{1, 0.5, 0.5, 0.1, 0} {
			lookOnce(p, replyKey, lose)
		}
	}
	for i := range 5 {
		for range 30 { // a few sectors
			s.call(live, CardsGet, true)
		}
		s.call(preview, ProductsList, true)
		for range 30 {
			s.call(live, CardsGet, true)
		}
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
