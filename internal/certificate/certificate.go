// Package certificate keeps the TLS certificate of a listener current: it is read from two files,
// and again when they change, without a connection noticing.
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

// Poll is how often Watch looks at the files. Certificates are renewed weeks before they expire.
const Poll = time.Minute

// Certificate is the pair of a certificate chain and its private key, both PEM files.
type Certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	mu                sync.Mutex
	seen              [2]fileState // what was last tried, good or bad
}

// fileState tells whether a file was written or replaced since it was last looked at.
type fileState struct {
	modified time.Time
	size     int64
	missing  bool
}

// Open reads the pair; the error names what is wrong with either file.
func Open(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is for a listener that serves HTTP/1.1 with the current pair. A client that connected
// before a change keeps its connection; the next one gets the new pair.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// Expires is when the current certificate stops being valid.
func (c *Certificate) Expires() time.Time { return c.current.Load().Leaf.NotAfter }

// Reload reads the files now. When they are bad the pair stays as it was, and the error says why.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = c.statFiles()
	return c.read()
}

// Watch reads the files again whenever they changed, until ctx is done, and reports each outcome.
// Files that are bad are not tried again before they change: in the middle of a renewal the two may
// not match, which the second one mends.
func (c *Certificate) Watch(ctx context.Context, every time.Duration, report func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if changed, err := c.refresh(); changed {
				report(err)
			}
		}
	}
}

// refresh reads the files when they changed since they were last tried.
func (c *Certificate) refresh() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.statFiles()
	if now == c.seen {
		return false, nil
	}

	// What is written after this look is seen as a change by the next one.
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
