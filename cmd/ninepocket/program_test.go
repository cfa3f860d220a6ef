package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/certificate/certificatetest"
	"ninepocket/node"
)

// program is a running ninepocket serve with a key.
type program struct {
	*node.ReadyFile
	cmd *exec.Cmd
	log *safeBuffer
	key string
	dir string // with store and state
	// path is the folder of the program itself, "" for the test binary.
	path string
	// injector is what becomes of its disk and its clocks, nil for nothing.
	injector *faultInjector
}

// safeBuffer is what the program logs, readable while it runs.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// command runs ninepocket to its end and returns what it printed.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := plainProcess(t, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ninepocket %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// prepared is a folder with a store and a key, which each program gets a copy of. The first that asks
// makes it.
var prepared struct {
	once    sync.Once
	folder  string
	key     string
	partner string // a key of the preview contract
	small   string // a key of a plan that has few calls a day
}

// prepare makes the folder; the package's TestMain removes it.
func prepare(t *testing.T) {
	t.Helper()
	example, err := filepath.Abs("../../docs/examples/native")
	if err != nil {
		t.Fatal(err)
	}
	prepared.folder, err = os.MkdirTemp("", "ninepocket-prepared-") //nolint:usetesting // it outlives this test
	if err != nil {
		t.Fatal(err)
	}

	command(t, prepared.folder, "snapshot", "build", "--store", "store", "--source", "native:"+example, "--publish")
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(command(t, prepared.folder, "keys", "create", "--state", "state", "--tenant",
		"acme", "--surface", "live", "--plan", "unlimited", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	prepared.key = made.Key
	prepared.partner = anotherTenant(t, prepared.folder, "partner", "--surface", "preview", "--plan", "unlimited",
		"--credits", "1000000")
	prepared.small = anotherTenant(t, prepared.folder, "small", "--surface", "live", "--plan", "starter")
}

// newProgram is a server that is not started yet, with a store and a key of its own. It is the
// program as built for users: with the race detector a start costs four times as much. Tests that
// send many requests at once set path to "", for the test binary with its detector.
func newProgram(t *testing.T) *program {
	t.Helper()
	prepared.once.Do(func() { prepare(t) })
	p := &program{dir: t.TempDir(), log: &safeBuffer{}, key: prepared.key, path: scriptPath(t)}
	if err := os.CopyFS(p.dir, os.DirFS(prepared.folder)); err != nil {
		t.Fatal(err)
	}
	return p
}

// startServe makes a store and a key and serves them with more flags and environment variables.
func startServe(t *testing.T, environ []string, flags ...string) *program {
	t.Helper()
	p := newProgram(t)
	p.serve(t, environ, "", flags...)
	return p
}

// serve starts the server and waits until it is ready. shell is what a shell does first, in the same
// process: limits, for example.
func (p *program) serve(t *testing.T, environ []string, shell string, flags ...string) {
	t.Helper()
	folder := p.path
	if p.injector != nil {
		folder = "" // the test binary asks a test about its disk, the program as it is built does not
	}
	path, err := exec.LookPath(filepath.Join(folder, "ninepocket"))
	if err != nil {
		t.Fatal(err)
	}

	ready := filepath.Join(p.dir, "ready.json")
	_ = os.Remove(ready) // of an earlier server
	args := append([]string{
		"serve", "--store", "store", "--state", "state", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--ready-file", ready,
	}, flags...)
	if shell == "" {
		p.cmd = exec.Command(path, args...)
	} else {
		p.cmd = exec.Command("/bin/sh", append([]string{"-c", shell + ` && exec "$0" "$@"`, path}, args...)...)
	}

	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stdout = p.log
	p.cmd.Stderr = p.log
	start := p.cmd.Start
	if p.injector != nil {
		start = func() error { return p.injector.Start(p.cmd) }
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	cmd := p.cmd // p may serve again
	t.Cleanup(func() { end(cmd) })
	p.ReadyFile = &node.ReadyFile{}
	p.eventually(t, "be ready", func() bool {
		b, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(b, p.ReadyFile) == nil
	})
}

// end kills a process and waits until it is gone, with all that it has open. A test that waits for it
// itself has done so by then.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// eventually waits for the program to do something, and fails with its log when it does not.
func (p *program) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1200 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the server did not %s within a minute:\n%s", what, p.log)
}

func (p *program) logs(text string) func() bool {
	return func() bool { return strings.Contains(p.log.String(), text) }
}

func (p *program) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// get fetches a path of the API with the key and wants 200. The connection is that of the client.
func (p *program) get(ctx context.Context, client *http.Client, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.API+path, http.NoBody)
	if err != nil {
		return nil, err
	}

	req.Header.Set("X-API-Key", p.key)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp, nil
}

// tlsClient is a client with connections of its own that trusts a pool.
func tlsClient(pool *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
	}}
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	key := filepath.Join(dir, "key.pem")
	first := certificatetest.Write(t, cert, key, 1)
	p := startServe(t, nil, "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(p.API, "https://") || !strings.HasPrefix(p.MCP, "https://") ||
		!strings.HasPrefix(p.Admin, "http://") {
		t.Errorf("ready file says %+v", p.ReadyFile)
	}

	var reused bool
	traced := httptrace.WithClientTrace(t.Context(),
		&httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
	// sees wants the serial number that a client sees, on an old connection or a new one.
	sees := func(client *http.Client, serial int64, old bool) {
		t.Helper()
		resp, err := p.get(traced, client, "/v1/games")
		if err != nil {
			t.Fatal(err)
		}
		got := resp.TLS.PeerCertificates[0].SerialNumber.Int64()
		if got != serial || reused != old || resp.Proto != "HTTP/1.1" || resp.TLS.NegotiatedProtocol != "http/1.1" {
			t.Fatalf("serial %d, reused %t, %s over %q; want serial %d, reused %t", got, reused, resp.Proto,
				resp.TLS.NegotiatedProtocol, serial, old)
		}
	}
	firstClient := tlsClient(first)
	sees(firstClient, 1, false)

	second := certificatetest.Write(t, cert, key, 2)
	p.signal(t, syscall.SIGHUP)
	p.eventually(t, "load the new certificate", p.logs("certificate changed"))
	sees(tlsClient(second), 2, false)
	sees(firstClient, 1, true)

	if err := os.WriteFile(cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	p.eventually(t, "refuse the bad certificate", p.logs("cannot reload"))
	sees(tlsClient(second), 2, false)
	sees(firstClient, 1, true)

	// The URLs of the document lead to where the server is.
	if resp, err := p.get(t.Context(), tlsClient(second), "/openapi.json"); err != nil {
		t.Error(err, resp)
	}

	// Plain HTTP on the TLS port is closed, and harms nobody.
	if resp, err := http.Get("http" + strings.TrimPrefix(p.API, "https") + "/healthz"); err == nil {
		_ = resp.Body.Close()
		t.Errorf("plain HTTP got %d", resp.StatusCode)
	}
	sees(firstClient, 1, true)
}

// TestDrainUnderLoad ends a server under load: every request is answered, and every client gets
// Connection: close before its connection closes.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	key := filepath.Join(dir, "key.pem")
	pool := certificatetest.Write(t, cert, key, 1)
	for _, flags := range [][]string{nil, {"--tls-cert", cert, "--tls-key", key}} {
		inTime(t, 500*time.Millisecond, func(t *testing.T, lead time.Duration) (late bool) {
			t.Helper()
			p := startServe(t, nil, append(flags, "--drain-lead", lead.String())...)
			return p.drainsUnderLoad(t, pool, lead)
		})
	}
}

func (p *program) drainsUnderLoad(t *testing.T, pool *x509.CertPool, lead time.Duration) (late bool) {
	t.Helper()
	const clients = 16
	const before = 20 // requests of each client before the drain
	var warm, done sync.WaitGroup
	var tooLate atomic.Bool
	warm.Add(clients)
	for range clients {
		done.Go(func() {
			client := tlsClient(pool)
			open := time.Now() // the server did not drain then, or else the last answer would say so
			for n := range 1_000_000 {
				begun := time.Now()
				resp, err := p.get(t.Context(), client, "/v1/games")
				if n == before {
					warm.Done()
				}

				var unanswered *url.Error
				switch {
				case n > before && errors.As(err, &unanswered) && time.Since(open) >= lead:
					tooLate.Store(true)
					return
				case err != nil:
					t.Errorf("request %d failed: %v", n, err)
				case !resp.Close:
					open = begun
					continue
				}
				if n < before {
					t.Errorf("told to leave after %d requests", n)
					warm.Done()
				}
				return
			}
		})
	}

	warm.Wait()
	p.signal(t, syscall.SIGTERM)
	done.Wait()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server did not end well: %v\n%s", err, p.log)
	}
	return tooLate.Load()
}

