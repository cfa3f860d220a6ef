package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ninepocket/access/keys"
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
		key, text, err = file.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "gold"}, time.Now())
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

	// Another tenant of such a plan does not name this one again.
	err = keys.Update(w.state, func(file *keys.File) error {
		_, text, err := file.Create(keys.NewKey{Tenant: "other", Surface: keys.Live, Plan: "gold"}, time.Now())
		w.all = append(w.all, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("the log names the other", func() bool { return strings.Contains(w.log.String(), "tenant=other") })
	if n := warnings(); n != 2 {
		t.Errorf("the log names the first key %d times", n)
	}
	w.noSecrets()
}
