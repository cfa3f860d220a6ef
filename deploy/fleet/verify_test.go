package fleet_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/deploy/fleet"
)

// verify compares the clients' observations with the bills and the servers' logs.
func (w *torture) verify() {
	w.Helper()
	for _, fault := range w.faults {
		w.Error(fault)
	}
	logged := w.logged()
	w.Logf("%d calls, of which %d stand in access logs", len(w.calls), len(logged))
	w.minutes(logged)
	w.billed()
	w.replays()
	w.walked()
}

// line is a line of an access log.
type line struct {
	Time     time.Time `json:"time"`
	ID       string    `json:"request_id"`
	Tenant   string    `json:"tenant"`
	Status   int       `json:"status"`
	Snapshot string    `json:"snapshot_id"`
	Took     int64     `json:"duration_us"`
}

// logged reads the access logs. Lines of the last second before a kill may be missing, and the last
// one may be torn.
func (w *torture) logged() map[string]line {
	w.Helper()
	all := map[string]line{}
	for _, name := range fleet.Servers {
		file, err := os.Open(filepath.Join(w.Folder(name), "access.log"))
		if err != nil {
			w.Fatal(err)
		}
		defer file.Close()

		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var one line
			if err := json.Unmarshal(lines.Bytes(), &one); err == nil && one.ID != "" {
				if _, twice := all[one.ID]; twice {
					w.Errorf("request %s stands twice in the access logs", one.ID)
				}
				all[one.ID] = one
			}
		}
	}
	return all
}

// span is when a call was admitted: some time in it.
type span struct{ from, to time.Time }

// inMinute is how many calls were certainly admitted within some 60 seconds.
func inMinute(all []span) (peak int) {
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	for i, first := range all {
		end := first.from.Add(time.Minute - time.Millisecond)
		n := 0
		for _, other := range all[i:] {
			if other.from.After(end) {
				break
			}
			if !other.to.After(end) {
				n++
			}
		}
		peak = max(peak, n)
	}
	return peak
}

// TestInMinute counts calls around the edges of a minute.
func TestInMinute(t *testing.T) {
	at := func(from, took time.Duration) span {
		begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(from)
		return span{begin, begin.Add(took)}
	}

	const ms = time.Millisecond
	for _, test := range []struct {
		last span
		want int
	}{
		{at(59*time.Second, ms), 4},            // within it
		{at(59*time.Second+998*ms, ms), 4},     // just so
		{at(59*time.Second+999*ms, ms), 3},     // it may have been admitted after it
		{at(61*time.Second, ms), 3},            // after it
		{at(58*time.Second, 3*time.Second), 3}, // it began within it, and may have been admitted after it
	} {
		all := []span{test.last, at(0, ms), at(10*time.Second, ms), at(20*time.Second, 5*time.Second)}
		if got := inMinute(all); got != test.want {
			t.Errorf("with a last call from %s to %s: %d, want %d", test.last.from, test.last.to, got, test.want)
		}
	}
}

// minutes checks that no 60 seconds exceed the plan. A call was admitted between the arrival of its
// whole request and the end of its response: only calls that lie wholly in a span count in it.
func (w *torture) minutes(logged map[string]line) {
	w.Helper()
	for _, tenant := range tenants {
		var all []span
		for _, one := range w.calls {
			if one.tenant != tenant.name || one.status != http.StatusOK {
				continue
			}
			s := span{one.sent, one.got}
			if l, ok := logged[one.id]; ok {
				if l.Status != one.status || l.Tenant != one.tenant || l.Snapshot != one.snapshot {
					w.Errorf("%s was answered %d of %s, and is logged as %+v", one.id, one.status, one.snapshot, l)
				}
				// The log cuts times to the millisecond.
				s = span{l.Time, l.Time.Add(time.Duration(l.Took)*time.Microsecond + time.Millisecond)}
			}
			all = append(all, s)
		}

		peak := inMinute(all)
		w.Logf("%s: %d calls answered, at most %d of %d in 60 s", tenant.name, len(all), peak, tenant.perMinute)
		if peak > tenant.perMinute {
			w.Errorf("%s had %d calls in 60 s, of %d", tenant.name, peak, tenant.perMinute)
		}
		if tenant.perMinute <= 120 && peak < tenant.perMinute*3/4 {
			w.Errorf("%s had %d calls in 60 s at most: the test asks too little", tenant.name, peak)
		}
	}
}

