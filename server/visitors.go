package server

import (
	"bytes"
	"hash/maphash"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// The pages' limit: a burst as large as an eager reader with type-ahead makes, then two a second. A page costs some
// hundred microseconds, so that one address takes a few ten-thousandths of a core; what asks for more is a crawler,
// which the API and the sitemap serve better. It has nothing to do with the limits of keys.
const (
	visitorInterval = 500 * time.Millisecond // a page each
	visitorBurst    = 60
	// visitorSlots bounds the memory to half a megabyte. Two addresses whose hashes meet share an allowance: with a
	// thousand busy addresses at once, that happens to one newcomer in 65.
	visitorSlots = 1 << 16
)

// visitors limit how often an address may ask for pages. A slot holds the time, in nanoseconds, at which the
// address's allowance is whole again (the generic cell rate algorithm); nothing is ever swept.
type visitors struct {
	seed  maphash.Seed
	slots []atomic.Int64
}

func newVisitors() *visitors {
	return &visitors{seed: maphash.MakeSeed(), slots: make([]atomic.Int64, visitorSlots)}
}

// admit takes one page of an address's allowance, or says in how many seconds to come again. Addresses of one IPv6
// network of 64 bits are one visitor; this machine itself is never limited, and neither is an unknown address.
func (v *visitors) admit(a netip.Addr, now time.Time) (wait int) {
	if !a.IsValid() || a.IsLoopback() {
		return 0
	}
	if a = a.Unmap(); a.Is6() {
		prefix, _ := a.WithZone("").Prefix(64) // 64 is a valid length
		a = prefix.Addr()
	}
	slot := &v.slots[maphash.Comparable(v.seed, a)%visitorSlots]
	for at := now.UnixNano(); ; {
		whole := slot.Load()
		next := max(whole, at) + int64(visitorInterval)
		if late := time.Duration(next-at) - visitorBurst*visitorInterval; late > 0 {
			return int(math.Ceil(late.Seconds()))
		}
		if slot.CompareAndSwap(whole, next) {
			return 0
		}
	}
}

// visitor is the address that asks: the connection's, or, where that is a proxy that the operator trusts, the last one
// in X-Forwarded-For that is not. What clients write into the header stands before what proxies append, and is not
// believed.
func (x *exchange) visitor() netip.Addr {
	addr, ok := netip.AddrFromSlice(x.ctx.RemoteIP())
	if !ok {
		return netip.Addr{}
	}
	addr = addr.Unmap()
	if !x.s.trusts(addr) {
		return addr
	}
	hops := bytes.Split(x.field(fasthttp.HeaderXForwardedFor), []byte{','})
	for _, hop := range slices.Backward(hops) {
		named, err := netip.ParseAddr(string(bytes.TrimSpace(hop)))
		if err != nil {
			break
		}
		if addr = named.Unmap(); !x.s.trusts(addr) {
			break
		}
	}
	return addr
}

func (s *Server) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}
