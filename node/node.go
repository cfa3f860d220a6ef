// Package node is a running server: it opens listeners, store, engine, metering and metrics in
// order, and closes them in reverse order.
package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/compat/pokemontcg"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/accesslog"
	"ninepocket/internal/certificate"
	"ninepocket/internal/connlimit"
	"ninepocket/internal/notify"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/server"
	"ninepocket/site"
	"ninepocket/wire"
)

// drainTimeout is how long requests in flight may take to end after SIGTERM.
const drainTimeout = 15 * time.Second

// adminTimeout is how long requests of the admin listener may take to end after the API has
// drained.
const adminTimeout = 200 * time.Millisecond

// Options configure a server, in addition to its settings.
type Options struct {
	Config    settings.Config // must be valid
	Version   string          // of the program
	Log       *slog.Logger
	LogWriter *accesslog.AsyncWriter // the log's writer; nil if it has another
	Stdout    io.Writer              // for an access log at -

	// Keys are the keys of a server without keys in its state directory; nil reads those.
	Keys *keys.Ring
	// InMemory meters in memory: nothing is stored after the process.
	InMemory bool
	// Publish publishes the snapshot to serve, after the ports are bound; nil if the store has one.
	Publish func() error
	// Reread returns the current settings, for a reload; nil if they never change.
	Reread func() (settings.Config, error)
	// Ready is called before the ready file is written, and may add to it.
	Ready func(*ReadyFile)
}

// ReadyFile is the content of the ready file.
type ReadyFile struct {
	API        string            `json:"api"` // a URL, like Admin and MCP
	Admin      string            `json:"admin"`
	MCP        string            `json:"mcp"`
	SnapshotID string            `json:"snapshot_id"`
	Keys       map[string]string `json:"keys,omitempty"` // their texts, by name
}

// Node is a running server.
type Node struct {
	Options
	ring        *keys.Ring
	store       access.Store
	journal     *access.LocalStore // the local store of calls and charges; nil in memory
	limiter     *limiter.Store     // the store if servers share limits; else nil
	clock       access.Clock
	cursors     *cursor.Signer
	fleet       *fleetNode       // nil on one machine
	mirror      *mirror.Follower // nil if the snapshot store is a folder of this machine
	engine      *engine.Engine
	bulk        *bulk.Store
	sockets     sockets
	server      *server.Server           // nil until run
	access      *accesslog.Log           // nil without one
	images      *server.Images           // nil without a folder
	cert        *certificate.Certificate // of the API; nil for plain HTTP
	connLimiter *connlimit.Limiter       // of the API's connections
	hooks       *notify.Sender           // nil without hooks
	compat      *pokemontcg.Service      // nil when it is off
	facts       atomic.Pointer[storeFacts]
	planless    struct { // keys without a plan that the log has named, with its name
		sync.Mutex
		known map[string]bool
	}
	reloading sync.Mutex     // locked during a reload
	draining  atomic.Bool    // true from the start of the drain
	closers   []func() error // of everything that was opened, in that order
}

// Serve opens a server, serves until ctx is done, drains, and closes everything in reverse order.
// An error of the opening is a StartError.
func Serve(ctx context.Context, o Options) error {
	// One clock for all requests, so that limits count in the same time.
	n := &Node{Options: o, clock: access.StartMachineClock()}
	err := n.open(ctx)
	if err == nil {
		err = n.run(ctx)
	}
	return errors.Join(err, n.close())
}

// close closes what was opened, the last first.
func (n *Node) close() (err error) {
	for _, end := range slices.Backward(n.closers) {
		err = errors.Join(err, end())
	}
	return err
}

// onClose registers a function that closes something that was opened.
func (n *Node) onClose(end func() error) { n.closers = append(n.closers, end) }

// apiURL returns the URL at which this machine reaches the API.
func (n *Node) apiURL() string {
	scheme := "http://"
	if n.Config.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + n.sockets.api.Addr().String()
}

// baseURL returns the URL at which clients reach the API: as configured, else the listener's
// address.
func (n *Node) baseURL() string { return cmp.Or(strings.TrimSuffix(n.Config.BaseURL, "/"), n.apiURL()) }

