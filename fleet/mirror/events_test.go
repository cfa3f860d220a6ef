package mirror

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ninepocket/internal/s3test"
)

// TestEvents sends events through a bucket: each once, unchanged, and only if a trusted key signed
// it under its own id.
func TestEvents(t *testing.T) { events(t, s3test.Start(t).Store) }

func TestEventsOfARealStore(t *testing.T) { events(t, s3test.Versity(t)) }

func events(t *testing.T, store *s3test.Store) {
	t.Helper()
	w := newWorld(t, store)
	server := w.server()
	if ids, err := server.EventIDs(t.Context()); err != nil || len(ids) > 0 {
		t.Fatalf("%q, %v", ids, err)
	}

	id := func(hour int) string { return fmt.Sprintf("evt_20261120T%02d0000Z_%020x", hour, hour) }
	var want []string
	for hour := range 3 {
		want = append(want, id(hour))
		if err := w.dir.Events().Add(id(hour), []byte(fmt.Sprintf("{\"hour\":%d}", hour))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.bucket.PushEvents(t.Context(), w.dir, w.key); err != nil {
				t.Fatal(err)
			}
		}
	}
	ids, err := server.EventIDs(t.Context())
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%q, %v; want %q", ids, err, want)
	}
	for hour := range 3 {
		body, err := server.Event(t.Context(), id(hour))
		if err != nil || string(body) != fmt.Sprintf("{\"hour\":%d}", hour) {
			t.Errorf("hour %d: %q, %v", hour, body, err)
		}
	}

	// A writer without a trusted key can neither make an event, nor give an event another id.
	signed, _, err := w.bucket.get(t.Context(), eventPrefix+id(1), "")
	if err != nil {
		t.Fatal(err)
	}
	thief := newKey(t, "thief")
	for hour, forged := range map[int][]byte{
		4: signed, 5: sign(kindEvent+id(5), []byte("{}\n"), thief), 6: []byte("{}\n"), 7: []byte("{}"), 8: nil,
	} {
		if _, err := w.bucket.put(t.Context(), eventPrefix+id(hour), forged, writeCondition{}); err != nil {
			t.Fatal(err)
		}
		body, err := server.Event(t.Context(), id(hour))
		_, untrusted := errors.AsType[*UntrustedError](err)
		if !untrusted && !errors.Is(err, ErrBadSignature) {
			t.Errorf("hour %d: %q, %v", hour, body, err)
		}
	}

	// Names that no event has are passed over.
	if _, err := w.bucket.put(t.Context(), eventPrefix+"README", nil, writeCondition{}); err != nil {
		t.Fatal(err)
	}
	if ids, err := server.EventIDs(t.Context()); err != nil || len(ids) != 8 {
		t.Errorf("%q, %v", ids, err)
	}
}
