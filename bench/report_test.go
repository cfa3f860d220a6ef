package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// rounds returns three rounds of a server, whose median takes cpu for each of its 10 requests.
func rounds(cpu time.Duration) []Sample {
	all := make([]Sample, 3)
	for i := range all {
		s := &all[i]
		s.Requests = 10
		s.Wall = time.Second
		s.Bytes = 1000
		s.Failures = int64(i)

		// 0, cpu, twice that.
		s.CPU = 10 * cpu * time.Duration(i)
		for range 10 {
			s.Latency.Add(100 * time.Microsecond)
		}
	}
	return all
}

func TestReport(t *testing.T) {
	r := &Report{Servers: []string{full, bareBody}, Memory: map[string]int64{full: 3e6}, Rounds: 3}
	op := &Operation{Name: "get_card", About: "one card", Depth: 1}
	able := []*contestant{{name: full}, {name: bareBody}}
	r.add(op, able, map[string][]Sample{full: rounds(20 * time.Microsecond), bareBody: rounds(15 * time.Microsecond)})

	own := r.Operations[0].Results[full]
	if own.CPU != 20 || own.Rate != 10 || own.Bytes != 100 || own.Failures != 3 || own.P50 < 100 || own.P50 > 102 {
		t.Errorf("result is %+v", own)
	}
	if share := r.Operation("get_card").Share(bareBody); share != 0.75 {
		t.Errorf("bare takes %g of our CPU, want 0.75", share)
	}
	if share := r.Operation("unknown").Share(bareBody); share != 0 {
		t.Errorf("an operation that was not measured has a share of %g", share)
	}

	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}

	for text, wants := range map[string][]string{
		out.String():    {"get_card", "75 %", "15.0"},
		r.Markdown():    {"| one card | 20.0 µs · 10/s · p99 100 µs | 15.0 µs", "| memory at the end | 3 MB |"},
		ScaleTable(nil): {"| cards |"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

func TestSpelling(t *testing.T) {
	for got, want := range map[string]string{
		figure(0.1234): "0.12", figure(12.34): "12.3", figure(1234.5): "1234", figure(0): "–", figure(9.996): "10.0",
		thousands(999): "999", thousands(1234): "1.2k", thousands(123_456): "123k", latency(12.34): "p99 12.3 µs", latency(1234): "p99 1.23 ms", // air: one text
		grouped(12): "12", grouped(1234): "1,234", grouped(1_000_000): "1,000,000", megabytes(3e6): "3.00 MB",
	} {
		if got != want {
			t.Errorf("spelt %q, want %q", got, want)
		}
	}
}
