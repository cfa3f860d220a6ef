package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// post sends a POST to the admin listener, from a page of an origin unless that is "".
func (p *program) post(t *testing.T, path, origin string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Admin+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()

	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// used is today's usage of the key's tenant, as the server reports it.
func (p *program) used(t *testing.T) int64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.API+"/v1/usage", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", p.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()

	var usage struct {
		Data struct {
			Used *int64 `json:"request_credits_used"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&usage); err != nil || usage.Data.Used == nil {
		t.Fatalf("usage is %+v: %v", usage, err)
	}
	return *usage.Data.Used
}

// TestCheckpointByHand loses the checkpoint file under a server. The admin listener names the next
// step. After it, a kill loses no usage: the next server knows the earlier usage, and bills the
// calls since.
func TestCheckpointByHand(t *testing.T) {
	t.Parallel()
	p := startServe(t, nil)
	calls := func(n int) {
		t.Helper()
		for range n {
			if _, err := p.get(t.Context(), http.DefaultClient, "/v1/games"); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants := func(path, origin string, want int, text string) {
		t.Helper()
		if status, got := p.post(t, path, origin); status != want || !strings.Contains(got, text) {
			t.Errorf("%s of %q: %d %s, want %d and %q", path, origin, status, got, want, text)
		}
	}

	calls(3)
	wants("/-/checkpoint", "", http.StatusOK, "written\n")
	wants("/-/checkpoint?rebuild=yes", "", http.StatusOK, "written\n") // the file is well: it stays
	if got := p.charged(t)["acme"]; got != 3 {
		t.Errorf("the ledger has %d, want 3", got)
	}

	calls(4)
	if err := os.Remove(filepath.Join(p.dir, "state", "meter.db")); err != nil {
		t.Fatal(err)
	}
	wants("/-/checkpoint?anew=yes", "http://elsewhere.example", http.StatusForbidden, "origins")
	wants("/-/checkpoint", "", http.StatusInternalServerError, "POST /-/checkpoint?rebuild=yes")
	wants("/-/checkpoint?anew=true", "", http.StatusBadRequest, "anew")
	wants("/-/checkpoint?anew=yes", "", http.StatusOK, "written\n")
	calls(5)

	used := p.used(t)
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	p.serve(t, nil, "")
	if got := p.used(t); got != used {
		t.Errorf("%d are used, want %d", got, used)
	}
	if got := p.charged(t)["acme"]; got < 5 || got > 9 {
		t.Errorf("the ledger has %d, want the calls since the file was lost", got)
	}
}