// site returns the URLs that responses link to.
func (n *Node) site() wire.URLs {
	base := n.baseURL()
	site := wire.URLs{
		URL: cmp.Or(strings.TrimSuffix(n.Config.SiteURL, "/"), base), ProductPrefix: n.Config.ProductPrefix,
	}
	if n.Config.Images != "" {
		site.Images = base + "/images/"
	}
	return site
}

// run serves until ctx is done and drains.
func (n *Node) run(ctx context.Context) error {
	proxies, err := n.Config.Proxies()
	if err != nil {
		return err
	}
	api, admin := n.limitListeners(proxies)
	n.server, err = n.newServer(proxies)
	if err != nil {
		return err
	}

	n.openHooks()
	// Logged at each start: an operator who configured the plans reads the log now.
	n.warnKeysWithoutPlan(true)

	// All tasks end when one of them fails or when ctx is done.
	group, ctx := errgroup.WithContext(ctx)
	task := func(do func(context.Context)) {
		group.Go(func() error { do(ctx); return nil })
	}
	adminServer := &http.Server{
		Handler: n.guardAdmin(n.adminHandler()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}

	group.Go(func() error { return n.server.Serve(api) })
	group.Go(func() error {
		if err := adminServer.Serve(admin); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return n.drain(ctx, adminServer)
	})

	// After all calls have ended, and before the journal is closed that the rows are read from.
	if n.fleet != nil {
		n.onClose(func() error { n.exportLast(ctx); return nil })
	}
	// The access log ends after the drain, whose requests it records.
	defer n.startAccessLog()()
	n.startTasks(task)

	err = n.announce()
	if err != nil {
		return err
	}
	// The service manager is notified last: the ready file exists by then.
	task(n.notifyLoop)

	// A requested end is no failure.
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// startTasks starts the tasks that follow changes: of snapshots, the clock, keys, certificates and
// settings.
func (n *Node) startTasks(task func(func(context.Context))) {
	// A file system that hangs holds up no end.
	reader := func(do func(context.Context)) {
		task(func(ctx context.Context) { runOrAbandon(ctx, do) })
	}
	reader(n.engine.Follow)
	if n.mirror != nil {
		task(n.mirror.Follow)
	}
	reader(func(ctx context.Context) { n.bulk.Run(ctx, n.engine.View) })
	reader(n.watchStore)
	if n.hooks != nil {
		// The drain waits for none of them.
		reader(n.hooks.Run)
	}
	task(func(ctx context.Context) { n.clock.TrackSteps(ctx, eventLog{n.Log}.clockStepped) })
	task(func(ctx context.Context) { n.ring.Watch(ctx, keys.Poll, n.keysChanged) })
	if n.fleet != nil {
		task(func(ctx context.Context) { n.fleet.exporter.Run(ctx, n.fleet.exportInterval) })
		task(n.followCursorKeys)
	}

	// SIGHUP is handled before the ready file invites anyone to send it.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	task(func(ctx context.Context) { n.watchHangup(ctx, hangups) })
	if n.cert != nil {
		task(func(ctx context.Context) { n.cert.Watch(ctx, certificate.Poll, n.certificateChanged) })
	}
}

// announce writes the ready file.
func (n *Node) announce() error {
	// Not the base URL: scripts that start a server reach it at this address.
	bound := n.apiURL()
	ready := ReadyFile{
		API: bound, Admin: "http://" + n.sockets.admin.Addr().String(), MCP: bound + "/mcp",
		SnapshotID: n.engine.View().ID,
	}
	n.Ready(&ready)

	if n.Config.ReadyFile == "" {
		return nil
	}

	// A waiting script must never read an incomplete file.
	var text bytes.Buffer
	err := term.JSON(&text, ready)
	if err == nil {
		err = statedir.ReplaceFile(n.Config.ReadyFile, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("cannot write ready file: %w", err)
	}
	return nil
}

// hangTimeout is how long the drain waits for a read of the store that is under way.
const hangTimeout = time.Second

// runOrAbandon runs a function that reads a mount, and abandons it if it does not end soon after
// ctx is done: the mount may never answer.
func runOrAbandon(ctx context.Context, do func(context.Context)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
	}()

	<-ctx.Done()
	select {
	case <-done:
	case <-time.After(hangTimeout):
	}
}

// accessLogTimeout is how long the end of a server waits for the last lines of the access log to be
// written.
const accessLogTimeout = 2 * time.Second

// startAccessLog starts writing the access log, if there is one. The returned function ends it: it
// waits until all lines are written, unless the log's reader hangs.
func (n *Node) startAccessLog() (end func()) {
	if n.access == nil {
		return func() {}
	}

	// Two signals: no more lines are added, and all lines are written.
	drained := make(chan struct{})
	written := make(chan struct{})
	go func() { defer close(written); n.access.Run(drained) }()
	return func() {
		close(drained)
		select {
		case <-written:
		case <-time.After(accessLogTimeout):
			n.Log.Error("access log output blocked at shutdown: last lines lost")
		}
	}
}

// newServer makes the server of the API from the settings.
func (n *Node) newServer(proxies []netip.Prefix) (*server.Server, error) {
	config := &n.Config
	base := n.baseURL()

	// The live surface is always on.
	preview := slices.Contains(config.Surfaces, "preview")
	contract, err := server.NewOpenAPIDocuments(base, config.ProductPrefix, n.Version, preview)
	if err != nil {
		return nil, err
	}

	// The reference shows the OpenAPI document of this server.
	var pages *site.Pages
	if !config.NoSite {
		pages, err = site.New(site.Options{BaseURL: base, Version: n.images.Version, Document: contract.Text()})
	}
	if err != nil {
		return nil, err
	}

	// Config.Listen is valid, unless the service manager passed the socket.
	listenHost, _, _ := net.SplitHostPort(config.Listen)
	var onAccess func(server.AccessLogEntry)
	if n.access != nil {
		onAccess = n.access.Add
	}
	publishesAt, timed := config.Serve.PublishesAt()
	compat, err := compatOptions(n)
	if err != nil {
		return nil, err
	}
	return server.New(server.Options{
		Compat: compat, OnAccess: onAccess, PublishesAt: publishesAt, PublishesDaily: timed,
		Engine: n.engine, Gate: access.NewGate(n.ring, n.store), Clock: n.clock, Cursors: n.cursors,
		Metering:            n.store.Err,
		BodyBudget:          bodyBudget(memoryLimit()),
		CompressedCacheSize: cacheBudget(memoryLimit()), BaseURL: base, ListenHost: listenHost,
		ProductPrefix: config.ProductPrefix,
		Preview:       preview, OpenAPI: contract, DefaultPreview: config.DefaultSurface == "preview",
		Origins: config.CORSOrigins, AllowedHosts: config.MCP.AllowedHosts, AllowedOrigins: config.MCP.AllowedOrigins,
		Bulk: n.bulk, StoresText: n.limiter != nil,
		Pages: pages, Images: n.images, TrustedProxies: proxies, Version: n.Version, Log: n.Log,
	})
}

// drain ends both servers after the requests in flight.
func (n *Node) drain(ctx context.Context, adminServer *http.Server) error {
	// From now on health checks make load balancers send clients elsewhere.
	n.draining.Store(true)
	n.server.Drain()
	n.Log.Info("draining")
	n.notify("STOPPING=1", "STATUS=draining")

	// The group is cancelled here already; draining has its own time. During the lead, responses
	// close their connections and the listener is still open.
	lead, err := n.Config.Lead()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), lead+drainTimeout)
	defer cancel()
	select {
	case <-time.After(lead):
	case <-drain.Done():
	}
	err = errors.Join(err, n.server.Shutdown(drain))

	// Until here the admin listener reports the state. Its connections are not waited for.
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout)
	defer cancel()
	// A scrape that hangs is ended.
	if adminServer.Shutdown(short) != nil {
		_ = adminServer.Close()
	}
	return err
}
