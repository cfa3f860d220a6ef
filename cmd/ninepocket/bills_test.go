package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/tamper"
)

// TestBillsOfAMonthsEnd has one server run over five virtual days with a month's end, counts what its
// clients were answered, and wants the bills of both months to say the same.
func TestBillsOfAMonthsEnd(t *testing.T) {
	t.Parallel()
	held := tampered(t)
	v := newVictim(t)
	v.fault = "days that pass"

	// Noon of the day before the last of the next month.
	now := time.Now().UTC()
	first := time.Date(now.Year(), now.Month()+2, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, -2)
	begin := first.Sub(now)
	held.SetClock(&tamper.Clock{Wall: begin})
	v.start(held)

	calls := map[string]int64{} // by day and tenant
	for day := range 5 {
		passed := time.Duration(day) * 24 * time.Hour
		held.SetClock(&tamper.Clock{Wall: begin + passed, Boot: passed})
		date := first.AddDate(0, 0, day)
		v.isDay(date)

		v.answered = 0
		batches := len(v.made)
		for range day + 1 {
			v.round()
		}
		calls[date.Format(time.DateOnly)+" acme"] = v.answered
		calls[date.Format(time.DateOnly)+" partner"] = int64(len(v.made) - batches)
	}
	v.dies()

	months := map[string]int64{}
	for _, row := range v.bill(t, first, 5, "--format", "csv") {
		months[row[2]+" "+row[0]] += cellOf(t, row[5])
	}
	if !maps.Equal(months, calls) {
		t.Errorf("the bills are %v, answered were %v", months, calls)
	}

	// The two days of the old month, and the three of the new one.
	for _, month := range []struct{ from, days int }{{0, 2}, {2, 3}} {
		want := map[string]int64{}
		from := first.AddDate(0, 0, month.from)
		for day := range month.days {
			date := from.AddDate(0, 0, day).Format(time.DateOnly)
			want["acme"] += calls[date+" acme"]
			want["partner"] += calls[date+" partner"]
		}
		got := map[string]int64{}
		for _, row := range v.bill(t, from, month.days, "--totals", "--format", "csv") {
			got[row[0]] = cellOf(t, row[7]) + cellOf(t, row[8])
		}
		if !maps.Equal(got, want) {
			t.Errorf("the bill of %s is %v, want %v", from.Format("January"), got, want)
		}
	}
}

// bill is a bill of some days without its header.
func (v *victim) bill(t *testing.T, from time.Time, days int, more ...string) [][]string {
	t.Helper()
	text := command(t, v.dir, append([]string{
		"usage", "--state", "state", "--since", from.Format(time.DateOnly),
		"--until", from.AddDate(0, 0, days-1).Format(time.DateOnly),
	}, more...)...)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v: %s", err, text)
	}
	return rows[1:]
}

func cellOf(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// isDay waits until the server counts for a day: its usage says when the day ends.
func (v *victim) isDay(date time.Time) {
	v.t.Helper()
	end := date.AddDate(0, 0, 1).Format(time.DateOnly) + "T00:00:00Z"
	var said string
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.API+"/v1/usage", http.NoBody)
		if err != nil {
			v.t.Fatal(err)
		}
		req.Header.Set("X-API-Key", v.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			v.t.Fatal(err)
		}

		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		said = fmt.Sprint(string(body), err)
		if strings.Contains(said, end) {
			return
		}
	}
	v.t.Fatalf("the day that ends at %s did not begin: %s", end, said)
}
