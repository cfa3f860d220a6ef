package access

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/wal/waltest"
)

// cutPower copies a state directory as a power cut could leave it.
func cutPower(t *testing.T, disk *waltest.PowerDisk, dir string, lose float64) string {
	t.Helper()
	out := t.TempDir()
	data, err := os.ReadFile(filepath.Join(dir, statedir.CheckpointName))
	if err == nil {
		err = os.WriteFile(filepath.Join(out, statedir.CheckpointName), data, 0o600)
	}
	if err := errors.Join(err, os.Mkdir(filepath.Join(out, statedir.LogName), 0o700)); err != nil {
		t.Fatal(err)
	}

	disk.Cut(t, dir, out, lose)
	return out
}

// TestPowerCut cuts the power right after acknowledged credits: all of them, and the replies of
// batches, are on disk. Live calls are there within 100 ms.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for kind, create := range waltest.Kinds(t) {
		t.Run(kind, func(t *testing.T) { t.Parallel(); powerCuts(t, create) })
	}
}

func powerCuts(t *testing.T, create waltest.Create) {
	t.Helper()
	live, preview := faultKeys(t)
	disk := &waltest.PowerDisk{Make: create}
	dir := t.TempDir()
	script := &faultScript{
		t: t, live: live, preview: preview, now: instant(testTime),
		tried: map[string]int64{}, told: map[string]int64{}, replies: map[string]string{},
	}

	var err error
	options := EmbeddedOptions{Now: script.now, CheckpointEvery: time.Hour, create: disk.Create}
	script.store, err = OpenEmbedded(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	defer script.store.Close()

	lookOnce := func(p *keys.Principal, replyKey string, lose float64) {
		t.Helper()
		after, err := OpenEmbedded(cutPower(t, disk, dir, lose), EmbeddedOptions{Now: script.now, create: create})
		if err != nil {
			t.Fatal(err)
		}
		defer after.Close()
		usage, err := after.Usage(p, RuleFor(p, UsageGet), script.now)
		if err != nil || usage.Used != script.told[p.Tenant] {
			t.Fatalf("after a power cut %d used, %d acknowledged (%v)", usage.Used, script.told[p.Tenant], err)
		}
		usage, err = after.Usage(script.live, RuleFor(script.live, UsageGet), script.now)
		if err != nil || usage.Used > script.told[script.live.Tenant] {
			t.Fatalf("after a power cut %d live calls, %d acknowledged (%v)",
				usage.Used, script.told[script.live.Tenant], err)
		}
		if replyKey == "" {
			return
		}
		ticket := Ticket{Principal: p, Rule: RuleFor(p, PricesBatch)}
		claim, err := after.Begin(ticket, replyKey, BodyHash{1}, script.now)
		if err != nil || claim.Outcome != Replay {
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
