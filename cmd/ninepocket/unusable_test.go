package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
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

	var key *keys.Key
	err := keys.Update(w.state, func(file *keys.File) (err error) {
		var text string
		key, text, err = file.Create(keys.NewKey{Tenant: "acme", Kind: keys.Live, Plan: "gold"}, time.Now())
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

// TestDamagedCursorKey wants a cursor key that is kept, also one without a checksum; every flipped
// bit and every cut is refused, found by a check, and mended by a repair.
func TestDamagedCursorKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, cursorKeysName)
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func() []byte {
		t.Helper()
		if _, err := openCursors(dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}

	first := open()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || len(first) != 2*cursor.KeyLen {
		t.Fatalf("%d bytes, %v (%v)", len(first), info.Mode(), err)
	}
	if again := open(); !bytes.Equal(again, first) {
		t.Fatal("the key changed")
	}
	put(first[:cursor.KeyLen])
	if again := open(); !bytes.Equal(again, first) {
		t.Fatal("a key without a checksum is another one at the next start")
	}

	bad := [][]byte{{}, first[:7], first[:cursor.KeyLen-1], first[:len(first)-1]}
	for bit := range 8 * len(first) {
		flipped := bytes.Clone(first)
		flipped[bit/8] ^= 1 << (bit % 8)
		bad = append(bad, flipped)
	}

	for _, data := range bad {
		put(data)
		_, err := openCursors(dir)
		damaged, ok := errors.AsType[*failure](err)
		if !ok || damaged.code != exitRefused || !strings.Contains(err.Error(), path) ||
			!strings.Contains(damaged.hint, "state repair") {
			t.Fatalf("a key of %d bytes: %v", len(data), err)
		}
		if found, err := checkCursorKey(dir); err != nil || len(found) != 1 {
			t.Fatalf("a check finds %v (%v)", found, err)
		}

		var report access.RepairReport
		if err := repairCursorKey(dir, &report); err != nil || len(report.Dropped) != 1 {
			t.Fatalf("a repair: %v (%v)", report.Dropped, err)
		}
		if found, err := checkCursorKey(dir); err != nil || len(found) != 0 {
			t.Fatalf("after a repair: %v (%v)", found, err)
		}
	}

	if again := open(); bytes.Equal(again, first) {
		t.Fatal("the damaged key is back")
	}
}
