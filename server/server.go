package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/api"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/server/httpconn"
	"ninepocket/site"
)

// writeBuffer lets a pipelined burst of card answers leave in one write.
const writeBuffer = 32 << 10

// Options say what a Server serves.
type Options struct {
	Engine  *engine.Engine
	Gate    *access.Gate
	Clock   access.Clock
	Cursors *cursor.Signer
	// BaseURL is what clients reach the service by, without a slash at the end.
	BaseURL string
	// ProductPrefix begins product ids (decision 25); "" means prd.
	ProductPrefix string
	// Preview switches the preview contract on (decision 1).
	Preview bool
	// DefaultPreview makes the preview surface answer requests without a key on shared paths.
	DefaultPreview bool
	// Origins may read answers from a browser (CORS); empty means none (decision 4).
	Origins []string
	// AllowedHosts and AllowedOrigins may call MCP besides the base URL's host, the listen host and
	// loopback.
	AllowedHosts, AllowedOrigins []string
	// ListenHost is the host that is listened on, as configured; "" for the listener's address.
	ListenHost string
	// OpenAPIDocument is the OpenAPI document to serve; nil means that of BaseURL, ProductPrefix
	// and Preview.
	Contract *OpenAPIDocument
	// Pages are the public site; nil leaves it out.
	Pages *site.Pages
	// Images is the folder of card images; nil without one.
	Images *Images
	// Metering says why calls cannot be metered at the moment; nil means that they always can.
	Metering func() error
	// TrustedProxies lists the proxies whose X-Forwarded-For gives the client address.
	TrustedProxies []netip.Prefix
	// PackCache bounds the memory of bodies that are kept compressed, in bytes; 0 keeps none.
	PackCache int64
	// BodyRoom bounds the memory of larger request bodies that are being read, of all clients together,
	// in bytes; 0 is no bound.
	BodyRoom int64
	// Version is the program's, for MCP's initialize.
	Version string
	Log     *slog.Logger
	// OnAccess is told of every request that has its answer, in its goroutine; nil for nobody.
	OnAccess func(AccessLogEntry)
}

// Server answers HTTP requests.
type Server struct {
	Options
	lists    atomic.Int64 // that are being read as streams
	http     *fasthttp.Server
	router   *router.Router
	card     routesByMethod // cardPattern's
	draining atomic.Bool
	open     httpconn.Connections
	cutAfter time.Duration // tests: when Shutdown cuts; 0 = when three quarters of its time are over
	// instant makes a request's two clocks from the time when it had arrived. Simulations replace it.
	instant   func(time.Time) (time.Time, access.Instant)
	tools     *mcpServer
	metrics   *metrics
	assets    map[string]document // files of the site, by name
	addresses *addressLimiter
	packs     *httpconn.CompressedCache
	service   api.Service
	// unnamedProxy is set once the log has warned of an untrusted proxy on this machine, and oddHop
	// once it has warned of a trusted one that writes what is no address.
	unnamedProxy, oddHop atomic.Bool
	// meterLog and repliesLog keep failures of the meter from filling the log.
	meterLog, repliesLog logThrottle
}

// New returns a server that is ready to Serve.
func New(options Options) (*Server, error) {
	if options.Engine == nil || options.Gate == nil || options.Cursors == nil {
		return nil, errors.New("cannot serve without an engine, a gate and a cursor signer")
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.BaseURL = strings.TrimSuffix(options.BaseURL, "/")

	if options.Contract == nil {
		contract, err := NewOpenAPIDocument(options.BaseURL, options.ProductPrefix, options.Preview)
		if err != nil {
			return nil, err
		}
		options.Contract = contract
	}

	s := &Server{
		Options: options, assets: map[string]document{}, addresses: newAddressLimiter(),
		packs: httpconn.NewCompressedCache(options.PackCache),
	}
	s.open.Timeouts = httpconn.DefaultTimeouts
	s.open.AllowLargeBody = s.welcomes
	s.open.BodyBudget = options.BodyRoom
	s.instant = func(at time.Time) (time.Time, access.Instant) { return at, s.Clock.At(at) }
	s.tools = newMCPServer(&s.Options)
	s.service = api.Service{
		Cursors: options.Cursors, Retained: options.Engine.Retained, IsPending: options.Engine.IsPending,
		BaseURL: options.BaseURL, Tools: s.tools.Endpoint,
	}

	// The route table needs the tools, for they are counted beside its operations.
	s.router = s.routes()
	s.http = &fasthttp.Server{
		Handler:                      s.handle,
		ErrorHandler:                 s.protocolError,
		HeaderReceived:               httpconn.Expectations,
		Name:                         "ninepocket",
		ReadBufferSize:               httpconn.MaxHeader,
		WriteBufferSize:              writeBuffer,
		MaxRequestBodySize:           httpconn.MaxBody,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		Logger:                       quiet{},
		CloseOnShutdown:              true,
	}
	return s, nil
}

// quiet drops fasthttp's own log lines, which may hold parts of requests.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Serve answers connections of l until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if s.tools.listen == "" { // the options did not say so
		s.tools.listen = hostOf(l.Addr().String())
	}
	return s.http.Serve(s.open.Listen(l))
}

// ServeConn answers the requests of one connection until it ends.
func (s *Server) ServeConn(conn net.Conn) error {
	guarded := s.open.Guard(conn)
	defer s.open.Remove(guarded)
	return s.http.ServeConn(guarded)
}

// Drain lets every answer from now on close its connection. So clients that keep theirs open move
// elsewhere between two requests and not in the middle of one. Shutdown follows.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops taking connections and waits for the requests in flight until ctx is done. Nothing
// else is waited for: connections that are idle end at once. When three quarters of the time are
// over, what still reads or writes is too slow, and is cut: clients that stall cannot make it fail.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	if deadline, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(cmp.Or(s.cutAfter, time.Until(deadline)/4*3), s.open.CloseAll).Stop()
	}

	err := s.open.StopListening(ctx)
	if err == nil {
		err = s.open.Drain(ctx)
	}
	if err == nil {
		err = s.http.ShutdownWithContext(ctx) // nothing is left to wait for
	}
	if err != nil {
		return err
	}

	s.packs.Close() // nobody asks any more
	return nil
}
