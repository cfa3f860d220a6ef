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
	// chunk is how many rows go into one statement: a few hundred milliseconds of the database at most.
	chunk = 5_000
	// LagThreshold is when the ledger is told to be behind.
	LagThreshold = 5 * time.Minute
	// detailDays is how many days the rows of each server are kept apart.
	detailDays = 35
	// aggregateInterval is how often a server looks for days to sum up.
	aggregateInterval = time.Hour
)

// ErrSessionTaken reports that another process exports under this server id.
var ErrSessionTaken = errors.New(
	"another server does, or the database is an older copy: two state directories must not be " +
		"copies of each other; restart the right one")

// ErrDayClosed means: calls were made on days that are summed up already.
var ErrDayClosed = errors.New(
	"they are of days more than a month ago: look at the clocks of this machine and the database")

// Source is whose charges are exported; access.LocalStore is one.
type Source interface {
	// Changed returns the totals of rows that changed since it was called last, and when their keys
	// were last used.
	Changed() ([]access.LedgerRow, map[string]time.Time, error)
	// Totals returns the totals of all rows from a day on.
	Totals(since calendar.Day) ([]access.LedgerRow, map[string]time.Time, error)
}

// ExportOptions configure an Exporter. All but Report and LagMessage are required.
type ExportOptions struct {
	Incarnation string
	Host        string // names this machine for people
	Version     string // of the program
	Source      Source
	Now         func() time.Time
	// Served returns what is served now.
	Served func() ServedState
	// Report is told of what goes wrong when it begins, and nil when it is over.
	Report func(error)
	// LagMessage is told once that the ledger has been behind for LagThreshold.
	OnLag func(by time.Duration, err error)
}

// Exporter sends what a server charged to the ledger. One goroutine calls Export.
type Exporter struct {
	db      *DB
	options ExportOptions
	session string

	aggregatedThrough calendar.Day // days up to it are summed up: their rows are not sent again
	pending           map[access.LedgerRow]access.Counts
	sent              map[access.LedgerRow]access.Counts // of the rows that changed last
	used              map[string]time.Time
	lastAggregation   time.Time // for days to sum up
	lastError         error     // that was told
	closedDayRows     int       // rows of days that are summed up
	lagReported       bool      // that was told

	lastSuccess   atomic.Int64 // when nothing was pending last, Unix nanoseconds
	rows          atomic.Int64 // pending
	silentServers atomic.Int64 // servers that do not report
}

// ServedState is the snapshot, epoch and image set that a server currently serves.
type ServedState struct {
	Snapshot string
	Epoch    uint64
	Images   string // hash of its folder of card images, "" without one
}

// NewExporter begins the reports of a server. What the ledger knows of its state directory and the
// directory itself does not is counted on from, as when it was restored from an older copy.
func (db *DB) NewExporter(ctx context.Context, options ExportOptions) (*Exporter, error) {
	ex := &Exporter{
		db: db, options: options, session: rand.Text(), pending: map[access.LedgerRow]access.Counts{},
		used: map[string]time.Time{}, sent: map[access.LedgerRow]access.Counts{},
	}
	if err := ex.register(ctx); err != nil {
		return nil, err
	}

	rows, used, err := options.Source.Totals(ex.aggregatedThrough + 1)
	if err != nil {
		return nil, err
	}
	differ, less, err := ex.compare(ctx, rows)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(less, chunk) {
		err := db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ex.reconcile(ctx, tx, part) })
		if err != nil {
			return nil, err
		}
	}

	ex.buffer(differ, used)
	ex.lastSuccess.Store(options.Now().UnixNano())
	return ex, nil
}

