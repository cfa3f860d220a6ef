package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/engine/cursor"
)

// TestUnusableKeys adds a key whose plan is not configured: the log says so when the keys change
// and at each reload, and a metric counts it.
func TestUnusableKeys(t *testing.T) {
	t.Parallel()
	w := watchedServer(t)
	if got := sample(w.scrape(), "ninepocket_keys_unusable"); got != "0" {
		t.Fatalf("%s unusable keys of two good ones", got)
	}

	var key *access.Key
	err := access.UpdateKeys(w.state, func(file *access.KeyFile) (err error) {
		var text string
		key, text, err = file.Create(access.NewKey{Tenant: "acme", Kind: access.Live, Plan: "gold"}, time.Now())
		w.all = append(w.all, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	warnings := func() (n int) {
		for line := range strings.Lines(w.log.String()) {
			if strings.Contains(line, "plan=gold") && strings.Contains(line, "tenant=acme") &&
				strings.Contains(line, key.ID) {
				n++
			}
		}
		return n
	}

	w.eventually("the log names the key", func() bool { return warnings() == 1 })
	if got := sample(w.scrape(), "ninepocket_keys_unusable"); got != "1" {
		t.Errorf("%s unusable keys", got)
	}
	if status, _ := w.ask(http.MethodPost, w.admin+"/-/reload", ""); status != http.StatusOK || warnings() != 2 {
		t.Errorf("a reload is answered %d, and the log names the key %d times", status, warnings())
	}
	w.noSecrets()
}

// TestDamagedCursorKey wants a cursor key that is kept, and an error with a hint when it is cut
// short.
func TestDamagedCursorKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, cursorKeysName)
	if _, err := openCursors(dir); err != nil {
		t.Fatal(err)
	}

	first, err := os.ReadFile(path)
	if err != nil || len(first) != cursor.KeyLen {
		t.Fatalf("a key of %d bytes (%v)", len(first), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v (%v)", info.Mode(), err)
	}
	if _, err := openCursors(dir); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(first) {
		t.Fatalf("the key changed (%v)", err)
	}

	for _, size := range []int64{0, 7, cursor.KeyLen - 1} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}

		_, err := openCursors(dir)
		damaged, ok := errors.AsType[*failure](err)
		if !ok || !strings.Contains(err.Error(), path) || !strings.Contains(damaged.hint, "remove it") {
			t.Errorf("a key of %d bytes: %v", size, err)
		}
	}
}
