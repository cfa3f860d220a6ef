package control

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// ReadLedger returns the rows of a tenant ("" = all) between two days, both included. They are
// sums over all servers, in the order of access.ReadLedger.
func (db *DB) ReadLedger(
	ctx context.Context, tenant string, since, until calendar.Day,
) (rows []access.LedgerRow, err error) {
	var row access.LedgerRow
	rows = []access.LedgerRow{}
	into := []any{&row.Tenant, &row.Key, (*int32)(&row.Day), (*string)(&row.Operation), &row.Calls, &row.Charged}
	err = db.each(ctx, exportTimeout, into, func() { rows = append(rows, row) },
		`select tenant, key, day - date '1970-01-01', op, calls, charged from ninepocket.usage
		where ($1 = '' or tenant = $1) and day - date '1970-01-01' between $2::integer and $3::integer
		order by tenant collate "C", key collate "C", day, op collate "C"`, tenant, int32(since), int32(until))
	return rows, err
}

// ChargesByTenant returns the units that each server reported for one quota of a tenant between two
// instants, in Unix milliseconds. A day that is only partly between them counts as a whole. The sum of
// aggregated days has the server id "".
func (db *DB) ChargesByTenant(
	ctx context.Context, tenant string, quota access.QuotaKind, from, till int64,
) (map[string]int64, error) {
	charged := map[string]int64{}
	var serverID string
	var units int64
	err := db.each(ctx, db.timeout, []any{&serverID, &units}, func() { charged[serverID] = units },
		`select l.incarnation, sum(l.charged)::bigint
		from ninepocket.ledger l left join ninepocket.keys k on k.id = l.key
		where l.tenant = $1 and (coalesce(k.record->>'surface', '') = $2) = $3
			and l.day - date '1970-01-01' between $4::integer and $5::integer
		group by 1`, tenant, keys.Preview.String(), quota == access.PeriodCredits,
		int32(calendar.DayOf(from)), int32(calendar.DayOf(till-1)))
	return charged, err
}

// ReadLastUse returns when each key last made a call, by key id. Keys never used are left out.
func (db *DB) ReadLastUse(ctx context.Context) (map[string]time.Time, error) {
	used := map[string]time.Time{}
	var key string
	var at time.Time
	err := db.each(ctx, db.timeout, []any{&key, &at}, func() { used[key] = at.UTC() },
		"select key, used_at from ninepocket.key_uses")
	return used, err
}

// Charges are the charges that one server reported.
type Charges struct {
	aggregatedThrough calendar.Day // days up to it are aggregated: the charges of each server are unknown
	sums              map[chargeKey]int64
}

// chargeKey is the tenant and day of a charge, to the quota of the day or to credits.
type chargeKey struct {
	tenant  string
	credits bool
	day     calendar.Day
}

// ChargesByServer returns the charges that a server reported.
func (db *DB) ChargesByServer(ctx context.Context, serverID string) (*Charges, error) {
	out := &Charges{sums: map[chargeKey]int64{}}
	err := db.one(ctx, exportTimeout, []any{(*int32)(&out.aggregatedThrough)},
		`select rolled - date '1970-01-01' from ninepocket.servers where incarnation = $1`, serverID)
	if err != nil {
		return out, err
	}

	var key chargeKey
	var charged int64
	into := []any{&key.tenant, &key.credits, (*int32)(&key.day), &charged}
	err = db.each(ctx, exportTimeout, into, func() { out.sums[key] += charged },
		`select l.tenant, coalesce(k.record->>'surface', '') = $2, l.day - date '1970-01-01', sum(l.charged)::bigint
			from ninepocket.ledger l left join ninepocket.keys k on k.id = l.key
			where l.incarnation = $1 group by 1, 2, 3`, serverID, keys.Preview.String())
	return out, err
}

// Of returns the units charged to a quota of a tenant since an instant, in Unix milliseconds. They are
// those of that day, or the credits of that day and later. It is false if they are aggregated with
// other servers'.
func (c *Charges) Of(tenant string, quota access.QuotaKind, from int64) (units int64, known bool) {
	first := calendar.DayOf(from)
	for key, charged := range c.sums {
		same := key.tenant == tenant && key.credits == (quota == access.PeriodCredits)
		if same && (key.day == first || key.credits && key.day > first) {
			units += charged
		}
	}
	return units, first > c.aggregatedThrough
}

// ImportRows adds the ledger of a single machine under the server id of its state directory.
// Importing again changes nothing.
func (db *DB) ImportRows(ctx context.Context, serverID, host string, rows []access.LedgerRow) error {
	rows = slices.SortedFunc(slices.Values(rows), access.CompareRows)
	// A forgotten server is never silent: no reports are expected of it.
	err := db.exec(ctx, db.timeout, `insert into ninepocket.servers (incarnation, session, host, version, forgotten_at)
		values ($1, '', $2, '', now()) on conflict do nothing`, serverID, host)
	for part := range slices.Chunk(rows, chunkRows) {
		if err != nil {
			return err
		}
		err = db.exec(ctx, exportTimeout, mergeSQL, rowArguments(part, serverID)...)
	}
	return err
}

// ImportLastUses stores when keys of a single machine were last used.
func (db *DB) ImportLastUses(ctx context.Context, used map[string]time.Time) error {
	return db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return mergeLastUses(ctx, tx, used)
	})
}
