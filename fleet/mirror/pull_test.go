package mirror

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// damage flips a byte of the first section of a snapshot.
func damage(t *testing.T, dir *snapshot.Store, id string) {
	t.Helper()
	m, err := dir.Manifest(id)
	if err != nil {
		t.Fatal(err)
	}
	disktest.FlipBit(t, filepath.Join(dir.Path(id), m.Sections[0].File))
}

// TestPullResume cuts every answer with a section after a third of it. The pull asks for the rest,
// and for no byte twice.
func TestPullResume(t *testing.T) {
	for name, store := range map[string]func(testing.TB) *s3test.Store{
		"model": func(tb testing.TB) *s3test.Store { return s3test.Start(tb).Store }, "real": s3test.Versity,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, store(t))
			id := w.build(1)
			w.push(id)
			var cuts atomic.Int64
			w.store.Set(s3test.Change(s3test.Of(http.MethodGet, "/blobs/"), func(body []byte) ([]byte, int) {
				if len(body) < 600 {
					return body, len(body)
				}
				cuts.Add(1)
				return body[:max(len(body)/3, 500)], len(body)
			}))

			server := w.server()
			for range 100 {
				if _, err := server.Pull(t.Context()); err == nil {
					break
				}
			}
			w.contains(server, id, 1)
			same(t, w.dir, server.dir, id)
			want := bytesOf(t, w.dir, id)
			if got := server.Stats().Downloaded; got != want || cuts.Load() == 0 {
				t.Errorf("%d bytes were downloaded over %d cuts, the sections have %d", got, cuts.Load(), want)
			}
		})
	}
}

// TestPullResumesAfterACrash continues the partial section of another process, also if its end is
// damaged.
func TestPullResumesAfterACrash(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	id := w.build(1)
	w.push(id)
	m, _ := w.dir.Manifest(id)
	whole, err := os.ReadFile(filepath.Join(w.dir.Path(id), m.Sections[0].File))
	if err != nil {
		t.Fatal(err)
	}

	half := whole[:len(whole)/2]
	for name, there := range map[string][]byte{
		"half": half, "torn": append(bytes.Clone(half[:len(half)-1]), half[len(half)-1]^1), "long": append(whole, 1),
		"whole": whole,
	} {
		folder := t.TempDir()
		incoming := filepath.Join(folder, "incoming")
		if err := os.MkdirAll(incoming, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(incoming, m.Sections[0].SHA256), there, 0o600); err != nil {
			t.Fatal(err)
		}

		server := w.restarted(folder, w.key.Publisher())
		done := w.pulls(server, id, 1)
		same(t, w.dir, server.dir, id)
		if want := bytesOf(t, w.dir, id) - int64(len(half)); name == "half" && done.Downloaded != want {
			t.Errorf("%d bytes were downloaded, %d were missing", done.Downloaded, want)
		}
		if _, err := os.Stat(incoming); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: what came is still there: %v", name, err)
		}
	}
}

// TestPullFlipped changes a byte of each object in turn. The pull ends with an error, and what is
// served stays.
func TestPullFlipped(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	server := w.server()
	first := w.build(1)
	w.push(first)
	w.pulls(server, first, 1)
	second := w.build(2)
	w.push(second)

	flip := func(body []byte) ([]byte, int) {
		body[len(body)/2] ^= 4
		return body, len(body)
	}
	for object, want := range map[string]error{
		"/CURRENT": ErrBadSignature, "/manifests/": ErrManifest, "/blobs/": ErrChecksum,
	} {
		w.store.Set(s3test.Change(s3test.Of(http.MethodGet, object), flip))
		w.refuses(server, want, "")
		w.contains(server, first, 1)
	}

	w.store.Set(nil)
	w.pulls(server, second, 2)
	same(t, w.dir, server.dir, second)
}

// TestPullMends downloads again what is damaged here.
func TestPullMends(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	folder := t.TempDir()
	server := w.restarted(folder, w.key.Publisher())
	id := w.build(1)
	w.push(id)
	w.pulls(server, id, 1)
	damage(t, server.dir, id)
	restarted := w.restarted(folder, w.key.Publisher())
	w.pulls(restarted, id, 1)
	same(t, w.dir, restarted.dir, id)
}

