package control

import (
	"fmt"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/internal/postgrestest"
)

// BenchmarkExport sends 1,000 rows that changed, as a busy server does every 5 seconds.
func BenchmarkExport(b *testing.B) {
	db, err := Open(b.Context(), postgrestest.Start(b).Database(b))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	charged := newMemorySource()
	ex, err := db.NewExporter(b.Context(), ExportOptions{
		ServerID: "a", Source: charged, Now: noon, Served: func() ServedState { return ServedState{} },
	})
	if err != nil {
		b.Fatal(err)
	}
	ex.lastAggregation = noon()

	const rows = 1000
	var names []access.LedgerRow
	for i := range rows {
		names = append(names, rowOf(fmt.Sprint("tenant", i/4), fmt.Sprint("key", i), today))
	}
	for b.Loop() {
		for _, row := range names {
			charged.charge(row, 1, time.UnixMilli(1))
		}
		if err := ex.Export(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
