package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/internal/settings"
	"ninepocket/snapshot"
)

// publish publishes the small catalog of a seed in a store and returns its id.
func publish(t *testing.T, store *snapshot.Store, seed uint64) string {
	t.Helper()
	m, _, err := store.Write(fixture.Random(seed, fixture.Small).Catalog(), snapshot.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unchecked := func(*snapshot.Catalog) error { return nil }
	if _, err := store.Publish(m.ID, snapshot.PublishOptions{Now: time.Now(), Check: unchecked}); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// testOptions are options of a server in this process over a published store, with one live key.
func testOptions(t *testing.T) (o Options, key string) {
	t.Helper()
	dir := t.TempDir()
	config := settings.Default()
	config.Store = filepath.Join(dir, "store")
	config.State = filepath.Join(dir, "state")
	config.Listen = "127.0.0.1:0"
	config.Admin = "127.0.0.1:0"
	config.DrainLead = "0s"

	publish(t, snapshot.OpenStore(config.Store), 1)
	err := keys.Update(config.State, func(file *keys.File) (err error) {
		_, key, err = file.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "pro"}, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Config: config, Log: slog.New(slog.DiscardHandler), Ready: func(*ReadyFile) {}}, key
}

// TestServe serves in this process, metering on disk and in memory. The server answers and releases
// everything at its end, so that the same directories serve again.
func TestServe(t *testing.T) {
	t.Parallel()
	o, key := testOptions(t)
	for _, memory := range []bool{false, true, false} {
		o.InMemory = memory
		ctx, stop := context.WithCancel(t.Context())
		ready := make(chan ReadyFile, 1)
		o.Ready = func(file *ReadyFile) { ready <- *file }
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, o) }()

		var at ReadyFile
		select {
		case at = <-ready:
		case err := <-ended:
			t.Fatalf("in memory %t: %v", memory, err)
		}
		for _, url := range []string{at.API + "/v1/games", at.API + "/healthz", at.Admin + "/readyz"} {
			if status := ask(t, url, key); status != http.StatusOK {
				t.Errorf("in memory %t: %s answers %d", memory, url, status)
			}
		}

		stop()
		if err := <-ended; err != nil {
			t.Errorf("in memory %t: the end says %v", memory, err)
		}
		if l, err := net.Listen("tcp", strings.TrimPrefix(at.API, "http://")); err != nil {
			t.Errorf("in memory %t: the port is not let go: %v", memory, err)
		} else {
			_ = l.Close()
		}
	}
}

func ask(t *testing.T, url, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestStartError fails a start at stage after stage: the error says which it was, and nothing of the
// stages before it stays open. The last start finds the state directory free.
func TestStartError(t *testing.T) {
	t.Parallel()
	o, _ := testOptions(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := errors.New("busy")
	now := time.Now()
	journal, err := access.OpenLocal(o.Config.State, access.LocalOptions{Now: access.StartClock(now).At(now)})
	if err != nil {
		t.Fatal(err)
	}

	f := func(stage Stage, change func(o *Options)) {
		t.Helper()
		changed := o
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		changed.Ready = func(*ReadyFile) { cancel() }
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		changed.Config.Listen = free.Addr().String()
		_ = free.Close()
		change(&changed)

		err = Serve(ctx, changed)
		failed, ok := errors.AsType[*StartError](err)
		if !ok || failed.Stage != stage || failed.Err == nil {
			t.Errorf("stage %d: the start says %v", stage, err)
		}
		if again, err := net.Listen("tcp", free.Addr().String()); err != nil {
			t.Errorf("stage %d: the port is not let go: %v", stage, err)
		} else {
			_ = again.Close()
		}
	}

	f(StageKeys, func(o *Options) { o.Config.State = t.TempDir() })
	f(StageCertificate, func(o *Options) { o.Config.TLSCert, o.Config.TLSKey = "none", "none" }) // air: a pair
	f(StagePorts, func(o *Options) { o.Config.Admin = taken.Addr().String() })
	f(StagePublish, func(o *Options) { o.Publish = func() error { return busy } })
	f(StageAccessLog, func(o *Options) { o.Config.AccessLog = t.TempDir() })
	f(StageImages, func(o *Options) { o.Config.Images = filepath.Join(t.TempDir(), "none") })
	f(StageSnapshot, func(o *Options) { o.Config.Store = t.TempDir() })
	f(StageJournal, func(*Options) {})
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Ready = func(*ReadyFile) { cancel() }
	if err := Serve(ctx, o); err != nil {
		t.Errorf("a start after all that failed: %v", err)
	}
}

// TestReloadAppliesWhatIsValid breaks the configuration and publishes. The reload names the fault,
// and still serves the new snapshot.
func TestReloadAppliesWhatIsValid(t *testing.T) {
	t.Parallel()
	badLine := errors.New("a bad line")
	store := snapshot.OpenStore(filepath.Join(t.TempDir(), "store"))
	before := publish(t, store, 1)
	eng := engine.New(store, engine.Options{Log: slog.New(slog.DiscardHandler)})
	defer eng.Close()
	if err := eng.Open(time.Now()); err != nil {
		t.Fatal(err)
	}

	ring, err := keys.FixedRing(keys.NewFile(), keys.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	n := &Node{engine: eng, ring: ring, Options: Options{
		Log:    slog.New(slog.NewTextHandler(&logged, nil)),
		Reread: func() (settings.Config, error) { return settings.Config{}, badLine },
	}}

	publish(t, store, 2)
	if err := n.reloadAll(); !errors.Is(err, badLine) {
		t.Errorf("the reload says %v", err)
	}
	if !strings.Contains(logged.String(), "cannot reload") || !strings.Contains(logged.String(), badLine.Error()) {
		t.Errorf("the log says %q", &logged)
	}
	if after := eng.View().ID; after == before {
		t.Error("the reload did not look at the store")
	}
}
