package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/access"
	"ninepocket/calendar"
)

const (
	// chunkRows is how many rows go into one statement: a few hundred milliseconds of the database at most.
	chunkRows = 5_000
	// LagThreshold is the lag from which the ledger is reported to be behind.
	LagThreshold = 5 * time.Minute
	// detailDays is for how many days the ledger has a row for each server.
	detailDays = 35
	// aggregateInterval is how often a server aggregates days that are old enough.
	aggregateInterval = time.Hour
)

// ErrSessionTaken reports that another process exports under this server id.
var ErrSessionTaken = errors.New(
	"another server does: two state directories must not be copies of each other; restart the right one")

// errOlder reports that the ledger lacks reports of this process: it is an older copy.
var errOlder = errors.New("the ledger is older than what was reported to it")

// ErrDayClosed reports calls on days that are aggregated already.
var ErrDayClosed = errors.New(
	"they are of days more than a month ago: look at the clocks of this machine and the database")

// Source is a store whose charges are exported, such as access.LocalStore.
type Source interface {
	// Changed returns the totals of rows that changed since the last call, and when their keys
	// were last used.
	Changed() ([]access.LedgerRow, map[string]time.Time, error)
	// Totals returns the same for all rows from a day on.
	Totals(since calendar.Day) ([]access.LedgerRow, map[string]time.Time, error)
}

// ExportOptions configure an Exporter. All but Report, OnLag and OnOlder are required.
type ExportOptions struct {
	ServerID string // server id, the name of the state directory
	Host     string // machine's name in messages
	Version  string // of the program
	Source   Source
	Later    bool // the first Export registers, not NewExporter
	Now      func() time.Time
	// Served returns what is served now.
	Served func() ServedState
	// Report receives the first error of a series, and nil after it.
	Report func(error)
	// OnLag is called once when the ledger has been behind for LagThreshold.
	OnLag func(by time.Duration, err error)
	// OnOlder is called after the ledger was found to be an older copy, with the rows that it lacked.
	OnOlder func(rows int)
}

// Exporter sends the charges of a server to the ledger. One goroutine calls Export.
// The keys of its maps are rows without counts.
type Exporter struct {
	db      *DB
	options ExportOptions
	session string
	begun   bool // registered, and compared with the ledger

	aggregatedThrough calendar.Day // days up to it are aggregated: their rows are not sent again
	pending           map[access.LedgerRow]access.Counts
	lastSent          map[access.LedgerRow]access.Counts // of rows that the source may return again
	lastUses          map[string]time.Time               // of keys with pending rows
	lastAggregation   time.Time
	lastError         error // that was reported
	closedDayRows     int   // rows that came after their day was aggregated
	lagReported       bool
	reports           int64 // that were acknowledged, by this process and those before it
	older             bool  // the ledger lacks some of them, and was not compared yet

	lastSuccess   atomic.Int64 // when nothing was pending last, Unix nanoseconds
	pendingRows   atomic.Int64 // length of pending
	silentServers atomic.Int64
	timesOlder    atomic.Int64
	keysBehind    atomic.Int64 // changes of keys that the database has and this server has not
}

// ServedState is the snapshot, epoch and image set that a server currently serves.
type ServedState struct {
	Snapshot string
	Epoch    uint64
	Images   string // hash of its folder of card images, "" without one
	Keys     int64  // version of the keys that it has
}

// NewExporter registers a server and returns its exporter. If the ledger has more than the state
// directory, as after a restore from an older copy, the difference stays counted.
func (db *DB) NewExporter(ctx context.Context, options ExportOptions) (*Exporter, error) {
	ex := &Exporter{
		db: db, options: options, session: rand.Text(), pending: map[access.LedgerRow]access.Counts{},
		lastUses: map[string]time.Time{}, lastSent: map[access.LedgerRow]access.Counts{},
	}
	if !options.Later {
		if _, err := ex.resume(ctx); err != nil {
			return nil, err
		}
	}
	ex.lastSuccess.Store(options.Now().UnixNano())
	return ex, nil
}

// resume registers the server and makes pending what the ledger lacks, and returns how many rows.
func (ex *Exporter) resume(ctx context.Context) (rows int, err error) {
	if err := ex.register(ctx); err != nil {
		return 0, err
	}
	all, used, err := ex.options.Source.Totals(ex.aggregatedThrough + 1)
	if err != nil {
		return 0, err
	}
	differ, less, err := ex.compare(ctx, all)
	if err != nil {
		return 0, err
	}

	for part := range slices.Chunk(less, chunkRows) {
		err := ex.db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ex.reconcile(ctx, tx, part) })
		if err != nil {
			return 0, err
		}
	}
	// Earlier reports are not trusted any more.
	clear(ex.lastSent)
	ex.buffer(differ, used)
	ex.begun = true
	return len(differ), nil
}

