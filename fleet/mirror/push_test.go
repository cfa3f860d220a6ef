package mirror

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// TestPushRace lets eight operators publish at the same time, each from its last reading. One of
// them wins each epoch, and the losers get the winner's name.
func TestPushRace(t *testing.T) { race(t, s3test.Start(t).Store) }

func TestPushRaceOfARealStore(t *testing.T) { race(t, s3test.Versity(t)) }

func race(t *testing.T, store *s3test.Store) {
	t.Helper()
	w := newWorld(t, store)
	w.push(w.build(1))
	ids := []string{w.build(2), w.build(3)}

	var mu sync.Mutex
	won := map[uint64]string{}
	lost := 0
	var group sync.WaitGroup
	for i := range 8 {
		id := ids[i%2]
		o := w.pushing()
		group.Go(func() {
			done, err := w.bucket.Push(context.Background(), w.dir, id, o)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, ErrTooLate):
				lost++
				if !strings.Contains(err.Error(), `"ops-2026" published epoch `) {
					t.Errorf("who lost is told %q", err)
				}
			case err != nil:
				t.Error(err)
			case done.Changed && won[done.Epoch] != "":
				t.Errorf("epoch %d was published twice", done.Epoch)
			case done.Changed:
				won[done.Epoch] = id
			}
		})
	}
	group.Wait()

	if len(won) == 0 {
		t.Fatal("nobody published")
	}
	for epoch := uint64(2); epoch < 2+uint64(len(won)); epoch++ {
		if won[epoch] == "" {
			t.Errorf("epochs %v were published: %d is missing", won, epoch)
		}
	}
	last := uint64(1 + len(won))
	w.pulls(w.server(), won[last], last)
}

// TestPushSendsAgain: a rule that expires objects by their age must not take a section in use.
func TestPushSendsAgain(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	w.push(w.build(1))

	for i, days := range []int{29, 31} {
		model.Written(w.pushing().Now.AddDate(0, 0, -days))
		id := w.build(uint64(2 + i))
		done := w.push(id)
		if again := done.Sent == bytesOf(t, w.dir, id); again != (days > 30) || done.Sent == 0 {
			t.Errorf("after %d days %d bytes are sent, %d are not", days, done.Sent, done.Reused)
		}
	}
}

// TestPushBesideAStranger finds a CURRENT that no trusted key signed where its own was to be.
func TestPushBesideAStranger(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	id := w.build(1)
	forged, err := encodeSigned(kindCurrent, &Pointer{
		Format: pointerVersion, Epoch: 1, ID: id, ManifestSHA256: strings.Repeat("ab", 32), PublishedAt: day,
	}, newKey(t, "ops-1999"))
	if err != nil {
		t.Fatal(err)
	}

	model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if s3test.Of(http.MethodPut, "prod/CURRENT")(r) {
			model.Put("prod/CURRENT", forged)
		}
		next.ServeHTTP(rw, r)
	})
	_, err = w.bucket.Push(t.Context(), w.dir, id, w.pushing())
	const want = "somebody without a trusted key wrote CURRENT"
	if !errors.Is(err, ErrTooLate) || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %s", err, want)
	}
}

// TestPushTooLate publishes between the look of another push and its write.
func TestPushTooLate(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	first := w.build(1)
	second := w.build(2)
	third := w.build(3)
	w.push(first)
	o := w.pushing()
	other := w.pushing()

	var interrupted atomic.Bool
	model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if s3test.Of(http.MethodPut, "prod/CURRENT")(r) && !interrupted.Swap(true) {
			if _, err := w.bucket.Push(t.Context(), w.dir, third, other); err != nil {
				t.Error(err)
			}
		}
		next.ServeHTTP(rw, r)
	})
	_, err := w.bucket.Push(t.Context(), w.dir, second, o)
	if !errors.Is(err, ErrTooLate) || !strings.Contains(err.Error(), third) {
		t.Errorf("the second of two pushes: %v", err)
	}
	model.Set(nil)
	w.pulls(w.server(), third, 2)
}

// TestPushLostAnswer loses the answer of each write of a push in turn. The push must know whether it
// published.
func TestPushLostAnswer(t *testing.T) {
	for _, object := range []string{"prod/CURRENT", "prod/manifests/", "prod/epochs/"} {
		model := s3test.Start(t)
		w := newWorld(t, model.Store)
		w.push(w.build(1))
		second := w.build(2)
		model.Set(s3test.Lose(s3test.Of(http.MethodPut, object)))
		if done := w.push(second); done.Epoch != 2 || !done.Changed {
			t.Errorf("%s: %+v", object, done)
		}
		w.pulls(w.server(), second, 2)
	}

	// A write that never came is no release, and the next push succeeds.
	for _, object := range []string{"prod/CURRENT", "prod/manifests/", "prod/blobs/", "prod/probes/"} {
		model := s3test.Start(t)
		w := newWorld(t, model.Store)
		first := w.build(1)
		second := w.build(2)
		w.push(first)
		model.Set(s3test.Answer(s3test.Of(http.MethodPut, object), http.StatusServiceUnavailable))
		if done, err := w.bucket.Push(t.Context(), w.dir, second, w.pushing()); err == nil {
			t.Errorf("%s: %+v without an error", object, done)
		}
		model.Set(nil)
		server := w.server()
		w.pulls(server, first, 1)
		w.push(second)
		w.pulls(server, second, 2)
	}
}

// TestPushUnknown loses the answer and the look after it.
func TestPushUnknown(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	w.push(w.build(1))
	second := w.build(2)
	var written atomic.Bool
	model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if written.Load() || s3test.Of(http.MethodPut, "prod/CURRENT")(r) {
			written.Store(true)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(rw, r)
	})
	if _, err := w.bucket.Push(t.Context(), w.dir, second, w.pushing()); !errors.Is(err, ErrUnknownResult) {
		t.Errorf("push: %v, want %v", err, ErrUnknownResult)
	}
}

