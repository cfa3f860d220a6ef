package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/api"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/engine/cursor"
	"ninepocket/server/httpconn"
	"ninepocket/site"
)

// writeBuffer lets a pipelined burst of card responses leave in one write.
const writeBuffer = 32 << 10

// Options configure a Server.
type Options struct {
	Engine  *engine.Engine
	Gate    *access.Gate
	Clock   access.Clock
	Cursors *cursor.Signer
	// BaseURL is the URL at which clients reach the service.
	BaseURL string
	// ProductPrefix begins product ids (decision 25); "" means prd.
	ProductPrefix string
	// Preview enables the preview contract (decision 1).
	Preview bool
	// DefaultPreview makes the preview surface answer requests without a key on shared paths.
	DefaultPreview bool
	// Origins are the web origins that may read responses in a browser (CORS); empty means none
	// (decision 4).
	Origins []string
	// AllowedHosts and AllowedOrigins may call MCP, in addition to the base URL's host, the listen
	// host and loopback.
	AllowedHosts, AllowedOrigins []string
	// ListenHost is the host of the listener, as configured; "" for the listener's address.
	ListenHost string
	// Compat is another API's contract; nil for none.
	Compat *Compat
	// OpenAPI are the OpenAPI documents to serve; nil means those of BaseURL, ProductPrefix and
	// Preview.
	OpenAPI OpenAPIDocuments
	// Pages is the public site; nil for none.
	Pages *site.Pages
	// Images is the folder of card images; nil for none.
	Images *Images
	// Bulk has the files of the whole catalog; nil for a server without such files.
	Bulk *bulk.Store
	// StoresText is that of api.Service.
	StoresText bool
	// Metering returns the reason why calls cannot be metered now; nil means that they always can.
	Metering func() error
	// TrustedProxies lists the proxies whose X-Forwarded-For gives the client address.
	TrustedProxies []netip.Prefix
	// CompressedCacheSize limits the memory of the cache of compressed bodies, in bytes; 0 caches
	// none.
	CompressedCacheSize int64
	// BodyBudget limits the memory of larger request bodies that are being read, of all clients
	// together, in bytes; 0 is no limit.
	BodyBudget int64
	// PublishesAt is how long after midnight, UTC, the next snapshot is expected, if PublishesDaily.
	PublishesAt    time.Duration
	PublishesDaily bool
	// Version is that of the program, for MCP's initialize and the OpenAPI document.
	Version string
	Log     *slog.Logger
	// OnAccess is called for every request whose response is ready, in its goroutine; nil for none.
	OnAccess func(AccessLogEntry)
}

// Server answers HTTP requests.
type Server struct {
	Options
	listStreams listStreams
	valuing     sync.Mutex    // is locked while a long list is valued
	listPace    time.Duration // for tests: 0 = listPace
	http        *fasthttp.Server
	router      *router.Router
	cardRoutes  map[string]*routesByMethod // of the paths of one card, by what follows its id
	draining    atomic.Bool
	connections httpconn.Connections
	cutAfter    time.Duration // for tests: when Shutdown closes all connections; 0 = after three quarters of its time
	// instant returns a request's two clocks from its time of arrival. Simulations replace it.
	instant    func(time.Time) (time.Time, access.Instant)
	tools      *mcpServer
	compat     *compat // nil without one
	metrics    *metrics
	assets     map[string]document // files of the site, by name
	addresses  *addressLimiter     // of pages
	suggests   *addressLimiter     // of suggestions
	downloads  downloads
	compressed *httpconn.CompressedCache
	service    api.Service
	// warnedProxy is set once the log has warned of an untrusted proxy on this machine, and
	// warnedHop once it has warned of a trusted proxy that writes an invalid address.
	warnedProxy, warnedHop atomic.Bool
	// meterLog and repliesLog keep failures of metering from filling the log.
	meterLog, repliesLog logThrottle
}