// compareAgain resumes after the ledger was found to be an older copy, and says so there.
func (ex *Exporter) compareAgain(ctx context.Context) error {
	rows, err := ex.resume(ctx)
	if err == nil {
		err = ex.db.exec(ctx, ex.db.timeout, `update ninepocket.servers set restored_at = now(), restored_rows = $2
			where incarnation = $1`, ex.options.ServerID, rows)
	}
	if err != nil {
		return err
	}

	ex.older = false
	ex.timesOlder.Add(1)
	if ex.options.OnOlder != nil {
		ex.options.OnOlder(rows)
	}
	return nil
}

// compare returns the rows whose counts differ from the ledger's, and of these the rows with lower
// counts in the state directory. All have the counts of the state directory.
func (ex *Exporter) compare(ctx context.Context, rows []access.LedgerRow) (differ, less []access.LedgerRow, err error) {
	theirs, err := ex.readReported(ctx)
	if err != nil {
		return nil, nil, err
	}

	for _, row := range rows {
		have := theirs[rowKey(row)]
		delete(theirs, rowKey(row))
		switch {
		case have.Calls > row.Calls || have.Charged > row.Charged:
			less = append(less, row)
		case have != row.Counts:
			differ = append(differ, row)
		}
	}
	for name, have := range theirs {
		if have != (access.Counts{}) {
			less = append(less, name)
		}
	}
	slices.SortFunc(less, access.CompareRows)
	return append(differ, less...), less, nil
}

// readReported reads the counts of this server from the ledger, without those known to be lost.
func (ex *Exporter) readReported(ctx context.Context) (map[access.LedgerRow]access.Counts, error) {
	theirs := map[access.LedgerRow]access.Counts{}
	var row access.LedgerRow
	var counts access.Counts

	into := []any{
		&row.Tenant, (*int32)(&row.Day), &row.Key, (*string)(&row.Operation), &counts.Calls, &counts.Charged,
	}
	err := ex.db.each(ctx, exportTimeout, into, func() { theirs[row] = counts },
		`select tenant, day - date '1970-01-01', key, op, calls - lost_calls, charged - lost_charged
		from ninepocket.ledger where incarnation = $1 and day > date '1970-01-01' + $2::integer`,
		ex.options.ServerID, int32(ex.aggregatedThrough))
	return theirs, err
}

// register makes this process the only one that exports under the server id.
func (ex *Exporter) register(ctx context.Context) error {
	return ex.db.one(ctx, ex.db.timeout, []any{(*int32)(&ex.aggregatedThrough), &ex.reports},
		`insert into ninepocket.servers as s
			(incarnation, session, host, version, reports) values ($1, $2, $3, $4, $5::bigint + 1)
			on conflict (incarnation) do update set session = excluded.session, host = excluded.host,
				version = excluded.version, seen_at = now(), forgotten_at = null,
				started_at = case when $5 = 0 then now() else s.started_at end,
				reports = greatest(s.reports + 1, excluded.reports)
			returning rolled - date '1970-01-01', reports`,
		ex.options.ServerID, ex.session, ex.options.Host, ex.options.Version, ex.reports)
}

// reconcile corrects the ledger after a state directory lost counts: where the ledger has more, the
// difference is added to what the directory reports from now on.
func (ex *Exporter) reconcile(ctx context.Context, tx pgx.Tx, rows []access.LedgerRow) error {
	_, err := tx.Exec(ctx, `update ninepocket.ledger l set
		lost_calls = greatest(l.lost_calls, l.calls - x.calls),
		lost_charged = greatest(l.lost_charged, l.charged - x.charged)
		from `+argRowsSQL+` where l.incarnation = $1 and l.tenant = x.tenant and l.day = x.day and l.key = x.key
		and l.op = x.op and (l.calls > x.calls + l.lost_calls or l.charged > x.charged + l.lost_charged)`,
		rowArguments(rows, ex.options.ServerID)...)
	return err
}