// compare returns the rows that the ledger does not have so, and those that it has more of than the
// state directory, with what that says.
func (ex *Exporter) compare(ctx context.Context, rows []access.LedgerRow) (differ, less []access.LedgerRow, err error) {
	theirs, err := ex.reported(ctx)
	if err != nil {
		return nil, nil, err
	}

	for _, row := range rows {
		name := row
		name.Counts = access.Counts{}
		have := theirs[name]
		delete(theirs, name)
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

// reported are the rows of this incarnation as the ledger has them, without what is known to be lost.
func (ex *Exporter) reported(ctx context.Context) (map[access.LedgerRow]access.Counts, error) {
	theirs := map[access.LedgerRow]access.Counts{}
	var row access.LedgerRow
	var counts access.Counts

	into := []any{
		&row.Tenant, (*int32)(&row.Day), &row.Key, (*string)(&row.Operation), &counts.Calls, &counts.Charged,
	}
	err := ex.db.each(ctx, exportTimeout, into, func() { theirs[row] = counts },
		`select tenant, day - date '1970-01-01', key, op, calls - lost_calls, charged - lost_charged
		from ninepocket.ledger where incarnation = $1 and day > date '1970-01-01' + $2::integer`,
		ex.options.Incarnation, int32(ex.aggregatedThrough))
	return theirs, err
}

// register enters this run as the one that reports by the incarnation.
func (ex *Exporter) register(ctx context.Context) error {
	return ex.db.query(ctx, func(ctx context.Context) error {
		return ex.db.pool.QueryRow(ctx, `insert into ninepocket.servers (incarnation, session, host, version)
			values ($1, $2, $3, $4)
			on conflict (incarnation) do update set session = excluded.session, host = excluded.host,
				version = excluded.version, started_at = now(), seen_at = now(), forgotten_at = null
			returning rolled - date '1970-01-01'`,
			ex.options.Incarnation, ex.session, ex.options.Host,
			ex.options.Version).Scan((*int32)(&ex.aggregatedThrough))
	})
}

// reconcile makes good for what a state directory lost: where the ledger has more than it says, the
// rest is added to what it says from now on.
func (ex *Exporter) reconcile(ctx context.Context, tx pgx.Tx, rows []access.LedgerRow) error {
	_, err := tx.Exec(ctx, `update ninepocket.ledger l set
		lost_calls = greatest(l.lost_calls, l.calls - x.calls),
		lost_charged = greatest(l.lost_charged, l.charged - x.charged)
		from `+argRowsSQL+` where l.incarnation = $1 and l.tenant = x.tenant and l.day = x.day and l.key = x.key
		and l.op = x.op and (l.calls > x.calls + l.lost_calls or l.charged > x.charged + l.lost_charged)`,
		arguments(rows, ex.options.Incarnation)...)
	return err
}

// argRowsSQL is rows that come as arguments, from $2 on.
const argRowsSQL = `(select t as tenant, date '1970-01-01' + d as day, k as key, o as op, c as calls, h as charged
	from unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
	as u (t, d, k, o, c, h)) x`

// arguments are an incarnation and rows as columns.
func arguments(rows []access.LedgerRow, incarnation string) []any {
	return []any{
		incarnation,
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

// unsent leaves out what was sent so before: the source tells a row until a checkpoint has it.
func (ex *Exporter) unsent(rows []access.LedgerRow) []access.LedgerRow {
	known := map[access.LedgerRow]access.Counts{}
	fresh := slices.DeleteFunc(rows, func(row access.LedgerRow) bool {
		name := row
		name.Counts = access.Counts{}
		counts, is := ex.sent[name]
		if is {
			known[name] = counts
		}
		return is && counts == row.Counts
	})
	ex.sent = known
	return fresh
}

// buffer takes rows over that have to be sent: their latest totals.
func (ex *Exporter) buffer(rows []access.LedgerRow, used map[string]time.Time) {
	for _, row := range rows {
		counts := row.Counts
		row.Counts = access.Counts{}
		switch {
		case counts == access.Counts{}:
		case row.Day <= ex.aggregatedThrough:
			ex.closedDayRows++
		default:
			ex.pending[row] = counts
		}
	}

	for key, at := range used {
		if at.UnixMilli() > 0 {
			ex.used[key] = at
		}
	}
	ex.rows.Store(int64(len(ex.pending)))
}

// Run exports every so often until ctx is done.
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

// report reports what begins and what is over.
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

// Export sends what changed. What could not be sent is sent the next time, with what changed since.
func (ex *Exporter) Export(ctx context.Context) error {
	now := ex.options.Now()
	rows, used, err := ex.options.Source.Changed()
	if err != nil {
		return fmt.Errorf("cannot read what was charged: %w", err)
	}
	ex.buffer(ex.unsent(rows), used)

	// In order, so that two servers never wait for each other.
	names := make([]access.LedgerRow, 0, len(ex.pending))
	for row, counts := range ex.pending {
		row.Counts = counts
		names = append(names, row)
	}
	slices.SortFunc(names, access.CompareRows)
	for part := range slices.Chunk(names, chunk) {
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
	err := ex.db.withTimeout(ctx, exportTimeout, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, ex.db.pool, func(tx pgx.Tx) error {
			if err := ex.lockServerRow(ctx, tx); err != nil {
				return err
			}

			var more int64
			err := tx.QueryRow(ctx, mergeSQL, arguments(rows, ex.options.Incarnation)...).Scan(&more)
			if err == nil && more > 0 {
				// The state directory lost something while it was in use.
				err = ex.reconcile(ctx, tx, rows)
			}
			if err == nil {
				err = sendUses(ctx, tx, ex.usesOf(rows))
			}
			return err
		})
	})
	if err != nil {
		return err
	}

	for _, row := range rows {
		if row.Day <= ex.aggregatedThrough {
			ex.closedDayRows++
		}
		delete(ex.used, row.Key)
		name := row
		name.Counts = access.Counts{}
		delete(ex.pending, name)
		ex.sent[name] = row.Counts
	}
	ex.rows.Store(int64(len(ex.pending)))
	return nil
}

// mergeSQL enters rows, and returns how many of them the ledger had more of. What comes late or
// twice changes nothing.
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

// lockServerRow keeps the row of this server for a transaction, and finds out whether it still
// reports, and which days are summed up.
func (ex *Exporter) lockServerRow(ctx context.Context, tx pgx.Tx) error {
	var session string
	var aggregated int32
	err := tx.QueryRow(ctx, `select session, rolled - date '1970-01-01' from ninepocket.servers
		where incarnation = $1 for update`, ex.options.Incarnation).Scan(&session, &aggregated)
	// A database that was restored from a copy may not know it.
	if errors.Is(err, pgx.ErrNoRows) || err == nil && session != ex.session {
		return fmt.Errorf("cannot report to %s as incarnation %s: %w", ex.db, ex.options.Incarnation, ErrSessionTaken)
	}
	ex.aggregatedThrough = max(ex.aggregatedThrough, calendar.Day(aggregated))
	return err
}

// usesOf are the last uses of the keys of rows.
func (ex *Exporter) usesOf(rows []access.LedgerRow) map[string]time.Time {
	uses := map[string]time.Time{}
	for _, row := range rows {
		if at, known := ex.used[row.Key]; known {
			uses[row.Key] = at
		}
	}
	return uses
}

// sendUses sends when keys were last used.
func sendUses(ctx context.Context, tx pgx.Tx, uses map[string]time.Time) error {
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

// LastSuccess returns when nothing was left to be sent last.
func (ex *Exporter) LastSuccess() time.Time { return time.Unix(0, ex.lastSuccess.Load()) }

// Pending returns how many rows wait to be sent.
func (ex *Exporter) Pending() int64 { return ex.rows.Load() }

// SilentServers returns how many servers have not reported for a while and are not forgotten.
func (ex *Exporter) SilentServers() int64 { return ex.silentServers.Load() }

// LagMessage says that the ledger is behind by a while, and why.
func LagMessage(by time.Duration, err error) string {
	why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "cannot reach "), "cannot use ")
	return fmt.Sprintf("the ledger is %s behind: %s; nothing is lost while the state directory lasts",
		formatDuration(by), why)
}
