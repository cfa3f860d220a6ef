package server

import (
	"bytes"
	"hash/maphash"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
)

// The pages' limit: a burst as large as an eager reader with type-ahead makes, then two a second. A
// page costs some hundred microseconds, so that one address takes a few ten-thousandths of a core;
// what asks for more is a crawler, which the API and the sitemap serve better. It has nothing to do
// with the limits of keys.
const (
	refillInterval = 500 * time.Millisecond // a page each
	addressBurst   = 60
	// loopbackWeight is how many addresses this machine counts as: enough for a script that walks
	// the site, and a bound when a proxy here hides who asks.
	loopbackWeight = 50
	// slotCount bounds the memory to half a megabyte. Two addresses whose hashes meet share an
	// allowance: with a thousand busy addresses at once, that happens to one newcomer in 65.
	slotCount = 1 << 16
)

// addressLimiter limit how often an address may ask for pages. A slot holds the time, in
// nanoseconds of the process's monotonic clock, at which the address's allowance is whole again
// (the generic cell rate algorithm); nothing is ever swept.
type addressLimiter struct {
	seed  maphash.Seed
	slots []atomic.Int64
}

func newAddressLimiter() *addressLimiter {
	return &addressLimiter{seed: maphash.MakeSeed(), slots: make([]atomic.Int64, slotCount)}
}

// allow takes one page of an address's allowance, or says in how many seconds to come again.
// Addresses of one IPv6 network of 64 bits are one visitor, and so are all of this machine, with an
// allowance many times as large; an unknown address is never limited.
func (vs *addressLimiter) allow(addr netip.Addr, now access.Instant) (wait int) {
	interval := refillInterval
	switch addr = addr.Unmap(); {
	case !addr.IsValid():
		return 0
	case addr.IsLoopback():
		addr = netip.IPv6Loopback()
		interval = refillInterval / loopbackWeight
	case addr.Is6():
		prefix, _ := addr.WithZone("").Prefix(64) // 64 is a valid length
		addr = prefix.Addr()
	}

	// Another request of the address may come between reading and writing: then it is judged again.
	slot := &vs.slots[maphash.Comparable(vs.seed, addr)%slotCount]
	for at := now.Mono * int64(time.Millisecond); ; {
		whole := slot.Load()
		next := max(whole, at) + int64(interval)
		if late := time.Duration(next-at) - addressBurst*refillInterval; late > 0 {
			return int(math.Ceil(late.Seconds()))
		}
		if slot.CompareAndSwap(whole, next) {
			return 0
		}
	}
}

// clientAddr is the address that asks: the connection's. If that is a trusted proxy, it is the last
// untrusted address in X-Forwarded-For. What clients write into the header stands before what
// proxies append, and is not believed.
func (s *Server) clientAddr(x *exchange) netip.Addr {
	addr, ok := netip.AddrFromSlice(x.Ctx.RemoteIP())
	if !ok {
		return netip.Addr{}
	}
	addr = addr.Unmap()
	if !s.trusts(addr) {
		if addr.IsLoopback() && slices.ContainsFunc(proxyHeaders, x.has) && s.unnamedProxy.CompareAndSwap(false, true) {
			s.Log.Warn("a proxy on this machine is not in trusted_proxies: all visitors through it share one allowance",
				slog.String("address", addr.String()))
		}
		return addr
	}

	// From the last hop back, as far as each was written by a proxy that is trusted.
	hops := bytes.Split(x.Field(fasthttp.HeaderXForwardedFor), []byte{','})
	for _, hop := range slices.Backward(hops) {
		named, err := readHop(string(hop))
		if err != nil {
			if len(hop) > 0 && s.oddHop.CompareAndSwap(false, true) {
				s.Log.Warn("a trusted proxy writes no address into X-Forwarded-For: its visitors share one allowance",
					slog.String("proxy", addr.String()))
			}
			break
		}
		addr = named
		if !s.trusts(addr) {
			break
		}
	}
	return addr
}

// readHop reads an entry of X-Forwarded-For: an address, or one with a port, in brackets or in
// quotes, as gateways write them.
func readHop(text string) (netip.Addr, error) {
	text = strings.TrimSpace(text)
	if n := len(text) - 1; n > 0 && text[0] == '"' && text[n] == '"' {
		text = text[1:n]
	}
	if ported, err := netip.ParseAddrPort(text); err == nil {
		return ported.Addr().Unmap(), nil
	}

	if n := len(text) - 1; n > 0 && text[0] == '[' && text[n] == ']' {
		text = text[1:n]
	}
	addr, err := netip.ParseAddr(text)
	return addr.Unmap(), err
}

// has reports whether a request has a header.
func (x *exchange) has(name string) bool { return len(x.Ctx.Request.Header.Peek(name)) > 0 }

// proxyHeaders are those that proxies write.
var proxyHeaders = []string{fasthttp.HeaderXForwardedFor, fasthttp.HeaderForwarded, "X-Real-Ip", fasthttp.HeaderVia}

func (s *Server) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