// argRowsSQL selects rows from the arguments of a statement, $2 to $7. A tenant that was deleted meanwhile
// has its opaque name, and may come under both.
const argRowsSQL = `(select coalesce(ks.tenant, t) as tenant, date '1970-01-01' + d as day, k as key, o as op,
	max(c) as calls, max(h) as charged
	from unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
	as u (t, d, k, o, c, h) left join ninepocket.keys ks on ks.id = k group by 1, 2, 3, 4) x`

// rowArguments returns the arguments of argRowsSQL: the server id, then the rows as columns.
func rowArguments(rows []access.LedgerRow, serverID string) []any {
	return []any{
		serverID,
		column(rows, func(row *access.LedgerRow) string { return row.Tenant }),
		column(rows, func(row *access.LedgerRow) int32 { return int32(row.Day) }),
		column(rows, func(row *access.LedgerRow) string { return row.Key }),
		column(rows, func(row *access.LedgerRow) string { return string(row.Operation) }),
		column(rows, func(row *access.LedgerRow) int64 { return row.Calls }),
		column(rows, func(row *access.LedgerRow) int64 { return row.Charged }),
	}
}

func column[T any](rows []access.LedgerRow, of func(*access.LedgerRow) T) []T {
	out := make([]T, len(rows))
	for i := range rows {
		out[i] = of(&rows[i])
	}
	return out
}

// rowKey returns a row without its counts, the key of an Exporter's maps.
func rowKey(row access.LedgerRow) access.LedgerRow {
	row.Counts = access.Counts{}
	return row
}

// unsent removes the rows that were sent with the same counts: the source returns a row until a
// checkpoint has it.
func (ex *Exporter) unsent(rows []access.LedgerRow) []access.LedgerRow {
	known := map[access.LedgerRow]access.Counts{}
	unsent := slices.DeleteFunc(rows, func(row access.LedgerRow) bool {
		counts, sent := ex.lastSent[rowKey(row)]
		if sent {
			known[rowKey(row)] = counts
		}
		return sent && counts == row.Counts
	})
	ex.lastSent = known
	return unsent
}

// buffer makes rows pending, with their latest totals.
func (ex *Exporter) buffer(rows []access.LedgerRow, used map[string]time.Time) {
	for _, row := range rows {
		switch {
		case row.Counts == access.Counts{}:
		case row.Day <= ex.aggregatedThrough:
			ex.closedDayRows++
		default:
			ex.pending[rowKey(row)] = row.Counts
		}
	}

	for key, at := range used {
		if at.UnixMilli() > 0 {
			ex.lastUses[key] = at
		}
	}
	ex.pendingRows.Store(int64(len(ex.pending)))
}

