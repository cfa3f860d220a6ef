//go:build unix

package access

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

const (
	crashDirEnv   = "NINEPOCKET_TEST_CRASH_DIR"
	crashRoundEnv = "NINEPOCKET_TEST_CRASH_ROUND"
	crashKindEnv  = "NINEPOCKET_TEST_CRASH_KIND" // of segments
	crashWorkers  = 6                            // of each kind: the most calls of a tenant in flight
)

// crashPrincipals writes the keys file that parent and child share, and returns its principals by
// tenant.
func crashPrincipals(t testing.TB, dir string) map[string]*keys.Principal {
	t.Helper()
	plans := keys.DefaultPlans()
	plans.Set("org", keys.Plan{PerMinute: 10_000_000, Credits: 1 << 50})
	plans.Set("pace", keys.Plan{PerMinute: 30, PerDay: 1 << 50})
	f, err := keys.Read(dir)
	if errors.Is(err, keys.ErrNoFile) {
		err = keys.Update(dir, func(file *keys.File) error {
			kinds := map[string]keys.Surface{
				"live": keys.Live, "pace": keys.Live, "get": keys.Preview, "batch": keys.Preview,
			}
			for tenant, kind := range kinds {
				plan := map[string]string{"live": "unlimited", "pace": "pace", "get": "org", "batch": "org"}[tenant]
				if _, _, err := file.Create(keys.NewKey{Tenant: tenant, Surface: kind, Plan: plan},
					testTime); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			f, err = keys.Read(dir)
		}
	}

	if err != nil {
		t.Fatal(err)
	}

	out := map[string]*keys.Principal{}
	for _, key := range f.Keys {
		out[key.Tenant] = principalOf(f, key, plans)
	}
	return out
}

func openCrash(t testing.TB, dir, kind string, clock Clock) *LocalStore {
	t.Helper()
	store, err := OpenLocal(dir, LocalOptions{
		Now: clock.At(time.Now()), MaxIdempotencyRecords: 1 << 30, CheckpointEvery: 15 * time.Millisecond,
		Seams: state.Seams{Disk: disktest.OfKind(kind == "mapped", nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestCrashChild is the process that is killed: workers charge as fast as they can and say each
// success on standard output once it was acknowledged.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDirEnv)
	if dir == "" {
		t.Skip("run by TestCrash")
	}

	clock := StartClock(time.Now())
	who := crashPrincipals(t, dir)
	store := openCrash(t, dir, os.Getenv(crashKindEnv), clock)
	say := func(format string, args ...any) { os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") }
	say("ready")

	for worker := range crashWorkers {
		for tenant, op := range map[string]Operation{"live": CardsGet, "pace": CardsGet, "get": ProductsList} {
			go func() {
				for {
					now := clock.At(time.Now())
					decision := store.Admit(who[tenant], SpecFor(who[tenant], op), now)
					if decision.Result == RateLimited {
						time.Sleep(time.Millisecond)
						continue
					}
					if _, err := store.Finish(decision.Reservation, true); err != nil {
						say("error %v", err)
						return
					}
					say("%s %d", tenant, now.Wall)
				}
			}()
		}

		go func() {
			for n := 0; ; n++ {
				key := crashKey(os.Getenv(crashRoundEnv), worker, n)
				if err := crashBatch(store, who["batch"], clock, key); err != nil {
					say("error %v", err)
					return
				}
				say("batch %d %d", worker, n)
			}
		}()
	}

	time.Sleep(time.Minute)
	t.Fatal("nobody killed me")
}

func crashKey(round string, worker, n int) string { return fmt.Sprintf("r%s-w%d-%d", round, worker, n) }

func crashBatch(store *LocalStore, p *keys.Principal, clock Clock, key string) error {
	now := clock.At(time.Now())
	decision := store.Admit(p, SpecFor(p, PricesBatch), now)
	claim, err := store.Begin(decision.Reservation, key, BodyHash{7}, now)
	if err != nil || claim.Result != Fresh {
		return fmt.Errorf("begin %s: %v %w", key, claim.Result, err)
	}

	_, err = store.Commit(decision.Reservation, claim, []byte("reply of "+key))
	return err
}

// TestCrash kills a process that charges, again and again, and compares its files with the
// acknowledged calls: 0 <= charged - acknowledged <= in flight. Every charged batch has its reply,
// and no minute window opens. NINEPOCKET_TORTURE gives the number of rounds.
func TestCrash(t *testing.T) {
	t.Parallel()
	rounds := 15 / testsweep.Stride(3)
	if text := os.Getenv("NINEPOCKET_TORTURE"); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
	}

	for kind := range disktest.Kinds(t) {
		t.Run(kind, func(t *testing.T) { t.Parallel(); crashRounds(t, kind, rounds) })
	}
}

func crashRounds(t *testing.T, kind string, rounds int) {
	t.Helper()
	dir := t.TempDir()
	before := map[string]int64{}
	var paced []int64
	total := int64(0)
	beyond := int64(0)
	for round := range rounds {
		if round%50 == 49 {
			dir = t.TempDir()
			before = map[string]int64{}
			paced = nil
		}

		acks := runCrash(t, dir, kind, round)
		clock := StartClock(time.Now())
		store := openCrash(t, dir, kind, clock)
		after := crashCharged(t, store)
		for _, tenant := range []string{"live", "pace", "get", "batch"} {
			acked := int64(len(acks[tenant]))
			charged := after[tenant] - before[tenant]
			if over := charged - acked; over < 0 || over > crashWorkers {
				t.Fatalf("round %d: %s charged %d, acknowledged %d", round, tenant, charged, acked)
			}
			total += acked
			beyond += charged - acked
		}

		batches := crashBatches{store: store, clock: clock, p: crashPrincipals(t, dir)["batch"], round: round}
		batches.check(t, acks["batch"], after["batch"]-before["batch"])
		for _, ack := range acks["pace"] {
			wall, _ := strconv.ParseInt(ack, 10, 64)
			paced = append(paced, wall)
		}
		before = crashCharged(t, store)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}

	slices.Sort(paced)
	for i := 30; i < len(paced); i++ {
		if paced[i]-paced[i-30] < calendar.MinuteMillis-2 { // two clocks round to a millisecond
			t.Fatalf("31 admissions within %d ms", paced[i]-paced[i-30])
		}
	}

	t.Logf("%d rounds: %d charges acknowledged, %d more stand", rounds, total, beyond)
	if total < int64(rounds) {
		t.Fatal("the child hardly ran")
	}
}

// runCrash runs the child and kills it; it returns what it acknowledged, by tenant.
func runCrash(t *testing.T, dir, kind string, round int) map[string][]string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	// Folders that a killed child leaves are removed with those of this process.
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), crashDirEnv+"="+dir, crashRoundEnv+"="+strconv.Itoa(round),
		crashKindEnv+"="+kind)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()

	acks := map[string][]string{}
	var once sync.Once
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line cut off was not received
		}

		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "ready":
			once.Do(func() {
				time.AfterFunc(time.Duration(rand.IntN(120))*time.Millisecond, func() { cmd.Process.Kill() })
			})
		case "live", "pace", "get", "batch":
			acks[kind] = append(acks[kind], rest)
		default:
			cmd.Process.Kill()
			t.Errorf("round %d: child says %q", round, line)
		}
	}
	return acks
}

