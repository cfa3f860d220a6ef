package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/internal/certificate"
	"ninepocket/internal/systemd"
	"ninepocket/server"
	"ninepocket/wire"
)

// drainTime is how long requests in flight may take to end after SIGTERM.
const drainTime = 15 * time.Second

// searchCache is the memory for remembered searches: some 100,000 pages.
const searchCache = 64 << 20

// packCache is the memory for compressed bodies and what they were compressed from. It holds some
// 3,000 pages of 20 kB, or 1,500 years of history: most of what most clients ask for.
const packCache = 64 << 20

// drainGrace is how long requests still come in on open connections after SIGTERM, each answered
// with Connection: close.
const drainGrace = 500 * time.Millisecond

// service is everything that runs while requests are served: demo and serve differ in what they put
// into it.
type service struct {
	config  config
	engine  *engine.Engine
	server  *server.Server // set by run
	ring    *access.KeyRing
	store   access.Store
	clock   access.Clock
	cursors *cursor.Signer
	images  *server.Images // nil without a folder
	log     *slog.Logger
	cert    *certificate.Certificate // of the API; nil when it is plain HTTP
	notify  *systemd.Notifier        // nil when no service manager listens
	ready   func(readyFile) error    // called once requests are served
	reload  func() error             // re-reads keys and plans
}

// readyFile is what the ready file says.
type readyFile struct {
	API        string            `json:"api"`
	Admin      string            `json:"admin"`
	MCP        string            `json:"mcp"`
	SnapshotID string            `json:"snapshot_id"`
	Keys       map[string]string `json:"keys,omitempty"`
}

// listeners binds both addresses; port 0 picks free ones.
func (c *config) listeners() (api, admin net.Listener, err error) {
	api, err = net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen on %q: %w", c.Listen, err)
	}

	admin, err = net.Listen("tcp", c.Admin)
	if err != nil {
		// Nobody will serve what was opened first.
		_ = api.Close()
		return nil, nil, fmt.Errorf("cannot listen on %q for administration: %w", c.Admin, err)
	}
	return api, admin, nil
}

// baseURL is what clients reach the service by: as configured, else the listener's address.
func (c *config) baseURL(api net.Listener) string {
	if c.BaseURL != "" {
		return strings.TrimSuffix(c.BaseURL, "/")
	}
	return c.apiURL(api)
}

// apiURL is what this machine reaches the API by.
func (c *config) apiURL(api net.Listener) string {
	if c.TLSCert != "" {
		return "https://" + api.Addr().String()
	}
	return "http://" + api.Addr().String()
}

// site is where the URLs of answers lead.
func (c *config) site(base string) wire.Site {
	site := wire.Site{URL: base, ProductPrefix: c.ProductPrefix}
	if c.SiteURL != "" {
		site.URL = strings.TrimSuffix(c.SiteURL, "/")
	}
	if c.Images != "" {
		site.Images = base + "/images/"
	}
	return site
}

// run serves until ctx is done and drains.
func (s *service) run(ctx context.Context, api, admin net.Listener) error {
	base := s.config.baseURL(api)
	// It was listened on.
	listenHost, _, _ := net.SplitHostPort(s.config.Listen)
	pages, err := s.config.pages(base)
	if err != nil {
		return err
	}

	proxies, err := s.config.trustedProxies()
	if err != nil {
		return err
	}

	srv, err := server.New(server.Options{
		Engine: s.engine, Gate: access.NewGate(s.ring, s.store), Clock: s.clock, Cursors: s.cursors,
		PackCache: packCache, BaseURL: base,
		ProductPrefix:  s.config.ProductPrefix,
		Preview:        slices.Contains(s.config.Surfaces, "preview"),
		DefaultPreview: s.config.DefaultSurface == "preview",
		Origins:        s.config.CORSOrigins, AllowedHosts: s.config.MCP.AllowedHosts,
		AllowedOrigins: s.config.MCP.AllowedOrigins,
		Pages:          pages, Images: s.images, TrustedProxies: proxies,
		ListenHost: listenHost, Version: version, Log: s.log,
	})
	if err != nil {
		return err
	}

	s.server = srv
	s.warnUnusable()

	// Every task below ends when one of them fails or when ctx is done.
	adminServer := &http.Server{Handler: s.adminHandler(), ReadHeaderTimeout: 10 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return srv.Serve(api) })
	group.Go(func() error {
		if err := adminServer.Serve(admin); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error { s.engine.Follow(ctx); return nil })
	group.Go(func() error {
		s.ring.Watch(ctx, access.RingPoll, func(err error) {
			if err != nil {
				s.log.Error("cannot re-read keys", slog.Any("cause", err))
				return
			}
			s.log.Info("keys changed")
			s.warnUnusable()
		})
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		// The group is cancelled here already; draining has a time of its own.
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		s.log.Info("draining")
		s.tell("STOPPING=1", "STATUS=draining")
		srv.Drain()

		// Answers close their connections for a moment, while the listener still stands.
		select {
		case <-time.After(drainGrace):
		case <-drain.Done():
		}
		return errors.Join(srv.Shutdown(drain), adminServer.Shutdown(drain))
	})

	// SIGHUP is taken over before anyone learns that it may be sent.
	hangups := listenHangup()
	group.Go(func() error { return s.watchHangup(ctx, hangups) })
	if s.cert != nil {
		group.Go(func() error { s.cert.Watch(ctx, certificate.Poll, s.renewed); return nil })
	}

	// Not the base URL: scripts that start a server reach it here.
	bound := s.config.apiURL(api)
	ready := readyFile{
		API: bound, Admin: "http://" + admin.Addr().String(), MCP: bound + "/mcp",
		SnapshotID: s.engine.View().ID,
	}
	if err := s.ready(ready); err != nil {
		return err
	}

	group.Go(func() error { s.keepNotified(ctx, api.Addr()); return nil })

	// Being told to end is no failure. Closing the store writes what is still in memory.
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, s.store.Close())
}

// writeReadyFile replaces path with what is ready, at once.
func writeReadyFile(path string, ready readyFile) error {
	if path == "" {
		return nil
	}

	// A script that waits for the file must never see half of it.
	f, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("cannot write ready file %q: %w", path, err)
	}

	err = printJSON(f, ready)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("cannot write ready file %q: %w", path, err)
	}
	return nil
}

// cursorKeysName is the file of the state directory that holds the cursor signing key, so that
// cursors outlive a restart.
const cursorKeysName = "cursor.key"

// openCursors reads the signing key of a state directory, making one the first time.
func openCursors(state string) (*cursor.Signer, error) {
	path := filepath.Join(state, cursorKeysName)
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret = make([]byte, cursor.KeyLen)
		// Never fails.
		_, _ = rand.Read(secret)
		err = access.ReplaceFile(path, secret)
	}

	if err == nil && len(secret) != cursor.KeyLen {
		return nil, fail(exitFailure,
			"restore the file, or remove it: the next start makes another, and clients begin their walks anew",
			fmt.Errorf("cannot use cursor key %q: it has %d bytes instead of %d", path, len(secret), cursor.KeyLen))
	}
	if err != nil {
		return nil, fail(exitFailure, "", fmt.Errorf("cannot use cursor key %q: %w", path, err))
	}
	return cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte(secret)})
}

// newCursors returns a signer whose cursors die with the process.
func newCursors() (*cursor.Signer, error) {
	var key cursor.Key
	// Never fails.
	_, _ = rand.Read(key.Secret[:])
	return cursor.NewSigner(key)
}
