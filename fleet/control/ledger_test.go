package control

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access"
	"ninepocket/calendar"
	"ninepocket/internal/postgrestest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgrestest.Stop()
	os.Exit(code)
}

// open opens an empty database.
func open(t *testing.T) (*DB, string) {
	t.Helper()
	url := postgrestest.Start(t).Database(t)
	return connect(t, url), url
}

func connect(t *testing.T, url string) *DB {
	t.Helper()
	db, err := openWithTimeout(t.Context(), url, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memorySource is a source of totals that a test writes.
type memorySource struct {
	mu    sync.Mutex
	rows  map[access.LedgerRow]access.Counts
	fresh map[access.LedgerRow]bool
	used  map[string]time.Time

	images string // hash of the folder that its server has
}

func newMemorySource() *memorySource {
	return &memorySource{
		rows: map[access.LedgerRow]access.Counts{}, fresh: map[access.LedgerRow]bool{}, used: map[string]time.Time{},
	}
}

// charge enters calls that were charged.
func (b *memorySource) charge(row access.LedgerRow, calls int64, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := b.rows[row]
	counts.Calls += calls
	counts.Charged += calls
	b.rows[row] = counts
	b.fresh[row] = true
	b.used[row.Key] = at
}

func (b *memorySource) Changed() ([]access.LedgerRow, map[string]time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rows []access.LedgerRow
	for row := range b.fresh {
		rows = append(rows, whole(row, b.rows[row]))
	}
	clear(b.fresh)
	return rows, b.uses(), nil
}

func (b *memorySource) Totals(since calendar.Day) ([]access.LedgerRow, map[string]time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rows []access.LedgerRow
	for row, counts := range b.rows {
		if row.Day >= since {
			rows = append(rows, whole(row, counts))
		}
	}
	clear(b.fresh)
	return rows, b.uses(), nil
}

func (b *memorySource) uses() map[string]time.Time {
	return maps.Clone(b.used)
}

func whole(row access.LedgerRow, counts access.Counts) access.LedgerRow {
	row.Counts = counts
	return row
}

// exporter returns an exporter for a source.
func exporter(t *testing.T, db *DB, serverID string, b *memorySource) *Exporter {
	t.Helper()
	ex, err := db.NewExporter(t.Context(), ExportOptions{
		ServerID: serverID, Host: "test", Version: "test", Source: b, Now: noon,
		Served: func() ServedState { return ServedState{"snapshot", 7, b.images, 0} },
	})
	do(t, err)
	ex.lastAggregation = noon() // for days to sum up: who wants that calls it
	return ex
}

const today = calendar.Day(20_000)

func noon() time.Time { return time.UnixMilli(today.Start()).Add(12 * time.Hour) }

func rowOf(tenant, key string, day calendar.Day) access.LedgerRow {
	return access.LedgerRow{Tenant: tenant, Key: key, Day: day, Operation: "get_card"}
}

// bills is the ledger as people see it.
func bills(t *testing.T, db *DB) map[access.LedgerRow]access.Counts {
	t.Helper()
	rows, err := db.ReadLedger(t.Context(), "", 0, calendar.Day(1<<30))
	do(t, err)
	out := map[access.LedgerRow]access.Counts{}
	for _, row := range rows {
		name := row
		name.Counts = access.Counts{}
		out[name] = row.Counts
	}
	return out
}

func sum(books ...*memorySource) map[access.LedgerRow]access.Counts {
	out := map[access.LedgerRow]access.Counts{}
	for _, b := range books {
		for row, counts := range b.rows {
			have := out[row]
			have.Calls += counts.Calls
			have.Charged += counts.Charged
			out[row] = have
		}
	}
	return out
}

func wantBills(t *testing.T, db *DB, books ...*memorySource) {
	t.Helper()
	if diff := cmp.Diff(sum(books...), bills(t, db)); diff != "" {
		t.Errorf("the ledger differs from what was charged (- charged, + ledger):\n%s", diff)
	}
}

// TestLedgerMerge sends the charges of three servers in statements that come twice, late, in
// another order, or not at all. In the end the ledger has all charges.
func TestLedgerMerge(t *testing.T) {
	db, _ := open(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(1, seed))
	books := []*memorySource{newMemorySource(), newMemorySource(), newMemorySource()}
	var exporters []*Exporter
	for i, b := range books {
		exporters = append(exporters, exporter(t, db, fmt.Sprint("server", i), b))
	}

	// The statements of a round, to be sent again at any time.
	type statement struct {
		of   int
		rows []access.LedgerRow
	}
	var past []statement
	enter := func(s statement) {
		var behind int64
		args := rowArguments(s.rows, exporters[s.of].options.ServerID)
		do(t, db.pool.QueryRow(t.Context(), mergeSQL, args...).Scan(&behind))
	}
	for round := range 40 {
		for i, b := range books {
			for range random.IntN(8) {
				row := rowOf(fmt.Sprint("tenant", random.IntN(3)), fmt.Sprint("key", random.IntN(4)),
					today-calendar.Day(random.IntN(3)))
				b.charge(row, 1+random.Int64N(5), time.UnixMilli(int64(round+1)))
			}
			rows, _, _ := b.Totals(0)
			slices.SortFunc(rows, access.CompareRows)
			if len(rows) > 0 {
				past = append(past, statement{i, rows})
			}

			// Lost, sent as it should be, or first overtaken by old ones.
			switch random.IntN(3) {
			case 0:
				do(t, exporters[i].Export(t.Context()))
			case 1:
				for range 3 {
					if len(past) > 0 {
						enter(past[random.IntN(len(past))])
					}
				}
			}
		}
	}

	random.Shuffle(len(past), func(i, j int) { past[i], past[j] = past[j], past[i] }) // air: an exchange
	for i, b := range books {
		for row := range b.rows {
			b.fresh[row] = true
		}
		do(t, exporters[i].Export(t.Context()))
	}
	for _, s := range past[:min(30, len(past))] {
		enter(s)
	}
	wantBills(t, db, books...)
}

// TestLateStatementsAreNoLoss checks the merge: a late statement must not count as a loss.
func TestLateStatementsAreNoLoss(t *testing.T) {
	db, _ := open(t)
	b := newMemorySource()
	ex := exporter(t, db, "a", b)
	row := rowOf("acme", "k", today)
	b.charge(row, 5, time.UnixMilli(1))
	do(t, ex.Export(t.Context()))
	late, _, _ := b.Totals(0)
	b.charge(row, 5, time.UnixMilli(2))
	do(t, ex.Export(t.Context()))

	var behind int64
	do(t, db.pool.QueryRow(t.Context(), mergeSQL, rowArguments(late, "a")...).Scan(&behind))
	b.charge(row, 1, time.UnixMilli(3))
	do(t, ex.Export(t.Context()))
	wantBills(t, db, b)
}

// again is a source that returns all its rows each time, as one without checkpoints.
type again struct{ *memorySource }

func (s again) Changed() ([]access.LedgerRow, map[string]time.Time, error) { return s.Totals(0) }

// TestNothingIsSentTwice asks a source that repeats itself.
func TestNothingIsSentTwice(t *testing.T) {
	server := postgrestest.Start(t)
	db, url := open(t)
	b := newMemorySource()
	ex := exporter(t, db, "a", b)
	ex.options.Source = again{b}
	for key := range 5 {
		b.charge(rowOf("acme", fmt.Sprint("k", key), today), 1, time.UnixMilli(1))
	}
	written := func() string {
		return server.SQL(t, url, "select string_agg(xmin::text, ' ' order by key) from ninepocket.ledger")
	}
	do(t, ex.Export(t.Context()))
	before := written()
	for range 3 {
		do(t, ex.Export(t.Context()))
	}
	if after := written(); after != before {
		t.Errorf("rows that did not change were written again: %s, then %s", before, after)
	}

	b.charge(rowOf("acme", "k0", today), 1, time.UnixMilli(2))
	do(t, ex.Export(t.Context()))
	wantBills(t, db, b)
	changed := 0
	old := strings.Fields(before)
	for i, version := range strings.Fields(written()) {
		if version != old[i] {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d rows were written, one changed", changed)
	}
}

// TestRestartGoesOn restarts a server that charged while nothing could be sent.
func TestRestartGoesOn(t *testing.T) {
	db, _ := open(t)
	b := newMemorySource()
	row := rowOf("acme", "k", today)
	b.charge(row, 3, time.UnixMilli(1000))
	first := exporter(t, db, "a", b)
	do(t, first.Export(t.Context()))
	b.charge(row, 4, time.UnixMilli(2000))

	second := exporter(t, db, "a", b)
	do(t, second.Export(t.Context()))
	wantBills(t, db, b)
	if err := first.Export(t.Context()); !errors.Is(err, ErrSessionTaken) {
		t.Errorf("a server whose place was taken reports on: %v", err)
	}

	used, err := db.ReadLastUse(t.Context())
	if err != nil || !used["k"].Equal(time.UnixMilli(2000)) {
		t.Errorf("the last use is %v, %v", used, err)
	}
}

// TestOlderCopyIsCountedOn restores a state directory from an older copy: the charges since stay in
// the bill, and new charges are added.
func TestOlderCopyIsCountedOn(t *testing.T) {
	db, _ := open(t)
	b := newMemorySource()
	row := rowOf("acme", "k", today)
	gone := rowOf("acme", "other", today)
	b.charge(row, 10, time.UnixMilli(1))
	b.charge(gone, 2, time.UnixMilli(1))
	do(t, exporter(t, db, "a", b).Export(t.Context()))

	// The copy is of when there were 4 calls of one key.
	old := newMemorySource()
	old.charge(row, 4, time.UnixMilli(1))
	ex := exporter(t, db, "a", old)
	old.charge(row, 1, time.UnixMilli(2))
	old.charge(gone, 1, time.UnixMilli(2))
	do(t, ex.Export(t.Context()))

	want := func(calls, others int64) {
		t.Helper()
		got := bills(t, db)
		if got[row].Calls != calls || got[gone].Calls != others {
			t.Errorf("the ledger has %d and %d calls, want %d and %d", got[row].Calls, got[gone].Calls, calls, others)
		}
	}
	want(11, 3)

	// And the same after one more restart, with a call that was not sent.
	old.charge(row, 1, time.UnixMilli(3))
	ex = exporter(t, db, "a", old)
	do(t, ex.Export(t.Context()))
	want(12, 3)
}

// TestLossWhileInUse rebuilds the checkpoint of a server while it runs: reported charges stay, and
// later charges are added.
func TestLossWhileInUse(t *testing.T) {
	db, _ := open(t)
	b := newMemorySource()
	row := rowOf("acme", "k", today)
	b.charge(row, 10, time.UnixMilli(1))
	ex := exporter(t, db, "a", b)
	do(t, ex.Export(t.Context()))

	b.rows[row] = access.Counts{}
	b.charge(row, 2, time.UnixMilli(2))
	do(t, ex.Export(t.Context())) // these two may be missing
	b.charge(row, 3, time.UnixMilli(3))
	do(t, ex.Export(t.Context()))
	if got := bills(t, db)[row].Calls; got != 13 {
		t.Errorf("the ledger has %d calls, want 10 and 3", got)
	}
}

// TestAggregatedDays sums up old days and adds nothing to them twice.
func TestAggregatedDays(t *testing.T) {
	db, url := open(t)
	b := newMemorySource()
	other := newMemorySource()
	for day := range calendar.Day(3) {
		b.charge(rowOf("acme", "k", today-50+day), 2, time.UnixMilli(1))
		other.charge(rowOf("acme", "k", today-50+day), 3, time.UnixMilli(1))
	}
	b.charge(rowOf("acme", "k", today), 1, time.UnixMilli(2))
	first := exporter(t, db, "a", b)
	do(t, first.Export(t.Context()))
	do(t, exporter(t, db, "b", other).Export(t.Context()))

	// One of them reported last while the days were not over: its rows stay apart.
	early := time.UnixMilli((today - 50).Start()).UTC().Format(time.DateOnly)
	server := postgrestest.Start(t)
	server.SQL(t, url, "update ninepocket.servers set exported_at = '"+early+"' where incarnation = 'b'")
	for range 2 {
		do(t, db.aggregateDays(t.Context(), today-detailDays))
	}
	rows := server.SQL(t, url,
		"select incarnation, count(*) from ninepocket.ledger group by 1 order by 1")
	if rows != "|3\na|1\nb|3" {
		t.Errorf("after the sum there are rows\n%s", rows)
	}
	wantBills(t, db, b, other)

	// A server that starts again, or is late, adds nothing to days that are summed up.
	do(t, exporter(t, db, "a", b).Export(t.Context()))
	wantBills(t, db, b, other)
	late := exporter(t, db, "b", other)
	late.lastAggregation = time.Time{}
	do(t, late.Export(t.Context()))
	wantBills(t, db, b, other)
	rows = server.SQL(t, url, "select incarnation, count(*) from ninepocket.ledger group by 1 order by 1")
	if rows != "|3\na|1" {
		t.Errorf("after the second sum there are rows\n%s", rows)
	}

	// Calls on such a day have a wrong clock: they are reported.
	other.charge(rowOf("acme", "k", today-50), 1, time.UnixMilli(3))
	if err := late.Export(t.Context()); !errors.Is(err, ErrDayClosed) {
		t.Errorf("calls on a day that is summed up: %v", err)
	}
}

// TestUnavailable takes the database away with kill -9: charges wait, that is reported once and
// when it is over, and everything is there in the end.
func TestUnavailable(t *testing.T) {
	server := postgrestest.Start(t)
	db, _ := open(t)
	b := newMemorySource()
	ex := exporter(t, db, "a", b)
	now := noon()
	ex.options.Now = func() time.Time { return now }
	var reports []string
	ex.options.Report = func(err error) { reports = append(reports, fmt.Sprint(err)) }
	ex.options.OnLag = func(by time.Duration, err error) {
		reports = append(reports, LagMessage(by, err))
	}

	row := rowOf("acme", "k", today)
	b.charge(row, 1, time.UnixMilli(1))
	ex.report(ex.Export(t.Context()))
	server.Kill(t)
	ctx := t.Context()
	for i := range 4 {
		b.charge(row, 2, time.UnixMilli(2))
		b.charge(rowOf("acme", fmt.Sprint("new", i), today), 1, time.UnixMilli(2))
		err := ex.Export(ctx)
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("without a database: %v", err)
		}
		now = now.Add(150 * time.Second)
		ex.report(err)
	}
	if ex.Pending() != 5 {
		t.Errorf("%d rows wait, want 5: rows, and not calls", ex.Pending())
	}

	server.Resume(t)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		err := ex.Export(ctx)
		ex.report(err)
		if err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	wantBills(t, db, b)
	if ex.Pending() != 0 {
		t.Errorf("%d rows wait still", ex.Pending())
	}
	if len(reports) != 3 || !strings.HasPrefix(reports[0], "cannot reach PostgreSQL at 127.0.0.1") ||
		!strings.HasPrefix(reports[1], "the ledger is 5 min behind: PostgreSQL at 127.0.0.1:") ||
		!strings.HasSuffix(reports[1], "nothing is lost while the state directory lasts") || reports[2] != "<nil>" {
		t.Errorf("told is %q", reports)
	}
	if strings.Contains(strings.Join(reports, " "), postgrestest.Password) {
		t.Error("a message shows the password")
	}
}
