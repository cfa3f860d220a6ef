package server

import (
	"bytes"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/mcp"
	"ninepocket/wire"
)

// mcpPath is where MCP is served. It is not in the OpenAPI document: tools/list describes it.
const mcpPath = "/mcp"

// mcpOperation stands for MCP where a path's operation is asked for; what is metered are the tools.
var mcpOperation = operation{}

// mcpServer is the gate of package mcp: who may call from where, and what it costs.
type mcpServer struct {
	*mcp.Endpoint
	operations []access.Operation // by number of the tool
	hosts      []string           // allowed values of Host, lower case, with a port only where it must be that one
	origins    []string           // allowed values of Origin, lower case
	listen     string             // host that is listened on
}

func newMCPServer(o *Options) *mcpServer {
	m := &mcpServer{listen: strings.ToLower(o.ListenHost)}
	m.Endpoint = mcp.New(mcp.Options{Cursors: o.Cursors, Retained: o.Engine.Retained, Version: o.Version})
	for _, tool := range m.Tools() {
		m.operations = append(m.operations, access.MCPOperation(tool))
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

// listenOn notes where the server listens, unless the options said so.
func (m *mcpServer) listenOn(addr net.Addr) {
	if m.listen == "" {
		m.listen = hostOf(addr.String())
	}
}

// hostOf is the host of host[:port]; an IPv6 address loses its brackets.
func hostOf(hostport string) string {
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

// allowsHost reports whether requests may name this Host: against DNS rebinding, where a page of another site reaches
// the server under the site's own name.
func (m *mcpServer) allowsHost(hostport string, local net.IP) bool {
	hostport = strings.ToLower(hostport)
	host := hostOf(hostport)
	if host == "" {
		return false
	}
	if isLoopback(host) || host == m.listen {
		return true
	}
	// Listening on every address is listening on the one that was reached.
	if addr, err := netip.ParseAddr(host); err == nil && local.Equal(net.IP(addr.AsSlice())) {
		return true
	}
	for _, allowed := range m.hosts {
		if allowed == host || allowed == hostport {
			return true
		}
	}
	return false
}

// allowsOrigin reports whether a page of this origin may call: a configured one, the service's own, or any on this
// machine while the service is on this machine only.
func (m *mcpServer) allowsOrigin(origin string) bool {
	origin = strings.ToLower(origin)
	if slices.Contains(m.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Path == "" && u.User == nil &&
		isLoopback(u.Hostname()) && isLoopback(m.listen)
}

// mcp answers POST /mcp. Refusals up to the size of the body are problem+json; from parsing on, answers are JSON-RPC.
func (x *exchange) mcp() {
	x.op = &mcpOperation
	if f := x.refuseMCP(); f != nil {
		x.refuse(*f)
		return
	}
	m, fault := mcp.Read(x.ctx.PostBody())
	if fault == nil {
		fault = m.CheckVersion(string(x.ctx.Request.Header.Peek("MCP-Protocol-Version")))
	}
	if fault != nil {
		x.body = fault.Append(x.body)
		x.answerMCP(fasthttp.StatusBadRequest)
		return
	}
	if !m.IsRequest() {
		x.ctx.Response.SetStatusCode(fasthttp.StatusAccepted)
		x.ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
		return
	}
	response, tool := x.s.tools.Answer(x.body, &m)
	if x.body = response; tool != mcp.NoTool {
		x.callTool(&m, tool)
	}
	x.answerMCP(fasthttp.StatusOK)
}

// refuseMCP is what the gate has against a request, in the order of the checks.
func (x *exchange) refuseMCP() *wire.Fault {
	h := &x.ctx.Request.Header
	if !x.s.tools.allowsHost(string(x.ctx.Host()), x.ctx.LocalIP()) {
		return &wire.Fault{Code: wire.HostNotAllowed, Detail: "The Host header names a host that this server does not serve; see allowed_hosts."}
	}
	if origin := h.Peek(fasthttp.HeaderOrigin); len(origin) > 0 && !x.s.tools.allowsOrigin(string(origin)) {
		return &wire.Fault{Code: wire.OriginNotAllowed, Detail: "Pages of this origin may not call; see allowed_origins."}
	}
	if f := x.authenticate(); f != nil {
		return f
	}
	if f := x.checkMediaType(); f != nil {
		return f
	}
	if accept := h.Peek(fasthttp.HeaderAccept); len(accept) > 0 && !acceptsJSON(accept) {
		return &wire.Fault{Code: wire.NotAcceptable, Detail: "Answers are application/json: accept that, or */*."}
	}
	return nil
}

// acceptsJSON reads an Accept header (RFC 9110, 12.5.1): the most specific range that fits decides.
func acceptsJSON(accept []byte) bool {
	ranges := [...]string{"*/*", "application/*", "application/json"}
	best, accepted := -1, false
	for item := range bytes.SplitSeq(accept, []byte{','}) {
		name, params, _ := bytes.Cut(item, []byte{';'})
		name = bytes.ToLower(bytes.TrimSpace(name))
		for k, r := range ranges {
			if k >= best && string(name) == r {
				best, accepted = k, weightOf(params) > 0
			}
		}
	}
	return accepted
}

// weightOf is the q parameter, 1 without one.
func weightOf(params []byte) float64 {
	for p := range bytes.SplitSeq(params, []byte{';'}) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(p), []byte{'='})
		if string(bytes.ToLower(name)) == "q" {
			q, err := strconv.ParseFloat(string(value), 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}

// callTool admits a call of a tool, runs it and charges it whatever its result (decision 13).
func (x *exchange) callTool(m *mcp.Message, tool int) {
	x.row = x.s.counts.toolRow(tool, len(x.s.tools.operations))
	if x.view = x.s.Engine.View(); x.view == nil {
		x.deny(wire.TemporarilyUnavailable)
		x.body = mcp.AppendRefusal(x.body, m, "No catalog is loaded yet. Nothing was charged. Call again in a few seconds.")
		return
	}
	x.decision = x.s.Gate.Admit(x.principal, x.s.tools.operations[tool], x.now)
	if x.decision.Verdict != access.Admitted {
		x.deny(wire.Code(x.decision.Verdict.String()))
		x.body = mcp.AppendRefusal(x.body, m, x.deniedTool())
		return
	}
	x.admitted = true
	plan := x.principal.Plan
	x.body = x.s.tools.Call(x.body, m, tool, mcp.Caller{
		View: x.view, Now: x.time, Limits: mcp.Limits{HistoryDays: plan.HistoryDays, Cards: plan.MaxPrices},
	})
	if err := x.finish(true); err != nil {
		f := x.unmetered(err)
		x.body = mcp.AppendRefusal(x.body[:0], m, f.Detail+" Call again in "+decimal(int64(f.RetryAfter))+" seconds.")
	}
}

// deniedTool says to an agent why its call was not admitted, and when it is worth calling again.
func (x *exchange) deniedTool() string {
	d := &x.decision
	wait := decimal(d.RetryAfter)
	switch d.Verdict {
	case access.RateLimited:
		return "Rate limit reached (" + decimal(d.Minute.Limit) + " requests per minute). Wait " + seconds(d.RetryAfter) +
			", then call again with the same arguments."
	case access.QuotaExceeded:
		return "Daily quota used up (" + decimal(d.Allowance.Limit) + " requests per day). It resets at " +
			time.Unix(d.Allowance.Reset, 0).UTC().Format(time.RFC3339) + ", in " + wait + " seconds. Do not call again before then."
	case access.Unavailable, access.Admitted:
	}
	return "Requests cannot be metered at the moment. Nothing was charged. Call again in " + seconds(d.RetryAfter) + "."
}

func seconds(n int64) string {
	if n == 1 {
		return "1 second"
	}
	return decimal(n) + " seconds"
}

// answerMCP sends the exchange's body.
func (x *exchange) answerMCP(status int) {
	r := &x.ctx.Response
	r.SetStatusCode(status)
	x.begun()
	if x.view != nil {
		x.head.set("X-Snapshot-Id", x.view.ID)
	}
	x.head.set(fasthttp.HeaderCacheControl, "no-store")
	x.vary("Authorization, X-API-Key, Accept-Encoding")
	x.head.send(&r.Header)
	r.Header.SetContentType("application/json")
	if encoding := x.encoding(len(x.body)); encoding != "" {
		x.compress(x.body, encoding, false)
		return
	}
	r.SetBody(x.body)
}
