package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/meter"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/certificate"
	"ninepocket/internal/door"
	"ninepocket/internal/systemd"
	"ninepocket/server"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// drainTime is how long requests in flight may take to end after SIGTERM.
const drainTime = 15 * time.Second

// adminGrace is how long requests of the admin listener may take to end once the API has drained.
const adminGrace = 200 * time.Millisecond

// service is everything that runs while requests are served: demo and serve differ in what they put
// into it.
type service struct {
	config  config
	engine  *engine.Engine
	server  *server.Server // set by run
	ring    *keys.Ring
	store   access.Store
	journal *access.Embedded // what the store records calls in; nil in a demo
	meter   *meter.Store     // the store, when many servers share rights; else nil
	clock   access.Clock
	cursors *cursor.Signer
	fleet   *sharing       // nil on one machine
	mirror  *mirror.Cache  // nil where the store is a folder of this machine
	access  *accessLog     // nil without one
	images  *server.Images // nil without a folder
	log     *slog.Logger
	lines   *patient                 // that the log's lines go through; nil in tests
	cert    *certificate.Certificate // of the API; nil when it is plain HTTP
	notify  *systemd.Notifier        // nil when no service manager listens
	ready   func(*readyFile)         // called before the ready file is written, to which it may add
	reload  func() error             // re-reads keys and plans

	door     *door.Door  // that the API's connections come through
	draining atomic.Bool // since the first moment of the drain
}

// readyFile is what the ready file says.
type readyFile struct {
	API        string            `json:"api"`
	Admin      string            `json:"admin"`
	MCP        string            `json:"mcp"`
	SnapshotID string            `json:"snapshot_id"`
	Keys       map[string]string `json:"keys,omitempty"`
}

// baseURL is what clients reach the service by: as configured, else the listener's address.
func (c *config) baseURL(api net.Listener) string {
	return cmp.Or(strings.TrimSuffix(c.BaseURL, "/"), c.apiURL(api))
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
	site := wire.Site{URL: cmp.Or(strings.TrimSuffix(c.SiteURL, "/"), base), ProductPrefix: c.ProductPrefix}
	if c.Images != "" {
		site.Images = base + "/images/"
	}
	return site
}

// newEngine makes the engine, which loads nothing yet. The base URL of answers needs the port, so
// it comes after the listeners.
func (s *service) newEngine(store *snapshot.Dir, api net.Listener) *engine.Engine {
	options := engine.Options{
		Site: s.config.site(s.config.baseURL(api)), SearchCache: cacheRoom(memoryLimit()), Memory: memory, Aside: aside,
		Log: s.log,
	}
	if s.images != nil {
		options.Images = s.images.List
	}
	if s.mirror != nil {
		options.Published = func() engine.Published {
			cur, asked := s.mirror.Published()
			return engine.Published{Current: cur, Asked: asked}
		}
	}
	return engine.New(store, options)
}

