package mirror

import (
	"testing"
	"time"

	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// aheadOf pushes two snapshots, the second with a lead.
func aheadOf(t *testing.T, model *s3test.Model) (w *world, first, next string, done PushResult) {
	t.Helper()
	w = newWorld(t, model.Store)
	first = w.build(1)
	next = w.build(2)
	for i, id := range []string{first, next} {
		var err error
		done, err = w.bucket.Push(t.Context(), w.dir, id, PushOptions{
			Now: time.Now(), Key: w.key, Lead: time.Duration(i) * time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w, first, next, done
}

// fresh is a server that begins with an empty folder.
func (w *world) fresh() *Follower {
	return NewFollower(openAt(w.T, w.store), snapshot.OpenStore(w.TempDir()), FollowerOptions{
		Publishers: []Publisher{w.key.Publisher()}, RetainFor: 15 * time.Minute,
	})
}

// TestPullPrevious starts a server while all others still serve the previous release. It pulls
// that release, too, and accepts nothing without a signature.
func TestPullPrevious(t *testing.T) {
	model := s3test.Start(t)
	w, first, next, done := aheadOf(t, model)
	server := w.fresh()
	w.pulls(server, next, 2)
	cur, err := server.dir.Current()
	if err != nil || cur.Previous != first || cur.PreviousEpoch != 1 || !cur.PreviousUntil.Equal(done.ActivateAt) ||
		!server.dir.Has(first) {
		t.Errorf("a new server has %+v, %v", cur, err)
	}
	if published, asked := server.Published(); published.Epoch != 2 || time.Since(asked) > time.Minute {
		t.Errorf("the store told %+v at %s", published, asked)
	}

	// One that was there before knows the epoch by itself.
	back := snapshot.Current{Epoch: 9, ID: first, Previous: next}
	if err := server.dir.PublishFrom(back, "", snapshot.Retention{}); err != nil {
		t.Fatal(err)
	}
	if cur, err := server.dir.Current(); err != nil || cur.PreviousEpoch != 2 {
		t.Errorf("adopted over epoch 2: %+v, %v", cur, err)
	}

	// Without it a server begins with what is published.
	signed := model.Get("prod/" + epochName(1))
	other := Pointer{Format: pointerVersion, Epoch: 1, ID: first, ManifestSHA256: done.ManifestSHA256, PublishedAt: day}
	forged, err := encodeSigned(kindCurrent, &other, newKey(t, "ops-2026"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"it is not kept": nil, "somebody else signed it": forged, "it is of another epoch": model.Get("prod/CURRENT"),
		"it is cut off": signed[:len(signed)-10],
	} {
		model.Put("prod/"+epochName(1), content)
		server := w.fresh()
		w.pulls(server, next, 2)
		if server.dir.Has(first) {
			t.Errorf("%s: the snapshot before is taken up", name)
		}
	}
	model.Put("prod/"+epochName(1), signed)
	model.Put("prod/"+manifestPrefix+first, []byte("{}"))
	w.pulls(w.fresh(), next, 2)
}

// TestPushAgain publishes once more what waits for its time, with another key: the time stays.
func TestPushAgain(t *testing.T) {
	w, first, next, done := aheadOf(t, s3test.Start(t))
	other := newKey(t, "ops-2027")
	if _, err := w.bucket.InitTrust(t.Context(), w.key, false, day); err != nil {
		t.Fatal(err)
	}
	if _, err := w.bucket.AddTrustedKey(t.Context(), w.key, other.Publisher(), day); err != nil {
		t.Fatal(err)
	}
	again, err := w.bucket.Push(t.Context(), w.dir, next, PushOptions{Now: time.Now(), Key: other, Lead: 2 * time.Hour})
	if err != nil || again.Epoch != 3 || !again.ActivateAt.Equal(done.ActivateAt) || again.Previous != first ||
		!again.PreviousUntil.Equal(done.PreviousUntil) {
		t.Errorf("published once more as %+v, %v; at first as %+v", again, err, done)
	}

	// After that time there is nothing to wait for.
	again, err = w.bucket.Push(t.Context(), w.dir, next, PushOptions{
		Now: time.Now().Add(3 * time.Hour), Key: w.key, Lead: time.Hour,
	})
	if err != nil || again.Epoch != 4 || !again.ActivateAt.IsZero() || again.Previous != first {
		t.Errorf("published after its time as %+v, %v", again, err)
	}
}
