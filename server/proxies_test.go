package server

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// reverseProxy is a proxy that the corpus goes through.
type reverseProxy struct {
	program string
	args    func(dir string) []string
	config  string // with the addresses listen and backend
	// refusals are statuses of the proxy's own.
	refusals []int
}

var fronts = []reverseProxy{
	{
		program: "nginx",
		args:    func(dir string) []string { return []string{"-p", dir, "-c", "config", "-e", "stderr"} },
		config: `daemon off;
master_process off;
pid nginx.pid;
worker_processes 1;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  client_max_body_size 1m;
  large_client_header_buffers 4 32k;
  upstream cards { server {backend}; keepalive 4; }
  server {
    listen {listen};
    location / {
      proxy_pass http://cards;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
    }
  }
}
`,
		refusals: []int{400, 405, 408, 411, 413, 414, 417, 421, 431, 494, 501, 505},
	},
	{
		program: "haproxy",
		args:    func(dir string) []string { return []string{"-db", "-q", "-f", filepath.Join(dir, "config")} },
		config: `global
  maxconn 500
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option http-keep-alive
  http-reuse always
frontend door
  bind {listen}
  default_backend cards
backend cards
  server cards {backend}
`,
		refusals: []int{400, 405, 408, 411, 413, 414, 417, 421, 422, 431, 501, 505},
	},
}

// TestHostileCorpusBehindFronts sends the corpus through real proxies that keep connections to the
// server open. Proxies repair some requests and refuse some. Each answer must belong to a request,
// and each status must be the case's or a proxy's refusal. Honest requests over the same
// connections must get their own answers at any time.
func TestHostileCorpusBehindFronts(t *testing.T) {
	for _, f := range fronts {
		t.Run(f.program, func(t *testing.T) {
			program, err := exec.LookPath(f.program)
			if err != nil {
				program, err = exec.LookPath("/usr/sbin/" + f.program)
				if err != nil {
					t.Skipf("skipped: hostile requests behind %s, because it is not installed", f.program)
				}
			}

			l := sharedLoopback()
			addr := f.start(t, program, l.addr)
			f.probe(t, addr)
			cases := make(chan *hostile)
			var senders sync.WaitGroup
			for range 8 {
				senders.Go(func() {
					for c := range cases {
						f.send(t, addr, c)
						f.probe(t, addr)
					}
				})
			}

			for _, c := range hostileCases(t, l.world) {
				cases <- c
			}
			close(cases)
			senders.Wait()
			for range 16 { // over any connections that the proxy kept open
				f.probe(t, addr)
			}

			l.checkSmuggled(t)
		})
	}
}

// start runs the proxy on a free port before the server and returns its address. Somebody else may
// take the port just before.
func (f *reverseProxy) start(t *testing.T, program, backend string) string {
	t.Helper()
	var said string
	for range 5 {
		var addr string
		addr, said = f.try(t, program, backend)
		if said == "" {
			return addr
		}
	}
	t.Fatal(said)
	return ""
}

// try is start with one port, and says why the proxy ended.
func (f *reverseProxy) try(t *testing.T, program, backend string) (addr, ended string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	config := strings.NewReplacer("{listen}", addr, "{backend}", backend).Replace(f.config)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	var said strings.Builder
	cmd := exec.Command(program, f.args(dir)...)
	cmd.Dir = dir
	cmd.Stdout = &said
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
	})

	for deadline := time.Now().Add(maxTest); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return addr, ""
		}
		select {
		case err := <-over:
			over <- err
			return "", fmt.Sprintf("%s: %v\n%s", f.program, err, said.String())
		default:
		}
	}

	t.Fatalf("%s does not listen", f.program)
	return "", ""
}

// probe sends an honest request, which must get its own answer.
func (f *reverseProxy) probe(t *testing.T, addr string) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()

	request, id := probe()
	if _, err := io.WriteString(c, request); err != nil {
		t.Error(err)
		return
	}
	if r, err := c.next(); err != nil || r.status != 200 || r.header.Get("X-Request-Id") != id {
		t.Errorf("an honest request was answered %d %v %v %s, want %s", r.status, err, r.header, r.body, id)
	}
}

// silence is how long a proxy may be silent before the case is taken to be over: some wait for more of a request.
const silence = 300 * time.Millisecond

// send sends a case and judges what comes back.
func (f *reverseProxy) send(t *testing.T, addr string, h *hostile) {
	c := dial(t, addr)
	defer c.Close()
	go func() { _, _ = c.Write(h.sent) }()
	allowed := slices.Concat(h.front, f.refusals)
	for _, w := range h.want {
		allowed = append(allowed, w.status)
	}

	hops := max(len(h.want), len(h.front))
	for n := 0; ; n++ {
		if err := c.SetReadDeadline(time.Now().Add(silence)); err != nil {
			t.Error(err)
			return
		}

		r, err := c.next()
		if err != nil {
			return
		}
		if r.status == 100 {
			n--
			continue
		}
		if !slices.Contains(allowed, r.status) || n >= hops {
			t.Errorf("%s: answer %d is %d, allowed are %v and %d answers: %.200s", h.name, n+1, r.status, allowed,
				hops, r.body)
		}
	}
}
