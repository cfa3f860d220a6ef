package server

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/mcp"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// gateSurface is the gate of MCP: until the message is read, errors are those of the live surface.
var gateSurface = func() surface {
	gate := liveSurface
	gate.name = surfaceMCP
	return gate
}()

// toolSurface is the surface of tool calls: responses are JSON-RPC, and a refusal is a tool result
// that an agent can act on.
var toolSurface = surface{
	name:       surfaceMCP,
	keySurface: keys.Live,
	private:    "no-store",
	noCatalog: problem(wire.TemporarilyUnavailable,
		"No catalog is loaded yet. Nothing was charged. Call again in a few seconds."),
	rates:      &liveRates,
	limits:     addRateLimits,
	writeError: writeRPCError,
}

// mcpServer is the gate of package mcp: the hosts and origins that may call, and the tools as
// operations.
type mcpServer struct {
	*mcp.Endpoint
	operations []*operation // by the index of the tool
	hosts      []string     // allowed values of Host, lower case; with a port only that port is allowed
	origins    []string     // allowed values of Origin, lower case
	listen     string       // host of the listener
}

func newMCPServer(o *Options) *mcpServer {
	m := &mcpServer{listen: strings.ToLower(o.ListenHost)}
	m.Endpoint = mcp.New(mcp.Options{Cursors: o.Cursors, Retained: o.Engine.Retained, Version: o.Version})
	for _, tool := range api.Tools(m.Endpoint) {
		m.operations = append(m.operations, &operation{Operation: tool})
	}

	for _, host := range o.AllowedHosts {
		m.hosts = append(m.hosts, strings.ToLower(host))
	}
	for _, origin := range o.AllowedOrigins {
		m.origins = append(m.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	if base, err := url.Parse(o.BaseURL); err == nil && base.Host != "" {
		m.hosts = append(m.hosts, strings.ToLower(base.Hostname()))
		m.origins = append(m.origins, strings.ToLower(base.Scheme+"://"+base.Host))
	}
	return m
}

// hostWithoutPort returns the host of host[:port]; an IPv6 address without its brackets.
func hostWithoutPort(hostport string) string {
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && strings.IndexByte(hostport[i:], ']') < 0 {
		hostport = hostport[:i]
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// allowsHost reports whether a request may have this Host. It prevents DNS rebinding, where a page
// of another site reaches the server under the site's own name.
func (m *mcpServer) allowsHost(hostport string, local net.IP) bool {
	hostport = strings.ToLower(hostport)
	host := hostWithoutPort(hostport)
	if host == "" {
		return false
	}
	if isLoopback(host) || host == m.listen {
		return true
	}

	// The address that the client connected to is allowed too: the server may listen on every
	// address.
	if addr, err := netip.ParseAddr(host); err == nil && local.Equal(net.IP(addr.AsSlice())) {
		return true
	}

	return slices.Contains(m.hosts, host) || slices.Contains(m.hosts, hostport)
}

// allowsOrigin reports whether a page of this origin may call: a configured one, the service's own,
// or any on this machine while the service is on this machine only.
func (m *mcpServer) allowsOrigin(origin string) bool {
	origin = strings.ToLower(origin)
	if slices.Contains(m.origins, origin) {
		return true
	}

	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Path == "" && u.User == nil &&
		isLoopback(u.Hostname()) && isLoopback(m.listen)
}

// mcp answers POST /mcp: the gate, then the message. A tool call goes through the pipeline as an
// operation.
func (x *exchange) mcp() {
	x.surface = &gateSurface
	if f := x.refuseMCP(); f != nil {
		x.refuse(f)
		return
	}

	// An invalid message gets 400 with a JSON-RPC error. A notification gets 202.
	message, fault := mcp.Read(x.Ctx.PostBody())
	if fault == nil {
		fault = x.s.tools.Check(&message, mirroredHeaders(&x.Ctx.Request.Header))
	}
	if fault != nil {
		x.reply.Body = fault.Append(x.reply.Body)
		x.answerMCP(fasthttp.StatusBadRequest)
		return
	}
	if !message.IsRequest() {
		x.Ctx.Response.SetStatusCode(fasthttp.StatusAccepted)
		x.Ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
		return
	}

	// Messages that need no catalog are free.
	response, tool := x.s.tools.Answer(x.reply.Body, &message)
	x.reply.Body = response
	switch tool {
	case mcp.NoTool:
		x.answerMCP(fasthttp.StatusOK)
		return
	case mcp.NoMethod:
		x.answerMCP(fasthttp.StatusNotFound)
		return
	}

	x.surface = &toolSurface
	x.op = x.s.tools.operations[tool]
	x.row = x.op.metricRow
	x.request.Message = &message
	x.process()
}

// mirroredHeaders returns the headers that repeat parts of a message. The first comes at most once,
// as package framing checks.
func mirroredHeaders(h *fasthttp.RequestHeader) mcp.Headers {
	lines := func(name string) (all []string) {
		for _, value := range h.PeekAll(name) {
			all = append(all, string(value))
		}
		return all
	}
	return mcp.Headers{
		Version: string(h.Peek("MCP-Protocol-Version")), Method: lines("Mcp-Method"), Name: lines("Mcp-Name"),
	}
}

// refuseMCP returns the gate's error for a request, nil if it may pass, in the order of the checks.
func (x *exchange) refuseMCP() *wire.APIError {
	h := &x.Ctx.Request.Header
	if !x.s.tools.allowsHost(string(x.Ctx.Host()), x.Ctx.LocalIP()) {
		return problem(wire.HostNotAllowed,
			"The Host header names a host that this server does not serve; see allowed_hosts.")
	}
	if origin := h.Peek(fasthttp.HeaderOrigin); len(origin) > 0 && !x.s.tools.allowsOrigin(string(origin)) {
		return problem(wire.OriginNotAllowed, "Pages of this origin may not call; see allowed_origins.")
	}

	if f := x.authenticate(); f != nil {
		return f
	}
	if f := x.checkMediaType(); f != nil {
		return f
	}
	if accept := h.Peek(fasthttp.HeaderAccept); len(accept) > 0 && !httpconn.Accepts(accept, "application/json") {
		return problem(wire.NotAcceptable, "Answers are application/json: accept that, or */*.")
	}
	return nil
}

// writeRPCError answers with a tool result that says why the tool did not run, or why it has no
// result.
func writeRPCError(x *exchange, f *wire.APIError) {
	x.reply.Body = x.s.tools.AppendToolError(x.reply.Body[:0], x.request.Message, sentence(f.Detail))
	x.answerMCP(fasthttp.StatusOK)
}

// sentence makes a sentence of a detail, which problem documents begin in lower case and end
// without a stop.
func sentence(detail string) string {
	if detail == "" {
		return ""
	}
	return strings.ToUpper(detail[:1]) + strings.TrimSuffix(detail[1:], ".") + "."
}

// answerMCP sends the reply's body.
func (x *exchange) answerMCP(status int) {
	resp := &x.Ctx.Response
	resp.SetStatusCode(status)
	x.beginHead()
	if x.request.View != nil {
		x.Head.Set("X-Snapshot-Id", x.request.View.ID)
	}
	x.Head.Set(fasthttp.HeaderCacheControl, "no-store")
	x.vary(varyByKey)
	x.Head.Send(&resp.Header)
	resp.Header.SetContentType("application/json")

	x.reply.Body = x.Send(x.reply.Body, 0, x.Encoding(len(x.reply.Body)), false)
}
