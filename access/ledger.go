package access

import (
	"cmp"
	"slices"
)

// Counts is what one row of the ledger holds.
type Counts struct {
	Calls   int64 `json:"calls"`   // admitted past the minute limit, errors and 304 included
	Charged int64 `json:"charged"` // quota or credits taken
}

// LedgerRow is what one key did with one operation on one UTC day.
type LedgerRow struct {
	Tenant    string
	Key       string
	Day       Day
	Operation Operation
	Counts
}

// rowName names a ledger row inside a tenant.
type rowName struct {
	key string
	day Day
	op  Operation
}

func compareRows(a, b LedgerRow) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.Operation, b.Operation))
}

// LedgerReport is the ledger as `ninepocket usage --json` prints it.
type LedgerReport struct {
	Tenants []tenantLedger `json:"tenants"`
}

// tenantLedger is a tenant's part of a report.
type tenantLedger struct {
	Tenant string      `json:"tenant"`
	Keys   []keyLedger `json:"keys"`
}

// keyLedger is a key's part of a report.
type keyLedger struct {
	ID   string      `json:"id"`
	Days []dayLedger `json:"days"`
}

// dayLedger is a day's part of a report.
type dayLedger struct {
	Date       string               `json:"date"`
	Operations map[Operation]Counts `json:"operations"`
}

// newLedgerReport groups rows, in any order, into a report.
func newLedgerReport(rows []LedgerRow) LedgerReport {
	rows = slices.SortedFunc(slices.Values(rows), compareRows)
	report := LedgerReport{Tenants: []tenantLedger{}}
	for _, row := range rows {
		tenant := lastOr(&report.Tenants, func(t *tenantLedger) bool { return t.Tenant == row.Tenant }, tenantLedger{Tenant: row.Tenant})
		key := lastOr(&tenant.Keys, func(k *keyLedger) bool { return k.ID == row.Key }, keyLedger{ID: row.Key})
		date := row.Day.String()
		day := lastOr(&key.Days, func(d *dayLedger) bool { return d.Date == date }, dayLedger{Date: date, Operations: map[Operation]Counts{}})
		have := day.Operations[row.Operation]
		day.Operations[row.Operation] = Counts{Calls: have.Calls + row.Calls, Charged: have.Charged + row.Charged}
	}
	return report
}

// lastOr returns the last element when it is the wanted one, else appends next.
func lastOr[T any](list *[]T, wanted func(*T) bool, next T) *T {
	if n := len(*list); n == 0 || !wanted(&(*list)[n-1]) {
		*list = append(*list, next)
	}
	return &(*list)[len(*list)-1]
}