// Run exports at an interval until ctx is done.
func (ex *Exporter) Run(ctx context.Context, every time.Duration) {
	tick := time.Tick(every)
	for {
		err := ex.Export(ctx)
		if ctx.Err() != nil {
			return
		}
		ex.report(err)

		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// report calls Report when errors begin or end, and OnLag when the lag begins.
func (ex *Exporter) report(err error) {
	if (err == nil) != (ex.lastError == nil) && ex.options.Report != nil {
		ex.options.Report(err)
	}
	ex.lastError = err

	by := ex.options.Now().Sub(ex.LastSuccess())
	late := err != nil && by >= LagThreshold
	if late && !ex.lagReported && ex.options.OnLag != nil {
		ex.options.OnLag(by, err)
	}
	ex.lagReported = late
}

// Export sends the rows that changed. Rows that could not be sent stay pending until the next time.
func (ex *Exporter) Export(ctx context.Context) error {
	err := ex.db.addMissing(ctx, ex.exportChanged(ctx))
	if !errors.Is(err, errOlder) {
		return err
	}
	ex.older = true
	return ex.exportChanged(ctx)
}

// exportChanged is Export with errOlder, after which the ledger is compared with all that was charged.
func (ex *Exporter) exportChanged(ctx context.Context) error {
	now := ex.options.Now()
	switch {
	case !ex.begun:
		if _, err := ex.resume(ctx); err != nil {
			return err
		}
	case ex.older:
		if err := ex.compareAgain(ctx); err != nil {
			return err
		}
	}
	rows, used, err := ex.options.Source.Changed()
	if err != nil {
		return fmt.Errorf("cannot read what was charged: %w", err)
	}
	ex.buffer(ex.unsent(rows), used)

	// In order, so that two servers never wait for each other.
	pending := make([]access.LedgerRow, 0, len(ex.pending))
	for row, counts := range ex.pending {
		row.Counts = counts
		pending = append(pending, row)
	}
	slices.SortFunc(pending, access.CompareRows)
	for part := range slices.Chunk(pending, chunkRows) {
		if err := ex.send(ctx, part); err != nil {
			return err
		}
	}
	if err := ex.heartbeat(ctx); err != nil {
		return err
	}

	ex.lastSuccess.Store(now.UnixNano())
	if n := ex.closedDayRows; n > 0 {
		ex.closedDayRows = 0
		return fmt.Errorf("cannot report %d rows to %s: %w", n, ex.db, ErrDayClosed)
	}
	if now.Sub(ex.lastAggregation) < aggregateInterval {
		return nil
	}
	ex.lastAggregation = now
	return ex.db.aggregateDays(ctx, calendar.DayOf(now.UnixMilli())-detailDays)
}

// send sends rows in one statement, with the last uses of their keys.
func (ex *Exporter) send(ctx context.Context, rows []access.LedgerRow) error {
	err := ex.inReport(ctx, exportTimeout, func(ctx context.Context, tx pgx.Tx) error {
		var more int64
		err := tx.QueryRow(ctx, mergeSQL, rowArguments(rows, ex.options.ServerID)...).Scan(&more)
		if err == nil && more > 0 {
			// The state directory lost counts while it was in use.
			err = ex.reconcile(ctx, tx, rows)
		}
		if err == nil {
			err = mergeLastUses(ctx, tx, ex.lastUsesOf(rows))
		}
		return err
	})
	if err != nil {
		return err
	}

	for _, row := range rows {
		if row.Day <= ex.aggregatedThrough {
			ex.closedDayRows++
		}
		delete(ex.lastUses, row.Key)
		delete(ex.pending, rowKey(row))
		ex.lastSent[rowKey(row)] = row.Counts
	}
	ex.pendingRows.Store(int64(len(ex.pending)))
	return nil
}

// mergeSQL inserts or raises rows, and returns for how many the ledger had higher counts. A row that
// arrives late or twice changes nothing.
const mergeSQL = `with entered as (
	insert into ninepocket.ledger as l (tenant, day, key, op, incarnation, calls, charged)
	select x.tenant, x.day, x.key, x.op, $1::text, x.calls, x.charged from ` + argRowsSQL + `
	where x.day > (select rolled from ninepocket.servers where incarnation = $1)
	order by x.tenant, x.day, x.key, x.op
	on conflict (tenant, day, key, op, incarnation) do update set
		calls = greatest(l.calls, excluded.calls + l.lost_calls),
		charged = greatest(l.charged, excluded.charged + l.lost_charged)
	returning l.tenant, l.day, l.key, l.op, l.calls - l.lost_calls as calls, l.charged - l.lost_charged as charged)
	select count(*) from entered e join ` + argRowsSQL + ` using (tenant, day, key, op)
	where e.calls > x.calls or e.charged > x.charged`

// inReport runs statements in one transaction, under a lock on the row of this server. It counts as a
// report, checks that the session is still this one, and reads which days are aggregated.
func (ex *Exporter) inReport(
	ctx context.Context, timeout time.Duration, do func(context.Context, pgx.Tx) error,
) error {
	var reports int64
	err := ex.db.inTxWithin(ctx, timeout, func(ctx context.Context, tx pgx.Tx) error {
		var session string
		var aggregated int32
		var complete bool
		err := tx.QueryRow(ctx, "select "+completeSQL).Scan(&complete)
		if err == nil && !complete {
			err = errRestoring
		}
		if err != nil {
			return err
		}

		err = tx.QueryRow(ctx, `update ninepocket.servers set reports = reports + 1 where incarnation = $1
			returning session, rolled - date '1970-01-01', reports`, ex.options.ServerID).
			Scan(&session, &aggregated, &reports)

		// An older copy may have an earlier session, or no row for this server.
		switch {
		case errors.Is(err, pgx.ErrNoRows) || err == nil && reports <= ex.reports:
			return errOlder
		case err == nil && session != ex.session:
			return fmt.Errorf("cannot report to %s as server id %s: %w", ex.db, ex.options.ServerID,
				ErrSessionTaken)
		case err != nil:
			return err
		}
		ex.aggregatedThrough = max(ex.aggregatedThrough, calendar.Day(aggregated))
		return do(ctx, tx)
	})
	if err == nil {
		ex.reports = reports
	}
	return err
}

// lastUsesOf returns the last uses of the keys of rows.
func (ex *Exporter) lastUsesOf(rows []access.LedgerRow) map[string]time.Time {
	uses := map[string]time.Time{}
	for _, row := range rows {
		if at, known := ex.lastUses[row.Key]; known {
			uses[row.Key] = at
		}
	}
	return uses
}

// mergeLastUses stores when keys were last used, unless the database has a later use.
func mergeLastUses(ctx context.Context, tx pgx.Tx, uses map[string]time.Time) error {
	keys := slices.Sorted(maps.Keys(uses))
	times := make([]time.Time, len(keys))
	for i, key := range keys {
		times[i] = uses[key]
	}
	_, err := tx.Exec(ctx, `insert into ninepocket.key_uses as u (key, used_at)
		select k, t from unnest($1::text[], $2::timestamptz[]) as x (k, t) order by k
		on conflict (key) do update set used_at = greatest(u.used_at, excluded.used_at)`, keys, times)
	return err
}

// heartbeat stores that this server is alive and what it serves, and counts the silent servers.
func (ex *Exporter) heartbeat(ctx context.Context) error {
	served := ex.options.Served()
	var silent, keysVersion int64

	err := ex.inReport(ctx, ex.db.timeout, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, `with own as (
				update ninepocket.servers set seen_at = now(), exported_at = now(), snapshot = $2, epoch = $3,
					pending = $4, images = $6, forgotten_at = null, keys_version = $7,
					clock_ms = round(extract(epoch from $8::timestamptz - clock_timestamp()) * 1000)
				where incarnation = $1)
			select count(*), (select version from ninepocket.control) from ninepocket.servers
			where incarnation <> $1 and forgotten_at is null and seen_at < now() - $5::interval`,
			ex.options.ServerID, served.Snapshot, int64(served.Epoch), int64(len(ex.pending)), SilenceThreshold,
			served.Images, served.Keys, ex.options.Now()).Scan(&silent, &keysVersion)
	})
	if err == nil {
		ex.silentServers.Store(silent)
		// Negative in a database that is an older copy.
		ex.keysBehind.Store(keysVersion - served.Keys)
	}
	return err
}

