package access

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// suggesting is a gate with a principal that asks for suggestions.
func suggesting(perMinute int, perDay int64) (*Gate, *keys.Principal) {
	p := &keys.Principal{
		Tenant: "shop", KeyID: "key", Surface: keys.Live, Plan: &keys.Plan{PerMinute: perMinute, PerDay: perDay},
	}
	return NewGate(nil, NewMemory(MemoryOptions{})), p
}

// TestSuggestionsArePaidByTens asks on several days, in part without success, and wants the first of each
// ten answers of a day to be charged, and no more once the day is used up.
func TestSuggestionsArePaidByTens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perDay := rapid.Int64Range(1, 4).Draw(t, "requests a day")
		gate, p := suggesting(10_000, perDay)
		now := Instant{Wall: calendar.Day(20_000).Start(), Mono: 1}
		answered, charged := int64(0), int64(0) // air: a pair

		for range rapid.IntRange(1, 120).Draw(t, "calls") {
			if rapid.IntRange(0, 30).Draw(t, "a day passes") == 0 {
				now.Wall += calendar.DayMillis
				now.Mono += calendar.DayMillis
				answered = 0
				charged = 0
			}

			decision := gate.Admit(p, SuggestList, now)
			if isDue := answered%suggestionsPerRequest == 0; isDue && charged == perDay {
				if decision.Result != QuotaExceeded {
					t.Fatalf("answer %d after %d requests of %d: %q", answered, charged, perDay, decision.Result)
				}
				continue
			}
			if decision.Result != Admitted {
				t.Fatalf("answer %d after %d requests of %d: %q", answered, charged, perDay, decision.Result)
			}

			success := rapid.IntRange(0, 3).Draw(t, "fails") > 0
			want := int64(0)
			if success && answered%suggestionsPerRequest == 0 {
				want = 1
			}
			charge, err := gate.Finish(decision.Reservation, success)
			if err != nil || charge.Charged != want {
				t.Fatalf("answer %d: charged %d, want %d (%v)", answered, charge.Charged, want, err)
			}
			if success {
				answered++
				charged += want
			}
		}

		usage, err := gate.Usage(p, now)
		if err != nil || usage.Used != charged {
			t.Fatalf("used %d, want %d (%v)", usage.Used, charged, err)
		}
	})
}

// TestSuggestionsTogether asks from many goroutines and wants every answer to be paid: ten a charge.
func TestSuggestionsTogether(t *testing.T) {
	gate, p := suggesting(10_000, 10_000)
	now := Instant{Wall: calendar.Day(20_000).Start(), Mono: 1}
	const callers, calls = 8, 100
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range calls {
				if _, err := gate.Finish(gate.Admit(p, SuggestList, now).Reservation, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()

	usage, err := gate.Usage(p, now)
	left := int64(gate.suggestions.left[p.Tenant])
	if err != nil || usage.Used*suggestionsPerRequest != callers*calls+left || left < 0 {
		t.Errorf("%d requests paid %d suggestions and %d are left (%v)", usage.Used, callers*calls, left, err)
	}
	if usage.Minute.Remaining != 10_000 {
		t.Errorf("suggestions took of the minute: %+v", usage.Minute)
	}
}