// TestPull404 takes a section away: the pull fails at once, and succeeds when it is back.
func TestPull404(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	id := w.build(1)
	w.push(id)
	m, _ := w.dir.Manifest(id)
	name := "prod/blobs/sha256/" + m.Sections[3].SHA256
	content := model.Get(name)
	model.Put(name, nil)
	model.Set(nil)

	server := w.server()
	w.refuses(server, errNotFound, id)
	asked := 0
	for _, request := range model.Asked() {
		if request == "GET "+name {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("a section that is not there was asked for %d times", asked)
	}

	model.Put(name, content)
	w.pulls(server, id, 1)
}

// TestPullTruncated has a store that lost the end of a section and says so of no answer.
func TestPullTruncated(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	id := w.build(1)
	w.push(id)
	m, _ := w.dir.Manifest(id)
	name := "prod/blobs/sha256/" + m.Sections[0].SHA256
	content := model.Get(name)
	model.Put(name, content[:len(content)/2])

	server := w.server()
	w.refuses(server, nil, id)
	w.push(w.build(2))
	o := w.pushing()
	if _, err := w.bucket.Push(t.Context(), w.dir, id, o); err != nil { // sends it again
		t.Fatal(err)
	}
	w.pulls(server, id, 3)
}

// TestPullSlow has a store that stops in the middle of a section. The pull gives up after a silence,
// goes on from there, and does not give up on one that is slow only.
func TestPullSlow(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	id := w.build(1)
	w.push(id)
	m, _ := w.dir.Manifest(id)

	var stalls atomic.Int64
	ended := make(chan struct{})
	w.store.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.HasSuffix(r.URL.Path, m.Sections[0].SHA256) || stalls.Add(1) > 1 {
			next.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Length", "1000000")
		rw.WriteHeader(http.StatusOK)
		rw.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	defer close(ended)

	server := w.server()
	server.bucket.timeout = time.Second
	for range 50 {
		if _, err := server.Pull(t.Context()); err == nil {
			break
		}
	}
	w.contains(server, id, 1)
	if stalls.Load() < 2 {
		t.Error("the section was asked for once")
	}
}

// TestPullRollback replays every CURRENT that there was: only the newest is loaded.
func TestPullRollback(t *testing.T) {
	model := s3test.Start(t)
	w := newWorld(t, model.Store)
	folder := t.TempDir()
	server := w.restarted(folder, w.key.Publisher())
	var stored [][]byte
	last := ""
	for seed := range uint64(3) {
		last = w.build(seed + 1)
		w.push(last)
		stored = append(stored, model.Get("prod/CURRENT"))
	}
	w.pulls(server, last, 3)

	// A restart forgets nothing.
	server = w.restarted(folder, w.key.Publisher())
	for i, old := range stored[:2] {
		model.Put("prod/CURRENT", old)
		want := []string{
			"epoch 1 is published, 3 was served here: refused as a rollback; publish again to go back",
			"epoch 2 is published, 3 was served here: refused as a rollback; publish again to go back",
		}
		w.refuses(server, nil, want[i])
		w.contains(server, last, 3)
		stats := server.Stats()
		if stats.Refused != [len(RefusalReasons)]uint64{uint64(i + 1)} || stats.PublishedEpoch != 0 {
			t.Errorf("%+v", stats)
		}
	}

	// A server with an empty folder asks what the fleet served.
	fresh := w.server()
	fresh.options.Floor = func(context.Context) (uint64, error) { return 3, nil }
	w.refuses(fresh, ErrBelowFleet, "epoch 2 is published, this fleet served 3: refused as a rollback")
	options := fresh.options
	_, err := Inspect(t.Context(), fresh.bucket, options)
	if !errors.Is(err, ErrBelowFleet) || fresh.Stats().Refused[0] != 1 {
		t.Errorf("%v, %+v", err, fresh.Stats())
	}
	model.Put("prod/CURRENT", stored[2])
	w.pulls(fresh, last, 3)
	if done, err := Inspect(t.Context(), fresh.bucket, options); err != nil || done.Epoch != 3 || done.ID != last {
		t.Errorf("%+v: %v", done, err)
	}
	model.Put("prod/CURRENT", stored[2])
	w.pulls(server, last, 3)

	// The same epoch with another snapshot is no release that follows.
	other := Pointer{
		Format: pointerVersion, Epoch: 3, ID: w.build(9), ManifestSHA256: strings.Repeat("ab", 32), PublishedAt: day,
	}
	signed, err := encodeSigned(kindCurrent, &other, w.key)
	if err != nil {
		t.Fatal(err)
	}
	model.Put("prod/CURRENT", signed)
	w.refuses(server, nil, "epoch 3 is published as snapshot")
}

// TestPullUnknownKey wants every release without a trusted signature refused.
func TestPullUnknownKey(t *testing.T) {
	w := newWorld(t, s3test.Start(t).Store)
	w.push(w.build(1))
	server := w.restarted(t.TempDir(), newKey(t, "ops-2030").Publisher())
	w.refuses(server, nil, `CURRENT is signed by "ops-2026", which is not among publishers`)

	// A key of the same name is another key.
	server = w.restarted(t.TempDir(), newKey(t, "ops-2026").Publisher())
	w.refuses(server, ErrBadSignature, "")
}

// TestFollow counts the polls of a day: the store is read every two seconds, a failure is logged
// once, and waits grow to thirty seconds.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := NewFollower(nil, nil, FollowerOptions{})
		var mu sync.Mutex
		var times []time.Duration
		polls := func() []time.Duration {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(times)
		}
		began := time.Now()
		var broken atomic.Bool
		broken.Store(true)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.followWith(ctx, func(context.Context) (PullResult, error) {
				mu.Lock()
				times = append(times, time.Since(began))
				mu.Unlock()
				if broken.Load() {
					return PullResult{}, errNotFound
				}
				return PullResult{}, nil
			})
		}()

		time.Sleep(10 * time.Minute)
		failed := polls()
		for i := 1; i < len(failed); i++ {
			wait := failed[i] - failed[i-1]
			if want := min(minRetryWait<<min(i-1, 10), maxRetryWait); wait < want*4/5 || wait > want*6/5 {
				t.Errorf("the wait %d is %s, want %s and a fifth more or less", i, wait, want)
			}
		}
		broken.Store(false)
		well := time.Since(began)
		time.Sleep(10 * time.Minute)
		// A read that hangs is ended before the next.
		if soon := polls()[len(failed)] - well + currentTimeout; soon > 10*time.Second {
			t.Errorf("a store that is well again is asked %s later", soon)
		}
		if worst := maxRetryWait*6/5 + currentTimeout; worst > 10*time.Second {
			t.Errorf("a store that is well again may be asked %s later", worst)
		}
		if n := len(polls()) - len(failed); n < 240 || n > 375 {
			t.Errorf("%d polls in ten minutes", n)
		}
		cancel()
		<-done
	})
}

