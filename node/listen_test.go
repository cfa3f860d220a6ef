package node

import (
	"bytes"
	"log/slog"
	"net/netip"
	"testing"

	"ninepocket/internal/settings"
)

// TestDoorOptions derives the bounds of connections from the configuration and the descriptors.
func TestDoorOptions(t *testing.T) {
	var log bytes.Buffer
	f := func(most, each, room, wantMost, wantEach int, warns bool) {
		t.Helper()
		log.Reset()
		c := &settings.Config{MaxConnections: most, MaxConnectionsPerAddress: each}
		proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		o := doorOptions(c, proxies, room, slog.New(slog.NewTextHandler(&log, nil)))
		if o.Most != wantMost || o.Each != wantEach || (log.Len() > 0) != warns || o.WriteBuffer != writeBuffer {
			t.Errorf("%+v with room for %d: %d, of an address %d; want %d, %d\n%s", c, room, o.Most, o.Each, wantMost,
				wantEach, &log)
		}
		if !o.Exempt(netip.MustParseAddr("10.1.1.1")) || o.Exempt(netip.MustParseAddr("11.1.1.1")) {
			t.Error("not the trusted proxies are exempt")
		}
	}

	f(0, 0, 65_472, 65_472, 16_368, false)
	f(1000, 0, 65_472, 1000, 250, false)
	f(1000, 7, 65_472, 1000, 7, false)
	f(100_000, 0, 960, 960, 240, true)
	f(2, 0, 960, 2, 1, false)
	f(0, 5000, 960, 960, 5000, false)
}
