package mirror

import (
	"slices"
	"testing"

	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// TestChanges sends what releases change through a bucket: to a server that follows, and to one
// that begins later. Changes that a trusted key did not sign under their epoch are ignored, and
// never stop a release.
func TestChanges(t *testing.T) { throughBucket(t, s3test.Start(t).Store) }

func TestChangesOfARealStore(t *testing.T) { throughBucket(t, s3test.Versity(t)) }

// edges are the deltas that a server has, newest first.
func edges(t *testing.T, c *Follower) (all [][2]string) {
	t.Helper()
	deltas, err := snapshot.DeltasOf(c.dir).All()
	if err != nil {
		t.Fatal(err)
	}
	for _, delta := range deltas {
		rows, err := delta.Rows(func() {})
		if err != nil || len(rows) == 0 {
			t.Errorf("epoch %d: %d rows, %v", delta.Epoch, len(rows), err)
		}
		all = append(all, [2]string{delta.From, delta.To})
	}
	return all
}

func throughBucket(t *testing.T, store *s3test.Store) {
	t.Helper()
	w := newWorld(t, store)
	server := w.server()
	a := w.build(1)
	b := w.build(2)

	// A rollback is a release, and the same snapshot again has no delta.
	var want [][2]string
	last := ""
	epoch := uint64(0)
	for _, id := range []string{a, b, a, b} {
		w.push(id)
		epoch++
		w.pulls(server, id, epoch)
		if last != "" {
			want = slices.Insert(want, 0, [2]string{last, id})
		}
		last = id
	}
	if got := edges(t, server); !slices.Equal(got, want) {
		t.Errorf("a server that follows has %q, want %q", got, want)
	}
	late := w.server()
	w.pulls(late, b, epoch)
	if got := edges(t, late); !slices.Equal(got, want) {
		t.Errorf("a server that begins has %q, want %q", got, want)
	}

	// The publisher has not the snapshot before: it publishes without.
	other := newWorld(t, store)
	other.key = w.key
	c := other.build(3)
	var warned string
	o := other.pushing()
	o.OnWarning = func(text string) { warned = text }
	if _, err := w.bucket.Push(t.Context(), other.dir, c, o); err != nil || warned == "" {
		t.Fatalf("%v, warned of %q", err, warned)
	}
	epoch++
	w.pulls(server, c, epoch)
	if got := edges(t, server); !slices.Equal(got, want) {
		t.Errorf("a delta of nothing: %q", got)
	}

	// Forged, of another epoch, and cut off.
	signed, _, err := w.bucket.get(t.Context(), changesName(2), "")
	if err != nil {
		t.Fatal(err)
	}
	thief := newKey(t, "thief")
	for _, forged := range [][]byte{signed, sign(changesKind(epoch), []byte("{}\n"), thief), signed[:100], nil} {
		if _, err := w.bucket.put(t.Context(), changesName(epoch), forged, writeCondition{}); err != nil {
			t.Fatal(err)
		}
		fresh := w.server()
		w.pulls(fresh, c, epoch)
		if got := edges(t, fresh); len(got) > 0 {
			t.Errorf("%.40q is taken: %q", forged, got)
		}
	}
}
