package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// SilenceThreshold is after how long a server that does not report is told of.
const SilenceThreshold = 10 * time.Minute

// Errors of Forget.
var (
	// ErrNoSuchServer: no server ever reported by that name.
	ErrNoSuchServer = errors.New("no such incarnation")
	// ErrServerAlive: the server is well.
	ErrServerAlive = errors.New("it reports")
)

// Server is what is known of a server.
type Server struct {
	Incarnation string     `json:"incarnation"`
	Host        string     `json:"host"`
	Version     string     `json:"version"`
	Snapshot    string     `json:"snapshot_id"`
	Epoch       int64      `json:"epoch"`
	Images      string     `json:"images,omitempty"` // hash of its folder of card images
	Pending     int64      `json:"pending_rows"`
	StartedAt   time.Time  `json:"started_at"`
	SeenAt      time.Time  `json:"seen_at"`
	ExportedAt  *time.Time `json:"exported_at"` // when nothing was pending last
	ForgottenAt *time.Time `json:"forgotten_at,omitempty"`
	// SilentFor is for how long it has not reported, by the database's clock; 0 when it does.
	SilentFor time.Duration `json:"-"`
}

// heartbeat says that this server lives, and how it stands.
func (ex *Exporter) heartbeat(ctx context.Context) error {
	served := ex.options.Served()
	var silent int64

	err := ex.db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := ex.lockServerRow(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `with own as (
				update ninepocket.servers set seen_at = now(), exported_at = now(), snapshot = $2, epoch = $3,
					pending = $4, images = $6, forgotten_at = null
				where incarnation = $1)
			select count(*) from ninepocket.servers
			where incarnation <> $1 and forgotten_at is null and seen_at < now() - $5::interval`,
			ex.options.Incarnation, served.Snapshot, int64(served.Epoch), int64(len(ex.pending)), SilenceThreshold,
			served.Images).Scan(&silent)
	})
	if err == nil {
		ex.silentServers.Store(silent)
	}
	return err
}

// aggregateDays sums up the rows of days up to one, a row each instead of one a server. It leaves
// out servers that did not report everything of these days, and days that are not old by the
// database's clock.
func (db *DB) aggregateDays(ctx context.Context, through calendar.Day) error {
	return db.withTimeout(ctx, exportTimeout, func(ctx context.Context) error {
		_, err := db.pool.Exec(ctx, aggregateSQL, int32(through), detailDays)
		return err
	})
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

// Servers returns all servers, those that report first.
func (db *DB) Servers(ctx context.Context) (all []Server, err error) {
	err = db.query(ctx, func(ctx context.Context) error {
		rows, _ := db.pool.Query(ctx, `select incarnation, host, version, snapshot, epoch, images, pending,
			started_at, seen_at, exported_at, forgotten_at,
			case when seen_at < now() - $1::interval then now() - seen_at else interval '0' end
			from ninepocket.servers order by forgotten_at nulls first, seen_at desc, incarnation`, SilenceThreshold)
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Server])
		return err
	})
	return all, err
}

// Forget lets a server that does not report go: it is not waited for any more. What it reported stays
// in the ledger, and it may report again. One that reports is ErrServerAlive.
func (db *DB) Forget(ctx context.Context, incarnation string) error {
	return db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var reports bool
		err := tx.QueryRow(ctx, `update ninepocket.servers set forgotten_at = now() where incarnation = $1
			returning seen_at >= now() - $2::interval`, incarnation, SilenceThreshold).Scan(&reports)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("cannot forget %q: %w", incarnation, ErrNoSuchServer)
		case err == nil && reports:
			return fmt.Errorf("cannot forget %q: %w", incarnation, ErrServerAlive)
		}
		return err
	})
}

// Charges are what one server reported of its charges.
type Charges struct {
	aggregatedThrough calendar.Day // days up to it are summed up, and nobody knows whose they were
	sums              map[chargeKey]int64
}

// chargeKey is what a charge is of: a tenant's day, on the live surface or of its credits.
type chargeKey struct {
	tenant  string
	credits bool
	day     calendar.Day
}

// ChargesByServer returns what a server reported of its charges.
func (db *DB) ChargesByServer(ctx context.Context, incarnation string) (*Charges, error) {
	out := &Charges{sums: map[chargeKey]int64{}}
	err := db.withTimeout(ctx, exportTimeout, func(ctx context.Context) error {
		return db.pool.QueryRow(ctx, `select rolled - date '1970-01-01' from ninepocket.servers where incarnation = $1`,
			incarnation).Scan((*int32)(&out.aggregatedThrough))
	})
	if err != nil {
		return out, err
	}

	var of chargeKey
	var charged int64
	into := []any{&of.tenant, &of.credits, (*int32)(&of.day), &charged}
	err = db.each(ctx, exportTimeout, into, func() { out.sums[of] += charged },
		`select l.tenant, coalesce(k.record->>'surface', '') = $2, l.day - date '1970-01-01', sum(l.charged)::bigint
			from ninepocket.ledger l left join ninepocket.keys k on k.id = l.key
			where l.incarnation = $1 group by 1, 2, 3`, incarnation, keys.Preview.String())
	return out, err
}

// Of returns what was charged to a tenant's day, or to credits from an instant on, in Unix milliseconds.
// It is false where nobody knows.
func (c *Charges) Of(tenant string, allowance access.QuotaKind, from int64) (units int64, known bool) {
	first := calendar.DayOf(from)
	for of, charged := range c.sums {
		same := of.tenant == tenant && of.credits == (allowance == access.PeriodCredits)
		if same && (of.day == first || of.credits && of.day > first) {
			units += charged
		}
	}
	return units, first > c.aggregatedThrough
}

// Problem says what is wrong with a server that does not report, "" when nothing is. reserved is
// what it has reserved, "" when that is not known.
func (server *Server) Problem(reserved string) string {
	if server.SilentFor == 0 || server.ForgottenAt != nil {
		return ""
	}
	if reserved != "" {
		reserved = " and holds " + reserved
	}
	return fmt.Sprintf("incarnation %s has not reported for %s%s: start it, or fleet forget", server.Incarnation,
		formatDuration(server.SilentFor), reserved)
}

// formatDuration is a time in the largest unit that tells enough.
func formatDuration(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// ImportRows adds the ledger of a single machine under the server id of its state directory.
// Importing again changes nothing.
func (db *DB) ImportRows(ctx context.Context, incarnation, host string, rows []access.LedgerRow) error {
	rows = slices.SortedFunc(slices.Values(rows), access.CompareRows)
	err := db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		// Nobody waits for its reports.
		_, err := tx.Exec(ctx, `insert into ninepocket.servers (incarnation, session, host, version, forgotten_at)
			values ($1, '', $2, '', now()) on conflict do nothing`, incarnation, host)
		return err
	})

	for part := range slices.Chunk(rows, chunk) {
		if err != nil {
			return err
		}
		err = db.withTimeout(ctx, exportTimeout, func(ctx context.Context) error {
			_, err := db.pool.Exec(ctx, mergeSQL, arguments(part, incarnation)...)
			return err
		})
	}
	return err
}

// ImportUses enters when keys were last used.
func (db *DB) ImportUses(ctx context.Context, used map[string]time.Time) error {
	return db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return sendUses(ctx, tx, used)
	})
}