// nextPublication is when the next snapshot is expected after an instant; zero if nobody said it.
func (s *Server) nextPublication(now time.Time) time.Time {
	if !s.PublishesDaily {
		return time.Time{}
	}
	at := now.UTC().Truncate(24 * time.Hour).Add(s.PublishesAt)
	if !at.After(now) {
		at = at.Add(24 * time.Hour)
	}
	return at
}

// New returns a server that is ready to Serve.
func New(options Options) (*Server, error) {
	if options.Engine == nil || options.Gate == nil || options.Cursors == nil {
		return nil, errors.New("cannot serve without an engine, a gate and a cursor signer")
	}
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.BaseURL = strings.TrimSuffix(options.BaseURL, "/")
	options.Bulk = cmp.Or(options.Bulk, &bulk.Store{})

	if options.OpenAPI == nil {
		var err error
		options.OpenAPI, err = NewOpenAPIDocuments(options.BaseURL, options.ProductPrefix, options.Version,
			options.Preview)
		if err != nil {
			return nil, err
		}
	}

	s := &Server{
		Options: options, downloads: downloads{of: map[string]int{}},
		assets: map[string]document{}, addresses: newAddressLimiter(refillInterval),
		suggests:   newAddressLimiter(suggestInterval),
		compressed: httpconn.NewCompressedCache(options.CompressedCacheSize),
	}
	s.connections.Timeouts = httpconn.DefaultTimeouts
	s.connections.AllowLargeBody = s.allowsLargeBody
	s.connections.BodyBudget = options.BodyBudget
	s.instant = func(at time.Time) (time.Time, access.Instant) { return at, s.Clock.At(at) }
	s.tools = newMCPServer(&s.Options)
	s.compat = newCompat(s.Compat)
	s.service = api.Service{
		Cursors: options.Cursors, Retained: options.Engine.Retained, IsPending: options.Engine.IsPending,
		BaseURL: options.BaseURL, Tools: s.tools.Endpoint,
		Bulk: options.Bulk, StoresText: options.StoresText,
	}

	// The route table needs the tools, which have rows in the metrics like its operations.
	s.router = s.newRouter()
	s.http = &fasthttp.Server{
		Handler:                      s.handle,
		ErrorHandler:                 s.protocolError,
		HeaderReceived:               httpconn.HeaderReceived,
		Name:                         "ninepocket",
		ReadBufferSize:               httpconn.MaxHeader,
		WriteBufferSize:              writeBuffer,
		MaxRequestBodySize:           httpconn.MaxBody,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		Logger:                       discardLogger{},
		CloseOnShutdown:              true,
	}
	return s, nil
}

// discardLogger drops fasthttp's own log lines, which may contain parts of requests.
type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// Serve answers connections of l until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if s.tools.listen == "" { // not configured
		s.tools.listen = hostWithoutPort(l.Addr().String())
	}
	return s.http.Serve(s.connections.Listen(l))
}

// ServeConn answers the requests of one connection until it ends.
func (s *Server) ServeConn(conn net.Conn) error {
	guarded := s.connections.Guard(conn)
	defer s.connections.Remove(guarded)
	return s.http.ServeConn(guarded)
}

// Drain makes every response from now on close its connection, so that clients reconnect elsewhere
// between two requests. Shutdown follows.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops accepting connections and waits for the requests in flight until ctx is done. Idle
// connections end at once. After three quarters of the time, connections that still read or write
// are closed: slow clients cannot make Shutdown fail.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	if deadline, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(cmp.Or(s.cutAfter, time.Until(deadline)/4*3), s.connections.CloseAll).Stop()
	}

	err := s.connections.StopListening(ctx)
	if err == nil {
		err = s.connections.Drain(ctx)
	}
	if err == nil {
		err = s.http.ShutdownWithContext(ctx) // no connection is left
	}
	if err != nil {
		return err
	}

	s.compressed.Close() // not used any more
	return nil
}
