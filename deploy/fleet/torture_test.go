package fleet_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/deploy/fleet"
	"ninepocket/internal/synth"
)

// tenants of the live API, with their plans: the first three ask more than their minute allows.
var tenants = []struct {
	name, plan string
	perMinute  int
	pace       time.Duration
}{
	{"little", "free", 30, 300 * time.Millisecond},
	{"middle", "starter", 120, 100 * time.Millisecond},
	{"large", "pro", 600, 30 * time.Millisecond},
	{"huge", "business", 6000, 20 * time.Millisecond},
	{"walker", "business", 6000, 50 * time.Millisecond},
}

// credits of the second partner, who requests more. The shortest load has about 40 new batches of it: its plan admits
// 60 requests a minute, and half of them are repetitions.
const credits = 20

// torture is a fleet under load with injected faults.
type torture struct {
	*testing.T
	*fleet.Fleet
	*client
	folder string
	day    int
	mu     sync.Mutex // locked while a day is published
	ways   *ways

	revocations int // of keys that were held to two seconds
}

// TestTortureFleet kills and pauses each process of a fleet in turn, under load. Then it compares
// the clients' observations with the bills (docs/dev/FAULTS.md). It requires every engine.
func TestTortureFleet(t *testing.T) {
	if os.Getenv("NINEPOCKET_TORTURE") == "" {
		t.Skip("skipped: faults of a whole fleet, which make torture-fleet does")
	}
	if err := fleet.Missing(); err != nil {
		t.Fatal(err)
	}
	w := begin(t, "")
	defer w.Stop()

	keys := w.keys()
	products := w.products(keys["partner"])
	w.higherPlan(fleet.Servers[2])
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	w.asks(ctx, &load, keys, products)

	pause(ctx, 5*time.Second)
	began := time.Now()
	faults := 2
	rounds, err := strconv.Atoi(os.Getenv("NINEPOCKET_TORTURE"))
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		server := fleet.Servers[round%len(fleet.Servers)]
		for _, engine := range slices.Sorted(maps.Keys(engines)) {
			for _, state := range []network{blackHole, refuses, slow} {
				w.cutOff(server, engine, state)
				faults++
			}
		}
		w.revoked(round)
	}
	w.importPlans()

	for _, name := range w.Names() {
		w.killed(name)
		w.paused(name)
		faults += 2
	}
	// Whichever it is by now.
	w.killed(w.primary())
	w.paused(w.primary())
	// At the end: faults that a restart would repair show.
	for round := range rounds {
		w.restored(ctx, rounds+round)
		faults++
	}
	w.Logf("%d faults in %s; %d keys were held to two seconds after their revocation", faults,
		time.Since(began).Round(time.Second), w.revocations)

	pause(ctx, 3*time.Second)
	stop()
	load.Wait()
	w.settled()
	w.verify()
}

// keys makes the keys of all tenants, and waits until all servers hear of them.
func (w *torture) keys() map[string]string {
	w.Helper()
	keys := map[string]string{}
	for _, tenant := range tenants {
		keys[tenant.name] = w.key(tenant.name, "live", tenant.plan)
	}
	keys["partner"] = w.key("partner", "preview", "preview")
	keys["poor"] = w.key("poor", "preview", "preview", "--credits", fmt.Sprint(credits))
	pause(w.Context(), 3*time.Second)
	return keys
}

// asks starts all clients, what watches the servers, and a publication every 15 seconds, until ctx is done.
func (w *torture) asks(ctx context.Context, load *sync.WaitGroup, keys map[string]string, products []string) {
	for _, tenant := range tenants {
		for range 2 {
			if tenant.name == "walker" {
				load.Go(func() { w.walker(ctx, tenant.name, keys[tenant.name], tenant.pace) })
				continue
			}
			load.Go(func() { w.live(ctx, tenant.name, keys[tenant.name], tenant.pace) })
		}
	}

	for _, name := range []string{"partner", "poor"} {
		load.Go(func() { w.partner(ctx, name, keys[name], products, 500*time.Millisecond) })
	}
	for _, name := range fleet.Servers {
		load.Go(func() { w.watch(ctx, name) })
	}
	load.Go(func() {
		for ctx.Err() == nil {
			pause(ctx, 15*time.Second)
			w.publishes(ctx, "5s")
		}
	})
}

// begin builds the program and starts a fleet of it, or of another program.
func begin(t *testing.T, other string) *torture {
	t.Helper()
	// The path of a socket is short, and the user of PostgreSQL has to get there.
	folder, err := os.MkdirTemp("", "np") //nolint:usetesting // the reason is above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "ninepocket")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/ninepocket")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	w := &torture{T: t, folder: folder, ways: &ways{all: map[string]map[string]*way{}}}
	w.Fleet, err = fleet.Start(t.Context(), fleet.Options{
		Binary: cmp.Or(other, binary), Folder: filepath.Join(folder, "fleet"), Listen: "127.0.0.1:0",
		Catalog: w.writes(),
		Way:     w.ways.lead, OpenSentinels: other != "",
	})
	if err != nil {
		t.Fatal(err)
	}
	w.client = newClient(w.Fleet)
	return w
}

// writes writes the catalog of the next day.
func (w *torture) writes() string {
	raw := filepath.Join(w.folder, "raw")
	err := os.RemoveAll(raw)
	if err == nil {
		err = synth.Write(raw, synth.Options{Cards: 600, HistoryDays: 10, Day: w.day})
	}
	if err != nil {
		w.Fatal(err)
	}
	w.day++
	return raw
}

// publishes publishes the next day. While the store is away that fails, and the day after comes.
func (w *torture) publishes(ctx context.Context, in string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if err := w.Publish(context.WithoutCancel(ctx), w.writes(), in); err != nil {
		w.Logf("a day is not published: %.200v", err)
	}
}

