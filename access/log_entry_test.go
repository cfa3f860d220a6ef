package access

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"ninepocket/calendar"
)

// testEntry is the n-th of many different entries.
func testEntry(n int) *entry {
	e := &entry{
		tenant: fmt.Sprint("tenant", n%3), key: fmt.Sprint("key_", n%5),
		op: CardsGet, window: KeyWindow, quota: DayQuota,
		charged: int64(n % 2), at: windowEpoch + int64(n), wall: windowEpoch + int64(n),
		day: calendar.DayOf(windowEpoch),
	}

	if n%4 == 3 {
		e.op = PricesBatch
		e.window = TenantWindow
		e.quota = PeriodCredits
		e.period = calendar.Month(windowEpoch)
		data := bytes.Repeat([]byte{byte(n)}, n)
		e.reply = &replyRecord{name: fmt.Sprint("idem", n), body: BodyHash{byte(n)}, data: data}
	}
	return e
}

func TestEntry(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		want := testEntry(n)
		got, err := decodeEntry(want.append(nil))
		if err != nil || !reflect.DeepEqual(&got, want) {
			t.Fatalf("entry %d: %+v, want %+v (%v)", n, got, want, err)
		}
	}
}

func FuzzEntry(f *testing.F) {
	for n := range 8 {
		f.Add(testEntry(n).append(nil))
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}

		again, err := decodeEntry(e.append(nil))
		same := (e.reply == nil) == (again.reply == nil) && e.tenant == again.tenant && e.at == again.at
		if err != nil || !same {
			t.Fatalf("%+v became %+v: %v", e, again, err)
		}
	})
}

func FuzzCheckpointAccount(f *testing.F) {
	a := newTenantState("acme", &atomic.Int64{})
	a.key("key_1").window.restore(burst{at: windowEpoch, n: 3})
	a.day = 20000
	a.creditsUsed = 7
	a.lastAdmission.store = windowEpoch
	f.Add(a.append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := newTenantState("acme", &atomic.Int64{})
		if err := a.decode(data); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
