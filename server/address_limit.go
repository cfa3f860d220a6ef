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

// The rate limit of pages: a burst as large as an eager reader makes, then two a second. A page
// costs some hundred microseconds, so one address takes a few ten-thousandths of a core. A client
// that wants more is a crawler, which the API and the sitemap serve better. This limit is
// independent of the limits of keys.
const (
	refillInterval = 500 * time.Millisecond // for one page
	addressBurst   = 60
	// suggestInterval is for one list of suggestions. They have a limit of their own, with the same
	// burst: a fast typist asks for five a second, and a page must not be refused for that.
	suggestInterval = 150 * time.Millisecond
	// loopbackWeight is how many addresses this machine counts as: enough for a script that reads
	// the whole site, and still a limit if a local proxy hides the client addresses.
	loopbackWeight = 50
	// slotCount limits the memory to half a megabyte. Two addresses with the same slot share one
	// limit: with a thousand busy addresses at once, that happens to one new address in 65.
	slotCount = 1 << 16
)

// addressLimiter limits how often an address may request pages. A slot has the time at which its
// address has a full burst again, in nanoseconds of the process's monotonic clock (the generic cell
// rate algorithm); no cleanup is needed.
type addressLimiter struct {
	interval time.Duration // for one page
	burst    int           // pages at once
	seed     maphash.Seed
	slots    []atomic.Int64
}

func newAddressLimiter(interval time.Duration) *addressLimiter {
	return &addressLimiter{
		interval: interval, burst: addressBurst, seed: maphash.MakeSeed(), slots: make([]atomic.Int64, slotCount),
	}
}

// allow counts pages for an address, or returns after how many seconds to retry. An unknown address
// is never limited.
func (vs *addressLimiter) allow(addr netip.Addr, now access.Instant, pages int) (wait int) {
	addr = limitedAddr(addr)
	interval := time.Duration(pages) * vs.interval
	switch {
	case !addr.IsValid():
		return 0
	case addr.IsLoopback():
		interval /= loopbackWeight
	}

	// If another request of the address changes the slot in between, the check is repeated.
	slot := &vs.slots[maphash.Comparable(vs.seed, addr)%slotCount]
	for at := now.Mono * int64(time.Millisecond); ; {
		whole := slot.Load()
		next := max(whole, at) + int64(interval)
		if late := time.Duration(next-at) - time.Duration(vs.burst)*vs.interval; late > 0 {
			return int(math.Ceil(late.Seconds()))
		}
		if slot.CompareAndSwap(whole, next) {
			return 0
		}
	}
}

// limitedAddr returns the address that is limited in place of another. An IPv6 network of 64 bits
// is one address. This machine is one, too, with a limit many times as large.
func limitedAddr(addr netip.Addr) netip.Addr {
	switch addr = addr.Unmap(); {
	case addr.IsLoopback():
		return netip.IPv6Loopback()
	case addr.Is6():
		prefix, _ := addr.WithZone("").Prefix(64) // 64 is a valid length
		return prefix.Addr()
	}
	return addr
}

// clientAddr returns the client's address: the connection's, or behind a trusted proxy the last
// untrusted address in X-Forwarded-For. Entries that a client wrote come before those that proxies
// append, and are not believed.
func (s *Server) clientAddr(x *exchange) netip.Addr {
	addr, ok := netip.AddrFromSlice(x.Ctx.RemoteIP())
	if !ok {
		return netip.Addr{}
	}
	addr = addr.Unmap()
	if !s.isTrustedProxy(addr) {
		if addr.IsLoopback() && slices.ContainsFunc(proxyHeaders, x.hasHeader) &&
			s.warnedProxy.CompareAndSwap(false, true) {
			s.Log.Warn("a proxy on this machine is not in trusted_proxies: all visitors through it share one allowance",
				slog.String("address", addr.String()))
		}
		return addr
	}

	// Backwards from the last hop, as long as a trusted proxy wrote the entry.
	hops := bytes.Split(x.Field(fasthttp.HeaderXForwardedFor), []byte{','})
	for _, hop := range slices.Backward(hops) {
		named, err := readHop(string(hop))
		if err != nil {
			if len(hop) > 0 && s.warnedHop.CompareAndSwap(false, true) {
				s.Log.Warn("a trusted proxy writes no address into X-Forwarded-For: its visitors share one allowance",
					slog.String("proxy", addr.String()))
			}
			break
		}
		addr = named
		if !s.isTrustedProxy(addr) {
			break
		}
	}
	return addr
}

// readHop parses an entry of X-Forwarded-For: an address, or one with a port, in brackets or in
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

// hasHeader reports whether a request has a header.
func (x *exchange) hasHeader(name string) bool { return len(x.Ctx.Request.Header.Peek(name)) > 0 }

// proxyHeaders are headers that proxies add.
var proxyHeaders = []string{fasthttp.HeaderXForwardedFor, fasthttp.HeaderForwarded, "X-Real-Ip", fasthttp.HeaderVia}

// isTrustedProxy reports whether an address is in TrustedProxies.
func (s *Server) isTrustedProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
