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
	Tenants []TenantLedger `json:"tenants"`
}

// TenantLedger is a tenant's part of a report.
type TenantLedger struct {
	Tenant string      `json:"tenant"`
	Keys   []KeyLedger `json:"keys"`
}

// KeyLedger is a key's part of a report.
type KeyLedger struct {
	ID   string      `json:"id"`
	Days []DayLedger `json:"days"`
}

// DayLedger is a day's part of a report.
type DayLedger struct {
	Date       string               `json:"date"`
	Operations map[Operation]Counts `json:"operations"`
}

// NewLedgerReport groups rows, in any order, into a report.
func NewLedgerReport(rows []LedgerRow) LedgerReport {
	rows = slices.SortedFunc(slices.Values(rows), compareRows)
	report := LedgerReport{Tenants: []TenantLedger{}}
	for _, row := range rows {
		tenant := lastOr(&report.Tenants, func(t *TenantLedger) bool { return t.Tenant == row.Tenant }, TenantLedger{Tenant: row.Tenant})
		key := lastOr(&tenant.Keys, func(k *KeyLedger) bool { return k.ID == row.Key }, KeyLedger{ID: row.Key})
		date := row.Day.String()
		day := lastOr(&key.Days, func(d *DayLedger) bool { return d.Date == date }, DayLedger{Date: date, Operations: map[Operation]Counts{}})
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
