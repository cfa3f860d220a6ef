package access

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

// heap is what is live.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTenMinutesOfBatches has a tenant of the plan business send fresh batches at its full rate for
// ten minutes of virtual time, with a checkpoint every ten seconds: none is refused. A reply takes
// at most 200 bytes of memory, all replies can be repeated, and ten minutes later the memory is
// free again.
func TestTenMinutesOfBatches(t *testing.T) { // not parallel: it measures memory
	testsweep.OnlyFull(t)
	f := keys.NewFile()
	_, raw := mustCreate(t, f, keys.NewKey{
		Tenant: "partner", Surface: keys.Preview, Plan: "business", Credits: new(int64(100_000)),
	})
	ring, err := keys.FixedRing(f, keys.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	now := instant(testTime)
	p, err := ring.FindCached([]byte(raw), now.Wall, nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenLocal(t.TempDir(), LocalOptions{
		Now: now, boot: noBoot,
		Seams: state.Seams{Inline: true, Disk: disktest.Unsynced(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	pass := func(ms int64) {
		now.Mono += ms
		now.Wall += ms
	}
	// A reply of 50 prices takes about this much.
	noise := rand.NewChaCha8([32]byte{})
	reply := make([]byte, 300)
	send := func(n int, want ClaimResult) {
		t.Helper()
		decision := store.Admit(p, SpecFor(p, PricesBatch), now)
		for ; decision.Result == RateLimited; decision = store.Admit(p, SpecFor(p, PricesBatch), now) {
			pass(10) // above 1,000 a minute, a unit frees up to 0.1 s late (decision 12)
		}
		if decision.Result != Admitted {
			t.Fatalf("batch %d: %v", n, decision.Result)
		}
		key := fmt.Sprintf("0b1f5a52-6a6e-4b0e-9d3c-%012d", n)
		claim, err := store.Begin(decision.Reservation, key, BodyHash{byte(n)}, now)
		if err != nil || claim.Result != want {
			t.Fatalf("batch %d: outcome %v (%v)", n, claim.Result, err)
		}
		if want == Fresh {
			noise.Read(reply)
			_, err = store.Commit(decision.Reservation, claim, reply)
		} else {
			_, err = store.Finish(decision.Reservation, false)
		}
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
	}
	save := func() {
		t.Helper()
		if err := store.SaveCheckpoint(); err != nil {
			t.Fatal(err)
		}
	}

	send(0, Fresh) // what is made once is made
	save()
	pass(calendar.MinuteMillis)
	before := heap()

	batches := 0
	for end := now.Mono + ReplyMillis; now.Mono < end; pass(10) {
		batches++
		send(batches, Fresh)
		if batches%1000 == 0 {
			save()
		}
	}
	save()
	if batches < 59_800 {
		t.Fatalf("only %d batches in ten minutes", batches)
	}
	if stats := store.Stats(); stats.Replies < batches-1 || stats.ReplyBytes != 0 {
		t.Fatalf("%d replies, %d bytes wait for a checkpoint", stats.Replies, stats.ReplyBytes)
	}
	each := float64(heap()-before) / float64(batches)
	t.Logf("%.0f bytes of memory a kept reply", each)
	if each > 200 {
		t.Errorf("a kept reply takes %.0f bytes", each)
	}

	for n := 2000; n <= batches; n += 5000 {
		send(n, Replay)
	}

	// The next checkpoint after their time lets go of them; virtual time passes with a call.
	pass(ReplyMillis + 2*calendar.MinuteMillis)
	if _, err := store.Finish(store.Admit(p, SpecFor(p, ProductsList), now).Reservation, false); err != nil {
		t.Fatal(err)
	}
	save()
	left := float64(heap()-before) / float64(batches)
	t.Logf("%.0f bytes ten minutes later", left)
	if stats := store.Stats(); stats.Replies != 0 || left > 20 {
		t.Errorf("%d replies and %.0f bytes each are left after their time", stats.Replies, left)
	}
	runtime.KeepAlive(store)
}

// TestRepliesThatCannotBeWritten keeps replies in memory while no checkpoint can be written, and not
// without bound.
func TestRepliesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	_, preview := faultKeys(t)
	now := instant(testTime)
	store, err := OpenLocal(t.TempDir(), LocalOptions{
		Now: now, boot: noBoot,
		Seams: state.Seams{Inline: true, Disk: disktest.Unsynced(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	// So much noise takes long, so make test has room for less of it.
	if store.maxUnsaved != maxUnsavedBytes {
		t.Fatalf("room for %d bytes, want %d", store.maxUnsaved, maxUnsavedBytes)
	}
	store.maxUnsaved /= int64(testsweep.Stride(8))

	noise := rand.NewChaCha8([32]byte{})
	reply := make([]byte, 2<<20)
	noise.Read(reply)
	stored := 0
	for n := range 64 {
		now.Mono += int64(time.Second / time.Millisecond)
		decision := store.Admit(preview, SpecFor(preview, PricesBatch), now)
		claim, err := store.Begin(decision.Reservation, fmt.Sprint(n), BodyHash{1}, now)
		if full, ok := errors.AsType[*IdempotencyFullError](err); ok {
			if full.Records != 0 || full.RetryAfter < 1 {
				t.Fatalf("%+v", full)
			}
			break
		}
		if _, err := store.Commit(decision.Reservation, claim, reply); err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if room := int(store.maxUnsaved); stored*len(reply) < room || stored*len(reply) > room+2*len(reply) {
		t.Fatalf("%d replies were kept in memory", stored)
	}

	if err := store.SaveCheckpoint(); err != nil {
		t.Fatal(err)
	}
	decision := store.Admit(preview, SpecFor(preview, PricesBatch), now)
	claim, err := store.Begin(decision.Reservation, "another", BodyHash{1}, now)
	if err != nil || claim.Result != Fresh {
		t.Fatalf("after a checkpoint: %+v (%v)", claim, err)
	}
}

// TestRoomInMemory bounds the replies of a Memory store by a tenant's records, within 64 MiB and 1 GiB.
func TestRoomInMemory(t *testing.T) {
	for options, want := range map[MemoryOptions]int64{
		{}:                                 64 << 20,
		{MaxIdempotencyRecords: 10}:        64 << 20,
		{MaxIdempotencyRecords: 1_000_000}: 512_000_000,
		{MaxIdempotencyRecords: 1 << 62}:   1 << 30,
		{MaxIdempotencyRecords: 1_000_000, MaxReplyBytes: 7}: 7,
	} {
		if got := NewMemory(options).maxUnsaved; got != want {
			t.Errorf("%+v has room for %d bytes, want %d", options, got, want)
		}
	}
}