// run serves until ctx is done and drains.
func (s *service) run(ctx context.Context, all sockets) error {
	api, admin, err := s.behindDoors(all)
	if err != nil {
		return err
	}
	s.server, err = s.newServer(api)
	if err != nil {
		return err
	}
	s.warnUnusable()

	// Every task ends when one of them fails or when ctx is done.
	group, ctx := errgroup.WithContext(ctx)
	task := func(do func(context.Context)) {
		group.Go(func() error { do(ctx); return nil })
	}
	adminServer := &http.Server{
		Handler: s.guardAdmin(admin, s.adminHandler()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	group.Go(func() error { return s.server.Serve(api) })
	group.Go(func() error {
		if err := adminServer.Serve(admin); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return s.drain(ctx, adminServer)
	})
	// The log outlives the drain, whose requests it tells of.
	if s.access != nil {
		drained := make(chan struct{})
		written := make(chan struct{})
		go func() { defer close(written); s.access.run(drained) }()
		defer func() { close(drained); s.awaitLines(written) }()
	}
	task(func(ctx context.Context) { unlessItHangs(ctx, s.engine.Follow) })
	if s.mirror != nil {
		task(s.mirror.Follow)
	}
	task(func(ctx context.Context) { s.clock.Follow(ctx, s.clockStepped) })
	task(func(ctx context.Context) { s.ring.Watch(ctx, keys.Poll, s.keysChanged) })
	if s.fleet != nil {
		task(func(ctx context.Context) { s.fleet.exporter.Run(ctx, s.fleet.export) })
		task(s.followCursors)
	}

	// SIGHUP is taken over before anyone learns that it may be sent.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	task(func(ctx context.Context) { s.watchHangup(ctx, hangups) })
	if s.cert != nil {
		task(func(ctx context.Context) { s.cert.Watch(ctx, certificate.Poll, s.renewed) })
	}

	// Not the base URL: scripts that start a server reach it here.
	bound := s.config.apiURL(api)
	r := readyFile{
		API: bound, Admin: "http://" + admin.Addr().String(), MCP: bound + "/mcp", SnapshotID: s.engine.View().ID,
	}
	s.ready(&r)
	if err := writeReadyFile(s.config.ReadyFile, r); err != nil {
		return err
	}
	task(func(ctx context.Context) { s.keepNotified(ctx, api.Addr()) })

	// Being told to end is no failure. Closing the store writes what is still in memory.
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if s.fleet != nil {
		s.exportLast(ctx)
	}
	return errors.Join(err, s.store.Close())
}

// hangGrace is how long the drain waits for a look at the store that is under way.
const hangGrace = time.Second

// unlessItHangs runs what reads a mount until it ends, or until ctx is done and it does not end: the
// mount may never answer.
func unlessItHangs(ctx context.Context, do func(context.Context)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
	}()

	<-ctx.Done()
	select {
	case <-done:
	case <-time.After(hangGrace):
	}
}

// lastLines is how long the end waits for who takes the last lines of the access log.
const lastLines = 2 * time.Second

// awaitLines waits until the access log is written, unless who takes it hangs.
func (s *service) awaitLines(written <-chan struct{}) {
	select {
	case <-written:
	case <-time.After(lastLines):
		s.log.Error("who takes the access log hangs: its last lines are lost")
	}
}

// newServer makes the server of the API as configured.
func (s *service) newServer(api net.Listener) (*server.Server, error) {
	c := &s.config
	base := c.baseURL(api)
	proxies, err := c.trustedProxies()
	if err != nil {
		return nil, err
	}

	preview := slices.Contains(c.Surfaces, "preview")
	contract, err := server.NewContract(base, c.ProductPrefix, preview)
	if err != nil {
		return nil, err
	}

	// The reference shows what this server answers.
	var pages *site.Pages
	if !c.NoSite {
		pages, err = site.New(site.Options{BaseURL: base, Version: s.images.Version, Document: contract.Text()})
	}
	if err != nil {
		return nil, err
	}

	// It was listened on, unless the service manager did.
	listenHost, _, _ := net.SplitHostPort(c.Listen)
	var told func(server.Entry)
	if s.access != nil {
		told = s.access.add
	}
	return server.New(server.Options{
		Access: told,
		Engine: s.engine, Gate: access.NewGate(s.ring, s.store), Clock: s.clock, Cursors: s.cursors,
		Metering:  s.meteringFault,
		BodyRoom:  bodyRoom(memoryLimit()),
		PackCache: cacheRoom(memoryLimit()), BaseURL: base, ListenHost: listenHost, ProductPrefix: c.ProductPrefix,
		Preview: preview, Contract: contract, DefaultPreview: c.DefaultSurface == "preview",
		Origins: c.CORSOrigins, AllowedHosts: c.MCP.AllowedHosts, AllowedOrigins: c.MCP.AllowedOrigins,
		Pages: pages, Images: s.images, TrustedProxies: proxies, Version: version, Log: s.log,
	})
}

// drain ends both servers once ctx is done, after the requests in flight.
func (s *service) drain(ctx context.Context, adminServer *http.Server) error {
	// From the first moment on, whoever asks is told to send clients elsewhere.
	s.draining.Store(true)
	s.server.Drain()
	s.log.Info("draining")
	s.tell("STOPPING=1", "STATUS=draining")

	// The group is cancelled here already; draining has a time of its own. While it leads, answers
	// close their connections and the listener still stands.
	lead, err := s.config.drainLead()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), lead+drainTime)
	defer cancel()
	select {
	case <-time.After(lead):
	case <-drain.Done():
	}
	err = errors.Join(err, s.server.Shutdown(drain))

	// Until then the admin listener says how it stands. Nobody waits for its connections.
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminGrace)
	defer cancel()
	if adminServer.Shutdown(short) != nil {
		_ = adminServer.Close()
	}
	return err
}

// writeReadyFile replaces path with what is ready, at once: whoever waits for the file must never
// see half of it.
func writeReadyFile(path string, ready readyFile) error {
	if path == "" {
		return nil
	}

	var text bytes.Buffer
	err := printJSON(&text, ready)
	if err == nil {
		err = statedir.ReplaceFile(path, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("cannot write ready file: %w", err)
	}
	return nil
}
