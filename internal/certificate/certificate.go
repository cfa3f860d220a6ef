// Package certificate reads the TLS certificate of a listener from two files, and again when they
// change, without an effect on open connections.
package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Poll is the time between two checks of the files. Certificates are renewed weeks before they
// expire.
const Poll = time.Minute

// Certificate is a certificate chain and its private key, both PEM files.
type Certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	mu                sync.Mutex
	seen              [2]fileState // the files that were last read, valid or not
}

// fileState shows whether a file was written or replaced since it was last read.
type fileState struct {
	modified time.Time
	size     int64
	missing  bool
}

// Open reads the pair. The error names what is wrong with either file.
func Open(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config returns the TLS configuration of a listener that serves HTTP/1.1 with the current pair. A
// connection keeps its pair; after a change new connections get the new one.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// Expires returns when the current certificate expires.
func (c *Certificate) Expires() time.Time { return c.current.Load().Leaf.NotAfter }

// Reload reads the files now. If they are invalid the pair stays unchanged, and the error has the
// reason.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = c.statFiles()
	return c.read()
}

// Watch reads the files again whenever they changed, until ctx is done, and reports each result.
// Invalid files are not read again before they change: during a renewal the two may not match until
// the second one is written.
func (c *Certificate) Watch(ctx context.Context, every time.Duration, report func(error)) {
	tick := time.Tick(every)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if changed, err := c.refresh(); changed {
				report(err)
			}
		}
	}
}

// refresh reads the files if they changed since they were last read.
func (c *Certificate) refresh() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.statFiles()
	if now == c.seen {
		return false, nil
	}

	// A write after statFiles is a change for the next refresh.
	c.seen = now
	return true, c.read()
}

func (c *Certificate) statFiles() (now [2]fileState) {
	for i, path := range []string{c.certFile, c.keyFile} {
		// Follows the symbolic links of certbot and Kubernetes.
		info, err := os.Stat(path)
		if err != nil {
			now[i].missing = true
			continue
		}
		now[i] = fileState{modified: info.ModTime(), size: info.Size()}
	}
	return now
}

func (c *Certificate) read() error {
	cert, certErr := os.ReadFile(c.certFile)
	if certErr != nil {
		certErr = fmt.Errorf("cannot use the TLS certificate: %w", certErr)
	}

	key, keyErr := os.ReadFile(c.keyFile)
	if keyErr != nil {
		keyErr = fmt.Errorf("cannot use the TLS key: %w", keyErr)
	}
	if err := errors.Join(certErr, keyErr); err != nil {
		return err
	}

	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("cannot use the TLS certificate %q with the key %q: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&pair)
	return nil
}