func crashCharged(t *testing.T, store *LocalStore) map[string]int64 {
	t.Helper()
	rows, err := store.Ledger("", 0)
	if err != nil {
		t.Fatal(err)
	}

	charged := map[string]int64{}
	for _, row := range rows {
		charged[row.Tenant] += row.Charged
	}
	return charged
}

// crashBatches asks a store, after a crash, for the batches of a round.
type crashBatches struct {
	store *LocalStore
	clock Clock
	p     *keys.Principal
	round int
}

// check replays every acknowledged batch, and looks for the reply of the one each worker may have
// had in flight.
func (b *crashBatches) check(t *testing.T, acks []string, charged int64) {
	t.Helper()
	next := map[int]int{}
	replayed := func(worker, n int) bool {
		now := b.clock.At(time.Now())
		key := crashKey(strconv.Itoa(b.round), worker, n)
		ticket := Reservation{Principal: b.p, Spec: SpecFor(b.p, PricesBatch), Now: now}
		claim, err := b.store.Begin(ticket, key, BodyHash{7}, now)
		if err != nil {
			t.Fatal(err)
		}
		return claim.Result == Replay && string(claim.Reply) == "reply of "+key
	}

	for _, ack := range acks {
		var worker, n int
		if _, err := fmt.Sscan(ack, &worker, &n); err != nil {
			t.Fatal(err)
		}
		if !replayed(worker, n) {
			t.Fatalf("round %d: the reply of acknowledged batch %s is gone", b.round, ack)
		}
		next[worker] = max(next[worker], n+1)
	}

	stand := int64(len(acks))
	for worker := range crashWorkers {
		if replayed(worker, next[worker]) {
			stand++
		}
	}

	if stand != charged {
		t.Fatalf("round %d: %d batches charged, %d replies kept", b.round, charged, stand)
	}
}