func (w *torture) key(tenant, surface, plan string, more ...string) string {
	w.Helper()
	key, err := w.CreateKey(w.Context(), tenant, surface, plan, more...)
	if err != nil {
		w.Fatal(err)
	}
	return key
}

// products are some sealed products.
func (w *torture) products(key string) (ids []string) {
	w.Helper()
	one, text := w.ask(w.Context(), "partner", key, http.MethodGet, "/v1/products?kind=sealed&limit=20", "", "")
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &page); err != nil || one.status != http.StatusOK || len(page.Data) == 0 {
		w.Fatalf("%d %s", one.status, text)
	}
	for _, product := range page.Data {
		ids = append(ids, product.ID)
	}
	return ids
}

// away is how long a process is away: a Redis so long that another one takes over.
func away(name string) time.Duration {
	if slices.Contains(fleet.Redis, name) {
		return 8 * time.Second
	}
	return 3 * time.Second
}

// killed kills a process as kill -9 does, starts it again, and waits until all is well.
func (w *torture) killed(name string) {
	w.Helper()
	w.Kill(name)
	pause(w.Context(), away(name))
	began := time.Now()
	if err := w.Restart(w.Context(), name); err != nil {
		w.Fatalf("%s does not start again: %v", name, err)
	}
	w.healed("kill -9 of "+name, began)
}

// paused stops a process for a while, as a machine that hangs does.
func (w *torture) paused(name string) {
	w.Helper()
	w.Pause(name)
	pause(w.Context(), away(name))
	began := time.Now()
	w.Resume(name)
	w.healed("a pause of "+name, began)
}

// healed waits until everything is as before a fault, which takes 90 seconds at most.
func (w *torture) healed(after string, began time.Time) {
	w.Helper()
	for {
		wrong := w.ill()
		if wrong == "" {
			break
		}
		if time.Since(began) > 90*time.Second {
			w.Fatalf("90 s after %s: %s", after, wrong)
		}
		pause(w.Context(), 50*time.Millisecond)
	}
	w.Logf("%s: well %s later", after, time.Since(began).Round(10*time.Millisecond))
}

// ill returns the unhealthy part, "" for none.
func (w *torture) ill() string {
	for _, name := range w.Names() {
		if !w.Running(name) {
			return name + " ended"
		}
	}

	primary := w.primary()
	if primary == "" {
		return "no Redis has two replicas"
	}
	_, port, _ := strings.Cut(w.Places[primary], ":")
	for _, name := range fleet.Sentinels {
		if !strings.Contains(w.SendRedis(name, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "cards"), port) ||
			strings.Contains(w.SendRedis(name, "SENTINEL", "MASTER", "cards"), "_down") {
			return name + " does not know the primary"
		}
	}

	for _, name := range fleet.Servers {
		if !w.Ready(name)() {
			return name + " is not ready"
		}
		if !strings.Contains(w.metrics(name), "\nninepocket_fleet_redis_up 1") {
			return name + " has no rights to give"
		}
	}
	return ""
}

// primary is the Redis that the others follow, "" for none.
func (w *torture) primary() string {
	for _, name := range fleet.Redis {
		info := w.SendRedis(name, "INFO", "replication")
		if strings.Contains(info, "role:master") && strings.Count(info, "state=online") == 2 {
			return name
		}
	}
	return ""
}

// metrics are a server's metrics.
func (w *torture) metrics(name string) string {
	resp, err := w.http.Get("http://" + w.Places[name+"/admin"] + "/metrics")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var text strings.Builder
	_, _ = fmt.Fprint(&text, "\n")
	b := make([]byte, 1<<20)
	for {
		n, err := resp.Body.Read(b)
		text.Write(b[:n])
		if err != nil {
			return text.String()
		}
	}
}

// together checks that no server activated the last release long after its time. Tests of the
// engine show that none does so before its time.
func (w *torture) together() {
	w.Helper()
	for _, name := range fleet.Servers {
		_, rest, found := strings.Cut(w.metrics(name), "\nninepocket_fleet_activation_late_seconds ")
		text, _, _ := strings.Cut(rest, "\n")
		late, err := strconv.ParseFloat(text, 64)
		if !found || err != nil || late > 0.25 {
			w.Errorf("%s began with the last publication %q seconds late: %v", name, text, err)
		}
		w.Logf("%s began with the last publication %s s after its time", name, text)
	}
}

// settled waits until all servers serve one more release, and the ledger is complete.
func (w *torture) settled() {
	w.Helper()
	before := uint64(0)
	for _, name := range fleet.Servers {
		epoch, _ := w.served(w.Context(), name)
		before = max(before, epoch)
	}
	began := time.Now()
	w.publishes(w.Context(), "15s")

	for {
		var epochs []uint64
		pending := false
		for _, name := range fleet.Servers {
			epoch, _ := w.served(w.Context(), name)
			epochs = append(epochs, epoch)
			text := w.metrics(name)
			pending = pending || !strings.Contains(text, "\nninepocket_fleet_ledger_rows_pending 0") ||
				!strings.Contains(text, fmt.Sprintf("\nninepocket_fleet_published_epoch %d\n", epoch))
		}
		if !pending && epochs[0] > before && len(slices.Compact(epochs)) == 1 {
			break
		}
		if time.Since(began) > 90*time.Second {
			w.Fatalf("90 s after the last fault servers serve %v, rows wait: %v", epochs, pending)
		}
		pause(w.Context(), 100*time.Millisecond)
	}

	w.Logf("all serve the same, and the ledger has everything, %s after the last fault",
		time.Since(began).Round(100*time.Millisecond))
	pause(w.Context(), 6*time.Second) // one more report of each server
	w.together()
}