// TestJitter takes a quarter of the lead at most, and each server another part of it.
func TestJitter(t *testing.T) {
	maximum := time.Duration(0)
	for range 200 {
		maximum = max(maximum, jitter(&Pointer{ActivateAt: day.Add(time.Minute)}, day))
	}
	if maximum > 15*time.Second || maximum < 10*time.Second {
		t.Errorf("the longest of 200 waits is %s, of a lead of a minute", maximum)
	}
	for _, at := range []time.Time{{}, day, day.Add(-time.Minute)} {
		if wait := jitter(&Pointer{ActivateAt: at}, day); wait != 0 {
			t.Errorf("a publication that begins at %s waits for %s", at, wait)
		}
	}
}

// TestDownloadSlot lets a server wait for its turn of a release that begins in a day. One that
// takes it back does not wait behind it.
func TestDownloadSlot(t *testing.T) {
	w, first, next, _ := aheadOf(t, s3test.Start(t))
	server := w.server()
	w.pulls(server, next, 2)
	later := w.build(3)
	o := PushOptions{Now: time.Now(), Key: w.key, Lead: MaxLead}
	if _, err := w.bucket.Push(t.Context(), w.dir, later, o); err != nil {
		t.Fatal(err)
	}

	// One in a hundred thousand has its turn within a second.
	for range 3 {
		done, err := server.pull(t.Context(), true)
		if err != nil || done.Changed {
			t.Errorf("a pull before its turn: %+v, %v", done, err)
		}
		w.contains(server, next, 2)
	}
	if published, _ := server.Published(); published.Epoch != 3 {
		t.Errorf("the server knows of %+v", published)
	}

	o = PushOptions{Now: time.Now(), Key: w.key}
	if _, err := w.bucket.Push(t.Context(), w.dir, first, o); err != nil {
		t.Fatal(err)
	}
	if done, err := server.pull(t.Context(), true); err != nil || !done.Changed {
		t.Errorf("a pull of what takes it back: %+v, %v", done, err)
	}
	w.contains(server, first, 4)
}
