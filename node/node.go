// Package node is what a running server is made of: listeners, store, engine, meter and metrics, in start and stop
// order.
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
	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/accesslog"
	"ninepocket/internal/certificate"
	"ninepocket/internal/connlimit"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/server"
	"ninepocket/site"
	"ninepocket/wire"
)

// drainTimeout is how long requests in flight may take to end after SIGTERM.
const drainTimeout = 15 * time.Second

// adminTimeout is how long requests of the admin listener may take to end once the API has drained.
const adminTimeout = 200 * time.Millisecond

// Options are what a server is made of, besides what its settings name.
type Options struct {
	Config    settings.Config // which is valid
	Version   string          // of the program
	Log       *slog.Logger
	LogWriter *accesslog.AsyncWriter // that the log's lines go through; nil without one
	Stdout    io.Writer              // of an access log at -

	// Keys are those of a server without keys in its state directory; nil reads these.
	Keys *keys.Ring
	// InMemory meters in memory: nothing of it outlives the process.
	InMemory bool
	// Publish makes what is served, once the ports are taken; nil where the store has it.
	Publish func() error
	// Reread returns the settings as they are now, for a reload; nil where they never change.
	Reread func() (settings.Config, error)
	// Ready is called before the ready file is written, to which it may add.
	Ready func(*ReadyFile)
}

// ReadyFile is what the ready file says.
type ReadyFile struct {
	API        string            `json:"api"` // a URL, as Admin and MCP
	Admin      string            `json:"admin"`
	MCP        string            `json:"mcp"`
	SnapshotID string            `json:"snapshot_id"`
	Keys       map[string]string `json:"keys,omitempty"` // their texts, by name
}

// Node is everything that runs while requests are served.
type Node struct {
	Options
	ring        *keys.Ring
	store       access.Store
	journal     *access.LocalStore // what the store records calls in; nil in memory
	limiter     *limiter.Store     // the store, when many servers share rights; else nil
	clock       access.Clock
	cursors     *cursor.Signer
	fleet       *fleetNode       // nil on one machine
	mirror      *mirror.Follower // nil where the store is a folder of this machine
	engine      *engine.Engine
	sockets     sockets
	server      *server.Server           // set by run
	access      *accesslog.Log           // nil without one
	images      *server.Images           // nil without a folder
	cert        *certificate.Certificate // of the API; nil when it is plain HTTP
	connLimiter *connlimit.Limiter       // that the API's connections come through
	draining    atomic.Bool              // since the first moment of the drain
	closers     []func() error           // of what was opened, in its order
}

// Serve opens a server, serves until ctx is done, drains, and closes all of it in the reverse order.
// An error of the opening is a StartError.
func Serve(ctx context.Context, o Options) error {
	// The clock of all requests begins here, so that limits count in one time.
	n := &Node{Options: o, clock: access.StartMachineClock()}
	err := n.open(ctx)
	if err == nil {
		err = n.run(ctx)
	}
	return errors.Join(err, n.close())
}

// close ends what was opened, the last first.
func (n *Node) close() (err error) {
	for _, end := range slices.Backward(n.closers) {
		err = errors.Join(err, end())
	}
	return err
}

// onClose notes how something that was opened ends.
func (n *Node) onClose(end func() error) { n.closers = append(n.closers, end) }

// apiURL is what this machine reaches the API by.
func (n *Node) apiURL() string {
	scheme := "http://"
	if n.Config.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + n.sockets.api.Addr().String()
}

// baseURL is what clients reach the API by: as configured, else the listener's address.
func (n *Node) baseURL() string { return cmp.Or(strings.TrimSuffix(n.Config.BaseURL, "/"), n.apiURL()) }

// site is where the URLs of answers lead.
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
	api, admin, err := n.limitListeners()
	if err != nil {
		return err
	}
	n.server, err = n.newServer()
	if err != nil {
		return err
	}

	// Told at each start: whoever configured the plans looks at the log now.
	n.warnKeysWithoutPlan()

	// Every task ends when one of them fails or when ctx is done.
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

	// Once all calls have ended, and before the journal is closed that they are read from.
	if n.fleet != nil {
		n.onClose(func() error { n.exportLast(ctx); return nil })
	}
	// The log outlives the drain, whose requests it tells of.
	defer n.startAccessLog()()
	n.startTasks(task)

	err = n.announce()
	if err != nil {
		return err
	}
	// The service manager hears of it last: by then whoever reads the ready file can ask.
	task(n.notifyLoop)

	// Being told to end is no failure.
	err = group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// startTasks starts what keeps a server up to date with what changes around it.