// charges are the ledger's charges of each tenant.
func (w *torture) charges() map[string]int64 {
	w.Helper()
	out, err := w.Ninepocket(w.Context(), "usage", "--control", w.Control(), "--totals", "--json")
	if err != nil {
		w.Fatal(err)
	}
	var report struct {
		Totals []struct {
			Tenant           string
			Charged, Credits int64
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		w.Fatalf("%v in %s", err, out)
	}

	all := map[string]int64{}
	for _, total := range report.Totals {
		all[total.Tenant] += total.Charged + total.Credits
	}
	return all
}

// billed checks that every successful call is billed once, and that all other charges are for
// calls of unknown outcome. The servers' own logs must agree with the database.
func (w *torture) billed() {
	w.Helper()
	answered := map[string]int64{}
	unknown := map[string]int64{}
	refused := map[int]int{}
	for _, one := range w.calls {
		switch {
		case one.status == http.StatusOK:
			answered[one.tenant]++
		case one.unknown():
			unknown[one.tenant]++
		default:
			refused[one.status]++
		}
	}
	w.Logf("refused by servers: %v", refused)

	// Of batches only those count that are no repetition.
	for _, tenant := range []string{"partner", "poor"} {
		answered[tenant] = 0
		unknown[tenant] = 0
		for name, all := range w.batches {
			switch {
			case !strings.Contains(name, "-"+tenant+"-"):
			case len(all.answers) > 0:
				answered[tenant]++
			case all.unknown:
				unknown[tenant]++
			}
		}
	}
	answered["partner"]++ // the page of products

	ledger := w.charges()
	for tenant, n := range answered {
		charged := ledger[tenant]
		w.Logf("%s: %d answered, %d charged, %d unknown", tenant, n, charged, unknown[tenant])
		if charged < n || charged > n+unknown[tenant] {
			w.Errorf("%s: %d calls were answered, of %d nobody knows, and %d are charged", tenant, n, unknown[tenant],
				charged)
		}
	}
	if ledger["poor"] > credits || ledger["poor"] < credits-2 {
		w.Errorf("of %d credits %d are charged", credits, ledger["poor"])
	}

	w.Stop()
	local := map[string]int64{}
	for _, name := range fleet.Servers {
		rows, err := access.ReadLedger(filepath.Join(w.Folder(name), "state"), "", 0, 1<<20)
		if err != nil {
			w.Fatal(err)
		}
		for _, row := range rows {
			local[row.Tenant] += row.Charged
		}
	}
	for tenant, charged := range ledger {
		if local[tenant] != charged {
			w.Errorf("%s: the database has %d charges, the servers' own logs %d", tenant, charged, local[tenant])
		}
	}
}

// replays checks that the responses of a batch are equal, and that at most one is charged.
func (w *torture) replays() {
	w.Helper()
	repeated := 0

	for name, batch := range w.batches {
		all := batch.answers
		charged := 0
		for _, one := range all {
			charged += one.units
			if one.data != all[0].data {
				w.Errorf("batch %s is answered %s and %s", name, all[0].data, one.data)
			}
			if one.replay == (one.units > 0) {
				w.Errorf("batch %s: %+v", name, one)
			}
		}

		if charged > 1 {
			w.Errorf("batch %s is charged %d times: %+v", name, charged, all)
		}
		if len(all) > 1 {
			repeated++
		}
	}

	w.Logf("%d batches, of which %d were answered more than once", len(w.batches), repeated)
	if repeated < 20 {
		w.Errorf("only %d batches were repeated: the test asks too little", repeated)
	}
}

// walked checks that each pagination of one snapshot shows every card once. If a server was
// restarted, a pagination that began before two releases may have continued in another snapshot.
func (w *torture) walked() {
	w.Helper()
	whole := 0
	mixed := 0
	size := map[string]int{}

	for _, walk := range w.walks {
		cards := slices.Clone(walk.cards)
		slices.Sort(cards)
		switch {
		case !walk.whole:
			continue
		case len(walk.snapshots) > 1:
			mixed++
			continue
		case len(slices.Compact(slices.Clone(cards))) != len(cards):
			w.Errorf("a walk through %v shows a card twice", walk.snapshots)
		}
		whole++
		for id := range walk.snapshots {
			if known := size[id]; known != 0 && known != len(cards) {
				w.Errorf("a walk through %s shows %d cards, another one %d", id, len(cards), known)
			}
			size[id] = len(cards)
		}
	}

	w.Logf("%d whole walks through %d snapshots, %d that went on in another one", whole, len(size), mixed)
	if whole < 20 || len(size) < 3 {
		w.Errorf("only %d walks through %d snapshots were whole: the test asks too little", whole, len(size))
	}
}
