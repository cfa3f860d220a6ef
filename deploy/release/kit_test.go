package release_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/feedtest"
)

// pages are where blocks are looked for. NINEPOCKET_PAGES names another folder than the top of the sources.
func pages() []string {
	folder := top
	if other := os.Getenv("NINEPOCKET_PAGES"); other != "" {
		folder = other
	}
	return []string{folder + "/README.md", folder + "/docs/INSTALL.md", folder + "/docs/BACKUP.md"}
}

// blockOf returns the one block of commands of the pages that has all the texts, with the newest version's names made
// those of this machine.
func blockOf(t *testing.T, says ...string) string {
	t.Helper()
	var found []string
	for _, page := range pages() {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
			fits := true
			for _, want := range says {
				without, unwanted := strings.CutPrefix(want, "!")
				fits = fits && strings.Contains(block[1], without) != unwanted
			}
			if fits {
				found = append(found, block[1])
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d blocks of the pages have %q, want one", len(found), says)
	}

	block := strings.ReplaceAll(found[0], "-linux-amd64", "-linux-"+runtime.GOARCH)
	return strings.ReplaceAll(block, "_amd64.deb", "_"+runtime.GOARCH+".deb")
}

// process is a program in the background, with what it says.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer
}

// Write implements io.Writer.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// start runs a script in the background until the test ends.
func start(t *testing.T, dir string, env []string, script string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("bash", "-e", "-c", script)}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout = p
	p.cmd.Stderr = p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Wait()
	})
	return p
}

// ready is the content of a server's ready file.
type ready struct {
	API  string            `json:"api"`
	Keys map[string]string `json:"keys"`
}

// await waits for a ready file.
func await(t *testing.T, path string, p *process) (r ready) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) { // another process writes it
		text, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(text, &r) == nil {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("no server is ready within two minutes:\n%s", p.text())
		}
	}
}

// get asks for a URL.
func get(t *testing.T, url, key string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// feed serves a small price feed of today.
func feed(t *testing.T) (url string, of *feedtest.Feed) {
	t.Helper()
	of = feedtest.New(2, 6, time.Now().UTC().Truncate(24*time.Hour))
	server := httptest.NewServer(of)
	t.Cleanup(server.Close)
	return server.URL, of
}

// agentOf returns what a program's pull calls itself.
func agentOf(t *testing.T, program string) string {
	t.Helper()
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), program, "feed", "pull", "tcgcsv", "--url", server.URL, "--into",
		filepath.Join(t.TempDir(), "feed"), "--interval", "0s", "--user-agent", "")
	timer := time.AfterFunc(3*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Run() // it gets no answer
	return agent
}
