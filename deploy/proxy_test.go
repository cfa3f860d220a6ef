package deploy_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/deploy/fleet"
	"ninepocket/internal/certificate/certificatetest"
	"ninepocket/internal/redistest"
)

// fleetServers are three servers behind HAProxy: pages, an API that needs Redis, and the response of readyz.
type fleetServers struct {
	redis [3]atomic.Bool
	plan  *fleet.Plan
}

func startFleetServers(t *testing.T) *fleetServers {
	t.Helper()
	w := &fleetServers{plan: inContainers()}
	w.plan.Bind = "127.0.0.1"
	w.plan.Places[fleet.Proxy] = freePort(t)
	w.plan.Places[fleet.Proxy+"/metrics"] = freePort(t)

	for i, name := range fleet.Servers {
		w.redis[i].Store(true)
		api := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			out.Header().Set("Server-Number", name)
			if strings.HasPrefix(r.URL.Path, "/v1/") && !w.redis[i].Load() {
				out.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		admin := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" || r.URL.Query().Get("for") == "api" && !w.redis[i].Load() {
				out.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		t.Cleanup(api.Close)
		t.Cleanup(admin.Close)
		w.plan.Places[name] = api.Listener.Addr().String()
		w.plan.Places[name+"/admin"] = admin.Listener.Addr().String()
	}
	return w
}

// TestOneServerWithoutRedis lets HAProxy end TLS before three servers. A server that cannot reach its Redis
// loses its tenants to the others, and if no server can, pages still work.
func TestOneServerWithoutRedis(t *testing.T) {
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		haproxy = tool(t, "/usr/sbin/haproxy")
	}
	w := startFleetServers(t)
	dir := t.TempDir()
	pool := certificatetest.Write(t, filepath.Join(dir, "chain"), filepath.Join(dir, "key"), 1)
	whole := read(t, filepath.Join(dir, "chain")) + read(t, filepath.Join(dir, "key"))
	if err := os.WriteFile(filepath.Join(dir, "cards.pem"), []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	_, variables := w.plan.Command(fleet.Proxy)
	cmd := exec.CommandContext(t.Context(), haproxy, "-db", "-f", "fleet/haproxy.cfg")
	cmd.Env = append(append(os.Environ(), variables...),
		"NP_TLS=ssl crt "+filepath.Join(dir, "cards.pem")+" alpn http/1.1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stdout = &said
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		ended = true
	}
	defer end()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	asks := func(path, key string) (status int, server string) {
		url := "https://" + w.plan.Places[fleet.Proxy] + path
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Api-Key", key)
		resp, err := client.Do(request)
		if err != nil {
			return 0, ""
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Server-Number")
	}
	// all reports whether every tenant gets a status, from a server and not from the proxy alone.
	all := func(path string, want int) bool {
		for i := range 12 {
			if status, server := asks(path, fmt.Sprintf("tenant-%d", i)); status != want || server == "" {
				return false
			}
		}
		return true
	}
	within := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never: %s", what)
			}
		}
	}

	within("the proxy serves", func() bool { return all("/v1/games", http.StatusOK) })
	w.redis[2].Store(false)
	within("its tenants are given away", func() bool { return all("/v1/games", http.StatusOK) })
	for i := range w.redis {
		w.redis[i].Store(false)
	}
	within("calls hear why", func() bool { return all("/v1/games", http.StatusServiceUnavailable) })
	within("pages go on", func() bool { return all("/", http.StatusOK) })
	w.redis[0].Store(true)
	within("one is back", func() bool { return all("/v1/games", http.StatusOK) })

	resp, err := http.Get("http://" + w.plan.Places[fleet.Proxy+"/metrics"] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(text), `haproxy_server_status{proxy="servers",server="server-1",state="UP"} 1`) {
		t.Errorf("the exporter says\n%.2000s", text)
	}
	end()
	text = said.Bytes()
	if !bytes.Contains(text, []byte("Server servers/server-3 is DOWN")) || bytes.Contains(text, []byte("tenant-")) {
		t.Errorf("the log of the proxy:\n%s", text)
	}
}

// TestRedisIsClosed reads users.acl with a Redis: nothing without a password, and only the commands of servers
// with a server's password.
func TestRedisIsClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(file, []byte(read(t, "fleet/users.acl")), 0o600); err != nil {
		t.Fatal(err)
	}
	r := redistest.Start(t, "--aclfile", file)
	if got := r.Try("FLUSHALL"); !strings.HasPrefix(got, "NOAUTH") {
		t.Errorf("without a password: %s", got)
	}

	conn, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, c := range [][2]string{
		{"AUTH np SERVERS_PASSWORD", "+OK"},
		{"SET np:a 1", "+OK"},
		{"SET other 1", "-NOPERM"},
		{"FLUSHALL", "-NOPERM"},
		{"CONFIG GET appendfsync", "*2"},
		{"CONFIG SET maxmemory 1", "-NOPERM"},
		{"ROLE", "*3"},
		{"ACL LIST", "-NOPERM"},
		{"REPLICAOF 127.0.0.1 1", "-NOPERM"},
		{"WAIT 0 1", ":0"},
	} {
		fmt.Fprintf(conn, "%s\r\n", c[0])
		answer := make([]byte, 4096)
		n, _ := conn.Read(answer)
		if !strings.HasPrefix(string(answer[:n]), c[1]) {
			t.Errorf("%s: %s", c[0], answer[:n])
		}
	}
}

// TestNothingIsOpen finds no file or page that lets everybody into Redis or a Sentinel.
func TestNothingIsOpen(t *testing.T) {
	files, _ := filepath.Glob("../docs/*.md")
	more, _ := filepath.Glob("fleet/*")
	for _, file := range append(append(files, more...), "compose.yml", "../README.md", "../SECURITY.md") {
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if text := read(t, file); strings.Contains(text, "protected-mode no") ||
			strings.Contains(text, `"--protected-mode", "no"`) {
			t.Errorf("%s opens Redis", file)
		}
	}
}
