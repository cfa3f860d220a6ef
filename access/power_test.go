package access

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/internal/disk/disktest"
)

// cutPower copies a state directory as a power cut could leave it.
func cutPower(t *testing.T, disk *disktest.Disk, lose float64) string {
	t.Helper()
	out := t.TempDir()
	seed := rand.Uint64()
	t.Logf("power cut by seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 1))
	if err := disktest.WriteFiles(out, disk.AfterPowerCut(func() bool { return dice.Float64() < lose })); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPowerCut cuts the power right after acknowledged credits: all of them, and the replies of
// batches, are on disk. Live calls are there within 100 ms.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for kind, mapped := range disktest.Kinds(t) {
		t.Run(kind, func(t *testing.T) { t.Parallel(); powerCuts(t, mapped) })
	}
}

func powerCuts(t *testing.T, mapped bool) {
	t.Helper()
	live, preview := faultKeys(t)
	disk := disktest.OfKind(mapped, nil)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, statedir.LogName), 0o700); err != nil {
		t.Fatal(err)
	}
	disk.Watch(dir)
	script := &faultScript{
		t: t, live: live, preview: preview, now: instant(testTime),
		tried: map[string]int64{}, acked: map[string]int64{}, replies: map[string]string{},
	}

	var err error
	options := LocalOptions{Now: script.now, CheckpointEvery: time.Hour, Seams: state.Seams{Disk: disk}}
	script.store, err = OpenLocal(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	defer script.store.Close()

	lookOnce := func(p *keys.Principal, replyKey string, lose float64) {
		t.Helper()
		seams := state.Seams{Disk: disktest.OfKind(mapped, nil)}
		after, err := OpenLocal(cutPower(t, disk, lose), LocalOptions{Now: script.now, Seams: seams})
		if err != nil {
			t.Fatal(err)
		}
		defer after.Close()
		usage, err := after.Usage(p, SpecFor(p, UsageGet), script.now)
		if err != nil || usage.Used != script.acked[p.Tenant] {
			t.Fatalf("after a power cut %d used, %d acknowledged (%v)", usage.Used, script.acked[p.Tenant], err)
		}
		usage, err = after.Usage(script.live, SpecFor(script.live, UsageGet), script.now)
		if err != nil || usage.Used > script.acked[script.live.Tenant] {
			t.Fatalf("after a power cut %d live calls, %d acknowledged (%v)",
				usage.Used, script.acked[script.live.Tenant], err)
		}
		if replyKey == "" {
			return
		}
		ticket := Reservation{Principal: p, Spec: SpecFor(p, PricesBatch)}
		claim, err := after.Begin(ticket, replyKey, BodyHash{1}, script.now)
		if err != nil || claim.Result != Replay {
			t.Fatalf("after a power cut: %+v (%v)", claim, err)
		}
	}

	look := func(p *keys.Principal, replyKey string) {
		t.Helper()
		for _, lose := range []float64{1, 0.5, 0.5, 0.1, 0} {
			lookOnce(p, replyKey, lose)
		}
	}

	for i := range 5 {
		for range 30 { // a few sectors
			script.call(live, CardsGet, true)
		}
		script.call(preview, ProductsList, true)
		for range 30 {
			script.call(live, CardsGet, true)
		}
		look(preview, "")
		script.batch(string(rune('a' + i)))
		look(preview, string(rune('a'+i)))
		if i == 2 {
			if err := script.store.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
			look(preview, "a")
		}
	}

	script.call(live, CardsGet, true)
	deadline := time.Now().Add(time.Minute) // 100 ms where nothing else runs
	for !disk.Synced() {
		if time.Now().After(deadline) {
			t.Fatal("a live call is not on disk after a minute")
		}
		time.Sleep(time.Millisecond)
	}

	look(live, "")
}