func (n *Node) startTasks(task func(func(context.Context))) {
	task(func(ctx context.Context) { runOrAbandon(ctx, n.engine.Follow) })
	if n.mirror != nil {
		task(n.mirror.Follow)
	}
	task(func(ctx context.Context) { n.clock.TrackSteps(ctx, eventLog{n.Log}.clockStepped) })
	task(func(ctx context.Context) { n.ring.Watch(ctx, keys.Poll, n.keysChanged) })
	if n.fleet != nil {
		task(func(ctx context.Context) { n.fleet.exporter.Run(ctx, n.fleet.exportInterval) })
		task(n.followCursorKeys)
	}

	// SIGHUP is taken over before anyone learns that it may be sent.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	task(func(ctx context.Context) { n.watchHangup(ctx, hangups) })
	if n.cert != nil {
		task(func(ctx context.Context) { n.cert.Watch(ctx, certificate.Poll, n.certificateChanged) })
	}
}

// announce says that requests are served.
func (n *Node) announce() error {
	// Not the base URL: scripts that start a server reach it here.
	bound := n.apiURL()
	ready := ReadyFile{
		API: bound, Admin: "http://" + n.sockets.admin.Addr().String(), MCP: bound + "/mcp",
		SnapshotID: n.engine.View().ID,
	}
	n.Ready(&ready)

	if n.Config.ReadyFile == "" {
		return nil
	}

	// Whoever waits for the file must never see half of it.
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

// hangTimeout is how long the drain waits for a look at the store that is under way.
const hangTimeout = time.Second

// runOrAbandon runs what reads a mount until it ends, or until ctx is done and it does not end: the
// mount may never answer.
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

// accessLogTimeout is how long the end waits for who takes the last lines of the access log.
const accessLogTimeout = 2 * time.Second

// startAccessLog writes the access log, if there is one, until its end is called. That waits until all
// is written, unless who takes the log hangs.
func (n *Node) startAccessLog() (end func()) {
	if n.access == nil {
		return func() {}
	}

	// Two signals: that nobody adds lines any more, and that all of them are written.
	drained := make(chan struct{})
	written := make(chan struct{})
	go func() { defer close(written); n.access.Run(drained) }()
	return func() {
		close(drained)
		select {
		case <-written:
		case <-time.After(accessLogTimeout):
			n.Log.Error("the reader of the access log hangs: its last lines are lost")
		}
	}
}

// newServer makes the server of the API as configured.
func (n *Node) newServer() (*server.Server, error) {
	config := &n.Config
	base := n.baseURL()
	proxies, err := config.Proxies()
	if err != nil {
		return nil, err
	}

	// Live cannot be switched off.
	preview := slices.Contains(config.Surfaces, "preview")
	contract, err := server.NewOpenAPIDocument(base, config.ProductPrefix, preview)
	if err != nil {
		return nil, err
	}

	// The reference shows what this server answers.
	var pages *site.Pages
	if !config.NoSite {
		pages, err = site.New(site.Options{BaseURL: base, Version: n.images.Version, Document: contract.Text()})
	}
	if err != nil {
		return nil, err
	}

	// It was listened on, unless the service manager did.
	listenHost, _, _ := net.SplitHostPort(config.Listen)
	var onAccess func(server.AccessLogEntry)
	if n.access != nil {
		onAccess = n.access.Add
	}
	return server.New(server.Options{
		OnAccess: onAccess,
		Engine:   n.engine, Gate: access.NewGate(n.ring, n.store), Clock: n.clock, Cursors: n.cursors,
		Metering:            n.store.Err,
		BodyBudget:          bodyBudget(memoryLimit()),
		CompressedCacheSize: cacheBudget(memoryLimit()), BaseURL: base, ListenHost: listenHost,
		ProductPrefix: config.ProductPrefix,
		Preview:       preview, OpenAPI: contract, DefaultPreview: config.DefaultSurface == "preview",
		Origins: config.CORSOrigins, AllowedHosts: config.MCP.AllowedHosts, AllowedOrigins: config.MCP.AllowedOrigins,
		Pages: pages, Images: n.images, TrustedProxies: proxies, Version: n.Version, Log: n.Log,
	})
}

// drain ends both servers once ctx is done, after the requests in flight.
func (n *Node) drain(ctx context.Context, adminServer *http.Server) error {
	// From the first moment on, whoever asks is told to send clients elsewhere.
	n.draining.Store(true)
	n.server.Drain()
	n.Log.Info("draining")
	n.notify("STOPPING=1", "STATUS=draining")

	// The group is cancelled here already; draining has a time of its own. While it leads, answers
	// close their connections and the listener still stands.
	lead, err := n.Config.Lead()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), lead+drainTimeout)
	defer cancel()
	select {
	case <-time.After(lead):
	case <-drain.Done():
	}
	err = errors.Join(err, n.server.Shutdown(drain))

	// Until then the admin listener says how it stands. Nobody waits for its connections.
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout)
	defer cancel()
	// A scrape that hangs is cut.
	if adminServer.Shutdown(short) != nil {
		_ = adminServer.Close()
	}
	return err
}
