package counters_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"ninepocket/internal/counters"
)

func TestCounters(t *testing.T) {
	const rows, columns, each = 3, 4, 1000
	c := counters.NewCounters(rows, columns)
	var adders sync.WaitGroup
	for range 40 {
		s := counters.NextShard()
		adders.Go(func() {
			for range each {
				for row := range rows {
					for column := range columns {
						c.Add(s, row, column, uint64(1+row*columns+column))
					}
				}
			}
		})
	}

	adders.Wait()
	for row := range rows {
		for column := range columns {
			want := uint64(40 * each * (1 + row*columns + column))
			if got := c.Sum(row, column); got != want {
				t.Errorf("counter %d, %d is %d, want %d", row, column, got, want)
			}
		}
	}
}

func TestShardsTakeTurns(t *testing.T) {
	seen := map[counters.Shard]int{}
	for range 2 * counters.Shards {
		seen[counters.NextShard()]++
	}
	if len(seen) != counters.Shards {
		t.Errorf("%d shards come, want %d", len(seen), counters.Shards)
	}

	for s, n := range seen {
		if n != 2 || s >= counters.Shards {
			t.Errorf("shard %d came %d times", s, n)
		}
	}
}

func TestDurations(t *testing.T) {
	d := counters.NewDurations(2, time.Microsecond, time.Millisecond, time.Second)
	for k, took := range []time.Duration{
		// First bucket: bounds belong to their bucket, a clock that steps back does not count below zero.
		-5, 0, 1, time.Microsecond,
		time.Microsecond + 1, time.Millisecond,
		time.Second,
		time.Second + 1, time.Hour,
	} {
		d.Observe(counters.Shard(k), 1, took)
	}

	h := d.Row(1)
	if !slices.Equal(h.Counts, []uint64{4, 2, 1, 2}) || h.Count() != 9 {
		t.Errorf("counts are %v", h.Counts)
	}

	want := 1 + 2*time.Microsecond + 1 + time.Millisecond + time.Second + time.Second + 1 + time.Hour
	if h.Sum != want {
		t.Errorf("the sum is %v, want %v", h.Sum, want)
	}
	if empty := d.Row(0); empty.Count() != 0 || empty.Sum != 0 {
		t.Errorf("the other row has %v", empty)
	}
}

func TestDecades(t *testing.T) {
	got := counters.Decades(5*time.Microsecond, 2*time.Millisecond)
	want := []time.Duration{5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAllocs(t *testing.T) {
	c := counters.NewCounters(4, 4)
	d := counters.NewDurations(4, counters.Decades(5*time.Microsecond, time.Second)...)
	if n := testing.AllocsPerRun(100, func() { c.Add(3, 1, 1, 1); d.Observe(3, 1, time.Millisecond) }); n != 0 {
		t.Errorf("counting takes %v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	c := counters.NewCounters(24, 20)
	d := counters.NewDurations(24, counters.Decades(5*time.Microsecond, time.Second)...)
	b.Run("counter", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for s := counters.NextShard(); p.Next(); {
				c.Add(s, 3, 3, 1)
			}
		})
	})

	b.Run("duration", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for s := counters.NextShard(); p.Next(); {
				d.Observe(s, 3, 3*time.Microsecond)
			}
		})
	})

	b.Run("clock", func(b *testing.B) {
		began := time.Now()
		for b.Loop() {
			_ = time.Since(began)
		}
	})
}