// TestPushProbe wants a store that ignores conditions to be refused before anything is sent.
func TestPushProbe(t *testing.T) {
	model := s3test.Start(t)
	model.IgnoreConditions(true)
	w := newWorld(t, model.Store)
	_, err := w.bucket.Push(t.Context(), w.dir, w.build(1), w.pushing())
	const message = "the snapshot store ignores conditional writes (If-None-Match was answered 200): " +
		"two publishers would overwrite each other"
	if !errors.Is(err, ErrNoConditionalWrites) || !strings.HasSuffix(err.Error(), message) {
		t.Errorf("push: %v, want %q", err, message)
	}
	if names := model.Names(); len(names) != 0 {
		t.Errorf("the store has %v", names)
	}

	// One that minds If-None-Match alone is no better.
	model.IgnoreConditions(false)
	model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("If-Match")
		next.ServeHTTP(rw, r)
	})
	_, err = w.bucket.Push(t.Context(), w.dir, w.build(1), w.pushing())
	if !errors.Is(err, ErrNoConditionalWrites) || !strings.Contains(err.Error(), "(If-Match was answered 200)") {
		t.Errorf("push: %v", err)
	}
}

func TestPushFreeze(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	first := w.build(1)
	second := w.build(2)
	w.push(second)
	o := w.pushing()
	o.Freeze = true
	if _, err := w.bucket.Push(t.Context(), w.dir, first, o); err != nil {
		t.Fatal(err)
	}

	model.Set(nil)
	_, err := w.bucket.Push(t.Context(), w.dir, second, w.pushing())
	if !errors.Is(err, ErrFrozen) || !strings.Contains(err.Error(), `epoch 2, which "ops-2026" published`) {
		t.Errorf("a push while held: %v", err)
	}
	for _, asked := range model.Asked() {
		if strings.HasPrefix(asked, "PUT prod/") && !strings.HasPrefix(asked, "PUT prod/probes/") {
			t.Errorf("a push while held asked for %s", asked)
		}
	}

	o = w.pushing()
	o.Unfreeze = true
	if done, err := w.bucket.Push(t.Context(), w.dir, second, o); err != nil || done.Epoch != 3 || done.Freeze {
		t.Errorf("a push that releases: %+v, %v", done, err)
	}
	w.push(first)
}

// TestPushLostCurrent removes CURRENT: the next push goes on above every epoch that there was.
func TestPushLostCurrent(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	server := w.server()
	for seed := range uint64(3) {
		w.pulls(server, w.push(w.build(seed+1)).ID, seed+1)
	}

	model.Put("prod/CURRENT", nil)
	w.refuses(server, ErrNoPublication, "")
	id := w.build(9)
	if done := w.push(id); done.Epoch != 4 {
		t.Errorf("the push after CURRENT was lost: %+v", done)
	}
	w.pulls(server, id, 4)

	// Where CURRENT went back, the same snapshot is published again.
	model.Put("prod/CURRENT", model.Get("prod/epochs/000000000001"))
	w.refuses(server, nil, "epoch 1 is published, 4 was served here")
	if done := w.push(id); done.Epoch != 5 {
		t.Errorf("the push after CURRENT went back: %+v", done)
	}
	w.pulls(server, id, 5)

	// Where the whole store went back, servers say above which epoch.
	for _, name := range model.Names() {
		if strings.HasPrefix(name, "prod/epochs/") || name == "prod/CURRENT" {
			model.Put(name, nil)
		}
	}
	w.push(id)
	w.refuses(server, nil, "epoch 1 is published, 5 was served here")
	o := w.pushing()
	o.AfterEpoch = 5
	if done, err := w.bucket.Push(t.Context(), w.dir, id, o); err != nil || done.Epoch != 6 {
		t.Errorf("the push above epoch 5: %+v, %v", done, err)
	}
	w.pulls(server, id, 6)
}

// TestPushDamaged pushes nothing that is not whole here, and nothing that is not the bytes of its
// name there.
func TestPushDamaged(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	id := w.build(1)
	model.Put("prod/manifests/"+id, []byte("something else\n"))
	if _, err := w.bucket.Push(t.Context(), w.dir, id, w.pushing()); !errors.Is(err, ErrContentDiffers) {
		t.Errorf("a push over another manifest: %v", err)
	}
	model.Put("prod/manifests/"+id, nil)

	// An upload that was cut off is sent again.
	m, _ := w.dir.Manifest(id)
	cut := "prod/blobs/sha256/" + m.Sections[0].SHA256
	model.Put(cut, model.Get(cut)[:5])
	w.push(id)
	w.pulls(w.server(), id, 1)

	damage(t, w.dir, id)
	if _, err := w.bucket.Push(t.Context(), w.dir, id, w.pushing()); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("a push of a damaged snapshot: %v", err)
	}
	if _, err := w.bucket.Push(t.Context(), w.dir, "20260101T000000Z-0123456789abcdef", w.pushing()); !errors.Is(err,
		snapshot.ErrNotFound) {
		t.Errorf("a push of a snapshot that is not there: %v", err)
	}
}

// TestPushLead bounds what lies ahead.
func TestPushLead(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	o := w.pushing()
	o.Lead = MaxLead + time.Second
	if _, err := w.bucket.Push(t.Context(), w.dir, w.build(1), o); !errors.Is(err, ErrVersion) {
		t.Errorf("a push for the day after tomorrow: %v", err)
	}
}
