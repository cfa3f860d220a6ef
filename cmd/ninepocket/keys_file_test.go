package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/disk/disktest"
)

// TestUnreadableKeys damages the keys file of a server. As long as it is damaged, every reload says so
// and a metric does; the log says when it begins and when it is over.
func TestUnreadableKeys(t *testing.T) {
	t.Parallel()
	w := watchedServer(t)
	path := filepath.Join(w.state, "keys.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	// A file that is written in place could be read while it is empty, and be reported as another damage.
	replace := func(text []byte) {
		t.Helper()
		next := path + ".next"
		if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, path)); err != nil {
			t.Fatal(err)
		}
	}
	countLogged := func(text string) int { return strings.Count(w.log.String(), text) }
	for round := range 2 {
		replace(good[:100])
		w.eventually("the log tells the damage", func() bool { return countLogged("keys unreadable") == round+1 })
		for range 2 {
			status, text := w.ask(http.MethodPost, w.admin+"/-/reload", "")
			if status != http.StatusInternalServerError || !strings.Contains(text, "keys.json") {
				t.Errorf("a reload is answered %d: %s", status, text)
			}
		}
		if got := sample(w.scrape(), "ninepocket_keys_readable"); got != "0" {
			t.Errorf("ninepocket_keys_readable is %s", got)
		}

		replace(good)
		w.eventually("the log tells the end", func() bool { return countLogged("keys readable again") == round+1 })
		if status, text := w.ask(http.MethodPost, w.admin+"/-/reload", ""); status != http.StatusOK {
			t.Errorf("a reload is answered %d: %s", status, text)
		}
		if got := sample(w.scrape(), "ninepocket_keys_readable"); got != "1" {
			t.Errorf("ninepocket_keys_readable is %s", got)
		}
	}
	w.noSecrets()
}

// TestHungKeys lets the mounts of the keys file and of the store hang: metrics do not wait for them, and
// the drain not for ever.
func TestHungKeys(t *testing.T) {
	t.Parallel()
	v := newFaultServer(t)
	v.start(newFaultInjector(t))
	hangs := make(chan string, 1000)
	v.setRule(func(call disktest.Call) disktest.Effect {
		name := filepath.Base(call.Path)
		if call.Op != "open" || name != "keys.json" && name != "CURRENT" {
			return disktest.Effect{}
		}
		hangs <- name
		return disktest.Effect{Wait: time.Hour}
	})

	// The file is read again because its time is another one.
	if err := os.Chtimes(filepath.Join(v.dir, "state", "keys.json"), time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if first := <-hangs; first == <-hangs {
		t.Fatalf("%s was opened twice", first)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.Admin+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal("metrics:", err)
	}
	_ = resp.Body.Close()

	v.signal(t, syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- v.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ended with %v:\n%s", err, v.log)
		}
	case <-ctx.Done():
		_ = v.cmd.Process.Kill()
		<-ended
		t.Errorf("the server does not end:\n%s", v.log)
	}
}
