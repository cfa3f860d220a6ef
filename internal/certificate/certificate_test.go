package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/internal/certificate/certificatetest"
)

// pair is a certificate in files, and who trusts it.
type pair struct {
	cert, key string
	pool      *x509.CertPool
}

func (p *pair) write(t *testing.T, serial int64) {
	t.Helper()
	p.pool = certificatetest.Write(t, p.cert, p.key, serial)
}

func newPair(t *testing.T, serial int64) *pair {
	t.Helper()
	dir := t.TempDir()
	p := &pair{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	p.write(t, serial)
	return p
}

// handshake shakes hands with a listener of c and returns what the client saw.
func handshake(t *testing.T, c *Certificate, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		server := tls.Server(far, c.Config())
		_ = server.Handshake()
		_ = server.Close()
	}()

	conn := tls.Client(near, client)
	err := conn.Handshake()
	return conn.ConnectionState(), err
}

// served is the serial number that a client of the current pair sees.
func served(t *testing.T, c *Certificate, p *pair) int64 {
	t.Helper()
	state, err := handshake(t, c, &tls.Config{RootCAs: p.pool, ServerName: "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	return state.PeerCertificates[0].SerialNumber.Int64()
}

func TestHandshake(t *testing.T) {
	p := newPair(t, 7)
	c, err := Open(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}

	state, err := handshake(t, c, &tls.Config{
		RootCAs: p.pool, ServerName: "localhost",
		NextProtos: []string{"h2", "http/1.1"},
	})
	if err != nil || state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("version %x, protocol %q, %v", state.Version, state.NegotiatedProtocol, err)
	}

	state, err = handshake(t, c, &tls.Config{RootCAs: p.pool, ServerName: "localhost", MaxVersion: tls.VersionTLS12})
	if err != nil || state.Version != tls.VersionTLS12 {
		t.Errorf("TLS 1.2: version %x, %v", state.Version, err)
	}

	_, err = handshake(t, c, &tls.Config{
		RootCAs: p.pool, ServerName: "localhost", MinVersion: tls.VersionTLS10,
		MaxVersion: tls.VersionTLS11,
	})
	if err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	if _, err := handshake(t, c, &tls.Config{
		RootCAs: p.pool, ServerName: "localhost",
		NextProtos: []string{"h2"},
	}); err == nil {
		t.Error("a client that speaks only HTTP/2 was accepted")
	}
	if !c.Expires().After(time.Now()) {
		t.Errorf("expires at %v", c.Expires())
	}
}

func TestOpenNamesEveryProblem(t *testing.T) {
	p := newPair(t, 1)
	other := newPair(t, 2)
	f := func(cert, key string, want ...string) {
		t.Helper()
		_, err := Open(cert, key)
		if err == nil {
			t.Errorf("Open(%q, %q) succeeded", cert, key)
			return
		}

		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("Open(%q, %q): %q does not name %q", cert, key, err, w)
			}
		}
	}

	dir := t.TempDir()
	noCert := filepath.Join(dir, "no.crt")
	noKey := filepath.Join(dir, "no.key")
	f(noCert, noKey, noCert, noKey)
	f(p.cert, noKey, noKey)
	f(noCert, p.key, noCert)
	f(p.cert, other.key, p.cert, other.key, "match")
	f(p.key, p.cert, p.key, p.cert)
}

// TestWatch goes through a renewal, its bad middle included, on virtual time.
func TestWatch(t *testing.T) {
	p := newPair(t, 1)
	c, err := Open(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		heard := make(chan error, 10)
		go c.Watch(ctx, Poll, func(err error) { heard <- err })
		var reports []error
		polls := func(n, wantReports int, wantSerial int64) {
			t.Helper()
			reports = nil
			time.Sleep(time.Duration(n) * Poll)
			synctest.Wait()
			for len(heard) > 0 {
				reports = append(reports, <-heard)
			}

			if got := c.current.Load().Leaf.SerialNumber.Int64(); len(reports) != wantReports || got != wantSerial {
				t.Fatalf("reports %v, serial %d, want %d reports and serial %d", reports, got, wantReports, wantSerial)
			}
		}
		polls(3, 0, 1)
		old, err := os.ReadFile(p.key)
		if err != nil {
			t.Fatal(err)
		}

		p.write(t, 2)
		fresh, err := os.ReadFile(p.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(p.key, old, 0o600), os.Chtimes(p.key, time.Time{},
			time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}

		// The new certificate with the old key.
		polls(1, 1, 1)
		if reports[0] == nil {
			t.Fatal("a pair that does not match was reported as good")
		}

		// Said once.
		polls(2, 0, 1)
		if err := os.WriteFile(p.key, fresh, 0o600); err != nil {
			t.Fatal(err)
		}
		polls(1, 1, 2)
		if reports[0] != nil {
			t.Fatal(reports[0])
		}
		if err := os.Remove(p.cert); err != nil {
			t.Fatal(err)
		}
		polls(2, 1, 2)
		p.write(t, 3)
		polls(2, 1, 3)
		cancel()
		synctest.Wait()
	})

	if got := served(t, c, p); got != 3 {
		t.Errorf("a client sees serial %d", got)
	}
}

func TestReloadRetainsTheOldPair(t *testing.T) {
	p := newPair(t, 1)
	c, err := Open(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Reload() == nil {
		t.Error("nonsense was taken")
	}
	if got := served(t, c, p); got != 1 {
		t.Errorf("serial %d after a bad reload", got)
	}

	p.write(t, 2)
	if err := c.Reload(); err != nil {
		t.Error(err)
	}
	if got := served(t, c, p); got != 2 {
		t.Errorf("serial %d after a good reload", got)
	}
}
