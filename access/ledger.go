package access

import (
	"cmp"
	"slices"

	"ninepocket/calendar"
)

// Counts are the numbers of one ledger row.
type Counts struct {
	Calls   int64 `json:"calls"`   // admitted past the minute limit, errors and 304 included
	Charged int64 `json:"charged"` // quota or credits taken
}

// LedgerRow is what one key did with one operation on one UTC day.
type LedgerRow struct {
	Tenant    string
	Key       string
	Day       calendar.Day
	Operation Operation
	Counts
}

// rowName identifies a ledger row of a tenant.
type rowName struct {
	key string
	day calendar.Day
	op  Operation
}

// row returns the row with this name of a tenant, without counts.
func (name rowName) row(tenant string) LedgerRow {
	return LedgerRow{Tenant: tenant, Key: name.key, Day: name.day, Operation: name.op}
}

func (row *LedgerRow) name() rowName { return rowName{key: row.Key, day: row.Day, op: row.Operation} }

// CompareRows is the order of ledger rows: by tenant, key, day and operation.
func CompareRows(a, b LedgerRow) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.Operation, b.Operation))
}

// sumRows returns the rows of a tenant ("" = all) from a day on, in order. Rows with equal names are
// added up: a checkpoint may have one part of the counts, and memory the rest.
func sumRows(rows []LedgerRow, tenant string, since calendar.Day) []LedgerRow {
	slices.SortFunc(rows, CompareRows)
	sum := []LedgerRow{}
	for _, row := range rows {
		if row.Day < since || tenant != "" && tenant != row.Tenant {
			continue
		}
		if n := len(sum); n > 0 && CompareRows(sum[n-1], row) == 0 {
			sum[n-1].Calls += row.Calls
			sum[n-1].Charged += row.Charged
			continue
		}
		sum = append(sum, row)
	}
	return sum
}

// LedgerReport is the ledger as `ninepocket usage --json` prints it.
type LedgerReport struct {
	Tenants []tenantLedger `json:"tenants"`
}

type tenantLedger struct {
	Tenant string      `json:"tenant"`
	Keys   []keyLedger `json:"keys"`
}

type keyLedger struct {
	ID   string      `json:"id"`
	Days []dayLedger `json:"days"`
}

type dayLedger struct {
	Date       string               `json:"date"`
	Operations map[Operation]Counts `json:"operations"`
}

// NewLedgerReport groups rows, in order and each name once, into a report.
func NewLedgerReport(rows []LedgerRow) LedgerReport {
	report := LedgerReport{Tenants: []tenantLedger{}}
	for _, row := range rows {
		ofTenant := func(tenant *tenantLedger) bool { return tenant.Tenant == row.Tenant }
		tenant := lastOr(&report.Tenants, ofTenant, tenantLedger{Tenant: row.Tenant})
		ofKey := func(key *keyLedger) bool { return key.ID == row.Key }
		key := lastOr(&tenant.Keys, ofKey, keyLedger{ID: row.Key})

		date := row.Day.String()
		ofDay := func(day *dayLedger) bool { return day.Date == date }
		day := lastOr(&key.Days, ofDay, dayLedger{Date: date, Operations: map[Operation]Counts{}})
		day.Operations[row.Operation] = row.Counts
	}
	return report
}

// lastOr returns the last element if it is the wanted one, else it appends next.
func lastOr[T any](list *[]T, wanted func(*T) bool, next T) *T {
	if n := len(*list); n == 0 || !wanted(&(*list)[n-1]) {
		*list = append(*list, next)
	}
	return &(*list)[len(*list)-1]
}