// aggregateDays replaces the rows of all servers for the days up to through by their sums. It leaves
// out servers that did not export everything of these days, and days that are not older than detailDays
// by the database's clock.
func (db *DB) aggregateDays(ctx context.Context, through calendar.Day) error {
	return db.exec(ctx, exportTimeout, aggregateSQL, int32(through), detailDays)
}

const aggregateSQL = `with through as (
		select least(date '1970-01-01' + $1::integer, current_date - $2::integer) as day),
	done as (
		update ninepocket.servers s set rolled = through.day from through
		where s.rolled < through.day and s.exported_at >= through.day + 2 returning s.incarnation),
	gone as (
		delete from ninepocket.ledger l using done, through
		where l.incarnation = done.incarnation and l.day <= through.day
		returning l.tenant, l.day, l.key, l.op, l.calls, l.charged)
	insert into ninepocket.ledger as l (tenant, day, key, op, incarnation, calls, charged)
	select tenant, day, key, op, '', sum(calls), sum(charged) from gone
	group by tenant, day, key, op order by tenant, day, key, op
	on conflict (tenant, day, key, op, incarnation) do update set
		calls = l.calls + excluded.calls, charged = l.charged + excluded.charged`

// LastSuccess returns when everything was sent last.
func (ex *Exporter) LastSuccess() time.Time { return time.Unix(0, ex.lastSuccess.Load()) }

// Pending returns how many rows wait to be sent.
func (ex *Exporter) Pending() int64 { return ex.pendingRows.Load() }

// SilentServers returns how many servers have not reported for SilenceThreshold and are not forgotten.
func (ex *Exporter) SilentServers() int64 { return ex.silentServers.Load() }

// TimesOlder returns how often the ledger was older than what this server had reported.
func (ex *Exporter) TimesOlder() int64 { return ex.timesOlder.Load() }

// KeysBehind returns how many changes of keys the database has that this server has not.
func (ex *Exporter) KeysBehind() int64 { return ex.keysBehind.Load() }

// LagMessage returns a message that the ledger is behind, with the cause.
func LagMessage(by time.Duration, err error) string {
	why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "cannot reach "), "cannot use ")
	return fmt.Sprintf("the ledger is %s behind: %s; nothing is lost while the state directory lasts",
		formatDuration(by), why)
}