// TestSecondSignalEndsAtOnce drains a server that a half-sent request prevents from ending.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := startServe(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if _, err := fmt.Fprintf(conn,
		"POST /v1/cards/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: application/json\r\n"+
			"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", p.key); err != nil {
		t.Fatal(err)
	}
	// Until the server says so, it has not read the request, and nothing would keep it.
	interim := make([]byte, len("HTTP/1.1 100"))
	if _, err := io.ReadFull(conn, interim); err != nil || string(interim) != "HTTP/1.1 100" {
		t.Fatalf("the server says %q, %v", interim, err)
	}

	p.signal(t, syscall.SIGTERM)
	p.eventually(t, "drain", p.logs("draining"))
	p.signal(t, syscall.SIGTERM)
	_ = p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() ||
		status.Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v", p.cmd.ProcessState)
	}
}

func TestServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	p := startServe(t, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=100000", "GOMEMLIMIT=1GiB"})
	if !p.logs("limit_bytes=1073741824 from_gomemlimit=true")() {
		t.Errorf("the limit is not in the log:\n%s", p.log)
	}

	// hears reads datagrams up to one that begins so, and wants nothing but signs of life before
	// it.
	hears := func(begin, within string) {
		t.Helper()
		buf := make([]byte, 4096)
		for {
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("nothing that begins with %q came: %v", begin, err)
			}
			text := string(buf[:n])
			if strings.HasPrefix(text, begin) {
				if !strings.Contains(text, within) {
					t.Fatalf("%q does not hold %q", text, within)
				}
				return
			}
			if text != "WATCHDOG=1" {
				t.Fatalf("%q came instead of %q", text, begin)
			}
		}
	}
	hears("READY=1", "STATUS=serving "+p.SnapshotID)
	hears("WATCHDOG=1", "")
	hears("WATCHDOG=1", "")
	p.signal(t, syscall.SIGHUP)
	hears("RELOADING=1", "\nMONOTONIC_USEC=")
	hears("READY=1", p.SnapshotID)

	// A published snapshot shows: the example with another name for its first card.
	next := filepath.Join(p.dir, "next")
	if err := os.CopyFS(next, os.DirFS("../../docs/examples/native")); err != nil {
		t.Fatal(err)
	}

	cards := filepath.Join(next, "cards.jsonl")
	text, err := os.ReadFile(cards)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cards, bytes.Replace(text, []byte(`"name":"`), []byte(`"name":"New `), 1),
		0o600); err != nil {
		t.Fatal(err)
	}

	var made struct{ ID string }
	if err := json.Unmarshal([]byte(command(t, p.dir, "snapshot", "build", "--store", "store", "--source",
		"native:"+next,
		"--publish", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	hears("STATUS=serving "+made.ID, "")

	// A reload that fails says so, and ends.
	if err := os.WriteFile(filepath.Join(p.dir, "state", "keys.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	hears("RELOADING=1", "")
	hears("READY=1", "the last reload failed")

	p.signal(t, syscall.SIGTERM)
	hears("STOPPING=1", "STATUS=draining")
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server did not end well: %v\n%s", err, p.log)
	}
}

// TestChangesThatWaitForARestart changes a setting that a running server cannot take over, and a
// plan, which it can.
func TestChangesThatWaitForARestart(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "ninepocket.toml")
	if err := os.WriteFile(config, []byte("cors_origins = []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, nil, "--config", config)
	if err := os.WriteFile(config,
		[]byte("cors_origins = [\"https://a.example\"]\n[plans.unlimited]\nper_minute = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	p.eventually(t, "name the setting", p.logs("settings wait for a restart keys=[cors_origins]"))
	for range 2 {
		if _, err := p.get(t.Context(), http.DefaultClient, "/v1/games"); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := p.get(t.Context(), http.DefaultClient, "/v1/games"); err == nil || err.Error() != "status 429" {
		t.Errorf("the plan of 2 calls a minute answers a third one with %v", err)
	}
}
