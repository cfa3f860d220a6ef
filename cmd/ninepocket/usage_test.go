package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// monthsEnd is a server that runs over five days of its own clock, with a month's end after the
// second day. It has a count of its clients' answers.
type monthsEnd struct {
	*faultServer
	clocks *faultInjector
	first  time.Time     // the first of the days
	begin  time.Duration // from now to that
	calls  map[string]int64
}

// newMonthsEnd starts the server over a store.
func newMonthsEnd(t *testing.T, store string, first time.Time) *monthsEnd {
	t.Helper()
	m := &monthsEnd{
		faultServer: newFaultServer(t), clocks: newFaultInjector(t), first: first, begin: time.Until(first),
		calls: map[string]int64{},
	}
	own := filepath.Join(m.dir, "store")
	if err := errors.Join(os.RemoveAll(own), os.Symlink(store, own)); err != nil {
		t.Fatal(err)
	}
	m.fault = "days that pass"
	m.clocks.SetClock(&clocks{Wall: m.begin})
	m.start(m.clocks)
	return m
}

// day has the server run on one of the days, serve the published snapshot, and answer its clients,
// each day more often.
func (m *monthsEnd) day(n int, published string) {
	m.t.Helper()
	passed := time.Duration(n) * 24 * time.Hour
	m.clocks.SetClock(&clocks{Wall: m.begin + passed, Boot: passed})
	date := m.first.AddDate(0, 0, n)
	m.isDay(date)
	m.eventually(m.t, "serve "+published, func() bool {
		return strings.Contains(m.asks(m.Admin+"/-/snapshot"), published)
	})

	m.answered = 0
	batches := len(m.made)
	for range n + 1 {
		m.round()
	}
	m.calls[date.Format(time.DateOnly)+" acme"] = m.answered
	m.calls[date.Format(time.DateOnly)+" partner"] = int64(len(m.made) - batches)
}

// bills ends the server and wants the bills of the days, and those of both months, to say what its
// clients were answered.
func (m *monthsEnd) bills() {
	t := m.t
	t.Helper()
	m.dies()
	months := map[string]int64{}
	for _, row := range m.bill(t, m.first, 5, "--format", "csv") {
		months[row[2]+" "+row[0]] += cellOf(t, row[5])
	}
	if !maps.Equal(months, m.calls) {
		t.Errorf("the bills are %v, answered were %v", months, m.calls)
	}

	// The two days of the old month, and the three of the new one.
	for _, month := range []struct{ from, days int }{{0, 2}, {2, 3}} {
		want := map[string]int64{}
		from := m.first.AddDate(0, 0, month.from)
		for day := range month.days {
			date := from.AddDate(0, 0, day).Format(time.DateOnly)
			want["acme"] += m.calls[date+" acme"]
			want["partner"] += m.calls[date+" partner"]
		}
		got := map[string]int64{}
		for _, row := range m.bill(t, from, month.days, "--totals", "--format", "csv") {
			got[row[0]] = cellOf(t, row[7]) + cellOf(t, row[8])
		}
		if !maps.Equal(got, want) {
			t.Errorf("the bill of %s is %v, want %v", from.Format("January"), got, want)
		}
	}
}

// bill is a bill of some days without its header.
func (v *faultServer) bill(t *testing.T, from time.Time, days int, more ...string) [][]string {
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
func (v *faultServer) isDay(date time.Time) {
	v.t.Helper()
	end := date.AddDate(0, 0, 1).Format(time.DateOnly) + "T00:00:00Z"
	var said string
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		said = v.asks(v.API + "/v1/usage")
		if strings.Contains(said, end) {
			return
		}
	}
	v.t.Fatalf("the day that ends at %s did not begin: %s", end, said)
}

// asks is the answer of a URL, or the error of asking.
func (v *faultServer) asks(url string) string {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, url, http.NoBody)
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
	return fmt.Sprint(string(body), err)
}
