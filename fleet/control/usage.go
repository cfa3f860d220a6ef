package control

import (
	"context"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// ReadLedger returns the rows of a tenant ("" = all) from a day to another, both included. They are
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

// ChargesByTenant returns what each server reported that it charged to a tenant between two
// instants, in Unix milliseconds, to days or to credits. Days that are touched count as a whole; ""
// are servers whose days are summed up.
func (db *DB) ChargesByTenant(
	ctx context.Context, tenant string, allowance access.QuotaKind, from, till int64,
) (map[string]int64, error) {
	charged := map[string]int64{}
	var incarnation string
	var units int64
	err := db.each(ctx, db.timeout, []any{&incarnation, &units}, func() { charged[incarnation] = units },
		`select l.incarnation, sum(l.charged)::bigint
		from ninepocket.ledger l left join ninepocket.keys k on k.id = l.key
		where l.tenant = $1 and (coalesce(k.record->>'surface', '') = $2) = $3
			and l.day - date '1970-01-01' between $4::integer and $5::integer
		group by 1`, tenant, keys.Preview.String(), allowance == access.PeriodCredits,
		int32(calendar.DayOf(from)), int32(calendar.DayOf(till-1)))
	return charged, err
}

// ReadLastUse returns when each key last made a call, by its id. Keys never used are not in it.
func (db *DB) ReadLastUse(ctx context.Context) (map[string]time.Time, error) {
	used := map[string]time.Time{}
	var key string
	var at time.Time
	err := db.each(ctx, db.timeout, []any{&key, &at}, func() { used[key] = at.UTC() },
		"select key, used_at from ninepocket.key_uses")
	return used, err
}
